//! Ports that the engine gives to a running call: a gate for late effects, a journal for pre-images and spills.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use haft_contract::{
    BoxFuture, CallInfo, Effect, ErrorKind, Plan, SpillFile, SpillWriter, ToolError,
    ports::{Gate, Journal, PreImage},
};
use haft_policy::{Policy, Verdict};
use haft_redact::Redactor;
use haft_store::{BlobWriter, Blobs, CallLog, PreImageRecord, StoreError};
use tokio::time::Instant;

use crate::advice::AdviceCase;
use crate::session::SessionLink;
use crate::stages::permit::decide;
use crate::stages::resolve::refused;
use crate::stages::taint::TaintFacts;
use crate::{CallLimits, Session, ToolEntry};

const PRUNE_INTERVAL: Duration = Duration::from_mins(10);

/// Decides on effects beyond the plan of a running call.
pub(crate) struct CallGate {
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) session: Session,
    pub(crate) entry: Arc<ToolEntry>,
}

impl Gate for CallGate {
    fn allows(&self, _call: &CallInfo, effect: &Effect) -> Result<(), ToolError> {
        self.decide(effect)
    }
    fn after_call(&self) -> Arc<dyn Gate> {
        let (policy, entry) = (Arc::clone(&self.policy), Arc::clone(&self.entry));
        Arc::new(LateGate { policy, session: self.session.link().clone(), entry })
    }
}

impl CallGate {
    fn decide(&self, effect: &Effect) -> Result<(), ToolError> {
        let plan = Plan::nothing().with(effect.clone());
        let offered = self.policy.offer(&self.entry.candidate(), self.session.caller());
        let decision = decide(&*self.policy, offered, &self.entry, &plan, TaintFacts::default(), &self.session);
        match decision.verdict {
            Verdict::Allow => Ok(()),
            Verdict::Deny => {
                let (policy, facts) = (&*self.policy, TaintFacts::default());
                let case = AdviceCase { policy, entry: &self.entry, plan: Some(&plan), facts, session: &self.session };
                Err(refused(&decision, &case.advise(&decision)))
            }
            Verdict::Ask => Err(ToolError::denied(format!(
                "'{}' leads to {} '{}', which needs approval. Call it directly, so that the user can be asked.",
                self.entry.name(),
                effect.kind(),
                effect.target()
            ))),
        }
    }
}

/// Decides on effects of a job after its call.
struct LateGate {
    policy: Arc<dyn Policy>,
    session: SessionLink,
    entry: Arc<ToolEntry>,
}

impl Gate for LateGate {
    fn allows(&self, call: &CallInfo, effect: &Effect) -> Result<(), ToolError> {
        let ended = || ToolError::denied("Its session has ended, so nothing more is decided for it.");
        let session = self.session.current().ok_or_else(ended)?;
        let (policy, entry) = (Arc::clone(&self.policy), Arc::clone(&self.entry));
        CallGate { policy, session, entry }.allows(call, effect)
    }
    fn after_call(&self) -> Arc<dyn Gate> {
        let (policy, entry) = (Arc::clone(&self.policy), Arc::clone(&self.entry));
        Arc::new(Self { policy, session: self.session.clone(), entry })
    }
}

/// Where the journals of all calls write.
pub(crate) struct JournalStores {
    pub(crate) log: Arc<dyn CallLog>,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) limits: SpillLimits,
    pub(crate) pruning: PruneClock,
}

/// Writes the pre-images and spills of a call, and knows what its tool said of it.
pub(crate) struct CallJournal {
    stores: Arc<JournalStores>,
    record: uuid::Uuid,
    /// Whether a failure of the call does not revert its changes.
    is_final: AtomicBool,
    /// Whether it brings untrusted content in that its plan does not show.
    untrusted: AtomicBool,
    /// Most calls write none.
    spills: OnceLock<SpillPaths>,
}

haft_contract::opaque_debug!(CallJournal: record = record);

impl JournalStores {
    pub(crate) fn new(log: Arc<dyn CallLog>, blobs: Arc<dyn Blobs>, limits: &CallLimits) -> Self {
        let limits = SpillLimits { bytes: limits.spill_bytes, age: limits.spill_age };
        Self { log, blobs, limits, pruning: PruneClock::default() }
    }
}

impl CallJournal {
    pub(crate) fn new(stores: &Arc<JournalStores>, record: uuid::Uuid) -> Self {
        let (is_final, untrusted) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { stores: Arc::clone(stores), record, is_final, untrusted, spills: OnceLock::new() }
    }
    /// Whether its changes are final.
    pub(crate) fn is_final(&self) -> bool {
        self.is_final.load(Ordering::Acquire)
    }
    /// Whether it brought untrusted content in.
    pub(crate) fn is_untrusted(&self) -> bool {
        self.untrusted.load(Ordering::Acquire)
    }
    /// The spills that it has finished.
    pub(crate) fn spills(&self) -> Vec<PathBuf> {
        self.spills.get().map(|paths| paths.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap_or_default()
    }
}

/// When old spills were removed last. Every command begins a spill, and looking through all of them takes time.
#[derive(Debug, Default)]
pub(crate) struct PruneClock(Mutex<Option<Instant>>);

impl PruneClock {
    /// Whether to look again: at once, then at most every few minutes.
    fn is_due(&self, age: Duration) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= PRUNE_INTERVAL.min(age));
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

/// Paths of the spills that a call has finished.
type SpillPaths = Arc<Mutex<Vec<PathBuf>>>;

/// Maximum size and age of spills.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpillLimits {
    pub(crate) bytes: u64,
    pub(crate) age: Duration,
}

impl Journal for CallJournal {
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let image = store_image(&*self.stores.blobs, self.record.to_string(), image).await.map_err(not_kept)?;
            self.stores.log.keep(image).await.map_err(not_kept)
        })
    }

    fn keep_all(&self, images: Vec<PreImage>) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let images = store_images(&*self.stores.blobs, &self.record.to_string(), images).await.map_err(not_recorded)?;
            self.stores.log.keep_all(images).await.map_err(not_recorded)
        })
    }

    fn finalize(&self) {
        self.is_final.store(true, Ordering::Release);
    }

    fn mark_untrusted(&self) {
        self.untrusted.store(true, Ordering::Release);
    }

    fn withdraw<'a>(&'a self, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let record = self.record.to_string();
            self.stores.log.withdraw(&record, path, after).await.map_err(|error| ToolError::execution(error.to_string()).with_source(error))
        })
    }

    fn spill(&self, extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(async move {
            let JournalStores { blobs, limits, pruning, .. } = &*self.stores;
            if pruning.is_due(limits.age) {
                // A failure to remove old ones must not lose this one.
                blobs.prune(limits.age).await.ok();
            }
            let blob = blobs.spill(extension).await.map_err(not_spilled)?;
            let (limit, finished) = (limits.bytes, Arc::clone(self.spills.get_or_init(Arc::default)));
            let spill = RedactingSpill { blob, redactor: Redactor::default(), bytes: 0, cut: false, limit, finished };
            Ok(Box::new(spill) as Box<dyn SpillWriter>)
        })
    }
}

/// Stores the content of a pre-image; returns its record.
pub(crate) async fn store_image(blobs: &dyn Blobs, record: String, image: PreImage) -> Result<PreImageRecord, StoreError> {
    let PreImage { path, content, mode, after, created_directories, modified, .. } = image;
    let content = match content {
        Some(content) => Some(blobs.keep(content).await?),
        None => None,
    };
    Ok(PreImageRecord { record, path, content, mode, after, created_directories, modified })
}

/// Stores the contents of pre-images at once; returns their records in the same order.
async fn store_images(blobs: &dyn Blobs, record: &str, images: Vec<PreImage>) -> Result<Vec<PreImageRecord>, StoreError> {
    let (mut contents, mut records) = (Vec::new(), Vec::with_capacity(images.len()));
    for PreImage { path, content, mode, after, created_directories, modified, .. } in images {
        let has_content = content.is_some();
        contents.extend(content);
        let image = PreImageRecord { record: record.to_owned(), path, content: None, mode, after, created_directories, modified };
        records.push((image, has_content));
    }
    let mut ids = blobs.keep_all(contents).await?.into_iter();
    let with_content = |(image, has_content)| PreImageRecord { content: if has_content { ids.next() } else { None }, ..image };
    Ok(records.into_iter().map(with_content).collect())
}

fn not_recorded(error: StoreError) -> ToolError {
    ToolError::execution(format!("the old content could not be kept: {error}")).with_source(error)
}

fn not_kept(error: StoreError) -> ToolError {
    ToolError::execution(format!("The file was not changed, because its old content could not be kept for undo: {error}"))
        .with_source(error)
}

fn not_spilled(error: StoreError) -> ToolError {
    ToolError::new(ErrorKind::ExecutionError, format!("The output is too large, and the rest of it could not be kept: {error}"))
        .with_source(error)
}

/// Redacts on the way to the disk, and stops at the limit with a visible note.
struct RedactingSpill {
    blob: Box<dyn BlobWriter>,
    redactor: Redactor,
    bytes: u64,
    cut: bool,
    limit: u64,
    finished: SpillPaths,
}

impl RedactingSpill {
    async fn put(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        if self.cut {
            return Ok(());
        }
        let space = usize::try_from(self.limit.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let fits = &bytes[..bytes.len().min(space)];
        self.blob.write(fits).await.map_err(not_spilled)?;
        self.bytes += fits.len() as u64;
        if fits.len() < bytes.len() {
            self.cut = true;
            let note = format!("\n(cut here: a spill holds at most {} bytes)\n", self.limit);
            self.blob.write(note.as_bytes()).await.map_err(not_spilled)?;
        }
        Ok(())
    }
}

impl SpillWriter for RedactingSpill {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            // The rest is not written, so it is not searched for secrets either.
            if self.cut {
                return Ok(());
            }
            let (first, then) = self.redactor.push(bytes);
            self.put(&first).await?;
            self.put(&then).await
        })
    }

    fn is_cut(&self) -> bool {
        self.cut
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>> {
        Box::pin(async move {
            let rest = std::mem::take(&mut self.redactor).finish();
            self.put(&rest).await?;
            let bytes = self.bytes;
            let path: PathBuf = self.blob.finish().await.map_err(not_spilled)?;
            self.finished.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
            Ok(SpillFile { path, bytes })
        })
    }
}
