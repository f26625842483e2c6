//! What a running call gets from the engine: a gate for late effects, a place for pre-images and spills.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{BoxFuture, CallInfo, Effect, ErrorKind, Gate, Journal, Plan, PreImage, SpillFile, SpillWriter, ToolError};
use haft_policy::{Policy, Verdict};
use haft_store::{BlobWriter, Blobs, CallLog, PreImageRecord, StoreError};

use crate::redact::Redactor;
use crate::stages::permit::decide;
use crate::stages::resolve::refused;
use crate::{Entry, Session};

/// Judges what a running call wants beyond its plan.
pub(crate) struct CallGate {
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) session: Session,
    pub(crate) entry: Arc<Entry>,
}

impl Gate for CallGate {
    fn allows(&self, _call: &CallInfo, effect: &Effect) -> Result<(), ToolError> {
        let plan = Plan::nothing().with(effect.clone());
        let offered = self.policy.offer(&self.entry.candidate(), self.session.caller());
        let decision = decide(&*self.policy, offered, &self.entry, &plan, None, &self.session);
        match decision.verdict {
            Verdict::Allow => Ok(()),
            Verdict::Deny => Err(refused(&decision)),
            Verdict::Ask => Err(ToolError::denied(format!(
                "'{}' leads to {} '{}', which needs a person's approval. Call it directly, so that they can be asked.",
                self.entry.name(),
                effect.kind(),
                effect.target()
            ))),
        }
    }
}

/// Keeps what a call leaves behind.
pub(crate) struct CallJournal {
    pub(crate) log: Arc<dyn CallLog>,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) record: uuid::Uuid,
    pub(crate) limits: SpillLimits,
}

/// How large spills may be, and how old.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpillLimits {
    pub(crate) bytes: u64,
    pub(crate) age: Duration,
}

impl Journal for CallJournal {
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let PreImage { path, content, mode, after, created_directories } = image;
            let content = match content {
                Some(content) => Some(self.blobs.keep(content).await.map_err(not_kept)?),
                None => None,
            };
            let record = PreImageRecord { record: self.record.to_string(), path, content, mode, after, created_directories };
            self.log.keep(record).await.map_err(not_kept)
        })
    }

    fn withdraw<'a>(&'a self, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let record = self.record.to_string();
            self.log.withdraw(&record, path, after).await.map_err(|error| ToolError::execution(error.to_string()).with_source(error))
        })
    }

    fn spill(&self, extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(async move {
            // Spills are rare, so each may pay for the old ones. One that cannot be removed is no reason to lose this one.
            self.blobs.prune(self.limits.age).await.ok();
            let blob = self.blobs.spill(extension).await.map_err(not_spilled)?;
            let spill = Spill { blob, redactor: Redactor::default(), bytes: 0, cut: false, limit: self.limits.bytes };
            Ok(Box::new(spill) as Box<dyn SpillWriter>)
        })
    }
}

fn not_kept(error: StoreError) -> ToolError {
    ToolError::execution(format!("The file was not changed, because its old content could not be kept for undo: {error}"))
        .with_source(error)
}

fn not_spilled(error: StoreError) -> ToolError {
    ToolError::new(ErrorKind::ExecutionError, format!("The output is too large, and the rest of it could not be kept: {error}"))
        .with_source(error)
}

/// Redacts on the way to the disk, and stops at the limit with a visible mark.
struct Spill {
    blob: Box<dyn BlobWriter>,
    redactor: Redactor,
    bytes: u64,
    cut: bool,
    limit: u64,
}

impl Spill {
    async fn put(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        if self.cut {
            return Ok(());
        }
        let room = usize::try_from(self.limit.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let fits = &bytes[..bytes.len().min(room)];
        self.blob.write(fits).await.map_err(not_spilled)?;
        self.bytes += fits.len() as u64;
        if fits.len() < bytes.len() {
            self.cut = true;
            let mark = format!("\n(cut here: a spill holds at most {} bytes)\n", self.limit);
            self.blob.write(mark.as_bytes()).await.map_err(not_spilled)?;
        }
        Ok(())
    }
}

impl SpillWriter for Spill {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            // Nobody will read the rest, so it is not looked through for secrets either.
            if self.cut {
                return Ok(());
            }
            let ready = self.redactor.push(bytes);
            self.put(&ready).await
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
            Ok(SpillFile { path, bytes })
        })
    }
}
