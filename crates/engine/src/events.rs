//! Events of calls, for observers. An observer cannot change a result.

use std::time::Duration;

use haft_contract::{
    CallInfo, ErrorKind, HookEvent,
    ports::{ApprovalAnswer, ApprovalRequest},
};

/// Something that happened to a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A user is asked to approve a call. An [`Event::Answered`] with the same id follows, whatever happens.
    Asked {
        /// The question.
        request: &'a ApprovalRequest,
    },
    /// A question is no longer open.
    Answered {
        /// Which call it was about.
        call: &'a CallInfo,
        /// The id of the question.
        id: &'a str,
        /// `None` if no answer came in time, the call ended, or it was allowed in another way meanwhile.
        answer: Option<&'a ApprovalAnswer>,
    },
    /// Rules that a user allowed for longer than one call could not be kept; this call continues all the same.
    NotKept {
        /// Which call.
        call: &'a CallInfo,
        /// The rules.
        rules: &'a [String],
        /// The consequence and the reason.
        why: String,
    },
    /// A tool starts to run: everything before said yes.
    Started {
        /// Which call.
        call: &'a CallInfo,
    },
    /// A call has its result.
    Finished {
        /// Which call.
        call: &'a CallInfo,
        /// `None` if it worked.
        error: Option<ErrorKind>,
        /// How long it took.
        elapsed: Duration,
    },
    /// A hook could not run. The hook's `on_failure` decides what follows for the call.
    HookFailed {
        /// Which call.
        call: &'a CallInfo,
        /// Which hook.
        hook: &'a str,
        /// When it was asked.
        event: HookEvent,
        /// Why it could not run.
        why: String,
    },
    /// History could not be written; the answer is not lost.
    NotRecorded {
        /// Which call.
        call: &'a CallInfo,
        /// Why.
        why: String,
    },
}

/// Sends an event; a panic of the sink is caught.
pub(crate) fn emit(events: Option<&dyn EventSink>, event: &Event<'_>) {
    if let Some(events) = events {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| events.event(event))).ok();
    }
}

/// Receives events; must not block.
pub trait EventSink: Send + Sync {
    /// Called for each event.
    fn event(&self, event: &Event<'_>);
}
