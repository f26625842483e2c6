//! Cleaning at the start: once a day, old data is removed on a thread of its own, and never before the first answer.
//!
//! A command that ends soon cleans when its answer is written; one that stays cleans after a while. What is not done when the process
//! ends is done by the next.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use haft_config::RetentionSettings;

use super::Wire;
use super::retention::{PruneMode, prune};

/// How often data is cleaned.
const INTERVAL: Duration = Duration::from_hours(24);
/// How long after the start of a process that stays.
const DELAY: Duration = Duration::from_secs(20);
/// How long cleaning may take in all.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// How long a process waits for it at its end.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// The time of the last cleaning; locked by the process that cleans.
const STAMP: &str = "haft.db.pruned";

/// The cleaning of this process.
static CLEANING: Mutex<Option<Cleaning>> = Mutex::new(None);

struct Cleaning {
    begin: Sender<()>,
    end: Receiver<()>,
}

impl Wire {
    /// Cleans the data folder in the background, if that is due.
    pub(crate) fn clean_in_background(&self) {
        let mut cleaning = CLEANING.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.settings.data_folder.clone();
        if cleaning.is_some() || !is_due(&folder) {
            return;
        }
        let limits = self.settings.config.retention;
        let ((begin, start), (done, end)) = (channel(), channel());
        let work = move || {
            if start.recv_timeout(DELAY) != Err(RecvTimeoutError::Disconnected) {
                clean(&folder, &limits);
            }
            // The process may have stopped waiting.
            done.send(()).ok();
        };
        // Without a thread, the next start cleans.
        if std::thread::Builder::new().name("haft-clean".into()).spawn(work).is_ok() {
            *cleaning = Some(Cleaning { begin, end });
        }
    }
}

/// Gives the cleaning of this process a little time; for the end of a command.
pub(crate) fn finish() {
    let Some(Cleaning { begin, end }) = CLEANING.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    if begin.send(()).is_ok() {
        end.recv_timeout(LAST_WAIT).ok();
    }
}

/// Whether there is a database, and nobody has cleaned it in a day.
fn is_due(folder: &Path) -> bool {
    let modified = |name: &str| folder.join(name).metadata().and_then(|metadata| metadata.modified());
    let is_recent = |stamp: SystemTime| stamp.elapsed().is_ok_and(|age| age < INTERVAL);
    modified("haft.db").is_ok() && !modified(STAMP).is_ok_and(is_recent)
}

/// A failure is left to the commands that meet the same.
fn clean(folder: &Path, limits: &RetentionSettings) {
    let stamp: PathBuf = folder.join(STAMP);
    let Ok(file) = File::options().create(true).append(true).mode(0o600).open(&stamp) else { return };
    if file.try_lock().is_err() {
        return;
    }
    let pruned = prune(folder, limits, PruneMode::Remove(Some(Instant::now() + TIME_LIMIT)));
    if pruned.is_ok_and(|kinds| kinds.iter().all(|kind| !kind.summary.is_partial)) {
        file.set_modified(SystemTime::now()).ok();
    } else {
        // The next start tries again.
        file.set_modified(SystemTime::UNIX_EPOCH).ok();
    }
}
