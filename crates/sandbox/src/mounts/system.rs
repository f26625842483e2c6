//! The parts of the host's file system that every command sees, read-only.

use std::fs;
use std::os::unix::fs::PermissionsExt;
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
    fn system_has_programs_and_no_homes() {
        assert!(holds(Path::new("/usr/bin/env")) && holds(Path::new("/etc/passwd")));
        for absent in ["/", "/home", "/root", "/mnt", "/srv", "/var/lib", "/tmp", "/var/log"] {
            assert!(!holds(Path::new(absent)), "{absent}");
        }
    }
}
