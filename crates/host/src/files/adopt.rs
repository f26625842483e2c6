//! New entries that were staged come to their places by renames, each with everything in it: times, modes, attributes and hard links
//! stay as they are, and a build with thousands of files is not written twice.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use haft_contract::{
    EntryKind, Location, ToolError,
    ports::{Journal, PreImage, StagedEntry},
};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fstat, llistxattr, lremovexattr, openat, readlinkat, renameat_with, statat,
};
use rustix::io::Errno;

use super::blocking::{Call, Stop, blocking};
use super::errors::{self, FileAction, failed};
use super::fingerprint;
use super::parent::Parent;
use super::roots::RootedPath;
use super::special_entry::{directory_state, link_state};
use super::target;

/// Attributes of the kernel in the upper layer of an overlay, as root and as other users write them.
const OVERLAY_ATTRIBUTES: [&[u8]; 2] = [b"trusted.overlay.", b"user.overlay."];
/// Bits that a file does not keep: they would give its rights to others.
const SPECIAL_BITS: u32 = 0o7000;
/// The longest list of names of extended attributes.
const MAX_ATTRIBUTES: usize = 64 * 1024;

/// Moves entries to their places; returns the paths of those that were moved. The others cannot be, as to another file system.
pub(super) async fn adopt(entries: Vec<StagedEntry>, journal: &dyn Journal) -> Result<Vec<PathBuf>, ToolError> {
    let (_call, stop) = Call::begin();
    let prepare = move || Ok(entries.into_iter().filter_map(|entry| Adoption::prepare(entry, &stop).ok()).collect::<Vec<_>>());
    let mut adoptions = blocking(prepare).await?;
    let images: Vec<PreImage> = adoptions.iter_mut().flat_map(|adoption| std::mem::take(&mut adoption.images)).collect();
    if images.is_empty() {
        return Ok(Vec::new());
    }
    let states: Vec<(PathBuf, Option<String>)> = images.iter().map(|image| (image.path.clone(), image.after.clone())).collect();
    journal.keep_all(images).await?;
    let (moved, failure) = blocking(move || Ok(move_all(&adoptions))).await?;
    let Some(error) = failure else { return Ok(moved) };
    for (path, after) in states.iter().filter(|(path, _)| !moved.iter().any(|moved| path.starts_with(moved))) {
        // A pre-image too many is the lesser fault: the one to tell is why nothing was done.
        journal.withdraw(path, after.as_deref()).await.ok();
    }
    Err(error)
}

/// Moves one after the other until one fails.
fn move_all(adoptions: &[Adoption]) -> (Vec<PathBuf>, Option<ToolError>) {
    let mut moved = Vec::new();
    for adoption in adoptions {
        if let Err(error) = adoption.rename() {
            return (moved, Some(error));
        }
        moved.push(adoption.at.path().to_owned());
    }
    let mut synced: Vec<&Path> = Vec::new();
    for adoption in adoptions {
        let Some(folder) = adoption.at.path().parent().filter(|folder| !synced.contains(folder)) else { continue };
        if let Err(errno) = adoption.parent.sync() {
            return (moved, Some(errors::not_synced(&adoption.at, errno)));
        }
        synced.push(folder);
    }
    (moved, None)
}

/// An entry that only has to be renamed.
struct Adoption {
    at: Location,
    parent: Parent,
    name: OsString,
    source: PathBuf,
    /// What is recorded of it and of everything in it: that it was not there.
    images: Vec<PreImage>,
}

impl Adoption {
    fn prepare(entry: StagedEntry, stop: &Stop) -> Result<Self, ToolError> {
        let StagedEntry { location: at, source, inside } = entry;
        errors::check_writable(&at)?;
        let fail = |errno| failed(FileAction::Write, &at, errno);
        let place = RootedPath::from_location(&at)?;
        let name = target::name_of(place, &at)?.to_owned();
        let parent = Parent::open(place).map_err(fail)?;
        let (here, there) = (fstat(parent.handle()).map_err(fail)?, statat(CWD, &source, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?);
        if here.st_dev != there.st_dev {
            return Err(fail(Errno::XDEV));
        }
        let known: HashSet<&Path> = inside.iter().map(PathBuf::as_path).collect();
        let mut images = Vec::with_capacity(inside.len() + 1);
        for path in std::iter::once(Path::new("")).chain(inside.iter().map(PathBuf::as_path)) {
            let (at, source) = if path.as_os_str().is_empty() {
                (at.path().to_owned(), source.clone())
            } else {
                (at.path().join(path), source.join(path))
            };
            let image = image(&at, &source, stop).map_err(fail)?;
            if image.after.as_deref().is_some_and(|state| PreImage::kind_of(state) == EntryKind::Directory) {
                check_listed(&source, path, &known).map_err(fail)?;
            }
            images.push(image);
        }
        Ok(Self { at, parent, name, source, images })
    }

    fn rename(&self) -> Result<(), ToolError> {
        match renameat_with(CWD, &self.source, self.parent.handle(), &*self.name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(errors::changed_since(&self.at)),
            Err(errno) => Err(failed(FileAction::Write, &self.at, errno)),
        }
    }
}

/// Whether everything in a folder was checked: what is not listed, as a mark of the kernel, is not moved with it.
fn check_listed(source: &Path, path: &Path, known: &HashSet<&Path>) -> Result<(), Errno> {
    let failed = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    for entry in std::fs::read_dir(source).map_err(failed)? {
        if !known.contains(&*path.join(entry.map_err(failed)?.file_name())) {
            return Err(Errno::NOTSUP);
        }
    }
    Ok(())
}

/// The record of a new path, whose staged entry is cleaned on the way.
fn image(path: &Path, source: &Path, stop: &Stop) -> Result<PreImage, Errno> {
    stop.check()?;
    let stat = statat(CWD, source, AtFlags::SYMLINK_NOFOLLOW)?;
    let after = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let target = readlinkat(CWD, source, Vec::new())?;
            link_state(Path::new(OsStr::from_bytes(target.as_bytes())))
        }
        FileType::Directory => directory_state(bits(&stat)),
        FileType::RegularFile if bits(&stat) & SPECIAL_BITS == 0 => {
            let file = openat(CWD, source, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
            Some(fingerprint::of_file(&file.into(), stop)?)
        }
        _ => return Err(Errno::NOTSUP),
    };
    remove_overlay_attributes(source)?;
    Ok(PreImage {
        path: path.to_owned(),
        content: None,
        mode: None,
        after,
        created_directories: Vec::new(),
        metadata_from: None,
        modified: None,
    })
}

#[allow(clippy::useless_conversion)] // narrower on other systems
fn bits(stat: &Stat) -> u32 {
    stat.st_mode.into()
}

/// What the kernel noted for its overlay must not lie in the workspace: another overlay on it would read that.
fn remove_overlay_attributes(source: &Path) -> Result<(), Errno> {
    let mut names = vec![0; MAX_ATTRIBUTES];
    let length = match llistxattr(source, &mut names) {
        Err(Errno::NOTSUP) => return Ok(()),
        listed => listed?,
    };
    let names = names[..length].split(|byte| *byte == 0);
    for name in names.filter(|name| OVERLAY_ATTRIBUTES.iter().any(|prefix| name.starts_with(prefix))) {
        lremovexattr(source, OsStr::from_bytes(name))?;
    }
    Ok(())
}
