//! The interpreters that run, by whom they belong to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use haft_contract::ToolContext;

use super::interpreter::Interpreter;
use super::language::Language;

/// How many run at one time; the one that was used longest ago gives way.
const MOST: usize = 16;
/// How long one may wait for its next call.
const IDLE: Duration = Duration::from_mins(30);
/// How many are remembered after they were ended.
const REMEMBERED: usize = 64;

/// Whose interpreter: no session sees that of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) session: Arc<str>,
    pub(super) language: Language,
    pub(super) name: String,
}

#[derive(Clone, Default)]
pub(super) struct Interpreters(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The one that was used last behind the others.
    running: Vec<(Key, Arc<Interpreter>)>,
    /// Those that were ended without their session knowing.
    ended: VecDeque<Key>,
}

impl std::fmt::Debug for Interpreters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Interpreters").field(&self.state().running.len()).finish()
    }
}

impl Interpreters {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one that runs for this key, if it is what this call has planned.
    pub(super) fn find(&self, key: &Key, cx: &ToolContext) -> Option<Arc<Interpreter>> {
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

    /// Keeps one for later calls; says whether an earlier one of this key was ended meanwhile.
    pub(super) fn keep(&self, key: &Key, interpreter: Arc<Interpreter>) -> bool {
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

    /// Forgets one, which ends it. Its session is told by whoever does this.
    pub(super) fn forget(&self, key: &Key) -> Option<Arc<Interpreter>> {
        let mut state = self.state();
        state.ended.retain(|ended| ended != key);
        let at = state.running.iter().position(|(known, _)| known == key)?;
        Some(state.running.remove(at).1)
    }
}

impl State {
    fn remember(&mut self, key: Key) {
        if self.ended.len() >= REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back(key);
    }
}

/// Ends an interpreter that nobody uses any more.
async fn end_when_idle(state: Weak<Mutex<State>>, interpreter: Weak<Interpreter>) {
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
