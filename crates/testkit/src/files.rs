//! A file tree in memory, with a pretend workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use haft_contract::{
    BoxFuture, ErrorKind, FileInfo, FileKind, FileSystem, Journal, Location, PreImage, Reader, ToolError, WriteMode, Written, Zone,
};

use crate::sync::lock;

/// What can be made to fail at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileOperation {
    /// Opening it.
    Open,
    /// Reading from it once it is open.
    Read,
    /// Writing it.
    Write,
    /// Removing it.
    Delete,
}

/// One read of an open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// Which file.
    pub path: PathBuf,
    /// From which byte.
    pub offset: u64,
    /// How many bytes were asked for.
    pub length: usize,
}

type Content = Arc<Vec<u8>>;

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, Content>,
    directories: BTreeSet<PathBuf>,
    failures: BTreeMap<(FileOperation, PathBuf), (ErrorKind, String)>,
    no_read: BTreeMap<PathBuf, String>,
    no_write: BTreeMap<PathBuf, String>,
    reads: Vec<ReadRecord>,
}

/// A file tree in memory. Relative paths lie in [`WORKSPACE`](Self::WORKSPACE); directories are implied by files.
#[derive(Debug, Clone, Default)]
pub struct FakeFiles {
    state: Arc<Mutex<State>>,
}

impl FakeFiles {
    /// The pretend workspace.
    pub const WORKSPACE: &'static str = "/workspace";
    /// Where finished spills stand; may only be read.
    pub const SPILLS: &'static str = "/spills";

    /// Puts a file, whatever the rules for tools are.
    pub fn put(&self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) {
        lock(&self.state).files.insert(absolute(path.as_ref()), Arc::new(content.into()));
    }
    /// Makes an empty directory.
    pub fn make_directory(&self, path: impl AsRef<Path>) {
        lock(&self.state).directories.insert(absolute(path.as_ref()));
    }
    /// What a file holds, if there is one.
    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        lock(&self.state).files.get(&absolute(path.as_ref())).map(|content| content.to_vec())
    }
    /// What a file holds, as text; bytes that are none are shown lossily.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.get(path).map(|content| String::from_utf8_lossy(&content).into_owned())
    }
    /// Every file, in order.
    pub fn paths(&self) -> Vec<PathBuf> {
        lock(&self.state).files.keys().cloned().collect()
    }
    /// Makes an operation on a path fail from now on.
    pub fn fail(&self, operation: FileOperation, path: impl AsRef<Path>, kind: ErrorKind, message: impl Into<String>) {
        lock(&self.state).failures.insert((operation, absolute(path.as_ref())), (kind, message.into()));
    }
    /// Marks a path and all beneath it as never to be read.
    pub fn forbid_read(&self, path: impl AsRef<Path>, why: impl Into<String>) {
        lock(&self.state).no_read.insert(absolute(path.as_ref()), why.into());
    }
    /// Marks a path and all beneath it as never to be written.
    pub fn forbid_write(&self, path: impl AsRef<Path>, why: impl Into<String>) {
        lock(&self.state).no_write.insert(absolute(path.as_ref()), why.into());
    }
    /// Every read of an open file so far.
    pub fn reads(&self) -> Vec<ReadRecord> {
        lock(&self.state).reads.clone()
    }
}

impl State {
    fn check(&self, operation: FileOperation, path: &Path) -> Result<(), ToolError> {
        match self.failures.get(&(operation, path.to_owned())) {
            Some((kind, message)) => Err(ToolError::new(*kind, message.clone())),
            None => Ok(()),
        }
    }
    fn is_directory(&self, path: &Path) -> bool {
        let below = |entry: &PathBuf| entry != path && entry.starts_with(path);
        Path::new(FakeFiles::WORKSPACE).starts_with(path)
            || self.directories.iter().any(|directory| directory.starts_with(path))
            || self.files.keys().any(below)
    }
    fn file(&self, at: &Location) -> Result<Content, ToolError> {
        if let Some(content) = self.files.get(&at.path) {
            return Ok(Arc::clone(content));
        }
        Err(if self.is_directory(&at.path) { is_directory(at) } else { not_found(at) })
    }
    fn missing_parents(&self, path: &Path) -> Vec<PathBuf> {
        let mut missing: Vec<_> = path.ancestors().skip(1).filter(|parent| !self.is_directory(parent)).map(Path::to_owned).collect();
        missing.reverse();
        missing
    }
    /// What a write is about to do: the whole new content, and the pre-image that allows taking it back.
    fn prepare(&self, at: &Location, content: Vec<u8>, mode: WriteMode) -> Result<(Vec<u8>, PreImage), ToolError> {
        self.check(FileOperation::Write, &at.path)?;
        if self.is_directory(&at.path) {
            return Err(is_directory(at));
        }
        let old = self.files.get(&at.path).map(|content| content.to_vec());
        let new = match (mode, &old) {
            (WriteMode::Append, Some(old)) => [old.as_slice(), &content].concat(),
            _ => content,
        };
        let image = image(at, old, Some(fingerprint(&new)), self.missing_parents(&at.path));
        Ok((new, image))
    }
}

impl FileSystem for FakeFiles {
    fn locate(&self, path: &Path) -> Result<Location, ToolError> {
        if path.as_os_str().is_empty() || path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(ToolError::validation(format!("Invalid path: '{}'. Name a file.", path.display())));
        }
        let resolved = absolute(path);
        let (zone, display) = match resolved.strip_prefix(Self::WORKSPACE) {
            Ok(inside) if inside.as_os_str().is_empty() => (Zone::Workspace, ".".to_owned()),
            Ok(inside) => (Zone::Workspace, inside.display().to_string()),
            Err(_) if resolved.starts_with(Self::SPILLS) => (Zone::ReadOnlyRoot, resolved.display().to_string()),
            Err(_) => (Zone::Outside, resolved.display().to_string()),
        };
        let state = lock(&self.state);
        let why = |rules: &BTreeMap<PathBuf, String>| {
            rules.iter().find(|(root, _)| resolved.starts_with(root)).map(|(_, why)| why.clone().into())
        };
        let (no_read, no_write) = (why(&state.no_read), why(&state.no_write));
        let mut location = Location::new(path.to_owned(), resolved, display, zone, Arc::new(()));
        (location.no_read, location.no_write) = (no_read, no_write);
        Ok(location)
    }

    fn info<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<FileInfo, ToolError>> {
        Box::pin(async move {
            let state = lock(&self.state);
            match state.files.get(&at.path) {
                Some(content) => Ok(FileInfo { kind: FileKind::File, size: content.len() as u64, modified: None }),
                None if state.is_directory(&at.path) => Ok(FileInfo { kind: FileKind::Directory, size: 0, modified: None }),
                None => Err(not_found(at)),
            }
        })
    }

    fn open<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Box<dyn Reader>, ToolError>> {
        Box::pin(async move {
            let state = lock(&self.state);
            state.check(FileOperation::Open, &at.path)?;
            let content = state.file(at)?;
            Ok(Box::new(FakeReader { files: self.clone(), path: at.path.clone(), content }) as Box<dyn Reader>)
        })
    }

    fn write<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        mode: WriteMode,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<Written, ToolError>> {
        Box::pin(async move {
            let bytes = content.len() as u64;
            let (new, image) = lock(&self.state).prepare(at, content, mode)?;
            let created = image.content.is_none();
            journal.keep(image).await?;
            self.put(&at.path, new);
            Ok(Written { bytes, created })
        })
    }

    fn delete<'a>(&'a self, at: &'a Location, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let old = {
                let state = lock(&self.state);
                state.check(FileOperation::Delete, &at.path)?;
                state.file(at)?.to_vec()
            };
            journal.keep(image(at, Some(old), None, Vec::new())).await?;
            lock(&self.state).files.remove(&at.path);
            Ok(())
        })
    }

    fn fingerprint<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move { Ok(self.get(&at.path).map(|content| fingerprint(&content))) })
    }

    fn restore<'a>(&'a self, at: &'a Location, image: PreImage) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let Some(mut old) = image.content else {
                lock(&self.state).files.remove(&at.path);
                return Ok(());
            };
            let mut content = Vec::new();
            old.read_to_end(&mut content).map_err(|error| ToolError::execution(format!("the pre-image cannot be read: {error}")))?;
            self.put(&at.path, content);
            Ok(())
        })
    }
}

struct FakeReader {
    files: FakeFiles,
    path: PathBuf,
    content: Content,
}

impl Reader for FakeReader {
    fn size(&self) -> u64 {
        self.content.len() as u64
    }
    fn read_at(&self, offset: u64, length: usize) -> BoxFuture<'_, Result<Vec<u8>, ToolError>> {
        Box::pin(async move {
            let mut state = lock(&self.files.state);
            state.check(FileOperation::Read, &self.path)?;
            state.reads.push(ReadRecord { path: self.path.clone(), offset, length });
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.content.len());
            let end = start.saturating_add(length).min(self.content.len());
            Ok(self.content[start..end].to_vec())
        })
    }
}

/// Lexical: there are no links here. `..` at the root stays there.
fn absolute(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in Path::new(FakeFiles::WORKSPACE).join(path).components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    resolved
}

fn image(at: &Location, old: Option<Vec<u8>>, after: Option<String>, created_directories: Vec<PathBuf>) -> PreImage {
    let mode = old.is_some().then_some(0o644);
    let content = old.map(|old| Box::new(Cursor::new(old)) as Box<dyn Read + Send>);
    PreImage { path: at.path.clone(), content, mode, after, created_directories }
}

fn not_found(at: &Location) -> ToolError {
    ToolError::new(ErrorKind::FileNotFound, format!("File not found: {}", at.requested.display()))
}

fn is_directory(at: &Location) -> ToolError {
    ToolError::validation(format!("Path is a directory, not a file: {}", at.requested.display()))
}

/// Stands in for SHA-256: 64 hex digits, the same for the same content (FNV-1a), and no more than that.
fn fingerprint(content: &[u8]) -> String {
    let hash = content.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:064x}")
}
