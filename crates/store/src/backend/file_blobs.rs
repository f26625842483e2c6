//! Blobs as files: `spills/` and `pre-images/` in the store's folder.
//!
//! A blob is written under a temporary name and gets its own only when it is whole, so no half of one is ever read.
//! A pre-image is synced with its name, then its folder, because a change waits for it; a spill is only a convenience and
//! is left to the system. Content passes through in pieces: memory does not depend on its size.

mod file_writer;
mod prune;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;
use uuid::{NoContext, Timestamp, Uuid};

#[cfg(feature = "sqlite")]
pub(super) use self::file_writer::UNFINISHED;
use self::file_writer::{FileWriter, Temporary};
use super::blocking::blocking;
use super::folder::PrivateFolder;
use crate::{BlobId, BlobWriter, Blobs, StoreError};

pub(super) const SPILLS: &str = "spills";
pub(super) const PRE_IMAGES: &str = "pre-images";
const PIECE: usize = 256 << 10;
/// Names of session folders; a longer one is shortened.
const LONGEST_NAME: usize = 80;

/// [`Blobs`] in files.
#[derive(Debug)]
pub struct FileBlobs {
    spills: Arc<PrivateFolder>,
    /// The folder of all spills, of which [`Self::of_session`] uses a part.
    all_spills: Arc<PrivateFolder>,
    pre_images: Arc<PrivateFolder>,
}

impl FileBlobs {
    /// Opens the folders of blobs in the store's folder, creating them, private to this user.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let folder = PrivateFolder::open(folder)?;
        let spills = Arc::new(folder.folder(SPILLS)?);
        Ok(Self { spills: Arc::clone(&spills), all_spills: spills, pre_images: Arc::new(folder.folder(PRE_IMAGES)?) })
    }

    /// With a spill folder of its own for this session: one session must not read the output of another.
    pub fn of_session(self, session: &str) -> Result<Self, StoreError> {
        let spills = Arc::new(self.all_spills.folder(&folder_name(session))?);
        Ok(Self { spills, ..self })
    }

    /// Whether this can be the name of a spill: nothing that leads elsewhere.
    #[cfg(feature = "sqlite")]
    pub(super) fn is_spill_name(name: &str) -> bool {
        name.split_once('.').is_some_and(|(id, extension)| {
            Self::is_image_name(id) && !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }

    /// Whether this can be the name of a pre-image.
    #[cfg(feature = "sqlite")]
    pub(super) fn is_image_name(name: &str) -> bool {
        Uuid::try_parse(name).is_ok_and(|id| id.to_string() == name)
    }

    /// A file for a spill of another machine, which gets its name when it is finished.
    #[cfg(feature = "sqlite")]
    pub(super) fn new_spill_file(&self, name: &str) -> Result<(Temporary, File), StoreError> {
        Temporary::create(Arc::clone(&self.spills), name.to_owned())
    }

    /// The same for a pre-image.
    #[cfg(feature = "sqlite")]
    pub(super) fn new_image_file(&self, name: &str) -> Result<(Temporary, File), StoreError> {
        Temporary::create(Arc::clone(&self.pre_images), name.to_owned())
    }
}

impl Blobs for FileBlobs {
    fn spill_folder(&self) -> &Path {
        self.spills.path()
    }

    fn spill(&self, extension: &'static str) -> BoxFuture<'_, Result<Box<dyn BlobWriter>, StoreError>> {
        let folder = Arc::clone(&self.spills);
        Box::pin(blocking(move || {
            let name = format!("{}.{}", unpredictable(), checked(extension, &folder)?);
            Ok(Box::new(FileWriter::create(folder, name)?) as Box<dyn BlobWriter>)
        }))
    }

    fn replace_spill<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        let (folder, path, content) = (Arc::clone(&self.spills), path.to_owned(), content.to_owned());
        Box::pin(blocking(move || replace(&folder, &path, &content)))
    }

    fn keep(&self, content: Box<dyn Read + Send>) -> BoxFuture<'_, Result<BlobId, StoreError>> {
        let folder = Arc::clone(&self.pre_images);
        Box::pin(blocking(move || keep(&folder, content)))
    }

    fn keep_all(&self, contents: Vec<Box<dyn Read + Send>>) -> BoxFuture<'_, Result<Vec<BlobId>, StoreError>> {
        let folder = Arc::clone(&self.pre_images);
        Box::pin(blocking(move || keep_all(&folder, contents)))
    }

    fn open<'a>(&'a self, id: &'a BlobId) -> BoxFuture<'a, Result<Box<dyn Read + Send>, StoreError>> {
        let (folder, name) = (Arc::clone(&self.pre_images), id.0.clone());
        Box::pin(blocking(move || open(&folder, name)))
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        self.pre_images.path().join(&id.0)
    }

    fn prune(&self, age: Duration) -> BoxFuture<'_, Result<usize, StoreError>> {
        let (spills, pre_images) = (Arc::clone(&self.all_spills), Arc::clone(&self.pre_images));
        Box::pin(blocking(move || prune::prune(&spills, &pre_images, age)))
    }
}

/// A session may bear any name; one that is no plain file name is encoded.
pub(super) fn folder_name(session: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !session.is_empty() && session.len() <= LONGEST_NAME && session.bytes().all(is_plain) {
        return session.to_owned();
    }
    session.bytes().take(LONGEST_NAME).fold("x".to_owned(), |name, byte| format!("{name}.{byte:02x}"))
}

/// A name that cannot be guessed: all its random bits are fresh, unlike those of ids that count up.
fn unpredictable() -> Uuid {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Uuid::new_v7(Timestamp::from_unix(NoContext, now.as_secs(), now.subsec_nanos()))
}

fn checked<'a>(extension: &'a str, folder: &PrivateFolder) -> Result<&'a str, StoreError> {
    if !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(extension);
    }
    let problem = format!("'{extension}' is no file extension: use a-z, A-Z and 0-9, such as 'txt'");
    Err(StoreError::io(folder.path(), io::Error::new(io::ErrorKind::InvalidInput, problem)))
}

fn replace(folder: &Arc<PrivateFolder>, path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let name = path.strip_prefix(folder.path()).ok().and_then(Path::to_str).filter(|name| !name.contains('/'));
    let Some(name) = name else { return Err(StoreError::untrusted(path, "it is no spill of this session")) };
    let written = Temporary::create(Arc::clone(folder), name.to_owned()).and_then(|(temporary, mut file)| {
        file.write_all(content).map_err(|error| temporary.failed(error))?;
        temporary.finish()
    });
    if written.is_err() {
        folder.remove(name).map_err(|error| StoreError::io(path, error))?;
    }
    written
}

fn keep(folder: &Arc<PrivateFolder>, content: Box<dyn Read + Send>) -> Result<BlobId, StoreError> {
    keep_all(folder, vec![content])?.pop().ok_or_else(|| StoreError::Closed("a pre-image was not kept".into()))
}

/// How many contents are written before they are synced: each holds an open file.
const GROUP: usize = 64;

fn keep_all(folder: &Arc<PrivateFolder>, contents: Vec<Box<dyn Read + Send>>) -> Result<Vec<BlobId>, StoreError> {
    // A sync waits for the disk.
    if contents.is_empty() {
        return Ok(Vec::new());
    }
    let mut ids = Vec::with_capacity(contents.len());
    let kept = write_and_sync(folder, contents, &mut ids);
    kept.inspect_err(|_| remove(folder, &ids))?;
    Ok(ids)
}

/// Writes a group before it syncs it: a sync then finds most of the work of the next one done. Each has its name by then, which most file
/// systems write with the content; the sync of the folder, which is what guarantees it, then finds little more to wait for.
fn write_and_sync(folder: &Arc<PrivateFolder>, contents: Vec<Box<dyn Read + Send>>, ids: &mut Vec<BlobId>) -> Result<(), StoreError> {
    let failed = |error: io::Error| StoreError::io(folder.path(), error);
    let mut contents = contents.into_iter().peekable();
    while contents.peek().is_some() {
        let mut group = Vec::with_capacity(GROUP);
        for mut content in contents.by_ref().take(GROUP) {
            let name = unpredictable().to_string();
            let (temporary, mut file) = Temporary::create(Arc::clone(folder), name.clone())?;
            copy(&mut *content, &mut file).map_err(|error| temporary.failed(error))?;
            temporary.finish()?;
            ids.push(BlobId(name));
            group.push(file);
        }
        group.into_iter().try_for_each(|file| file.sync_all()).map_err(failed)?;
    }
    folder.sync().map_err(failed)
}

/// Nothing refers to them. What cannot be removed now is removed by pruning.
fn remove(folder: &PrivateFolder, ids: &[BlobId]) {
    for id in ids {
        drop(folder.remove(&id.0));
    }
}

fn copy(from: &mut dyn Read, to: &mut File) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => to.write_all(&piece[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn open(folder: &PrivateFolder, name: String) -> Result<Box<dyn Read + Send>, StoreError> {
    let missing = |id| StoreError::Missing { what: "pre-image", id };
    // An id comes from the database; one that is a path must not lead out of the folder.
    if Uuid::try_parse(&name).is_err() {
        return Err(missing(name));
    }
    match folder.read(&name) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(name)),
        Err(error) => Err(StoreError::io(&folder.path().join(name), error)),
    }
}
