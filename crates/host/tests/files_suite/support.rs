//! A workspace with something to steal beside it, and a journal that tells what it was given.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use haft_contract::{
    BoxFuture, ErrorKind, Location, SpillWriter, ToolError, WriteMode, WriteOutcome, Zone,
    ports::{FileSystem, Journal, PreImage},
};
use haft_host::{LocalFiles, WorkspaceOptions};
use tempfile::TempDir;

/// What must never come out of the workspace's files.
pub(crate) const SECRET: &str = "S3CRET";

/// How the files are opened beneath their roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Kernel,
    Walk,
}

pub(crate) const BOTH: [Way; 2] = [Way::Kernel, Way::Walk];

/// `ws/` is the workspace, `outside/secret` lies beside it.
pub(crate) struct Disk {
    _folder: TempDir,
    pub(crate) base: PathBuf,
    pub(crate) ws: PathBuf,
    pub(crate) outside: PathBuf,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (ws, outside) = (base.join("ws"), base.join("outside"));
        std::fs::create_dir(&ws).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret"), SECRET).unwrap();
        Self { _folder: folder, base, ws, outside }
    }
    pub(crate) fn options(&self) -> WorkspaceOptions {
        WorkspaceOptions::new(&self.ws)
    }
    pub(crate) fn files(&self, way: Way) -> LocalFiles {
        open(self.options(), way)
    }
    /// Makes a file of the workspace, with its parents.
    pub(crate) fn put(&self, path: &str, content: &str) {
        assert!(!path.starts_with('/'), "only in the workspace");
        let path = self.ws.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.ws.join(path)).unwrap();
    }
    /// The content of a file of the workspace.
    pub(crate) fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.ws.join(path)).unwrap()
    }
    pub(crate) fn mode(&self, path: &str) -> u32 {
        std::fs::metadata(self.ws.join(path)).unwrap().permissions().mode() & 0o7777
    }
    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        std::fs::set_permissions(self.ws.join(path), PermissionsExt::from_mode(mode)).unwrap();
    }
}

pub(crate) fn open(options: WorkspaceOptions, way: Way) -> LocalFiles {
    match way {
        Way::Kernel => LocalFiles::open(options).unwrap(),
        Way::Walk => LocalFiles::open_walking(options).unwrap(),
    }
}

/// Everything beneath a directory: links with their targets, files with their content.
pub(crate) fn tree(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
            let content = if kind.is_symlink() {
                format!("-> {}", std::fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                pending.push(path.clone());
                "directory".to_owned()
            } else {
                std::fs::read_to_string(&path).unwrap()
            };
            found.insert(path.strip_prefix(directory).unwrap().to_owned(), content);
        }
    }
    found
}

/// The names in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What a call's policy allows inside a workspace: read what is not outside.
pub(crate) fn may_read(at: &Location) -> bool {
    at.zone() != Zone::Outside && at.no_read().is_none()
}

/// What a path means.
pub(crate) fn located(files: &LocalFiles, path: impl AsRef<Path>) -> (Zone, PathBuf) {
    let at = files.locate(path.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()));
    assert_eq!(at.requested(), path.as_ref());
    (at.zone(), at.path().to_owned())
}

/// The content of a file, read as a tool would.
pub(crate) async fn read(files: &LocalFiles, at: &Location) -> Result<String, ToolError> {
    let reader = files.open(at).await?;
    let bytes = reader.read_at(0, usize::try_from(reader.size()).unwrap()).await?;
    Ok(String::from_utf8(bytes).unwrap())
}

pub(crate) async fn write(files: &LocalFiles, path: &str, content: &str) -> Result<WriteOutcome, ToolError> {
    let at = files.locate(Path::new(path))?;
    let safe = std::env::temp_dir().canonicalize().unwrap();
    assert!(at.no_write().is_some() || at.path().starts_with(safe), "a test would have written {}", at.path().display());
    files.write(&at, content.into(), WriteMode::Overwrite, &Kept::default()).await
}

pub(crate) fn kind_and_message(error: &ToolError) -> (ErrorKind, &str) {
    (error.kind(), error.message())
}

/// A pre-image with its content read out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) content: Option<String>,
    pub(crate) mode: Option<u32>,
    pub(crate) after: Option<String>,
    pub(crate) created_directories: Vec<PathBuf>,
    pub(crate) modified: Option<SystemTime>,
}

/// The time of a file is its own matter in most tests.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        let Self { path, content, mode, after, created_directories, modified: _ } = self;
        (path, content, mode, after, created_directories)
            == (&other.path, &other.content, &other.mode, &other.after, &other.created_directories)
    }
}

impl Image {
    pub(crate) fn of(image: PreImage) -> Self {
        let PreImage { path, content, mode, after, created_directories, modified, .. } = image;
        let content = content.map(|mut content| {
            let mut text = String::new();
            content.read_to_string(&mut text).unwrap();
            text
        });
        Self { path, content, mode, after, created_directories, modified }
    }
    /// Whether it names directories that are about to be made, and no change of a file.
    pub(crate) fn is_of_directories_alone(&self) -> bool {
        self.content.is_none() && self.after.is_none()
    }
    pub(crate) fn back(self) -> PreImage {
        let Self { path, content, mode, after, created_directories, modified } = self;
        let content = content.map(|text| Box::new(std::io::Cursor::new(text)) as Box<dyn Read + Send>);
        PreImage { path, content, mode, after, created_directories, metadata_from: None, modified }
    }
}

type Meanwhile<'a> = Box<dyn Fn(&Image) -> Result<(), ToolError> + Send + Sync + 'a>;

/// A journal that keeps pre-images in memory, and does something while a change waits for it.
#[derive(Default)]
pub(crate) struct Kept<'a> {
    images: Mutex<Vec<Image>>,
    meanwhile: Option<Meanwhile<'a>>,
}

impl<'a> Kept<'a> {
    /// One that does this between the two halves of a change.
    pub(crate) fn meanwhile(action: impl Fn(&Image) -> Result<(), ToolError> + Send + Sync + 'a) -> Self {
        Self { images: Mutex::default(), meanwhile: Some(Box::new(action)) }
    }
    pub(crate) fn images(&self) -> Vec<Image> {
        self.images.lock().unwrap().clone()
    }
}

impl Journal for Kept<'_> {
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let image = Image::of(image);
            if let Some(meanwhile) = self.meanwhile.as_ref().filter(|_| !image.is_of_directories_alone()) {
                meanwhile(&image)?;
            }
            self.images.lock().unwrap().push(image);
            Ok(())
        })
    }
    fn withdraw<'b>(&'b self, path: &'b Path, after: Option<&'b str>) -> BoxFuture<'b, Result<(), ToolError>> {
        self.images.lock().unwrap().retain(|image| image.path != path || image.after.as_deref() != after);
        Box::pin(async { Ok(()) })
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(async { Err(ToolError::execution("no spills here")) })
    }
}
