//! What every request handler has.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use haft_nodes::NodeHub;
use tokio_util::sync::CancellationToken;

use crate::answers::{AnswerCache, AnswerStamp};
use crate::approvals::PageApprovals;
use crate::auth::GuardState;
use crate::backend::GatewayBackend;
use crate::browsers::PageBrowsers;
use crate::canvas::PageCanvas;
use crate::invocations::Invocations;
use crate::sessions::SessionHost;

/// The state of the server. Cheap to clone; clones share everything.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) backend: Arc<dyn GatewayBackend>,
    pub(crate) guard: Arc<GuardState>,
    pub(crate) approvals: PageApprovals,
    /// What agents show on the page.
    pub(crate) canvas: PageCanvas,
    /// The browsers that users watch.
    pub(crate) browsers: PageBrowsers,
    pub(crate) sessions: Arc<SessionHost>,
    pub(crate) invocations: Arc<Invocations>,
    pub(crate) answers: Arc<AnswerCache>,
    /// The paired machines, if this server has them.
    pub(crate) nodes: Option<NodeHub>,
    /// The address of the page.
    pub(crate) url: Arc<str>,
    pub(crate) stop: CancellationToken,
}

impl App {
    /// What answers from the configuration and the tools depend on.
    pub(crate) fn configuration_stamp(&self) -> AnswerStamp {
        AnswerStamp::from_parts(&self.backend.versions())
    }

    /// What answers about sessions depend on: the store, and what the server holds of running turns, whose every change is an event.
    pub(crate) fn session_stamp(&self) -> Option<AnswerStamp> {
        let revision = self.backend.sessions().revision()?;
        Some(AnswerStamp::from_parts(&(revision, self.approvals.hub.newest(), self.sessions.open_count())))
    }

    /// What answers from files, jobs and past calls depend on: every change of the store, every event, and the second, because other programs
    /// change files, and days end.
    pub(crate) fn file_stamp(&self) -> Option<AnswerStamp> {
        let revision = self.backend.sessions().revision()?;
        Some(AnswerStamp::from_parts(&(revision, self.moment_stamp()?)))
    }

    /// The configuration, the newest event and the second.
    pub(crate) fn moment_stamp(&self) -> Option<AnswerStamp> {
        let second = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
        Some(AnswerStamp::from_parts(&(self.approvals.hub.newest(), self.backend.versions(), second)))
    }

    /// Tells every page that something which it may show has changed.
    pub(crate) fn changed(&self, what: &str) {
        self.approvals.hub.send("changed", None, &serde_json::json!({ "what": what }));
    }
}
