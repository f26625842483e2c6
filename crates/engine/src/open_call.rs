//! A call that has no result yet. Whatever becomes of its future, history gets its end.

use std::sync::Arc;

use haft_contract::{ErrorKind, ToolCall};
use haft_store::CallStatus;

use crate::events::{Event, emit};
use crate::trail::Trail;
use crate::{Engine, Session};

/// What history says of a call whose future was dropped.
const DROPPED: &str = "The program that made the call stopped waiting for it.";

/// The trail of a call. Dropped before the call is settled, it is recorded as cancelled.
pub(crate) struct OpenCall<'a> {
    engine: &'a Engine,
    session: &'a Session,
    /// Until it is taken by what ends the call.
    trail: Option<Box<Trail>>,
}

impl<'a> OpenCall<'a> {
    /// Opens a call; its id is taken, because nothing needs it elsewhere.
    pub(crate) fn new(engine: &'a Engine, session: &'a Session, call: &mut ToolCall) -> Self {
        Self::from_trail(engine, session, Box::new(Trail::new(call, session, &engine.inner.journals)))
    }

    pub(crate) fn from_trail(engine: &'a Engine, session: &'a Session, trail: Box<Trail>) -> Self {
        Self { engine, session, trail: Some(trail) }
    }

    /// The trail so far.
    pub(crate) fn trail(&mut self) -> &mut Trail {
        match &mut self.trail {
            Some(trail) => trail,
            None => unreachable!("the trail is taken with the whole call"),
        }
    }

    /// The trail, for what ends the call.
    pub(crate) fn into_trail(mut self) -> Box<Trail> {
        match self.trail.take() {
            Some(trail) => trail,
            None => unreachable!("the trail is taken with the whole call"),
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let Some(trail) = self.trail.take() else { return };
        let (events, call, elapsed) = (self.engine.inner.events.as_deref(), Arc::clone(trail.call()), trail.elapsed());
        let status = CallStatus::Error(ErrorKind::Cancelled.as_str().to_owned());
        let record = trail.recording(self.session.clone(), status, DROPPED.to_owned(), elapsed);
        if let Err(error) = self.engine.inner.log.append_with(0, record) {
            emit(events, &Event::NotRecorded { call: &call, why: error.to_string() });
        }
        emit(events, &Event::Finished { call: &call, error: Some(ErrorKind::Cancelled), elapsed });
    }
}
