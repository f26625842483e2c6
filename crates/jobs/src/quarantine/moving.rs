//! Moving an entry between two folders without following a link.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, readlinkat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;

use crate::git::Tree;

const MAX_DEPTH: usize = 128;

/// Moves an entry: by a rename, or by a copy where the two folders are on different file systems.
pub(super) fn move_entry(from: &Tree, entry: &Path, to: &Tree, name: &Path) -> io::Result<()> {
    let ((source, source_name), (target, target_name)) = (from.parent(entry)?, to.parent(name)?);
    if let Some(folder) = from.entry(entry)?.filter(|metadata| metadata.is_dir() && metadata.mode() & 0o700 != 0o700) {
        // Only a folder that its owner can write can be moved, or looked through.
        let mode = Mode::from_raw_mode(folder.mode() & 0o777 | 0o700);
        rustix::fs::chmodat(source.as_fd(), source_name, mode, AtFlags::empty())?;
    }
    let rename = || renameat(source.as_fd(), source_name, target.as_fd(), target_name);
    let renamed = match rename() {
        // A command may have taken the rights to the folder away.
        Err(Errno::ACCESS) if source.open_to_owner()? => rename(),
        renamed => renamed,
    };
    match renamed {
        Ok(()) => return Ok(()),
        Err(Errno::XDEV) => {}
        Err(error) => return Err(error.into()),
    }
    copy(&source, Path::new(source_name), &target, Path::new(target_name), 0)?;
    remove(&source, Path::new(source_name), 0)
}

/// Copies an entry with what is in it; pipes, devices and sockets are left out.
fn copy(from: &Tree, entry: &Path, to: &Tree, name: &Path, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("its folders are too deep"));
    }
    let Some(metadata) = from.entry(entry)? else { return Ok(()) };
    let mode = Mode::from_raw_mode(metadata.mode() & 0o777);
    if metadata.is_dir() {
        mkdirat(to.as_fd(), name, Mode::RWXU)?;
        let (source, target) = (from.folder(entry)?, to.folder(name)?);
        for child in source.names(Path::new(""))? {
            copy(&source, Path::new(&child), &target, Path::new(&child), depth + 1)?;
        }
        return Ok(rustix::fs::fchmod(target.listed()?, mode)?);
    }
    if metadata.is_symlink() {
        let link = readlinkat(from.as_fd(), entry, Vec::new())?;
        return Ok(symlinkat(link, to.as_fd(), name)?);
    }
    if metadata.is_file() {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(openat(to.as_fd(), name, flags, Mode::from_raw_mode(0o600))?);
        io::copy(&mut from.open_file(entry)?, &mut copy)?;
        rustix::fs::fchmod(&copy, mode)?;
        copy.set_modified(metadata.modified()?)?;
    }
    Ok(())
}

/// Removes an entry with what is in it.
fn remove(tree: &Tree, entry: &Path, depth: usize) -> io::Result<()> {
    if depth <= MAX_DEPTH && tree.entry(entry)?.is_some_and(|metadata| metadata.is_dir()) {
        let folder = tree.folder(entry)?;
        for child in folder.names(Path::new(""))? {
            remove(&folder, Path::new(&child), depth + 1)?;
        }
        return Ok(unlinkat(tree.as_fd(), entry, AtFlags::REMOVEDIR)?);
    }
    Ok(unlinkat(tree.as_fd(), entry, AtFlags::empty())?)
}

/// Takes away what lets a program use an entry in quarantine: a folder may be a repository, a file a program.
pub(super) fn close(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(0o600)) }
}

/// Gives an entry its permissions back.
pub(super) fn open(path: &Path, mode: u32) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(mode)) }
}

/// Writes a file beside its place, and moves it there, without following a link on the way.
pub(super) fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let root = Tree::open(Path::new("/"))?;
    let (folder, name) = root.parent(path.strip_prefix("/").map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?)?;
    folder.open_to_owner()?;
    let mut draft = std::ffi::OsString::from(".haft-restored-");
    draft.push(name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    unlinkat(folder.as_fd(), &*draft, AtFlags::empty()).ok();
    let mut file = File::from(openat(folder.as_fd(), &*draft, flags, Mode::from_raw_mode(0o600))?);
    io::Write::write_all(&mut file, bytes)?;
    file.set_permissions(Permissions::from_mode(mode & 0o777))?;
    Ok(renameat(folder.as_fd(), &*draft, folder.as_fd(), name)?)
}
