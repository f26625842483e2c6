//! A location is accepted only from the file system that made it, and only as it was made.
//!
//! Tools hold locations between planning and running, and what the policy checked was what they say. So every one that
//! comes back is compared with what its handle holds, which no tool can change.

use haft_contract::{ErrorKind, Location, ToolError};

use super::LocalFiles;
use super::resolve::Resolved;
use super::roots::RootedPath;

impl LocalFiles {
    /// The location itself, if it is this file system's.
    pub(super) fn check_own(&self, at: &Location) -> Result<Location, ToolError> {
        let resolved = Resolved::from_location(at)?;
        let is_own = self.roots().hold(&resolved.place.root) && resolved.agrees(at) && self.display(&resolved.path) == at.display();
        if is_own { Ok(at.clone()) } else { Err(not_own(at)) }
    }
}

impl Resolved {
    fn from_location(at: &Location) -> Result<&Self, ToolError> {
        at.handle().downcast_ref().ok_or_else(|| not_own(at))
    }

    fn agrees(&self, at: &Location) -> bool {
        self.path == at.path()
            && self.place.root.zone() == at.zone()
            && self.refusals.no_read.as_deref() == at.no_read()
            && self.refusals.no_write.as_deref() == at.no_write()
    }
}

impl RootedPath {
    /// The place of a location.
    pub(super) fn from_location(at: &Location) -> Result<&Self, ToolError> {
        Ok(&Resolved::from_location(at)?.place)
    }
}

fn not_own(at: &Location) -> ToolError {
    let message = format!(
        "The location of '{}' was not made by this workspace. This is a fault of the tool; nothing was done.",
        at.requested().display()
    );
    ToolError::new(ErrorKind::PermissionDenied, message)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use haft_contract::{Zone, ports::FileSystem};

    use super::super::WorkspaceOptions;
    use super::super::resolve::resolve;
    use super::*;

    #[test]
    fn what_differs_from_its_handle_is_refused() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut options = WorkspaceOptions::new(folder.path());
        options.deny_read = vec!["secret".into()];
        let files = LocalFiles::open(options).unwrap();
        let forge = |requested: &str, path: &Path, display: &str, zone: Zone| {
            let handle = Arc::new(resolve(&files.roots(), &files.rules, requested.as_ref()).unwrap());
            Location::new(requested.into(), path.into(), display.into(), zone, handle)
        };
        let (file, secret) = (files.root().join("file"), files.root().join("secret"));
        let (kept, why) = (forge("file", &file, "file", Zone::Workspace), files.locate("secret".as_ref()).unwrap());
        for (what, forged) in [
            ("outside as inside", forge("/etc/hostname", "/etc/hostname".as_ref(), "/etc/hostname", Zone::Workspace)),
            ("another path", forge("/etc/hostname", &file, "file", Zone::Outside)),
            ("another name", forge("file", &file, "other", Zone::Workspace)),
            ("readable after all", forge("secret", &secret, "secret", Zone::Workspace)),
            ("another reason", forge("secret", &secret, "secret", Zone::Workspace).refuse_read("because")),
            ("writable after all", forge(".git/config", &files.root().join(".git/config"), ".git/config", Zone::Workspace)),
            ("more refused", kept.clone().refuse_write("because")),
        ] {
            let error = files.check_own(&forged).expect_err(what);
            let expected = format!(
                "The location of '{}' was not made by this workspace. This is a fault of the tool; nothing was done.",
                forged.requested().display()
            );
            assert_eq!((error.kind(), error.message()), (ErrorKind::PermissionDenied, expected.as_str()), "{what}");
        }
        files.check_own(&kept).unwrap();
        files.check_own(&why).unwrap();
    }
}
