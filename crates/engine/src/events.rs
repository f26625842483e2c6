//! What happens, for those who watch. Listeners cannot change a result.

use std::time::Duration;

use haft_contract::{Answer, ApprovalRequest, CallInfo, ErrorKind, HookEvent};

/// Something that happened to a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A person is asked whether a call may go on. An [`Event::Answered`] with the same id follows, whatever happens.
    Asked {
        /// What they are asked.
        request: &'a ApprovalRequest,
    },
    /// A question is no longer open.
    Answered {
        /// Which call it was about.
        call: &'a CallInfo,
        /// The id of the question.
        id: &'a str,
        /// `None` if nobody answered in time, the call ended, or it was allowed in another way meanwhile.
        answer: Option<&'a Answer>,
    },
    /// What a person allowed for longer than one call could not be kept; this call goes on all the same.
    NotKept {
        /// Which call.
        call: &'a CallInfo,
        /// What should have been kept.
        rules: &'a [String],
        /// What that means, and why.
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
    /// A hook could not run. What follows for the call is the hook's own word.
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

/// Receives events; must not block.
pub trait EventSink: Send + Sync {
    /// Called for each event.
    fn event(&self, event: &Event<'_>);
}
