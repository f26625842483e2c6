//! Work that several machines share: what is claimed, with a lease and a fencing number, and what came of it.

use std::time::Duration;

/// Work to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewWork {
    /// Its id, which the queue knows it by.
    pub id: String,
    /// The kind of work, and which tool or agent it needs.
    pub topic: String,
    /// What is to be done.
    pub body: String,
    /// Whether it may be done again when nobody knows whether it was done.
    pub repeatable: bool,
    /// Nobody begins it later than this.
    pub patience: Duration,
    /// Whose it is; empty where there is one tenant.
    pub tenant: String,
    /// What it needs for itself alone, such as a session; empty if it needs nothing. Work on the same thing is done in its order.
    pub holds: String,
}

/// The state of work. The first three are passing, the others final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkState {
    /// Nobody has it.
    Queued,
    /// A worker has it and has done nothing.
    Claimed,
    /// A worker does it.
    Started,
    /// It has an outcome.
    Done,
    /// The worker that did it is gone: nobody knows what came of it, and it is not done again.
    Unknown,
    /// Nobody began it in time.
    Expired,
    /// It was not begun, or was ended, because nobody wants it any more.
    Cancelled,
    /// It failed too often, or makes no sense: its story says how.
    Aside,
}

impl WorkState {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Queued, "queued"),
        (Self::Claimed, "claimed"),
        (Self::Started, "started"),
        (Self::Done, "done"),
        (Self::Unknown, "unknown"),
        (Self::Expired, "expired"),
        (Self::Cancelled, "cancelled"),
        (Self::Aside, "aside"),
    ];

    /// As it is stored and shown.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }

    /// Whether nothing changes it any more.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Claimed | Self::Started)
    }
}

impl std::str::FromStr for WorkState {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(state, _)| *state).ok_or_else(|| format!("'{name}' is no state of work that this haft knows"))
    }
}

/// A worker's right to write, until it expires or someone else has a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkLease {
    /// The work.
    pub id: String,
    /// Greater than that of every earlier lease of this work.
    pub fence: i64,
}

/// What a worker gets when it wants work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkClaim {
    /// It may do the work.
    Taken {
        /// Its right to write.
        lease: WorkLease,
        /// What is to be done.
        body: String,
        /// The how-manieth claim it is.
        attempt: u64,
    },
    /// There is nothing to do any more.
    Settled(WorkState),
    /// Another worker has it, for this long at least.
    Held(Duration),
    /// There is no such work.
    Missing,
}

/// What a worker is told when it asks for more time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// It has more time.
    Renewed,
    /// Nobody wants the outcome any more: it should end the work and say so.
    Unwanted,
    /// Someone else has the work now, or it is settled: nothing that this worker writes counts.
    Lost,
}

/// Work as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkRecord {
    /// Its id.
    pub id: String,
    /// The kind of work.
    pub topic: String,
    /// Whose it is; empty where there is one tenant.
    pub tenant: String,
    /// How it stands.
    pub state: WorkState,
    /// How often it was claimed.
    pub attempts: u64,
    /// The worker that has or had it.
    pub worker: Option<String>,
    /// What came of it.
    pub outcome: Option<String>,
    /// What happened to it, line by line.
    pub story: Vec<String>,
}

/// How much work of one topic and tenant there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicLoad {
    /// The kind of work.
    pub topic: String,
    /// Whose it is.
    pub tenant: String,
    /// How much waits.
    pub queued: u64,
    /// How much is with a worker.
    pub running: u64,
    /// How long the oldest that waits has waited.
    pub oldest: Duration,
}

/// A worker, as it says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerRecord {
    /// Its name; two may have the same.
    pub name: String,
    /// Its own, which no other has.
    pub token: String,
    /// The machine.
    pub host: String,
    /// Of haft.
    pub version: String,
    /// The folder that it works in.
    pub workspace: String,
    /// What it takes.
    pub topics: Vec<String>,
    /// How much it does now.
    pub running: u64,
    /// How much it does at once.
    pub capacity: u64,
    /// Whether it takes nothing more.
    pub draining: bool,
}
