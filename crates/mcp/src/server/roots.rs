//! The folders that a client works in.
#![expect(deprecated, reason = "later protocol versions drop roots; clients of the earlier ones narrow the workspace by them")]

use std::path::PathBuf;
use std::time::Duration;

use haft_text::percent;
use rmcp::{Peer, RoleServer};

/// How long a client may take to list its folders.
const PATIENCE: Duration = Duration::from_secs(5);
/// More folders than this are ignored.
const MOST: usize = 64;

/// The folders of a client; `None` if it does not say.
pub(super) async fn fetch(peer: &Peer<RoleServer>) -> Option<Vec<PathBuf>> {
    let listed = tokio::time::timeout(PATIENCE, peer.list_roots()).await.ok()?.ok()?;
    // An editor without an open folder has none to name.
    (!listed.roots.is_empty()).then(|| listed.roots.iter().take(MOST).filter_map(|root| folder(&root.uri)).collect())
}

/// The path of a `file:` address of this machine.
fn folder(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = path.starts_with('/').then(|| percent::decode(path))?;
    (!path.contains('\0')).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_file_addresses_of_this_machine_are_folders() {
        for (uri, expected) in [
            ("file:///home/ann/a%20b", Some("/home/ann/a b")),
            ("file://localhost/home", Some("/home")),
            ("file://other/home", None),
            ("https://example.org/", None),
            ("/home", None),
            ("file:///a%00b", None),
        ] {
            assert_eq!(folder(uri), expected.map(PathBuf::from), "{uri}");
        }
    }
}
