//! A folder moved entry by entry. The kernel moves each file, so that its content, times, attributes and owner stay.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

/// Deeper trees stay as they are: two descriptors are open for each level.
const DEPTH: usize = 200;
const LONGEST_ATTRIBUTE: usize = 64 << 10;

/// A name in an open folder.
type Entry<'a> = (&'a OwnedFd, &'a Path);

/// Moves a folder as a rename would. What cannot be moved as a whole is moved back.
pub(super) fn move_folder(from: Entry<'_>, to: Entry<'_>, flags: RenameFlags) -> rustix::io::Result<()> {
    let is_same_system = parent_of(to).and_then(|parent| Ok(rustix::fs::fstat(parent)?.st_dev == stat(from)?.st_dev));
    if !is_same_system? {
        return Err(Errno::XDEV);
    }
    make_room(to, flags)?;
    move_below(from, to, DEPTH)
}

fn parent_of((folder, path): Entry<'_>) -> rustix::io::Result<OwnedFd> {
    if path.components().next_back().is_none_or(|last| !matches!(last, Component::Normal(_))) {
        return Err(Errno::BUSY);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    rustix::fs::openat(folder, parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn stat((folder, path): Entry<'_>) -> rustix::io::Result<Stat> {
    rustix::fs::statat(folder, path, AtFlags::SYMLINK_NOFOLLOW)
}

/// A rename replaces an empty folder, and nothing else.
fn make_room(to: Entry<'_>, flags: RenameFlags) -> rustix::io::Result<()> {
    match stat(to) {
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
        Ok(_) if flags.contains(RenameFlags::NOREPLACE) => Err(Errno::EXIST),
        Ok(found) if FileType::from_raw_mode(found.st_mode).is_dir() => rustix::fs::unlinkat(to.0, to.1, AtFlags::REMOVEDIR),
        Ok(_) => Err(Errno::NOTDIR),
    }
}

fn move_below(from: Entry<'_>, to: Entry<'_>, depth: usize) -> rustix::io::Result<()> {
    let depth = depth.checked_sub(1).ok_or(Errno::XDEV)?;
    let source = open(from)?;
    let before = rustix::fs::fstat(&source)?;
    rustix::fs::mkdirat(to.0, to.1, Mode::RWXU)?;
    let moved = open(to).and_then(|target| move_entries(&source, &target, depth).and_then(|()| copy_properties(&source, &before, &target)));
    let removed = moved.and_then(|()| rustix::fs::unlinkat(from.0, from.1, AtFlags::REMOVEDIR));
    if removed.is_err() {
        // Best effort: the first failure is the one to report.
        let back = open(to).and_then(|target| move_entries(&target, &source, depth));
        back.and_then(|()| rustix::fs::unlinkat(to.0, to.1, AtFlags::REMOVEDIR)).ok();
    }
    removed
}

fn open((folder, path): Entry<'_>) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(folder, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn move_entries(source: &OwnedFd, target: &OwnedFd, depth: usize) -> rustix::io::Result<()> {
    for name in names(source.as_fd())? {
        let name = Path::new(&name);
        match rustix::fs::renameat(source, name, target, name) {
            Err(Errno::XDEV) if FileType::from_raw_mode(stat((source, name))?.st_mode).is_dir() => {
                move_below((source, name), (target, name), depth)?;
            }
            other => other?,
        }
    }
    Ok(())
}

fn names(folder: BorrowedFd<'_>) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

/// Mode, owner, attributes and times, the times last.
fn copy_properties(source: &OwnedFd, before: &Stat, target: &OwnedFd) -> rustix::io::Result<()> {
    // Only root can, and only root would appear as another owner.
    rustix::fs::fchown(target, Some(Uid::from_raw(before.st_uid)), Some(Gid::from_raw(before.st_gid))).ok();
    copy_attributes(source, target);
    rustix::fs::fchmod(target, Mode::from_raw_mode(before.st_mode))?;
    #[expect(clippy::cast_possible_wrap, reason = "the kernel counts less than a billion")]
    let time = |seconds, fraction: u64| Timespec { tv_sec: seconds, tv_nsec: fraction as i64 };
    let times = Timestamps {
        last_access: time(before.st_atime, before.st_atime_nsec),
        last_modification: time(before.st_mtime, before.st_mtime_nsec),
    };
    rustix::fs::futimens(target, &times)
}

/// Those that this user may set: the kernel keeps the others to itself.
fn copy_attributes(source: &OwnedFd, target: &OwnedFd) {
    let mut list = vec![0; LONGEST_ATTRIBUTE];
    let length = rustix::fs::flistxattr(source, &mut list).unwrap_or_default();
    let mut value = vec![0; LONGEST_ATTRIBUTE];
    for name in list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if let Ok(length) = rustix::fs::fgetxattr(source, name, &mut value) {
            rustix::fs::fsetxattr(target, name, &value[..length], XattrFlags::empty()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::time::{Duration, SystemTime};

    use super::*;

    /// The test's folder, open.
    fn folder() -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap().into();
        (folder, handle)
    }

    #[test]
    fn folder_is_moved_with_its_content_modes_times_and_links() {
        let (folder, handle) = folder();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("from/deep/empty")).unwrap();
        fs::write(at("from/deep/file"), "text").unwrap();
        std::os::unix::fs::symlink("deep/file", at("from/link")).unwrap();
        fs::set_permissions(at("from/deep"), Permissions::from_mode(0o750)).unwrap();
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        File::open(at("from")).unwrap().set_modified(long_ago).unwrap();
        let file = fs::metadata(at("from/deep/file")).unwrap().ino();

        move_folder((&handle, Path::new("from")), (&handle, Path::new("to")), RenameFlags::empty()).unwrap();

        assert!(!at("from").exists());
        assert_eq!(fs::read_to_string(at("to/link")).unwrap(), "text");
        assert!(at("to/deep/empty").is_dir());
        assert_eq!(fs::metadata(at("to/deep")).unwrap().mode() & 0o7777, 0o750);
        assert_eq!(fs::metadata(at("to")).unwrap().modified().unwrap(), long_ago);
        assert_eq!(fs::metadata(at("to/deep/file")).unwrap().ino(), file, "a file is moved and not copied");
    }

    #[test]
    fn target_is_replaced_if_it_is_an_empty_folder() {
        let (folder, handle) = folder();
        let at = |path: &str| folder.path().join(path);
        for path in ["from", "empty", "full/x"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("from/file"), "text").unwrap();
        fs::write(at("file"), "other").unwrap();
        let moved = |to: &str, flags| move_folder((&handle, Path::new("from")), (&handle, Path::new(to)), flags);
        assert_eq!(moved("full", RenameFlags::empty()), Err(Errno::NOTEMPTY));
        assert_eq!(moved("file", RenameFlags::empty()), Err(Errno::NOTDIR));
        assert_eq!(moved("empty", RenameFlags::NOREPLACE), Err(Errno::EXIST));
        assert_eq!(moved("missing/x", RenameFlags::empty()), Err(Errno::NOENT));
        assert_eq!(fs::read_to_string(at("from/file")).unwrap(), "text", "nothing has moved");
        assert_eq!(moved("empty", RenameFlags::empty()), Ok(()));
        assert_eq!(fs::read_to_string(at("empty/file")).unwrap(), "text");
    }
}
