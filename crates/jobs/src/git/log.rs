//! Logs of refs, which Git only adds lines to: so are the lines of a command. Replacing the whole file would wait for the disk, and
//! copy a log of years for one line.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use rustix::fs::OFlags;

use super::tree::Tree;

const ADDED: OFlags = OFlags::RDWR.union(OFlags::APPEND).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const CHUNK: usize = 64 << 10;

/// Whether a path of a Git folder is a log: of the repository, of a worktree or of a submodule.
pub(super) fn is_log(path: &Path) -> bool {
    let mut parts = path.components();
    matches!(parts.next(), Some(Component::Normal(name)) if name == "logs" || (name == "worktrees" && parts.nth(1).is_some_and(is_logs)))
}

fn is_logs(part: Component<'_>) -> bool {
    part.as_os_str() == "logs"
}

/// Adds the rest of a file of the upper layer to the file below, if that is how it begins. `false` if it is not, or if the file has
/// another name too, behind which it may be anything: then it has to be replaced.
pub(super) fn append_rest(upper: &Tree, lower: &Tree, path: &Path) -> io::Result<bool> {
    let mut new = upper.open_file(path)?;
    let mut old = File::from(lower.open_beneath(path, ADDED)?);
    let metadata = old.metadata()?;
    let length = metadata.len();
    if !metadata.is_file() || metadata.nlink() != 1 || new.metadata()?.len() <= length || !begins_with(&mut new, &mut old, length)? {
        return Ok(false);
    }
    let mut rest = Vec::new();
    new.read_to_end(&mut rest)?;
    let added = old.write_all(&rest);
    if added.is_err() {
        // Half a line is no line.
        old.set_len(length)?;
    }
    added.map(|()| true)
}

/// Whether both files are the same up to here; reads both so far.
fn begins_with(new: &mut File, old: &mut File, length: u64) -> io::Result<bool> {
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut remaining = length;
    while remaining > 0 {
        let count = usize::try_from(remaining).unwrap_or(CHUNK).min(CHUNK);
        old.read_exact(&mut right[..count])?;
        new.read_exact(&mut left[..count])?;
        if left[..count] != right[..count] {
            return Ok(false);
        }
        remaining -= count as u64;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_added_to_the_log_that_they_continue_and_to_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (old, new, expected) in
            [("one\n", "one\ntwo\n", true), ("one\n", "1\ntwo\n", false), ("one\n", "one\n", false), ("one\n", "o", false)]
        {
            for (name, text) in [("upper", new), ("lower", old)] {
                fs::create_dir_all(at(name).join("logs")).unwrap();
                fs::write(at(name).join("logs/HEAD"), text).unwrap();
            }
            let (upper, lower) = (Tree::open(&at("upper")).unwrap(), Tree::open(&at("lower")).unwrap());
            assert_eq!(append_rest(&upper, &lower, Path::new("logs/HEAD")).unwrap(), expected, "{new:?}");
            assert_eq!(fs::read_to_string(at("lower/logs/HEAD")).unwrap(), if expected { new } else { old });
        }
        fs::write(at("upper/logs/HEAD"), "one\ntwo\n").unwrap();
        fs::hard_link(at("lower/logs/HEAD"), at("other")).unwrap();
        let (upper, lower) = (Tree::open(&at("upper")).unwrap(), Tree::open(&at("lower")).unwrap());
        assert!(!append_rest(&upper, &lower, Path::new("logs/HEAD")).unwrap(), "it has another name");
        assert_eq!(fs::read_to_string(at("other")).unwrap(), "one\n");
    }

    #[test]
    fn logs_of_worktrees_are_logs_too() {
        for path in ["logs/HEAD", "logs/refs/heads/main", "worktrees/w/logs/HEAD"] {
            assert!(is_log(Path::new(path)), "{path}");
        }
        for path in ["index", "worktrees/logs/HEAD", "refs/heads/logs", "worktrees/w/HEAD", ""] {
            assert!(!is_log(Path::new(path)), "{path}");
        }
    }
}
