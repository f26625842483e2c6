//! Events of a turn as events of the server.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_agent::{TurnEvent, TurnWatcher};
use haft_store::{CallFilter, CallLog};
use serde_json::{Value, json};

use super::live::{ApprovalChange, LiveEvent, LiveTurn};
use crate::api::CallView;
use crate::approvals::PageApprovals;
use crate::hub::EventHub;

/// Newest calls of a session among which one that just ended is looked for.
const RECENT_CALLS: usize = 64;

/// A session that runs in this server, as pages see it. Cheap to clone; clones share everything.
#[derive(Clone)]
pub(super) struct LiveSession {
    pub(super) id: Arc<str>,
    agent: Arc<str>,
    model: Arc<Mutex<Option<String>>>,
    live: Arc<Mutex<LiveTurn>>,
    hub: EventHub,
    log: Arc<dyn CallLog>,
}

impl LiveSession {
    pub(super) fn new(id: &str, agent: &str, approvals: &PageApprovals, log: Arc<dyn CallLog>) -> Self {
        let hub = approvals.hub.clone();
        Self { id: id.into(), agent: agent.into(), model: Arc::default(), live: Arc::default(), hub, log }
    }

    /// Changes the turn, and sends what that tells. The lock is held meanwhile, so that a page that looks sees both or neither.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut LiveTurn) -> (T, Vec<LiveEvent>)) -> T {
        let mut live = self.live();
        let (value, events) = change(&mut live);
        for (name, data) in events {
            self.send(name, data);
        }
        value
    }

    fn tell(&self, change: impl FnOnce(&mut LiveTurn) -> Vec<LiveEvent>) {
        self.change(|live| ((), change(live)));
    }

    /// Sends the text that waits.
    pub(super) fn flush(&self) {
        self.tell(LiveTurn::flush_due);
    }

    fn send(&self, name: &'static str, mut data: Value) {
        data["session"] = json!(&*self.id);
        self.hub.send(name, Some(&self.id), &data);
    }

    pub(super) fn live(&self) -> MutexGuard<'_, LiveTurn> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds effects and decision of a call that has ended, which the history has. The turn may end meanwhile: pages still show the call.
    fn enrich(&self, call: CallView) {
        let session = self.clone();
        tokio::spawn(async move {
            let filter = CallFilter { session: Some(session.id.to_string()), limit: Some(RECENT_CALLS), ..CallFilter::default() };
            let Ok(records) = session.log.list(filter).await else { return };
            if let Some(record) = records.into_iter().find(|record| record.call_id == call.id) {
                session.tell(|live| live.enrich_call(call, &record));
            }
        });
    }
}

impl TurnWatcher for LiveSession {
    fn event(&self, event: &TurnEvent<'_>) {
        match event {
            TurnEvent::Start { model, .. } => *self.model.lock().unwrap_or_else(PoisonError::into_inner) = Some((*model).to_owned()),
            TurnEvent::Text(delta) => {
                let model = self.model.lock().unwrap_or_else(PoisonError::into_inner).clone();
                self.tell(|live| live.text(delta, model.as_deref()));
            }
            TurnEvent::Thinking(delta) => self.tell(|live| live.thinking(delta)),
            TurnEvent::ToolStart { call_id, tool, arguments } => {
                self.tell(|live| live.call(CallView::begin(&self.id, &self.agent, call_id, tool, arguments)));
            }
            TurnEvent::ToolUpdate { call_id, message, .. } => self.tell(|live| live.progress(call_id, message)),
            TurnEvent::Approval { call_id, answer, .. } => {
                let change = if answer.is_none() { ApprovalChange::Opened } else { ApprovalChange::Closed };
                self.tell(|live| live.approval(call_id, change));
            }
            TurnEvent::ToolEnd(result) => {
                if let Some(call) = self.change(|live| live.end_call(result)) {
                    self.enrich(call);
                }
                if result.details().is_some_and(|details| details["changes"].is_object()) {
                    self.hub.send("changed", None, &json!({ "what": "changes" }));
                }
            }
            TurnEvent::Usage(..) => self.live().end_response(),
            TurnEvent::Notice(text) => self.tell(|live| live.notice(&for_page(text))),
            TurnEvent::Message(message) => self.tell(|live| live.message(message)),
            TurnEvent::Todos(todos) => self.send("todos", json!({ "todos": todos })),
            TurnEvent::End(end) => self.tell(|live| live.end(end)),
            _ => {}
        }
    }
}

/// A word to the user at a terminal, as one to the user of a page: there Ctrl-C copies.
fn for_page(text: &str) -> Cow<'_, str> {
    const KEY: &str = "; Ctrl-C stops it.";
    if text.contains(KEY) { text.replace(KEY, "; Stop ends it.").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_name_what_the_page_has() {
        assert_eq!(for_page("No answer. Retry 1 of 4 in 0.9 s; Ctrl-C stops it."), "No answer. Retry 1 of 4 in 0.9 s; Stop ends it.");
        assert_eq!(for_page("Ctrl-C"), "Ctrl-C");
    }
}
