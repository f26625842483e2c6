//! A file tree in memory, with a pretend workspace.

mod state;
mod tree;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use haft_contract::{
    BoxFuture, ErrorKind, FileInfo, FileKind, FileReader, Location, ToolError, TreeOptions, TreeVisitor, Visit, WalkSummary, WriteMode,
    WriteOutcome, Zone,
    ports::{FileSystem, Journal, PreImage},
};
use haft_text::paths::lexical;

use self::state::{Content, State, fingerprint, not_found};
pub use self::state::{FileOperation, ReadRecord};
use crate::sync::lock;

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
    /// Has another program replace a file right after the next time that it is opened.
    pub fn replace_after_open(&self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) {
        lock(&self.state).after_open.insert(absolute(path.as_ref()), Arc::new(content.into()));
    }
    /// Every read of an open file so far.
    pub fn reads(&self) -> Vec<ReadRecord> {
        lock(&self.state).reads.clone()
    }

    /// The path of a location that these files made.
    fn own<'a>(&self, at: &'a Location) -> Result<&'a Path, ToolError> {
        match at.handle().downcast_ref::<Mutex<State>>() {
            Some(state) if std::ptr::eq(state, Arc::as_ptr(&self.state)) => Ok(at.path()),
            _ => Err(ToolError::denied(format!("the location of '{}' was not made by these files", at.requested().display()))),
        }
    }

    /// A change, once it is prepared: the journal first, then the last step.
    async fn change(&self, new: Option<Vec<u8>>, image: PreImage, journal: &dyn Journal) -> Result<(), ToolError> {
        let (path, after) = (image.path.clone(), image.after.clone());
        journal.keep(image).await?;
        let done = lock(&self.state).finish(&path, new);
        if done.is_err() {
            journal.withdraw(&path, after.as_deref()).await?;
        }
        done
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
        let (no_read, no_write) = lock(&self.state).refusals(&resolved);
        let mut location = Location::new(path.to_owned(), resolved, display, zone, Arc::clone(&self.state) as _);
        if let Some(why) = no_read {
            location = location.refuse_read(why);
        }
        if let Some(why) = no_write {
            location = location.refuse_write(why);
        }
        Ok(location)
    }

    fn info<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<FileInfo, ToolError>> {
        Box::pin(async move {
            let path = self.own(at)?;
            let state = lock(&self.state);
            match state.files.get(path) {
                Some(content) => Ok(FileInfo { kind: FileKind::File, size: content.len() as u64, modified: None }),
                None if state.is_directory(path) => Ok(FileInfo { kind: FileKind::Directory, size: 0, modified: None }),
                None => Err(not_found(at)),
            }
        })
    }

    fn open<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Box<dyn FileReader>, ToolError>> {
        Box::pin(async move {
            let path = self.own(at)?;
            let mut state = lock(&self.state);
            state.check(FileOperation::Open, path)?;
            let content = state.file(at)?;
            if let Some(new) = state.after_open.remove(path) {
                state.files.insert(path.to_owned(), new);
            }
            Ok(Box::new(FakeReader { files: self.clone(), path: path.to_owned(), content }) as Box<dyn FileReader>)
        })
    }

    fn write<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        mode: WriteMode,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>> {
        Box::pin(async move {
            self.own(at)?;
            let bytes = content.len() as u64;
            let (new, image) = lock(&self.state).prepare(at, content, mode)?;
            let (created, fingerprint) = (image.content.is_none(), image.after.clone().unwrap_or_default());
            self.change(Some(new), image, journal).await?;
            Ok(WriteOutcome { bytes, created, fingerprint })
        })
    }

    fn replace<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        expected: Option<&'a str>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>> {
        Box::pin(async move {
            let now = lock(&self.state).files.get(self.own(at)?).map(|content| fingerprint(content));
            if now.as_deref() != expected {
                return Err(ToolError::execution(format!("'{}' was changed meanwhile, so it was not written", at.display())));
            }
            self.write(at, content, WriteMode::Overwrite, journal).await
        })
    }

    fn walk<'a>(
        &'a self,
        at: &'a Location,
        options: TreeOptions,
        visitor: Arc<dyn TreeVisitor>,
    ) -> BoxFuture<'a, Result<WalkSummary, ToolError>> {
        Box::pin(async move {
            let found = lock(&self.state).beneath(self.own(at)?, &options);
            let mut walked = WalkSummary::default();
            for entry in found {
                walked.entries += 1;
                if visitor.visit(&entry) == Visit::Enough {
                    walked.stopped = true;
                    break;
                }
            }
            Ok(walked)
        })
    }

    fn delete<'a>(&'a self, at: &'a Location, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.own(at)?;
            let image = lock(&self.state).prepare_removal(at)?;
            self.change(None, image, journal).await
        })
    }

    fn fingerprint<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move { Ok(self.get(self.own(at)?).map(|content| fingerprint(&content))) })
    }

    fn fingerprint_of(&self, content: Box<dyn Read + Send>) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move { Ok(fingerprint(&read_out(content)?)) })
    }

    fn restore<'a>(&'a self, at: &'a Location, image: PreImage, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.own(at)?;
            let new = image.content.map(read_out).transpose()?;
            let replaced = lock(&self.state).prepare_return(at, new.as_deref(), image.after.as_deref())?;
            self.change(new, replaced, journal).await
        })
    }
}

struct FakeReader {
    files: FakeFiles,
    path: PathBuf,
    content: Content,
}

impl FileReader for FakeReader {
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
    fn fingerprint(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(std::future::ready(Ok(fingerprint(&self.content))))
    }
}

fn absolute(path: &Path) -> PathBuf {
    lexical(&Path::new(FakeFiles::WORKSPACE).join(path))
}

/// All of a pre-image's content.
pub(crate) fn read_out(mut content: Box<dyn Read + Send>) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes).map_err(|error| ToolError::execution(format!("the pre-image cannot be read: {error}")))?;
    Ok(bytes)
}
