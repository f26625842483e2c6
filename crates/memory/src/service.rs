//! The memory of a workspace: keeps its index up to date, and searches it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use haft_contract::ports::{FileSystem, MemoryAnswer, MemoryIndex, MemoryLines, MemoryQuery, MemoryScope, MemoryWriter};
use haft_contract::{BoxFuture, Location, ToolError};
use haft_store::{ChunkRow, KnownFile, MemoryDatabase, OpenedMemory, StoreError};
use jiff::civil::Date;
use tokio::task::spawn_blocking;

use crate::blame::{WriterSource, parts, writers_of_lines};
use crate::embeddings::{Embedder, EmbedderError, add_missing, vectors_of};
use crate::refresh::write_readings;
use crate::search::{self, NearChunks, SearchSettings};
use crate::sessions;
use crate::vectors::VectorSet;
use crate::walk::{WalkParts, Walked, walk};

/// Files that were read and wait to be written.
const WAITING: usize = 64;
/// How long the vectors of new chunks may take in one search.
const EMBEDDING_TIME: Duration = Duration::from_secs(4);
/// The nearest chunks by vectors that are ranked.
const NEAREST: usize = 50;

/// Tells the time, so that tests can choose it: now, and the date where the user is.
pub type Calendar = Arc<dyn Fn() -> (SystemTime, Date) + Send + Sync>;

/// What a memory is made of.
#[derive(Clone)]
pub struct MemorySettings {
    /// Files and folders, relative to the workspace or absolute.
    pub roots: Vec<PathBuf>,
    /// Whether conversations are searched too.
    pub sessions: bool,
    /// After how many days a note counts half; 0 is never.
    pub half_life_days: f64,
    /// How much what repeats a better hit is put back, from 0 to 1.
    pub diversity: f64,
    /// How long a search may index before it answers with what is there.
    pub indexing_time: Option<Duration>,
    /// The data folder, which holds the index.
    pub data_folder: PathBuf,
    /// The name of the index: of the workspace, and of what may be read in it.
    pub name: String,
    /// Tells the time.
    pub calendar: Calendar,
}

haft_contract::opaque_debug!(MemorySettings: roots = roots);

/// A memory file in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedNote {
    /// As it is named.
    pub path: String,
    /// What the index knows of it.
    pub known: KnownFile,
}

/// The memory of a workspace.
pub struct MemoryService {
    settings: MemorySettings,
    writers: Option<Arc<dyn WriterSource>>,
    embedder: Option<Arc<dyn Embedder>>,
    /// One search brings the index up to date at a time.
    turn: tokio::sync::Mutex<Option<Arc<MemoryDatabase>>>,
    cache: Mutex<Cache>,
}

haft_contract::opaque_debug!(MemoryService: settings = settings);

/// What was read of the index, and of which state of it.
#[derive(Default)]
struct Cache {
    files: Option<(i64, Arc<HashMap<String, KnownFile>>)>,
    vectors: Option<(i64, Arc<VectorSet>)>,
}

/// The index up to date, as far as time allowed.
struct Refreshed {
    database: Arc<MemoryDatabase>,
    walked: Walked,
}

impl MemoryService {
    /// A memory; nothing is read before the first search.
    pub fn new(settings: MemorySettings, writers: Option<Arc<dyn WriterSource>>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self { settings, writers, embedder, turn: tokio::sync::Mutex::default(), cache: Mutex::default() }
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the index; one that cannot be used is replaced by one in memory, and that is said.
    async fn open(&self, warnings: &mut Vec<String>) -> Result<Arc<MemoryDatabase>, ToolError> {
        let (folder, name) = (self.settings.data_folder.clone(), self.settings.name.clone());
        *self.cache() = Cache::default();
        let opened = blocking(move || MemoryDatabase::open(&folder, &name)).await?;
        match opened {
            Ok(OpenedMemory { database, notice }) => {
                warnings.extend(notice.map(|notice| sentence(&notice)));
                Ok(Arc::new(database))
            }
            Err(error) => {
                warnings.push(sentence(&format!("an index in memory is used for this process, because {error}")));
                let temporary = blocking(MemoryDatabase::temporary).await?;
                temporary.map(Arc::new).map_err(|error| ToolError::execution(sentence(&error.to_string())))
            }
        }
    }

    /// The index, up to date. A damaged one is built anew, once.
    async fn refresh(&self, files: &dyn FileSystem, roots: &[Location], time: Option<Duration>) -> Result<Refreshed, ToolError> {
        let mut turn = self.turn.lock().await;
        let mut warnings = Vec::new();
        for attempt in 0..2 {
            let database = match &*turn {
                Some(database) => Arc::clone(database),
                None => Arc::clone(turn.insert(self.open(&mut warnings).await?)),
            };
            match self.update(&database, files, roots, time).await {
                Ok(mut walked) => {
                    warnings.append(&mut walked.warnings);
                    walked.warnings = warnings;
                    return Ok(Refreshed { database, walked });
                }
                Err(UpdateError::Store(StoreError::Damaged { .. } | StoreError::Vanished { .. } | StoreError::Database(_)))
                    if attempt == 0 =>
                {
                    *turn = None;
                    let path = database.path().to_owned();
                    drop(database);
                    blocking(move || MemoryDatabase::discard(&path)).await?;
                    warnings.push("The index of memory was damaged and is built anew.".to_owned());
                }
                Err(UpdateError::Store(error)) => return Err(ToolError::execution(sentence(&error.to_string()))),
                Err(UpdateError::Tool(error)) => return Err(error),
            }
        }
        Err(ToolError::execution("The index of memory cannot be used. Delete the folder 'memory' in Haft's data folder, and search again."))
    }

    async fn update(
        &self,
        database: &Arc<MemoryDatabase>,
        files: &dyn FileSystem,
        roots: &[Location],
        time: Option<Duration>,
    ) -> Result<Walked, UpdateError> {
        let known = self.known(database).await?;
        let changed = match &self.writers {
            Some(writers) => writers.changed_paths().await.unwrap_or_default(),
            None => HashSet::new(),
        };
        let (sender, receiver) = std::sync::mpsc::sync_channel(WAITING);
        let (writing, compared, writers) = (Arc::clone(database), Arc::clone(&known), self.writers.clone());
        let runtime = tokio::runtime::Handle::current();
        let written = spawn_blocking(move || {
            let writers = writers.as_ref().map(|writers| (writers, &runtime));
            write_readings(&writing, &compared, &receiver, writers)
        });
        let deadline = time.map(|time| Instant::now() + time);
        let parts = WalkParts { known: Arc::clone(&known), changed: Arc::new(changed), sender, deadline };
        let walked = walk(files, roots, parts).await;
        let written = written.await.map_err(|_| ToolError::execution("Indexing was stopped."))?;
        let mut walked = walked?;
        self.finish_update(database, &known, &mut walked, written).await?;
        Ok(walked)
    }

    /// Removes what is gone, and says what is not in the index.
    async fn finish_update(
        &self,
        database: &Arc<MemoryDatabase>,
        known: &HashMap<String, KnownFile>,
        walked: &mut Walked,
        written: Result<usize, StoreError>,
    ) -> Result<(), UpdateError> {
        let gone: Vec<String> = known.keys().filter(|path| walked.is_complete && !walked.visible.contains(*path)).cloned().collect();
        let removed = if gone.is_empty() {
            Ok(())
        } else {
            let removing = Arc::clone(database);
            blocking(move || removing.remove(gone.iter().map(String::as_str))).await?
        };
        match written.map(drop).and(removed) {
            Ok(()) => {}
            Err(error @ StoreError::Locked { .. }) => {
                walked.warnings.push(sentence(&format!("the newest changes of memory are not found yet: {error}")));
            }
            Err(error) => return Err(UpdateError::Store(error)),
        }
        self.cache().files = None;
        if walked.pending > 0 {
            let files = haft_text::numbers::count(walked.pending, "file");
            walked.warnings.push(format!("{files} are not indexed yet for lack of time. Search again: the next search continues."));
        }
        let now = self.known(database).await?;
        let noted = now.iter().filter(|(path, _)| walked.visible.contains(*path));
        let mut remarks: Vec<String> = noted.filter_map(|(path, known)| Some(format!("{path}: {}.", known.note.as_ref()?))).collect();
        remarks.sort();
        remarks.truncate(5);
        walked.warnings.extend(remarks);
        Ok(())
    }

    /// The files that the index has, read again when another process has changed it.
    async fn known(&self, database: &Arc<MemoryDatabase>) -> Result<Arc<HashMap<String, KnownFile>>, UpdateError> {
        let (reading, cached) = (Arc::clone(database), self.cache().files.clone());
        let (version, files) = blocking(move || {
            let version = reading.data_version()?;
            match cached.filter(|(known, _)| *known == version) {
                Some((_, files)) => Ok((version, files)),
                None => Ok((version, Arc::new(reading.files()?))),
            }
        })
        .await?
        .map_err(UpdateError::Store)?;
        self.cache().files = Some((version, Arc::clone(&files)));
        Ok(files)
    }

    /// The chunks nearest to the question by vectors.
    async fn near(&self, database: &Arc<MemoryDatabase>, query: &str, warnings: &mut Vec<String>) -> Result<NearChunks, EmbedderError> {
        let Some(embedder) = &self.embedder else { return Ok(Vec::new()) };
        let deadline = tokio::time::Instant::now() + EMBEDDING_TIME;
        let question = [haft_text::truncate::first_bytes(query, 4_096).to_owned()];
        let asked = tokio::time::timeout_at(deadline, vectors_of(&**embedder, &question)).await;
        let asked = asked.map_err(|_| EmbedderError(format!("{} did not answer in {EMBEDDING_TIME:?}", embedder.model())))??;
        let missing = add_missing(&**embedder, database, deadline).await?;
        if missing > 0 {
            warnings.push(format!("{missing} parts of memory have no embedding yet. Search again: the next search continues."));
        }
        let (vector, model) = (asked.into_iter().next().unwrap_or_default(), embedder.model().to_owned());
        let mut set = self.vectors(database, &model).await?;
        if set.is_mixed || (!set.is_empty() && set.dimension() != vector.len()) {
            warnings.push(format!("{model} gives vectors of another dimension than before: all embeddings are made anew."));
            let removing = (Arc::clone(database), model.clone());
            stored(blocking(move || removing.0.remove_vectors(&removing.1)).await)?;
            self.cache().vectors = None;
            add_missing(&**embedder, database, deadline).await?;
            set = self.vectors(database, &model).await?;
        }
        let searching = Arc::clone(database);
        stored(blocking(move || set.nearest(&vector, NEAREST, &searching, &model)).await)
    }

    async fn vectors(&self, database: &Arc<MemoryDatabase>, model: &str) -> Result<Arc<VectorSet>, EmbedderError> {
        let (reading, model, cached) = (Arc::clone(database), model.to_owned(), self.cache().vectors.clone());
        let loaded = blocking(move || {
            let version = reading.changes()?;
            match cached.filter(|(known, _)| *known == version) {
                Some(cached) => Ok(cached),
                None => Ok((version, Arc::new(VectorSet::load(&reading, &model)?))),
            }
        });
        let (version, set) = stored(loaded.await)?;
        self.cache().vectors = Some((version, Arc::clone(&set)));
        Ok(set)
    }

    async fn answer(&self, query: MemoryQuery, scope: MemoryScope<'_>) -> Result<MemoryAnswer, ToolError> {
        let Refreshed { database, walked } = self.refresh(scope.files, &scope.roots, self.settings.indexing_time).await?;
        let mut answer = MemoryAnswer { warnings: walked.warnings, files: walked.visible.len(), ..MemoryAnswer::default() };
        let near = match self.near(&database, &query.query, &mut answer.warnings).await {
            Ok(near) => {
                answer.model = self.embedder.as_ref().map(|embedder| embedder.model().to_owned());
                near
            }
            Err(EmbedderError(why)) => {
                answer.fallback = Some(sentence(&format!("full text was searched alone, because {why}")));
                Vec::new()
            }
        };
        let (now, today) = (self.settings.calendar)();
        let settings = SearchSettings { half_life_days: self.settings.half_life_days, diversity: self.settings.diversity, now, today };
        let (asked, visible) = (query.clone(), walked.visible);
        let hits = blocking(move || search::search(&database, &asked, &visible, &near, settings)).await?;
        answer.hits = hits.map_err(|error| ToolError::execution(sentence(&error.to_string())))?;
        if let Some(directory) = scope.sessions.filter(|_| self.settings.sessions) {
            let found = sessions::search(directory, &query, today, self.writers.as_deref()).await?;
            answer.hits.extend(found);
            answer.hits.sort_by(|one, other| other.score.total_cmp(&one.score));
            answer.hits.truncate(query.max_results);
        }
        Ok(answer)
    }

    /// The files in the index after it was brought up to date, without a limit of time, and what is not searched.
    pub async fn notes(&self, files: &dyn FileSystem, roots: &[Location]) -> Result<(Vec<IndexedNote>, Vec<String>), ToolError> {
        let Refreshed { database, walked } = self.refresh(files, roots, None).await?;
        let known = self.known(&database).await.map_err(UpdateError::into_tool)?;
        let visible = known.iter().filter(|(path, _)| walked.visible.contains(*path));
        let mut notes: Vec<IndexedNote> = visible.map(|(path, known)| IndexedNote { path: path.clone(), known: known.clone() }).collect();
        notes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((notes, walked.warnings))
    }

    /// Every chunk of the files that may be read, after the index was brought up to date.
    pub async fn chunks(&self, files: &dyn FileSystem, roots: &[Location]) -> Result<Vec<(ChunkRow, MemoryWriter)>, ToolError> {
        let Refreshed { database, walked } = self.refresh(files, roots, None).await?;
        let read = blocking(move || {
            let mut rows = Vec::new();
            let visible = walked.visible;
            database.each_chunk(|row| rows.extend(Some(row).filter(|row| visible.contains(&row.path))))?;
            Ok(rows)
        });
        let rows = read.await?.map_err(|error: StoreError| ToolError::execution(sentence(&error.to_string())))?;
        Ok(rows.into_iter().map(|row| (row.clone(), search::writer(row.writer.as_deref()))).collect())
    }
}

impl MemoryIndex for MemoryService {
    fn roots(&self) -> &[PathBuf] {
        &self.settings.roots
    }

    fn searches_sessions(&self) -> bool {
        self.settings.sessions
    }

    fn search<'a>(&'a self, query: MemoryQuery, scope: MemoryScope<'a>) -> BoxFuture<'a, Result<MemoryAnswer, ToolError>> {
        Box::pin(self.answer(query, scope))
    }

    fn writers<'a>(&'a self, at: &'a Location, content: &'a [u8]) -> BoxFuture<'a, Result<Vec<MemoryLines>, ToolError>> {
        Box::pin(async move {
            let versions = match &self.writers {
                Some(writers) => writers.versions(at.path()).await.map_err(ToolError::execution)?,
                None => Vec::new(),
            };
            Ok(parts(&writers_of_lines(&versions, content)))
        })
    }
}

/// Why the index is not up to date.
enum UpdateError {
    Store(StoreError),
    Tool(ToolError),
}

impl UpdateError {
    fn into_tool(self) -> ToolError {
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

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    spawn_blocking(work).await.map_err(|_| ToolError::execution("The search of memory was stopped."))
}

fn stored<T>(outcome: Result<Result<T, StoreError>, ToolError>) -> Result<T, EmbedderError> {
    outcome.map_err(|error| EmbedderError(error.message().to_owned()))?.map_err(|error| EmbedderError(error.to_string()))
}

/// A sentence for the user: with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let start = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{start}{}{end}", chars.as_str())
}

/// The time of the system, and the date in its time zone.
pub fn system_calendar() -> Calendar {
    Arc::new(|| (SystemTime::now(), jiff::Zoned::now().date()))
}
