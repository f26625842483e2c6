//! Sessions with what a list shows of them, and whether such a list is still true.

use haft_contract::ports::SubAgentStatus;

use super::{SessionFilter, SessionRecord, SessionStore, UsageSum};
use crate::StoreError;

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionOverview {
    /// The session.
    pub record: SessionRecord,
    /// What it used.
    pub usage: UsageSum,
    /// The sub-agent, if it is the session of one.
    pub sub_agent: Option<SubAgentStatus>,
}

/// The state of a store at one moment. Two that are equal are of the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreRevision(pub(crate) [u8; 48]);

/// For stores in which a question costs little.
pub(super) async fn one_by_one(store: &(impl SessionStore + ?Sized), filter: SessionFilter) -> Result<Vec<SessionOverview>, StoreError> {
    let mut overviews = Vec::new();
    for record in store.list(filter).await? {
        let usage = store.session_usage(&record.id).await?;
        let sub_agent = store.sub_agent(&record.id).await?;
        overviews.push(SessionOverview { record, usage, sub_agent });
    }
    Ok(overviews)
}
