//! Processor time of commands: the system adds up that of every child that has ended, with its descendants. The sum of a day is on the
//! server that has the state, for all machines, or in a file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haft_store::{StateStore, StoreError};
use serde::{Deserialize, Serialize};

/// The system counts in hundredths of a second, whatever the machine.
const TICK: Duration = Duration::from_millis(10);
const FILE: &str = "cpu.json";

/// What the system had counted for this process when it was last looked at.
static SEEN: Mutex<u64> = Mutex::new(0);

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CpuDay {
    day: String,
    ticks: u64,
}

/// The time of commands of this day, of this process and those before it.
pub(super) async fn of_today(store: &StateStore, folder: &Path, day: &str) -> Result<Duration, StoreError> {
    let more = take_new_ticks();
    let stored = store.add_processor_time(day, more).await;
    if stored.is_err() {
        // They count when the server can be reached again.
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = seen.saturating_sub(more);
    }
    let ticks = stored?.unwrap_or_else(|| add_to_file(folder, day, more));
    Ok(TICK * u32::try_from(ticks).unwrap_or(u32::MAX))
}

fn take_new_ticks() -> u64 {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let now = ticks_of_children().unwrap_or(*seen);
    let more = now.saturating_sub(*seen);
    *seen = (*seen).max(now);
    more
}

fn add_to_file(folder: &Path, day: &str, more: u64) -> u64 {
    let file = folder.join(FILE);
    let mut stored: CpuDay = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if stored.day != day {
        stored = CpuDay { day: day.to_owned(), ticks: 0 };
    }
    stored.ticks += more;
    if more > 0 {
        store(&file, &stored);
    }
    stored.ticks
}

/// A count that cannot be stored holds until the process ends.
fn store(file: &Path, day: &CpuDay) {
    let temporary = file.with_extension("new");
    if let Ok(bytes) = serde_json::to_vec(day)
        && std::fs::write(&temporary, bytes).is_ok()
    {
        std::fs::rename(&temporary, file).ok();
    }
}

/// Of user and of system, as `/proc/self/stat` has them after the name of the program.
fn ticks_of_children() -> Option<u64> {
    ticks_in(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

fn ticks_in(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_children_is_read_behind_any_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 130 40 20 0 1";
        assert_eq!(ticks_in(stat), Some(170));
        assert_eq!(ticks_in("nothing"), None);
    }

    #[test]
    fn day_that_is_stored_counts_and_another_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        store(&folder.path().join(FILE), &CpuDay { day: "2026-11-18".into(), ticks: 500 });
        let ticks = [("2026-11-18", 7), ("2026-11-18", 0), ("2026-11-19", 3)].map(|(day, more)| add_to_file(folder.path(), day, more));
        assert_eq!(ticks, [507, 507, 3]);
    }
}
