//! Opening and reading what the kernel has in memory, without waiting for a disk.
//!
//! A hop to a thread that may block costs more than most reads: the page cache has the file, and the thread only wakes up. So the
//! kernel is asked first for an answer that needs no waiting (`RESOLVE_CACHED`, `RWF_NOWAIT`). `None` says nothing about the file:
//! the usual way, on a thread that may block, then finds out, and has the words for what is wrong.

#[cfg(target_os = "linux")]
pub(super) use self::kernel::{is_local, open, read};
#[cfg(not(target_os = "linux"))]
pub(super) use self::other::{is_local, open, read};

#[cfg(target_os = "linux")]
mod kernel {
    use std::fs::File;
    use std::io::IoSliceMut;
    use std::os::fd::OwnedFd;

    use rustix::fs::{FileType, FsWord, Mode, ResolveFlags, Stat, fstat, fstatfs, openat2};
    use rustix::io::{ReadWriteFlags, preadv2};

    use super::super::beneath::{NO_LINKS, READ, Way};
    use super::super::roots::RootedPath;

    const EXT: FsWord = 0xef53;
    const XFS: FsWord = 0x5846_5342;
    const BTRFS: FsWord = 0x9123_683e;
    const F2FS: FsWord = 0xf2f5_2010;
    const TMPFS: FsWord = 0x0102_1994;

    /// Whether a directory is on a file system of this machine that knows the state of its files without asking anybody.
    pub(in super::super) fn is_local(directory: &OwnedFd) -> bool {
        fstatfs(directory).is_ok_and(|system| [EXT, XFS, BTRFS, F2FS, TMPFS].contains(&system.f_type))
    }

    /// Opens an ordinary file on the file system of its root, as the usual way does.
    pub(in super::super) fn open(place: &RootedPath) -> Option<(File, Stat)> {
        if !place.root.is_local() || place.root.way() != Way::Kernel {
            return None;
        }
        // Not across a mount: what is true of the root's file system is true of the file.
        let resolve = NO_LINKS | ResolveFlags::NO_XDEV | ResolveFlags::CACHED;
        let handle = openat2(place.root.handle(), &place.beneath, READ, Mode::empty(), resolve).ok()?;
        let stat = fstat(&handle).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| (File::from(handle), stat))
    }

    /// Exactly what reading would give: `length` bytes from `offset`, or fewer if the file ends there.
    pub(in super::super) fn read(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            // The largest number means something else to the kernel; no file is as long as half of it.
            let position = i64::try_from(offset).ok()?.checked_add(i64::try_from(filled).ok()?)?;
            let rest = &mut [IoSliceMut::new(&mut bytes[filled..])];
            match preadv2(file, rest, position.unsigned_abs(), ReadWriteFlags::NOWAIT).ok()? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        Some(bytes)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::fs::File;
    use std::os::fd::OwnedFd;

    use rustix::fs::Stat;

    use super::super::roots::RootedPath;

    pub(in super::super) fn is_local(_directory: &OwnedFd) -> bool {
        false
    }

    pub(in super::super) fn open(_place: &RootedPath) -> Option<(File, Stat)> {
        None
    }

    pub(in super::super) fn read(_file: &File, _offset: u64, _length: usize) -> Option<Vec<u8>> {
        None
    }
}
