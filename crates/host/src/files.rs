//! Files, resolved beneath open directory handles.
//!
//! Every path takes the same way. It is resolved here, name by name, links expanded by hand, to a place that is free
//! of links; that place is checked; and it is opened from the handle of its root without following any link. So what
//! was checked is what is opened, or nothing is. This is also why no library resolves paths for us: those that confine
//! paths to a directory follow links when they open, and the path that was checked need not be the one they reach.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the bans are for tools: this is what they use instead")]

mod adopt;
mod attributes;
mod beneath;
mod blocking;
mod cached;
mod change;
mod delete;
mod errors;
mod fingerprint;
mod folder_stamp;
mod git;
mod git_settings;
mod location_check;
mod names;
mod open;
mod parent;
mod pending_write;
mod protected;
mod reader;
mod resolve;
mod restore;
mod roots;
mod sandbox_paths;
mod special_entry;
mod spelling;
mod target;
mod temporary_file;
mod tmpfile;
mod walk;
#[cfg(target_os = "linux")]
mod watch;
mod write;

pub use self::fingerprint::sha256;
pub use self::folder_stamp::FolderStamp;
pub use self::git_settings::paths_run_by_git;
pub use self::protected::may_be_protected;
pub use self::sandbox_paths::{SandboxPaths, ScanCache};
pub use self::special_entry::{directory_state, link_state};
pub(crate) use self::watch::waitable;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use haft_contract::{
    BoxFuture, FileInfo, FileReader, Location, ToolError, TreeOptions, TreeVisitor, TreeWatch, WalkSummary, WriteMode, WriteOutcome, Zone,
    ports::{FileSystem, Journal, PreImage, StagedEntry},
};

use self::beneath::Way;
use self::blocking::{Call, blocking};
use self::protected::{ProtectedRules, Refusals};
use self::reader::OpenFile;
use self::resolve::{Resolved, real_path, resolve, resolve_entry};
use self::roots::Roots;
use self::write::Expected;

/// What a session may reach of the disk.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceOptions {
    /// The workspace: where relative paths start, and where files may be written.
    pub root: PathBuf,
    /// Folders that may be read as well, such as the one with Haft's spill files.
    pub read_only_roots: Vec<PathBuf>,
    /// Folders that may be read and written as well.
    pub writable_roots: Vec<PathBuf>,
    /// What may never be read: `*` and `?` within a name, `**` for any number of names. A pattern without a leading
    /// `/` matches at any depth, in every root and outside; each also covers what is beneath. Case does not count.
    pub deny_read: Vec<String>,
    /// What rules forbid to read, in the same form.
    pub denied_by_rules: Vec<String>,
    /// What commands in the sandbox may not see besides, in the same form.
    pub hidden: Vec<String>,
    /// Whether files that are most likely secrets may be read: private keys, `.env`, credentials of clouds.
    pub allow_secrets: bool,
    /// Paths that may never be written, with all beneath them, whether they exist or not: Haft's own state and
    /// configuration.
    pub protected: Vec<PathBuf>,
}

impl WorkspaceOptions {
    /// A workspace with nothing else.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), ..Self::default() }
    }
}

/// The disk of this machine, as far as a session may reach it.
#[derive(Debug)]
pub struct LocalFiles {
    /// The workspace's path when it was opened, free of links.
    main: PathBuf,
    /// Folders may be added for reading.
    roots: RwLock<Arc<Roots>>,
    way: Way,
    rules: Arc<ProtectedRules>,
    /// The rules on reading in the sandbox of commands, which has no other check.
    sandbox_rules: Arc<ProtectedRules>,
    /// What may be read, as a number that no other has.
    view: AtomicU64,
}

/// The views that were numbered.
static VIEWS: AtomicU64 = AtomicU64::new(0);

impl LocalFiles {
    /// Opens the roots. The session stays with these directories, wherever their paths lead later.
    pub fn open(options: WorkspaceOptions) -> Result<Self, ToolError> {
        Self::open_by(options, Way::Kernel)
    }

    /// As [`open`](Self::open), on a kernel that cannot resolve beneath a directory by itself, nor has files without a name.
    /// For tests.
    #[doc(hidden)]
    pub fn open_walking(options: WorkspaceOptions) -> Result<Self, ToolError> {
        Self::open_by(options, Way::Walk)
    }

    fn open_by(options: WorkspaceOptions, way: Way) -> Result<Self, ToolError> {
        let WorkspaceOptions { root, read_only_roots, writable_roots, mut deny_read, denied_by_rules, hidden, allow_secrets, protected } =
            options;
        let roots = Roots::open(&root, &read_only_roots, &writable_roots, way)?;
        let mut rules = ProtectedRules::new(&deny_read, &denied_by_rules, allow_secrets)?;
        for path in protected {
            rules.protect_own(&real_path(&roots, &rules, &path)?);
        }
        git::protect(&roots, &mut rules);
        deny_read.extend(hidden);
        let sandbox_rules = Arc::new(ProtectedRules::new(&deny_read, &denied_by_rules, allow_secrets)?);
        let (main, roots) = (roots.main().to_owned(), RwLock::new(Arc::new(roots)));
        Ok(Self { main, roots, way, rules: Arc::new(rules), sandbox_rules, view: next_view() })
    }

    fn roots(&self) -> Arc<Roots> {
        Arc::clone(&self.roots.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The workspace's path when it was opened, free of links.
    pub fn root(&self) -> &Path {
        &self.main
    }

    /// How to name a path: relative to the workspace where it lies in it.
    fn display(&self, path: &Path) -> String {
        match path.strip_prefix(&self.main) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    fn location(&self, path: &Path, mut resolved: Resolved) -> Location {
        let spellings = std::mem::take(&mut resolved.spellings);
        let (display, zone) = (self.display(&resolved.path), resolved.place.root.zone());
        let Refusals { no_read, no_write, read_causes } = resolved.refusals.clone();
        let mut location = Location::new(path.to_owned(), resolved.path.clone(), display, zone, Arc::new(resolved));
        for spelled in spellings {
            let inside = spelled.starts_with(&self.main).then(|| self.display(&spelled));
            location = location.spelled(spelled, inside);
        }
        if let Some(why) = no_read {
            location = location.refuse_read(why).with_read_causes(read_causes);
        }
        if let Some(why) = no_write {
            location = location.refuse_write(why);
        }
        if zone == Zone::Outside
            && let Some(folder) = folder_of(location.path())
        {
            location = location.in_folder(folder);
        }
        location
    }
}

fn next_view() -> AtomicU64 {
    AtomicU64::new(VIEWS.fetch_add(1, Ordering::Relaxed))
}

/// The folder that would have to be a root for a path to lie in one; never the whole machine.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let folder = path.ancestors().take(2).find(|folder| folder.is_dir())?;
    (folder.parent().is_some() && !protected::is_of_the_kernel(folder)).then(|| folder.to_owned())
}

impl FileSystem for LocalFiles {
    fn locate(&self, path: &Path) -> Result<Location, ToolError> {
        spelling::check(path)?;
        Ok(self.location(path, resolve(&self.roots(), &self.rules, path)?))
    }

    fn locate_entry(&self, path: &Path) -> Result<Location, ToolError> {
        spelling::check(path)?;
        Ok(self.location(path, resolve_entry(&self.roots(), &self.rules, path)?))
    }

    fn locate_link(&self, path: &Path) -> Result<Option<Location>, ToolError> {
        spelling::check(path)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let roots = self.roots();
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let itself = resolve(&roots, &self.rules, parent)?.path.join(name);
        let target = resolve(&roots, &self.rules, &itself)?;
        // What lies outside is told to nobody, not even that it is there: such a path is checked as what it leads to.
        if target.path == itself || target.place.root.zone() == Zone::Outside {
            return Ok(None);
        }
        Ok(Some(self.location(path, resolve_entry(&roots, &self.rules, &itself)?)))
    }

    fn shown_folders(&self) -> Vec<PathBuf> {
        self.roots().added_folders().map(Path::to_owned).collect()
    }

    fn show_folder(&self, folder: &Path) -> Result<(), ToolError> {
        let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(with_folder) = roots.with_read_only(folder, self.way)? {
            *roots = Arc::new(with_folder);
            self.view.store(next_view().into_inner(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn state<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let at = self.check_own(at)?;
            let (_call, stop) = Call::begin();
            blocking(move || special_entry::state(&at, &stop)).await
        })
    }

    fn info<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<FileInfo, ToolError>> {
        Box::pin(async move {
            let at = self.check_own(at)?;
            blocking(move || open::look(&at)).await
        })
    }

    fn open<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Box<dyn FileReader>, ToolError>> {
        Box::pin(async move {
            let at = self.check_own(at)?;
            if let Some(file) = OpenFile::open_cached(&at) {
                return Ok(Box::new(file) as Box<dyn FileReader>);
            }
            blocking(move || OpenFile::open(at).map(|file| Box::new(file) as Box<dyn FileReader>)).await
        })
    }

    fn write<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        mode: WriteMode,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>> {
        Box::pin(async move { write::write(self.check_own(at)?, content, mode, Expected::Anything, journal).await })
    }

    fn replace<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        expected: Option<&'a str>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>> {
        let expected = expected.map_or(Expected::Nothing, |expected| Expected::File(expected.to_owned()));
        Box::pin(async move { write::write(self.check_own(at)?, content, WriteMode::Overwrite, expected, journal).await })
    }

    fn succeed<'a>(
        &'a self,
        at: &'a Location,
        other: &'a Location,
        content: Vec<u8>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>> {
        Box::pin(async move {
            let expected = Expected::NothingYet { like: self.check_own(other)? };
            write::write(self.check_own(at)?, content, WriteMode::Overwrite, expected, journal).await
        })
    }

    fn walk<'a>(
        &'a self,
        at: &'a Location,
        options: TreeOptions,
        visitor: Arc<dyn TreeVisitor>,
    ) -> BoxFuture<'a, Result<WalkSummary, ToolError>> {
        Box::pin(async move { walk::walk(self.check_own(at)?, Arc::clone(&self.rules), options, visitor).await })
    }

    fn view(&self) -> Option<u64> {
        Some(self.view.load(Ordering::Relaxed))
    }

    #[cfg(target_os = "linux")]
    fn watch(&self) -> Option<Arc<dyn TreeWatch>> {
        watch::DirectoryWatch::new(self.roots()).map(|watch| Arc::new(watch) as Arc<dyn TreeWatch>)
    }

    fn delete<'a>(&'a self, at: &'a Location, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { delete::delete(self.check_own(at)?, journal).await })
    }

    fn delete_link<'a>(&'a self, at: &'a Location, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { special_entry::remove_link(self.check_own(at)?, journal).await })
    }

    fn copy_link<'a>(&'a self, from: &'a Location, to: &'a Location, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { special_entry::copy_link(self.check_own(from)?, self.check_own(to)?, journal).await })
    }

    fn fingerprint<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let at = self.check_own(at)?;
            let (_call, stop) = Call::begin();
            blocking(move || fingerprint::fingerprint(&at, &stop)).await
        })
    }

    fn fingerprint_of(&self, content: Box<dyn Read + Send>) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let (_call, stop) = Call::begin();
            blocking(move || fingerprint::of_content(content, &stop)).await
        })
    }

    fn restore<'a>(&'a self, at: &'a Location, image: PreImage, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { restore::restore(self.check_own(at)?, image, journal).await })
    }

    fn adopt<'a>(&'a self, entries: Vec<StagedEntry>, journal: &'a dyn Journal) -> BoxFuture<'a, Result<Vec<PathBuf>, ToolError>> {
        Box::pin(async move {
            let own = |entry: StagedEntry| self.check_own(&entry.location).map(|location| StagedEntry { location, ..entry });
            adopt::adopt(entries.into_iter().map(own).collect::<Result<_, _>>()?, journal).await
        })
    }
}
