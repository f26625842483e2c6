//! The memory of a workspace: keeps its index up to date, and searches it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use haft_contract::ports::{FileSystem, MemoryAnswer, MemoryIndex, MemoryLines, MemoryQuery, MemoryScope, MemoryWriter};
use haft_contract::{BoxFuture, Location, ToolError};
use haft_store::{ChunkRow, KnownFile, MemoryStore, StoreError};
use jiff::civil::Date;
use tokio::task::spawn_blocking;

use crate::blame::{WriterSource, parts, writers_of_lines};
use crate::embeddings::{Embedder, EmbedderError, add_missing, in_store, vectors_of};
use crate::search::{self, NearChunks, SearchSettings};
use crate::sessions;
use crate::update::{IndexTurn, KnownFiles, Refreshed, UpdateError};
use crate::vectors::VectorSet;

/// How long the vectors of new chunks may take in one search.
pub(crate) const EMBEDDING_TIME: Duration = Duration::from_secs(4);
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
    /// The address of the server that holds the index in place of the data folder, as `HAFT_STORE` gives it.
    pub server: Option<String>,
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
    pub(crate) settings: MemorySettings,
    pub(crate) writers: Option<Arc<dyn WriterSource>>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// One search brings the index up to date at a time.
    pub(crate) turn: tokio::sync::Mutex<IndexTurn>,
    cache: Mutex<Cache>,
    /// Told of each search.
    pub(crate) searched: tokio::sync::Notify,
}

haft_contract::opaque_debug!(MemoryService: settings = settings);

/// What was read of the index, and of which state of it.
#[derive(Default)]
pub(crate) struct Cache {
    pub(crate) files: Option<KnownFiles>,
    vectors: Option<(i64, Arc<VectorSet>)>,
}

impl MemoryService {
    /// A memory; nothing is read before the first search.
    pub fn new(settings: MemorySettings, writers: Option<Arc<dyn WriterSource>>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let (turn, cache, searched) = (tokio::sync::Mutex::default(), Mutex::default(), tokio::sync::Notify::new());
        Self { settings, writers, embedder, turn, cache, searched }
    }

    pub(crate) fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chunks nearest to the question by vectors.
    async fn near(&self, database: &Arc<dyn MemoryStore>, query: &str, warnings: &mut Vec<String>) -> Result<NearChunks, EmbedderError> {
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
            in_store(move || removing.0.remove_vectors(&removing.1)).await?;
            self.cache().vectors = None;
            add_missing(&**embedder, database, deadline).await?;
            set = self.vectors(database, &model).await?;
        }
        let searching = Arc::clone(database);
        in_store(move || set.nearest(&vector, NEAREST, &*searching)).await
    }

    /// The vectors of a model; those that were read before are not read again.
    async fn vectors(&self, database: &Arc<dyn MemoryStore>, model: &str) -> Result<Arc<VectorSet>, EmbedderError> {
        let (reading, model, cached) = (Arc::clone(database), model.to_owned(), self.cache().vectors.take());
        let loaded = in_store(move || VectorSet::current(&*reading, &model, cached)).await?;
        let set = Arc::clone(&loaded.1);
        self.cache().vectors = Some(loaded);
        Ok(set)
    }

    async fn answer(&self, query: MemoryQuery, scope: MemoryScope<'_>) -> Result<MemoryAnswer, ToolError> {
        let Refreshed { database, walked } = self.refresh(scope.files, &scope.roots, self.settings.indexing_time).await?;
        let mut answer = MemoryAnswer { warnings: walked.warnings, files: walked.visible.len(), ..MemoryAnswer::default() };
        answer.warnings.extend(self.refused_roots(&scope.roots));
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
        let hits = blocking(move || search::search(&*database, &asked, &visible, &near, settings)).await?;
        answer.hits = hits.map_err(|error| ToolError::execution(sentence(&error.to_string())))?;
        if let Some(directory) = scope.sessions.filter(|_| self.settings.sessions) {
            let found = sessions::search(directory, &query, today, self.writers.as_deref()).await?;
            answer.hits.extend(found);
            answer.hits.sort_by(|one, other| other.score.total_cmp(&one.score));
            answer.hits.truncate(query.max_results);
        }
        self.searched.notify_one();
        Ok(answer)
    }

    /// What is said of roots that may not be searched.
    fn refused_roots(&self, roots: &[Location]) -> Vec<String> {
        let refused = self.settings.roots.iter().filter(|path| !roots.iter().any(|root| root.requested() == *path));
        refused.map(|path| format!("{} is not searched: it is a symbolic link, or rules deny reading it.", path.display())).collect()
    }

    /// The files in the index after it was brought up to date, without a limit of time, and what is not searched.
    pub async fn notes(&self, files: &dyn FileSystem, roots: &[Location]) -> Result<(Vec<IndexedNote>, Vec<String>), ToolError> {
        let Refreshed { database, walked } = self.refresh(files, roots, None).await?;
        let known = self.load_known_files(&database).await.map_err(UpdateError::into_tool)?;
        let visible = known.files.iter().filter(|(path, _)| walked.visible.contains(*path));
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
            database.each_chunk(&mut |row| rows.extend(Some(row).filter(|row| visible.contains(&row.path))))?;
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

pub(crate) fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> BoxFuture<'static, Result<T, ToolError>> {
    let task = spawn_blocking(work);
    Box::pin(async { task.await.map_err(|_| ToolError::execution("The search of memory was stopped.")) })
}

/// A sentence for the user: with a capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let start = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{start}{}{end}", chars.as_str())
}

/// The time of the system, and the date in its time zone.
pub fn system_calendar() -> Calendar {
    Arc::new(|| (SystemTime::now(), jiff::Zoned::now().date()))
}
