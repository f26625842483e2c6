//! A workspace with links and secrets in it, and something to steal beside it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use haft_host::{LocalFiles, WorkspaceOptions};
use tokio::runtime::{Builder, Runtime};

/// What may not be read at all.
pub(crate) const SECRET: &[u8] = b"S3CRET";
/// What may be read only where the policy allows paths outside.
pub(crate) const CANARY: &[u8] = b"CANARY";

/// Links that the input makes; more are not made.
const LINKS: [&str; 4] = ["l0", "l1", "a/l2", "a/b/l3"];

pub(crate) static WORLD: LazyLock<World> = LazyLock::new(World::new);
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().build().expect("a runtime"));

/// Each place beneath a folder, and what is there.
pub(crate) type Tree = BTreeMap<PathBuf, Vec<u8>>;

pub(crate) struct World {
    pub(crate) base: PathBuf,
    pub(crate) ws: PathBuf,
    pub(crate) readable: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) by_kernel: LocalFiles,
    pub(crate) by_walk: LocalFiles,
    /// What is there before every run, and after it.
    pub(crate) before: Tree,
}

impl World {
    fn new() -> Self {
        // Always the same folder: nothing runs at the end that could remove it.
        let base = std::env::temp_dir().canonicalize().expect("a temporary folder").join("haft-fuzz-path-resolver");
        drop(std::fs::remove_dir_all(&base));
        let [ws, readable, outside] = ["ws", "readable", "outside"].map(|name| base.join(name));
        fill(&base);
        let mut options = WorkspaceOptions::new(&ws);
        options.read_only_roots = vec![readable.clone()];
        options.deny_read = vec!["private".to_owned()];
        options.protected = vec![ws.join("state")];
        let by_kernel = LocalFiles::open(options.clone()).expect("a workspace");
        let by_walk = LocalFiles::open_walking(options).expect("a workspace");
        let before = tree(&base);
        Self { base, ws, readable, outside, by_kernel, by_walk, before }
    }

    /// A path as the input spells it.
    pub(crate) fn spelled(&self, spelling: &[u8]) -> PathBuf {
        let base = self.base.as_os_str().as_bytes();
        let bytes: Vec<u8> =
            spelling.iter().flat_map(|byte| if *byte == b'@' { base } else { std::slice::from_ref(byte) }.to_vec()).collect();
        std::ffi::OsString::from_vec(bytes).into()
    }

    /// Makes one of the input's links, where it can be made.
    pub(crate) fn link(&self, number: usize, target: &[u8]) -> Option<PathBuf> {
        let link = self.ws.join(LINKS.get(number)?);
        symlink(self.spelled(target), &link).is_ok().then_some(link)
    }

    pub(crate) fn tree(&self) -> Tree {
        tree(&self.base)
    }
}

fn fill(base: &Path) {
    let inside = b"inside";
    for (path, content) in [
        ("ws/file", &inside[..]),
        ("ws/a/file", inside),
        ("ws/a/b/file", inside),
        ("ws/.env", SECRET),
        ("ws/a/.env.local", SECRET),
        ("ws/a/id_rsa", SECRET),
        ("ws/.aws/credentials", SECRET),
        ("ws/private/notes", SECRET),
        ("ws/.git/config", inside),
        ("ws/.bashrc", inside),
        ("ws/state/db", inside),
        ("readable/file", inside),
        ("readable/.env", SECRET),
        ("outside/canary", CANARY),
        ("outside/a/file", CANARY),
        ("outside/.env", SECRET),
    ] {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
    for (link, target) in [
        ("out", "../outside"),
        ("out_file", "../outside/canary"),
        ("up", ".."),
        ("dir", "a/b"),
        ("loop", "a/loop"),
        ("a/loop", "../loop"),
        ("hidden_secret", ".env"),
        ("a/git", "../.git"),
        ("kernel", "/proc/self/root"),
    ] {
        symlink(target, base.join("ws").join(link)).expect("a link");
    }
    UnixListener::bind(base.join("ws/socket")).expect("a socket");
}

/// Everything beneath a folder: links with their targets, files with their content.
fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let entry = entry.expect("an entry");
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            let content = if kind.is_symlink() {
                std::fs::read_link(&path).expect("a link").into_os_string().into_vec()
            } else if kind.is_file() {
                std::fs::read(&path).expect("a file")
            } else {
                OsStr::new("no file").as_bytes().to_vec()
            };
            if kind.is_dir() {
                pending.push(path.clone());
            }
            found.insert(path, content);
        }
    }
    found
}
