//! What happens, for those who watch. Listeners cannot change a result.

use std::time::Duration;

use haft_contract::{CallInfo, ErrorKind};

/// Something that happened to a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
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
