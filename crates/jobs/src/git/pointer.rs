//! From `.git` to the Git folder: `.git` itself, or the folder that a `.git` file of a linked worktree or submodule names.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::config::normalize;
use super::tree::Tree;

/// Pointers are one short line.
const LONGEST: u64 = 8192;

/// The Git folders of a workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GitFolders {
    /// Folders that get an overlay, none within another.
    pub(crate) overlaid: Vec<PathBuf>,
    /// Every `.git` that is a file or a link, and folders of Git that cannot be overlaid: commands may not change them.
    pub(crate) protected: Vec<PathBuf>,
}

/// Finds the Git folders of these `.git` entries.
pub(crate) fn find_git_folders(entries: &[PathBuf], writable: &[PathBuf]) -> GitFolders {
    let mut folders = GitFolders::default();
    for entry in entries {
        match fs::symlink_metadata(entry) {
            Ok(metadata) if metadata.is_dir() => folders.overlaid.push(entry.clone()),
            Ok(_) => {
                folders.protected.push(entry.clone());
                folders.overlaid.extend(named_folder(entry, writable).map(|folder| common_folder(&folder)));
            }
            Err(_) => {}
        }
    }
    folders.overlaid.sort_unstable();
    folders.overlaid.dedup_by(|deeper, above| deeper.starts_with(above));
    folders
}

/// The folder that a `.git` file names, if it lies in a writable root and no link leads to it.
pub(super) fn named_folder(entry: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    let folder = named_path(entry)?;
    let is_real = folder.is_dir() && folder.canonicalize().is_ok_and(|real| real == folder);
    (is_real && lies_in(&folder, writable)).then_some(folder)
}

/// The path in a `.git` file, whatever is there.
pub(super) fn named_path(entry: &Path) -> Option<PathBuf> {
    let parent = entry.parent()?;
    let text = Tree::open(parent).ok()?.read(Path::new(entry.file_name()?), LONGEST).ok()?;
    Some(normalize(&parent.join(path_of(text.strip_prefix(b"gitdir:")?)?)))
}

/// The repository's folder of a linked worktree, which holds that of the worktree; else the folder itself.
fn common_folder(folder: &Path) -> PathBuf {
    let above = folder.parent().filter(|parent| parent.ends_with("worktrees")).and_then(Path::parent);
    let is_linked = fs::read(folder.join("commondir")).is_ok_and(|text| text.trim_ascii() == b"../..");
    above.filter(|_| is_linked).unwrap_or(folder).to_owned()
}

/// The path in a pointer file: one line, without control characters.
pub(super) fn path_of(text: &[u8]) -> Option<PathBuf> {
    let text = text.trim_ascii();
    let is_path = !text.is_empty() && text.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
    is_path.then(|| PathBuf::from(std::ffi::OsStr::from_bytes(text)))
}

pub(super) fn lies_in(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_folders_are_found_through_pointers_into_writable_roots_only() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, other) = (root.join("w"), root.join("o"));
        for path in ["w/.git/worktrees/t", "w/.git/modules/s", "w/t", "w/s", "w/x", "w/l", "o/.git/worktrees/x"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(work.join(".git/worktrees/t/commondir"), "../..\n").unwrap();
        fs::write(work.join("t/.git"), format!("gitdir: {}/.git/worktrees/t\n", work.display())).unwrap();
        fs::write(work.join("s/.git"), "gitdir: ../.git/modules/s\n").unwrap();
        fs::write(work.join("x/.git"), format!("gitdir: {}/.git/worktrees/x\n", other.display())).unwrap();
        std::os::unix::fs::symlink(other.join(".git"), work.join("l/.git")).unwrap();
        let at = |name: &str| work.join(name).join(".git");
        let entries = ["", "t", "s", "x", "l", "missing"].map(at);
        let found = find_git_folders(&entries, std::slice::from_ref(&work));
        assert_eq!(found, GitFolders { overlaid: vec![work.join(".git")], protected: ["t", "s", "x", "l"].map(at).to_vec() });
        // Alone, a linked worktree leads to the whole repository.
        assert_eq!(find_git_folders(&[at("t")], std::slice::from_ref(&work)).overlaid, [work.join(".git")]);
        assert_eq!(find_git_folders(&[at("s")], std::slice::from_ref(&work)).overlaid, [work.join(".git/modules/s")]);
    }
}
