//! Brings the index up to date before a search.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use haft_contract::ports::FileSystem;
use haft_contract::{Location, ToolError, TreeChanges, TreeWatch};
use haft_store::{KnownFile, MemoryDatabase, MemoryStore, OpenedMemory, StoreError, open_memory};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::refresh::{FileReading, write_readings};
use crate::service::{Cache, MemoryService, blocking, sentence};
use crate::view::{ViewKey, WatchedView, WatchedViews};
use crate::walk::{ChangedPaths, MOST_REMARKS, MemoryWalk, WalkParts, Walked};

/// Files that were read and wait to be written, at most; their bytes are bounded besides.
const WAITING: usize = 64;

/// What one search at a time works with.
#[derive(Default)]
pub(crate) struct IndexTurn {
    database: Option<Arc<dyn MemoryStore>>,
    views: WatchedViews,
}

/// The index up to date, as far as time allowed.
pub(crate) struct Refreshed {
    pub(crate) database: Arc<dyn MemoryStore>,
    pub(crate) walked: Walked,
}

/// The files of an index.
#[derive(Clone)]
pub(crate) struct KnownFiles {
    /// Changes when another process changes the index.
    pub(crate) version: i64,
    pub(crate) files: Arc<HashMap<String, KnownFile>>,
    /// What is said of files that are not in the index as they are: name and remark, in order.
    noted: Arc<Vec<(String, String)>>,
}

impl KnownFiles {
    fn read(database: &dyn MemoryStore, version: i64) -> Result<Self, StoreError> {
        let files = database.files()?;
        let noted = files.iter().filter_map(|(path, known)| Some((path.clone(), known.note.clone()?)));
        let mut noted: Vec<(String, String)> = noted.collect();
        noted.sort();
        Ok(Self { version, files: Arc::new(files), noted: Arc::new(noted) })
    }
}

/// A thread that writes what a walk reads.
struct IndexWriter {
    parts: WalkParts,
    written: JoinHandle<Result<bool, StoreError>>,
}

impl MemoryService {
    /// Opens the index; one that cannot be used is replaced by one in memory, and that is said.
    async fn open(&self, warnings: &mut Vec<String>) -> Result<Arc<dyn MemoryStore>, ToolError> {
        let (folder, name, server) = (self.settings.data_folder.clone(), self.settings.name.clone(), self.settings.server.clone());
        *self.cache() = Cache::default();
        let opened = blocking(move || open_memory(server.as_deref(), &folder, &name)).await?;
        match opened {
            Ok(OpenedMemory { database, notice }) => {
                warnings.extend(notice.map(|notice| sentence(&notice)));
                Ok(database)
            }
            Err(error) => {
                warnings.push(sentence(&format!("an index in memory is used for this process, because {error}")));
                let temporary = blocking(MemoryDatabase::temporary).await?;
                temporary
                    .map(|database| Arc::new(database) as Arc<dyn MemoryStore>)
                    .map_err(|error| ToolError::execution(sentence(&error.to_string())))
            }
        }
    }

    /// The index, up to date. A damaged one is built anew, once.
    pub(crate) async fn refresh(&self, files: &dyn FileSystem, roots: &[Location], time: Option<Duration>) -> Result<Refreshed, ToolError> {
        let mut turn = self.turn.lock().await;
        let mut warnings = Vec::new();
        for attempt in 0..2 {
            let database = match &turn.database {
                Some(database) => Arc::clone(database),
                None => Arc::clone(turn.database.insert(self.open(&mut warnings).await?)),
            };
            match self.update(&database, &mut turn.views, files, roots, time).await {
                Ok(mut walked) => {
                    warnings.append(&mut walked.warnings);
                    walked.warnings = warnings;
                    return Ok(Refreshed { database, walked });
                }
                Err(UpdateError::Store(StoreError::Damaged { .. } | StoreError::Vanished { .. } | StoreError::Database(_)))
                    if attempt == 0 =>
                {
                    turn.database = None;
                    turn.views.clear();
                    blocking(move || database.discard()).await?;
                    warnings.push("The index of memory was damaged and is built anew.".to_owned());
                }
                Err(error) => return Err(error.into_tool()),
            }
        }
        Err(ToolError::execution("The index of memory cannot be used. Delete the folder 'memory' in Haft's data folder, and search again."))
    }

    /// The watch of files that all were compared, if their changes are reported, and whether some were while they were compared.
    pub(crate) async fn watch_of(&self, files: &dyn FileSystem, roots: &[Location]) -> Option<(Arc<dyn TreeWatch>, bool)> {
        let key = ViewKey::from_roots(files, roots)?;
        let turn = self.turn.lock().await;
        turn.views.find(&key).map(|view| (Arc::clone(&view.watch), !view.early.is_empty()))
    }

    /// The index as it was brought up to date last.
    pub(crate) async fn database(&self) -> Option<Arc<dyn MemoryStore>> {
        self.turn.lock().await.database.clone()
    }

    async fn update(
        &self,
        database: &Arc<dyn MemoryStore>,
        views: &mut WatchedViews,
        files: &dyn FileSystem,
        roots: &[Location],
        time: Option<Duration>,
    ) -> Result<Walked, UpdateError> {
        let known = self.load_known_files(database).await?;
        let deadline = time.map(|time| Instant::now() + time);
        let key = ViewKey::from_roots(files, roots);
        if let Some(mut view) = key.as_ref().and_then(|key| views.take(key))
            && let Some(changes) = view.changes(known.version)
        {
            let walked = if changes.is_empty() {
                Some((Walked { visible: Arc::clone(&view.visible), is_complete: true, ..Walked::default() }, Ok(false)))
            } else {
                let IndexWriter { parts, written } = self.start_writer(database, &known.files, deadline, Some(Arc::clone(&view.watch)));
                let walk = MemoryWalk::new(files, parts);
                let walked = walk.compare_changed(roots, &view.folders, &changes, &view.visible).await;
                walked.zip(Some(joined(written).await?))
            };
            if let Some((mut walked, has_written)) = walked {
                if self.finish_update(database, &mut walked, has_written).await? {
                    views.put(WatchedView { visible: Arc::clone(&walked.visible), ..view });
                }
                return self.with_remarks(database, walked).await;
            }
        }
        let watch = key.as_ref().and_then(|_| files.watch());
        let compared = Instant::now();
        let IndexWriter { parts, written } = self.start_writer(database, &known.files, deadline, watch.clone());
        let mut walked = MemoryWalk::new(files, parts).compare_all(roots).await;
        let has_written = joined(written).await?;
        let is_current = self.finish_update(database, &mut walked, has_written).await?;
        // Where changes are not reported for certain, every search compares all files.
        if let Some((key, watch)) = key.zip(watch).filter(|_| is_current)
            && let TreeChanges::Entries(early) = watch.take()
        {
            let (visible, folders) = (Arc::clone(&walked.visible), walked.folders.clone());
            views.put(WatchedView { key, watch, folders, visible, early, version: known.version, compared });
        }
        self.with_remarks(database, walked).await
    }

    fn start_writer(
        &self,
        database: &Arc<dyn MemoryStore>,
        known: &Arc<HashMap<String, KnownFile>>,
        deadline: Option<Instant>,
        watch: Option<Arc<dyn TreeWatch>>,
    ) -> IndexWriter {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<FileReading>(WAITING);
        let (writing, compared, writers) = (Arc::clone(database), Arc::clone(known), self.writers.clone());
        let runtime = tokio::runtime::Handle::current();
        let changed = ChangedPaths { source: self.writers.clone(), runtime: runtime.clone(), paths: OnceLock::new() };
        let written = spawn_blocking(move || {
            let writers = writers.as_ref().map(|writers| (writers, &runtime));
            write_readings(&*writing, &compared, &receiver, writers)
        });
        IndexWriter { parts: WalkParts { known: Arc::clone(known), changed, sender, deadline, watch }, written }
    }

    /// Removes what is gone. Returns whether all that was found is in the index.
    async fn finish_update(
        &self,
        database: &Arc<dyn MemoryStore>,
        walked: &mut Walked,
        written: Result<bool, StoreError>,
    ) -> Result<bool, UpdateError> {
        let gone = std::mem::take(&mut walked.gone);
        let is_same = gone.is_empty() && matches!(written, Ok(false));
        if !is_same {
            self.cache().files = None;
        }
        let removed = if gone.is_empty() {
            Ok(())
        } else {
            let removing = Arc::clone(database);
            blocking(move || removing.remove(&gone)).await?
        };
        match written.map(drop).and(removed) {
            Ok(()) => {}
            Err(error @ StoreError::Locked { .. }) => {
                walked.warnings.push(sentence(&format!("the newest changes of memory are not found yet: {error}")));
            }
            Err(error) => return Err(UpdateError::Store(error)),
        }
        if walked.pending > 0 {
            let files = haft_text::numbers::count(walked.pending, "file");
            walked.warnings.push(format!("{files} are not indexed yet for lack of time. Search again: the next search continues."));
        }
        Ok(walked.is_complete && walked.pending == 0 && walked.warnings.is_empty())
    }

    /// Says what of the files is not in the index.
    async fn with_remarks(&self, database: &Arc<dyn MemoryStore>, mut walked: Walked) -> Result<Walked, UpdateError> {
        let cached = self.cache().files.clone();
        let known = match cached {
            Some(known) => known,
            None => self.load_known_files(database).await?,
        };
        let noted = known.noted.iter().filter(|(path, _)| walked.visible.contains(path)).take(MOST_REMARKS);
        walked.warnings.extend(noted.map(|(path, note)| format!("{path}: {note}.")));
        Ok(walked)
    }

    /// The files that the index has, read again when another process has changed it.
    pub(crate) async fn load_known_files(&self, database: &Arc<dyn MemoryStore>) -> Result<KnownFiles, UpdateError> {
        let (reading, cached) = (Arc::clone(database), self.cache().files.clone());
        let read = blocking(move || {
            let version = reading.data_version()?;
            cached.filter(|known| known.version == version).map_or_else(|| KnownFiles::read(&*reading, version), Ok)
        });
        let known = read.await?.map_err(UpdateError::Store)?;
        self.cache().files = Some(known.clone());
        Ok(known)
    }
}

async fn joined(written: JoinHandle<Result<bool, StoreError>>) -> Result<Result<bool, StoreError>, ToolError> {
    written.await.map_err(|_| ToolError::execution("Indexing was stopped."))
}

/// Why the index is not up to date.
pub(crate) enum UpdateError {
    Store(StoreError),
    Tool(ToolError),
}

impl UpdateError {
    pub(crate) fn into_tool(self) -> ToolError {
        match self {
            Self::Store(error) => ToolError::execution(sentence(&error.to_string())),
            Self::Tool(error) => error,
        }
    }
}

impl From<ToolError> for UpdateError {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}
