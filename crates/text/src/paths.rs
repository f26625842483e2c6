//! Paths without a look at the disk.

use std::path::{Component, Path, PathBuf};

/// The path without `.` and `..`; `..` at the root stays there, and a relative path that leaves its start keeps only the rest.
pub fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// Whether a folder holds much that nobody thinks of: the top of the machine, what is directly below it, and homes.
pub fn is_wide_folder(folder: &Path, home: Option<&Path>) -> bool {
    let depth = folder.components().count().saturating_sub(1);
    let is_home_of_others = |homes: &str| depth == 2 && folder.starts_with(homes);
    depth < 2 || is_home_of_others("/home") || is_home_of_others("/Users") || home.is_some_and(|home| home.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_resolved_by_their_spelling() {
        for (path, clean) in
            [("/w/a/../../etc", "/etc"), ("/w/./a/../b", "/w/b"), ("/w/a/../../../..", "/"), ("a/./b/../c", "a/c"), ("..", "")]
        {
            assert_eq!(lexical(Path::new(path)), Path::new(clean), "{path}");
        }
    }

    #[test]
    fn wide_folders_are_the_top_of_the_machine_and_homes() {
        let home = Some(Path::new("/srv/people/ann"));
        for wide in ["/", "/etc", "/srv", "/srv/people", "/srv/people/ann", "/home/bob", "/Users/eve"] {
            assert!(is_wide_folder(Path::new(wide), home), "{wide}");
        }
        for narrow in ["/etc/ssl", "/srv/people/ann/notes", "/srv/data", "/home/bob/shared"] {
            assert!(!is_wide_folder(Path::new(narrow), home), "{narrow}");
        }
    }
}
