//! The parts of the host's file system that every command sees, read-only.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::Access;

/// Folders with programs, libraries and settings.
const FOLDERS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/etc",
    "/nix",
    "/gnu",
    "/snap",
    "/sys",
    // Of `/var`, where services keep their data, only what tools read.
    "/var/lib/alternatives",
    "/var/lib/apt",
    "/var/lib/ca-certificates",
    "/var/lib/dpkg",
    "/var/lib/pacman",
    "/var/lib/rpm",
    "/var/lib/texmf",
    "/var/cache/fontconfig",
    "/var/cache/man",
];
/// Links that programs expect, besides those in the root folder.
const LINKS: &[&str] = &["/var/run", "/var/lock", "/run/current-system", "/run/lock"];
const SETTINGS: &str = "/etc";
/// The Unix sockets of the network that this process is in.
const SOCKETS: &str = "/proc/net/unix";
/// Bounds the walk through `/etc`.
const MOST_ENTRIES: usize = 50_000;

/// The system as it is when the first command runs.
#[derive(Debug)]
pub(crate) struct SystemPaths {
    pub(crate) folders: Vec<PathBuf>,
    /// Each with its target.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Inside these folders, and not readable for every user: keys, passwords.
    pub(crate) private: Vec<PathBuf>,
}

/// Read once: it takes longer than the start of a command.
pub(crate) fn paths() -> &'static SystemPaths {
    static PATHS: OnceLock<SystemPaths> = OnceLock::new();
    PATHS.get_or_init(SystemPaths::read)
}

/// Whether a path lies in a folder of the system, which every command sees.
pub fn holds(path: &Path) -> bool {
    paths().folders.iter().any(|folder| path.starts_with(folder))
}

impl SystemPaths {
    fn read() -> Self {
        let mut found = Self { folders: Vec::new(), links: Vec::new(), private: Vec::new() };
        let top = fs::read_dir("/").into_iter().flatten().flatten().map(|entry| entry.path());
        for link in top.chain(LINKS.iter().map(PathBuf::from)) {
            if let Ok(target) = fs::read_link(&link) {
                found.links.push((link, target));
            }
        }
        // Of a link the target is mounted, such as `/var/opt`.
        let real = FOLDERS.iter().filter_map(|folder| Path::new(folder).canonicalize().ok());
        for folder in real.filter(|folder| folder.is_dir()) {
            if !found.folders.iter().any(|other| folder.starts_with(other)) {
                found.folders.push(folder);
            }
        }
        found.private = private_settings(Path::new(SETTINGS));
        found
    }
}

/// The Unix sockets that programs of this machine listen at, as far as they have a whole path and are shown. A command that could connect
/// to one would have left the sandbox.
pub(super) fn sockets(is_shown: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    // A name that is no text must not hide the others.
    let table = fs::read(SOCKETS).unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let is_socket = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    // Hardly any is, and looking at the others takes longer than the rest.
    let shown = socket_paths(&table).filter(|path| is_shown(path));
    let mut found: Vec<PathBuf> = shown.filter_map(|path| path.canonicalize().ok()).filter(is_socket).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The last column, of those that have one and are not abstract.
fn socket_paths(table: &str) -> impl Iterator<Item = &Path> {
    table.lines().skip(1).filter_map(|line| line.find(" /").map(|at| Path::new(&line[at + 1..])))
}

/// What other users may not read, and this user may: a command has the same rights. Each costs a mount.
fn private_settings(folder: &Path) -> Vec<PathBuf> {
    let (mut private, mut folders, mut seen) = (Vec::new(), vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            let Ok(metadata) = entry.metadata() else { continue };
            let needed = if metadata.is_dir() { 0o005 } else { 0o004 };
            let is_private = !metadata.is_symlink() && metadata.permissions().mode() & needed != needed;
            if is_private && rustix::fs::access(entry.path(), Access::READ_OK).is_ok() {
                private.push(entry.path());
            } else if metadata.is_dir() && !is_private && seen < MOST_ENTRIES {
                folders.push(entry.path());
            }
        }
    }
    private
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_others_cannot_read_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("open/keys")).unwrap();
        for (name, mode) in [("passwd", 0o644), ("shadow", 0o640), ("open/key", 0o600), ("open/plain", 0o644), ("open/keys/id", 0o644)] {
            fs::write(at(name), "x").unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(at("open/keys"), fs::Permissions::from_mode(0o710)).unwrap();
        std::os::unix::fs::symlink("shadow", at("link")).unwrap();
        let mut private = private_settings(folder.path());
        private.sort();
        assert_eq!(private, ["open/key", "open/keys", "shadow"].map(at));
    }

    #[test]
    fn sockets_with_a_path_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("of a program");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(sockets(|_| true).contains(&path) && sockets(|_| false).is_empty());
        drop(listener);
        assert!(!sockets(|_| true).contains(&path), "nobody listens any more");
        let table =
            "Num RefCount Protocol Flags Type St Inode Path\n0: 2 0 10000 1 1 5 @/tmp/x\n0: 2 0 10000 1 1 6\n0: 2 0 10000 1 1 7 relative\n";
        assert_eq!(socket_paths(table).count(), 0);
    }

    #[test]
    fn system_has_programs_and_no_homes() {
        assert!(holds(Path::new("/usr/bin/env")) && holds(Path::new("/etc/passwd")));
        for absent in ["/", "/home", "/root", "/mnt", "/srv", "/var/lib", "/tmp", "/var/log"] {
            assert!(!holds(Path::new(absent)), "{absent}");
        }
    }
}
