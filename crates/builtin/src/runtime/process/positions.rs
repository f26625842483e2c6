//! How far the output of each job was read.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_contract::JobStatus;

/// How many jobs are remembered; the least recently used is forgotten, and read from its start again.
const REMEMBERED: usize = 256;

/// How far a job was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ReadPosition {
    /// Bytes that were shown.
    pub(super) bytes: u64,
    /// How often in a row there was nothing new.
    pub(super) empty: usize,
}

/// Positions by session and job, the most recently used last.
#[derive(Debug, Default)]
pub(super) struct ReadPositions {
    known: Mutex<VecDeque<(JobKey, ReadPosition)>>,
}

type JobKey = (String, String);

impl ReadPositions {
    /// How far a job was read; from its start, if it is not known.
    pub(super) fn get(&self, job: &JobStatus) -> ReadPosition {
        let key = key(job);
        self.lock_positions().iter().find(|(known, _)| *known == key).map(|(_, position)| *position).unwrap_or_default()
    }

    /// Remembers how far it was read.
    pub(super) fn set(&self, job: &JobStatus, position: ReadPosition) {
        let key = key(job);
        let mut known = self.lock_positions();
        known.retain(|(other, _)| *other != key);
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back((key, position));
    }

    pub(super) fn forget(&self, job: &JobStatus) {
        let key = key(job);
        self.lock_positions().retain(|(other, _)| *other != key);
    }

    fn lock_positions(&self) -> MutexGuard<'_, VecDeque<(JobKey, ReadPosition)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(job: &JobStatus) -> JobKey {
    (job.session.clone(), job.id.clone())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use haft_contract::ExecHost;

    use super::*;

    fn job(session: &str, id: usize) -> JobStatus {
        JobStatus {
            id: format!("job-{id}"),
            session: session.into(),
            command: String::new(),
            directory: "/".into(),
            host: ExecHost::Sandbox,
            sandbox: String::new(),
            pid: None,
            started: SystemTime::UNIX_EPOCH,
            end: None,
            bytes: 0,
            kept_from: 0,
        }
    }

    #[test]
    fn each_session_has_its_own_and_the_oldest_go_first() {
        let positions = ReadPositions::default();
        let at = |bytes| ReadPosition { bytes, empty: 1 };
        positions.set(&job("a", 1), at(1));
        positions.set(&job("b", 1), at(2));
        assert_eq!(
            [positions.get(&job("a", 1)), positions.get(&job("b", 1)), positions.get(&job("c", 1))],
            [at(1), at(2), ReadPosition::default()]
        );
        (2..=255).for_each(|id| positions.set(&job("a", id), at(3)));
        positions.set(&job("a", 1), at(4));
        positions.set(&job("a", 256), at(5));
        assert_eq!(
            [positions.get(&job("a", 1)), positions.get(&job("b", 1)), positions.get(&job("a", 2))],
            [at(4), ReadPosition::default(), at(3)]
        );
        positions.forget(&job("a", 1));
        assert_eq!(positions.get(&job("a", 1)), ReadPosition::default());
    }
}
