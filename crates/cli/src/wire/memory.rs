//! The memory of the workspace: its roots, its index, and who wrote what by the history of calls.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::BoxFuture;
use haft_contract::ports::{Host, MemoryWriter, PreImage, Services};
use haft_engine::RecordedTaint;
use haft_memory::{Embedder, FileVersion, MAX_FILE_BYTES, MemoryService, MemorySettings, WriterSource, system_calendar};
use haft_policy::Verdict;
use haft_store::{Blobs, CallFilter, CallLog, CallRecord, PreImageRecord, StateStore};

use super::models::ProviderEmbedder;
use super::policy::home;
use super::{Wire, open_blobs, open_store, store_address};
use crate::failure::Failure;
use crate::output::warn;

/// The files of memory in every workspace.
const ROOTS: [&str; 3] = ["MEMORY.md", "memory.md", "memory"];
/// How long a search may index before it answers with what is there; its tool has ten seconds.
const INDEXING_TIME: Duration = Duration::from_secs(5);

impl Wire {
    /// The memory of the workspace, made on first use.
    pub(crate) fn memory(&self) -> Arc<MemoryService> {
        Arc::clone(self.memory.get_or_init(|| Arc::new(self.open_memory())))
    }

    fn open_memory(&self) -> MemoryService {
        let config = &self.settings.config.memory;
        let roots: Vec<PathBuf> = ROOTS.iter().map(PathBuf::from).chain(config.paths.iter().map(|path| expanded(path))).collect();
        let settings = MemorySettings {
            name: self.memory_name(&roots),
            roots,
            sessions: config.sessions,
            half_life_days: f64::from(config.half_life_days),
            diversity: f64::from(config.diversity_percent) / 100.0,
            indexing_time: Some(INDEXING_TIME),
            data_folder: self.settings.data_folder.clone(),
            server: store_address(),
            calendar: system_calendar(),
        };
        let embedder = self.embedder().unwrap_or_else(|why| {
            warn(&format!("memory.embeddings is not used: {why}"));
            None
        });
        MemoryService::new(settings, Some(Arc::new(CallWriters::new(&self.settings.data_folder))), embedder)
    }

    /// What gives embeddings, if the configuration names it: a folder of a model, or a model of a provider.
    fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, String> {
        let Some(name) = &self.settings.config.memory.embeddings else { return Ok(None) };
        if name.starts_with('/') || name.starts_with("~/") {
            return local_embedder(&expanded(Path::new(name))).map(Some);
        }
        let configured = ProviderEmbedder::configured(&self.settings).transpose();
        Ok(configured.map_err(|failure| failure.message.clone())?.map(|embedder| Arc::new(embedder) as Arc<dyn Embedder>))
    }

    /// A machine of files alone that knows memory, for commands of the user.
    pub(crate) fn memory_host(&self) -> Result<Arc<dyn Host>, Failure> {
        let host = self.reading_host(None)?;
        let host = Arc::try_unwrap(host).map_err(|_| Failure::failed("execution_error", "the files are in use"))?;
        Ok(Arc::new(host.with_services(self.memory_services())))
    }

    /// Indexes changes of memory soon after they were made, in a command that runs long. What cannot be opened here, a search reports.
    pub(crate) fn follow_memory(&self) -> Option<MemoryFollower> {
        let host = self.memory_host().ok()?;
        Some(MemoryFollower(tokio::spawn(self.memory().follow(host))))
    }

    /// Services of calls that change memory.
    pub(crate) fn memory_services(&self) -> Services {
        let mut services = Services::default();
        services.memory = Some(self.memory());
        services
    }

    /// A name for the index: what may be read differs, so what is indexed does.
    fn memory_name(&self, roots: &[PathBuf]) -> String {
        let workspace = &self.settings.config.workspace;
        let mut hasher = DefaultHasher::new();
        (&self.settings.workspace, roots, &workspace.deny_read, workspace.allow_secrets).hash(&mut hasher);
        self.policy.denied_reads(&[self.settings.agent.as_str()], &self.settings.workspace).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Folders of memory outside of the workspace, which tools may read. A symbolic link is none.
    pub(super) fn memory_folders(&self) -> Vec<PathBuf> {
        let paths = self.settings.config.memory.paths.iter().map(|path| expanded(path)).filter(|path| path.is_absolute());
        let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|facts| facts.is_dir());
        paths.filter(|path| is_folder(path) && path.parent().is_some()).collect()
    }
}

#[cfg(feature = "embed-local")]
fn local_embedder(folder: &Path) -> Result<Arc<dyn Embedder>, String> {
    Ok(Arc::new(haft_memory::LocalEmbedder::open(folder)?))
}

#[cfg(not(feature = "embed-local"))]
fn local_embedder(folder: &Path) -> Result<Arc<dyn Embedder>, String> {
    Err(format!("{} is a folder, and this haft was built without the feature embed-local", folder.display()))
}

/// Changes of memory are indexed until this is dropped.
pub(crate) struct MemoryFollower(tokio::task::JoinHandle<()>);

impl Drop for MemoryFollower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A path of the configuration, with the home folder for `~`.
fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Who wrote files, by the calls in the history. It is opened on first use.
pub(super) struct CallWriters {
    data_folder: PathBuf,
    opened: Mutex<Option<Arc<History>>>,
    /// The first call of each session that brought untrusted content in.
    tainted: Mutex<HashMap<String, String>>,
}

struct History {
    log: Arc<StateStore>,
    blobs: Arc<dyn Blobs>,
}

impl CallWriters {
    pub(super) fn new(data_folder: &Path) -> Self {
        Self { data_folder: data_folder.to_owned(), opened: Mutex::default(), tainted: Mutex::default() }
    }

    fn history(&self) -> Result<Arc<History>, String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(history) = &*opened {
            return Ok(Arc::clone(history));
        }
        let log = open_store(&self.data_folder).map_err(|error| error.to_string())?.store;
        let blobs = open_blobs(&self.data_folder, None).map_err(|error| error.to_string())?;
        Ok(Arc::clone(opened.insert(Arc::new(History { log: Arc::new(log), blobs }))))
    }

    async fn version(&self, history: &History, image: &PreImageRecord) -> Option<FileVersion> {
        let record = history.log.get(&image.record).await.ok()?;
        let kind = image.mode.map_or(0, |mode| mode & PreImage::KIND);
        let before = match &image.content {
            Some(id) if kind != PreImage::LINK => {
                let content = history.blobs.open(id).await.ok();
                content.and_then(|content| read_bounded(content).ok())
            }
            _ => None,
        };
        Some(FileVersion { before, after: image.after.clone(), writer: self.writer(history, &record).await })
    }

    /// A call of a conversation is an agent's; one from the command line is the user's.
    async fn writer(&self, history: &History, record: &CallRecord) -> MemoryWriter {
        let call = Some(record.id.clone());
        if history.log.sessions().open(&record.session).await.is_err() {
            return MemoryWriter { call, ..MemoryWriter::default() };
        }
        let is_tainted = RecordedTaint::seen_by(&record.decision) || self.was_tainted(history, record).await;
        MemoryWriter { agent: Some(record.agent.clone()), session: Some(record.session.clone()), call, is_tainted, is_mixed: false }
    }

    /// Whether an earlier call of the session brought untrusted content in: a resumed conversation still has it.
    async fn was_tainted(&self, history: &History, record: &CallRecord) -> bool {
        let first = self.first_untrusted(history, &record.session).await;
        first.is_some_and(|first| first <= record.id)
    }

    async fn first_untrusted(&self, history: &History, session: &str) -> Option<String> {
        if let Some(first) = self.tainted.lock().unwrap_or_else(PoisonError::into_inner).get(session) {
            return Some(first.clone());
        }
        let filter = CallFilter { session: Some(session.to_owned()), ..CallFilter::default() };
        let calls = history.log.list(filter).await.unwrap_or_default();
        let first = calls.into_iter().rev().find(brought_untrusted)?.id;
        self.tainted.lock().unwrap_or_else(PoisonError::into_inner).insert(session.to_owned(), first.clone());
        Some(first)
    }
}

/// Whether a call that ran brought untrusted content in.
fn brought_untrusted(call: &CallRecord) -> bool {
    let decision = &call.decision;
    let trace = decision["trace"].as_array().into_iter().flatten();
    let has_run = decision["verdict"] == Verdict::Allow.as_str()
        || trace.into_iter().any(|step| step["step"] == "approval" && step["outcome"] == "pass");
    let connected = decision["connections"].as_array().is_some_and(|all| all.iter().any(|connection| connection["made"] == true));
    has_run && (RecordedTaint::of_effects(&call.effects).untrusted || RecordedTaint::seen_by(decision) || connected)
}

fn read_bounded(content: Box<dyn Read + Send>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    content.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl WriterSource for CallWriters {
    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, String>> {
        Box::pin(async { self.history()?.log.changed_paths().await.map_err(|error| error.to_string()) })
    }

    fn versions<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<FileVersion>, String>> {
        Box::pin(async move {
            let history = self.history()?;
            let images = history.log.path_images(path).await.map_err(|error| error.to_string())?;
            let mut versions = Vec::new();
            for image in &images {
                versions.extend(self.version(&history, image).await);
            }
            Ok(versions)
        })
    }

    fn is_session_tainted<'a>(&'a self, session: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            // What cannot be known is not trusted.
            let Ok(history) = self.history() else { return true };
            self.first_untrusted(&history, session).await.is_some()
        })
    }
}
