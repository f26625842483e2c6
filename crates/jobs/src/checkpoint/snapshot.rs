//! The state of a folder: its covered entries, and the names that are not covered.

use std::time::{Duration, SystemTime};

use foldhash::{HashMap, HashSet};
use haft_contract::{EntryKind, ports::PreImage};
use haft_text::hex;
use rustix::fs::{FileType, Stat};

/// SHA-256 of a content.
pub(super) type Hash = [u8; 32];

/// How long after its last change a file may change again without a new time: a tick of the kernel, or two seconds where a
/// file system stores whole seconds.
const TICK: Duration = Duration::from_millis(50);
const COARSE_TICK: Duration = Duration::from_secs(2);
const NANOSECONDS: i64 = 1_000_000_000;

/// What tells cheaply that a file is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    /// In nanoseconds.
    pub(super) modified: i64,
    pub(super) changed: i64,
    pub(super) inode: u64,
}

impl Stamp {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, clippy::cast_possible_wrap)] // narrower on other systems
    pub(super) fn from_stat(stat: &Stat) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(NANOSECONDS).saturating_add(rest);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanoseconds(stat.st_mtime.into(), stat.st_mtime_nsec as i64),
            changed: nanoseconds(stat.st_ctime.into(), stat.st_ctime_nsec as i64),
            inode: stat.st_ino.into(),
        }
    }

    /// Whether the file may have changed again since without a new stamp.
    pub(super) fn is_racy(&self, now: SystemTime) -> bool {
        let is_coarse = self.modified % NANOSECONDS == 0 && self.changed % NANOSECONDS == 0;
        let window = if is_coarse { COARSE_TICK } else { TICK };
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let settled = now.saturating_sub(window).as_nanos();
        u128::try_from(self.modified.max(self.changed)).is_ok_and(|changed| changed >= settled)
    }
}

/// A covered entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    /// Its permission bits.
    pub(super) mode: u32,
    pub(super) stamp: Stamp,
    /// Of its content or its target; `None` if that is not kept.
    pub(super) hash: Option<Hash>,
    /// Whether the content must be read again next time.
    pub(super) is_racy: bool,
}

impl Entry {
    /// An entry whose content is not known yet.
    pub(super) fn from_stat(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Symlink => EntryKind::Link,
            FileType::Directory => EntryKind::Directory,
            _ => EntryKind::Special,
        };
        #[allow(clippy::useless_conversion)] // narrower on other systems
        let bits: u32 = stat.st_mode.into();
        let mask = match kind {
            EntryKind::Directory => PreImage::PERMISSIONS,
            EntryKind::Link => 0,
            _ => 0o777,
        };
        Self { kind, mode: bits & mask, stamp: Stamp::from_stat(stat), hash: None, is_racy: false }
    }

    /// The state that [`FileSystem::state`](haft_contract::ports::FileSystem::state) gives it; `None` if it is not known.
    pub(super) fn state(&self) -> Option<String> {
        PreImage::state(Some(self.image_mode()), self.hash.map(hex::encode)).filter(|_| self.kind != EntryKind::Special)
    }

    /// Its mode, as a pre-image has it.
    pub(super) fn image_mode(&self) -> u32 {
        match self.kind {
            EntryKind::Link => PreImage::LINK,
            EntryKind::Directory => PreImage::DIRECTORY | self.mode,
            EntryKind::File | EntryKind::Special => self.mode,
        }
    }

    /// Whether a former state of it can be restored.
    pub(super) fn is_kept(&self) -> bool {
        match self.kind {
            EntryKind::Directory => true,
            EntryKind::File | EntryKind::Link => self.hash.is_some(),
            EntryKind::Special => false,
        }
    }

    pub(super) fn differs_from(&self, other: &Self) -> bool {
        let is_other_content = match (self.kind, self.hash, other.hash) {
            (EntryKind::Directory, ..) => false,
            (_, Some(one), Some(other)) => one != other,
            _ => self.stamp != other.stamp,
        };
        self.kind != other.kind || self.mode != other.mode || is_other_content
    }
}

/// The state of a folder. Paths are relative to it.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) entries: HashMap<Box<[u8]>, Entry>,
    /// Names that are there and are not covered: ignored, or on another file system.
    pub(super) excluded: HashSet<Box<[u8]>>,
    /// Folders that cannot be listed.
    pub(super) unlisted: Vec<Box<[u8]>>,
    /// Whether there was more than the limit.
    pub(super) is_cut: bool,
    /// How far the index on disk is behind.
    pub(super) unstored: Unstored,
}

/// Changes that the index on disk does not have. The next process reads those files once more, so a few of them are cheaper than a new
/// index.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unstored {
    pub(super) entries: usize,
    pub(super) bytes: u64,
}

impl Unstored {
    const MAX_ENTRIES: usize = 64;
    const MAX_BYTES: u64 = 1 << 20;

    /// Whether the index is worth writing.
    pub(super) fn is_much(self) -> bool {
        self.entries > Self::MAX_ENTRIES || self.bytes > Self::MAX_BYTES
    }
}
