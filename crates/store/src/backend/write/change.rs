//! What a writer is asked to change; each backend makes it in its own words.

use std::path::PathBuf;
use std::time::SystemTime;

use haft_contract::JobEnd;
use haft_contract::ports::{JobRecord, SendOutcome, SubAgentStatus};

use crate::{
    AutomationChange, ConversationRecord, NewMessage, PairedSender, SendIntent, SessionOwner, SessionRecord, StoredTaint, TodoVersion,
    UsageRecord,
};

/// A change to a session.
pub(in crate::backend) enum SessionChange {
    Create(SessionRecord),
    Rename { session: String, title: Option<String> },
    SetModel { session: String, model: Option<String> },
    SetAccess { session: String, access: Option<String> },
    Close(String),
    Delete(String),
    Fork { session: String, at: Option<u64>, id: String, now: SystemTime },
    Append { session: String, expected: Option<u64>, messages: Vec<NewMessage> },
    Rewrite { session: String, from: u64, messages: Vec<NewMessage>, reason: String, now: SystemTime },
    Claim(ClaimRequest),
    Release { token: String },
    Usage(UsageRecord),
    SubAgent { status: SubAgentStatus, presence: String },
    InterruptSubAgents { now: SystemTime },
    Todos { session: String, version: TodoVersion },
    Taint { session: String, taint: StoredTaint },
    SetSkills { session: String, skills: Option<String> },
}

/// A claim to be made.
pub(in crate::backend) struct ClaimRequest {
    pub(in crate::backend) session: String,
    /// Tells this claim from all others.
    pub(in crate::backend) token: String,
    /// The id of the claiming process, by which others know whether it lives.
    pub(in crate::backend) presence: String,
    pub(in crate::backend) owner: SessionOwner,
}

/// A change to the list of jobs.
pub(in crate::backend) enum JobChange {
    Begin(JobRecord),
    End { number: u64, end: JobEnd, bytes: u64 },
    Forget(u64),
}

/// A change of scheduled jobs.
pub(in crate::backend) enum AutomationWrite {
    Commit { workspace: PathBuf, change: Box<AutomationChange>, presence: String },
    Take { run: String, presence: String },
}

/// A change to the tables of channels.
pub(in crate::backend) enum ChannelChange {
    Intend { intent: SendIntent, since: SystemTime },
    Settle { id: String, outcome: SendOutcome, message: Option<String>, reason: Option<String>, at: SystemTime },
    AddSender(PairedSender),
    RemoveSender { channel: String, sender: String },
    OpenCode { channel: String, hash: String, expires: SystemTime },
    GuessCode { channel: String, hash: String, now: SystemTime, most: u32 },
    Conversation(ConversationRecord),
    Seen { channel: String, message: String, at: SystemTime, waiting: Option<(String, String)> },
    Answered { channel: String, message: String },
    TakeWaiting { sequence: i64, before: String, presence: String },
    Cursor { channel: String, cursor: String },
}

/// What [`ChannelChange::GuessCode`] answers; 0 means that there is no code.
pub(in crate::backend) const RIGHT: u64 = 1;
pub(in crate::backend) const WRONG: u64 = 2;
