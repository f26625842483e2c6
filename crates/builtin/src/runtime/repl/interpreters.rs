//! The running interpreters of all sessions.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use haft_contract::ToolContext;

use super::interpreter::Interpreter;
use super::language::Language;

/// How many run at one time; the least recently used is ended.
const MOST: usize = 16;
/// How long one may be idle.
const IDLE: Duration = Duration::from_mins(30);
/// How many ended ones are remembered.
const REMEMBERED: usize = 64;

/// A session does not see the interpreters of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InterpreterKey {
    pub(super) session: Arc<str>,
    pub(super) language: Language,
    pub(super) name: String,
}

#[derive(Clone, Default)]
pub(super) struct InterpreterPool(Arc<Mutex<InterpreterPoolState>>);

#[derive(Default)]
struct InterpreterPoolState {
    /// The most recently used last.
    running: Vec<(InterpreterKey, Arc<Interpreter>)>,
    /// Those that ended while their session did not call them.
    ended: VecDeque<InterpreterKey>,
}

impl std::fmt::Debug for InterpreterPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("InterpreterPool").field(&self.state().running.len()).finish()
    }
}

impl InterpreterPool {
    fn state(&self) -> MutexGuard<'_, InterpreterPoolState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The running interpreter of this key, if it is the one that the call has planned.
    pub(super) fn find(&self, key: &InterpreterKey, cx: &ToolContext) -> Option<Arc<Interpreter>> {
        let mut state = self.state();
        let at = state.running.iter().position(|(known, _)| known == key)?;
        let found = state.running.remove(at);
        if !found.1.serves(cx) {
            state.remember(found.0);
            return None;
        }
        let interpreter = Arc::clone(&found.1);
        state.running.push(found);
        Some(interpreter)
    }

    /// Adds one for later calls; returns whether an earlier one of this key has ended.
    pub(super) fn keep(&self, key: &InterpreterKey, interpreter: Arc<Interpreter>) -> bool {
        let mut state = self.state();
        if state.running.len() >= MOST {
            let (oldest, _) = state.running.remove(0);
            state.remember(oldest);
        }
        tokio::spawn(end_when_idle(Arc::downgrade(&self.0), Arc::downgrade(&interpreter)));
        state.running.push((key.clone(), interpreter));
        let before = state.ended.len();
        state.ended.retain(|ended| ended != key);
        state.ended.len() < before
    }

    /// Removes one, which ends it; the caller tells its session.
    pub(super) fn forget(&self, key: &InterpreterKey) -> Option<Arc<Interpreter>> {
        let mut state = self.state();
        state.ended.retain(|ended| ended != key);
        let at = state.running.iter().position(|(known, _)| known == key)?;
        Some(state.running.remove(at).1)
    }
}

impl InterpreterPoolState {
    fn remember(&mut self, key: InterpreterKey) {
        if self.ended.len() >= REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back(key);
    }
}

/// Ends an interpreter that is idle.
async fn end_when_idle(state: Weak<Mutex<InterpreterPoolState>>, interpreter: Weak<Interpreter>) {
    loop {
        let Some(idle) = interpreter.upgrade().map(|interpreter| interpreter.idle()) else { return };
        if let Some(rest) = IDLE.checked_sub(idle).filter(|rest| !rest.is_zero()) {
            tokio::time::sleep(rest).await;
            continue;
        }
        let (Some(state), Some(idle)) = (state.upgrade(), interpreter.upgrade()) else { return };
        let Ok(_turn) = idle.turn.try_lock() else {
            tokio::time::sleep(IDLE).await;
            continue;
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = state.running.iter().position(|(_, running)| Arc::ptr_eq(running, &idle)) {
            let (key, _) = state.running.remove(at);
            state.remember(key);
        }
        return;
    }
}
