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
}
