//! Removes old data: each kind of stored data with its limits.

use std::path::Path;
use std::time::{Instant, SystemTime};

use haft_config::RetentionSettings;
use haft_contract::{Prunable, PruneSummary, RetentionLimit};
use haft_jobs::{EntryFolders, Quarantine};
use haft_store::{StatePruner, StoreError};

/// The folder of the entries in quarantine, in that of the data.
pub(crate) const QUARANTINE: &str = "quarantine";

/// The folder of recordings of the browser, in that of the data.
pub(crate) const RECORDINGS: &str = "recordings";

/// Whether anything is removed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PruneMode {
    /// Nothing: what would be removed is counted.
    DryRun,
    /// What exceeds its limits, until the deadline.
    Remove(Option<Instant>),
}

/// One kind of stored data, and what goes of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PrunedKind {
    pub(crate) name: &'static str,
    pub(crate) limit: RetentionLimit,
    pub(crate) summary: PruneSummary,
}

/// What the store keeps; each backend has keys of its own.
macro_rules! stored_kinds {
    ($store:expr, $limits:expr, $mode:expr) => {
        vec![
            kind("history", $limits.history, &$store.history(), $mode)?,
            kind("pre-images", $limits.pre_images, &$store.pre_images()?, $mode)?,
            kind("sessions", $limits.sessions, &$store.sessions(), $mode)?,
            kind("spills", $limits.spills, &$store.spills()?, $mode)?,
        ]
    };
}

/// Removes what exceeds its limits, or counts it.
pub(crate) fn prune(data_folder: &Path, limits: &RetentionSettings, mode: PruneMode) -> Result<Vec<PrunedKind>, StoreError> {
    let store = StatePruner::open(super::store_address().as_deref(), data_folder)?;
    let store = match super::blobs::bucket_objects()? {
        Some(objects) => store.with_objects(objects),
        None => store,
    };
    let quarantine = Quarantine::new(data_folder.join(QUARANTINE));
    let mut kinds = match &store {
        StatePruner::Sqlite(store) => stored_kinds!(store, limits, mode),
        #[cfg(feature = "postgres")]
        StatePruner::Postgres(store) => stored_kinds!(store, limits, mode),
    };
    let folders = [
        kind("changes", limits.changes, &EntryFolders::changes(data_folder), mode),
        kind("checkpoints", limits.checkpoints, &EntryFolders::checkpoints(data_folder, &store.workspaces_in_use()?), mode),
        kind("recordings", limits.spills, &EntryFolders::of_sessions(&data_folder.join(RECORDINGS)), mode),
        kind("quarantine", limits.quarantine, &EntryFolders::quarantine(&quarantine), mode),
    ];
    kinds.extend(folders.map(|pruned| pruned.unwrap_or_else(|never| match never {})));
    // Only where the user waits for it: it writes the whole file anew.
    if matches!(mode, PruneMode::Remove(None)) {
        store.compact()?;
    }
    Ok(kinds)
}

fn kind<P: Prunable>(name: &'static str, limit: RetentionLimit, data: &P, mode: PruneMode) -> Result<PrunedKind, P::Error> {
    let now = SystemTime::now();
    let summary = match mode {
        PruneMode::DryRun => limit.survey(data, now)?,
        PruneMode::Remove(deadline) => limit.prune(data, now, deadline)?,
    };
    Ok(PrunedKind { name, limit, summary })
}
