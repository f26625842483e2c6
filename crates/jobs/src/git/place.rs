//! A repository that a staged run made, and that was cleaned, comes to its place in one step: Git sees all of it or nothing.

use std::fs::{File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{RenameFlags, renameat_with};

use super::apply::{copy_file, create};
use super::tree::Tree;
use crate::changes::remove_folder;

/// Copies a staged Git folder to `path` beneath a root.
///
/// # Errors
/// Its folder is missing, or there is a repository already.
pub(crate) fn place_repository(staged: &Path, root: &Path, path: &Path) -> io::Result<()> {
    let (folder, name) = Tree::open(root)?.parent(path).map(|(folder, name)| (folder, name.to_owned()))?;
    let draft = PathBuf::from(format!(".git-haft{}", std::process::id()));
    folder.make_folder(&draft)?;
    let copied = Tree::open(staged).and_then(|from| copy_folder(&from, &folder.folder(&draft)?, Path::new("")));
    let placed = copied.and_then(|()| Ok(renameat_with(folder.as_fd(), &draft, folder.as_fd(), &*name, RenameFlags::NOREPLACE)?));
    if placed.is_err()
        && let Some(path) = folder.path()
    {
        remove_folder(&path.join(draft));
    }
    placed
}

fn copy_folder(from: &Tree, to: &Tree, path: &Path) -> io::Result<()> {
    for name in from.names(path)? {
        let path = path.join(name);
        match from.entry(&path)? {
            Some(found) if found.is_dir() => {
                to.make_folder(&path)?;
                copy_folder(from, to, &path)?;
            }
            // The cleaning left nothing but files.
            Some(found) if found.is_file() => copy_entry(&from.open_file(&path)?, to, &path)?,
            _ => {}
        }
    }
    Ok(())
}

fn copy_entry(source: &File, to: &Tree, path: &Path) -> io::Result<()> {
    let (folder, name) = to.parent(path)?;
    let metadata = source.metadata()?;
    let mut copy = create(&folder, name)?;
    copy_file(source, &mut copy)?;
    copy.set_permissions(Permissions::from_mode(metadata.mode() & 0o777))?;
    // The index knows the times of files, and not those of its own folder; they are kept all the same.
    copy.set_times(FileTimes::new().set_modified(metadata.modified()?))
}
