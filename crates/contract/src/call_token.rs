//! The token that stops a call. Most calls end without anyone waiting for theirs, so its parts are made when somebody asks for them.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Tells the tool of one call to stop. Clones are of the same call.
#[derive(Debug, Clone)]
pub struct CallToken {
    inner: Arc<CallTokenParts>,
}

#[derive(Debug)]
struct CallTokenParts {
    /// Stops every call of the session.
    parent: Arc<CancellationToken>,
    is_cancelled: AtomicBool,
    /// Its child, once somebody waits for it.
    token: OnceLock<CancellationToken>,
}

impl CallToken {
    /// For one call, which its parent stops as well.
    pub fn child_of(parent: &Arc<CancellationToken>) -> Self {
        let (parent, is_cancelled) = (Arc::clone(parent), AtomicBool::new(false));
        Self { inner: Arc::new(CallTokenParts { parent, is_cancelled, token: OnceLock::new() }) }
    }

    /// A token that can be waited for.
    pub fn token(&self) -> &CancellationToken {
        let CallTokenParts { parent, is_cancelled, token } = &*self.inner;
        let token = token.get_or_init(|| parent.child_token());
        // `cancel` may have looked before the token was there: of the two, one sees what the other wrote.
        fence(Ordering::SeqCst);
        if is_cancelled.load(Ordering::Relaxed) {
            token.cancel();
        }
        token
    }

    /// Stops the call, and not its parent.
    pub fn cancel(&self) {
        self.inner.is_cancelled.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        if let Some(token) = self.inner.token.get() {
            token.cancel();
        }
    }

    /// Whether the call is to stop.
    pub fn is_cancelled(&self) -> bool {
        let CallTokenParts { parent, is_cancelled, token } = &*self.inner;
        is_cancelled.load(Ordering::Acquire) || token.get().unwrap_or(parent).is_cancelled()
    }
}

/// A token of its own, which nothing else stops.
impl From<CancellationToken> for CallToken {
    fn from(token: CancellationToken) -> Self {
        let (parent, is_cancelled) = (Arc::new(token.clone()), AtomicBool::new(false));
        Self { inner: Arc::new(CallTokenParts { parent, is_cancelled, token: OnceLock::from(token) }) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn call_stops_with_its_parent_and_not_the_other_way_round() {
        let parent = Arc::new(CancellationToken::new());
        for asks_first in [true, false] {
            let (call, other) = (CallToken::child_of(&parent), CallToken::child_of(&parent));
            let token = asks_first.then(|| call.token().clone());
            assert!(!call.is_cancelled());
            call.clone().cancel();
            assert!(call.is_cancelled() && call.token().is_cancelled() && token.is_none_or(|token| token.is_cancelled()));
            assert!(!other.is_cancelled() && !other.token().is_cancelled() && !parent.is_cancelled());
        }
        let (idle, asked) = (CallToken::child_of(&parent), CallToken::child_of(&parent));
        asked.token();
        parent.cancel();
        assert!([idle, asked].iter().all(|call| call.is_cancelled() && call.token().is_cancelled()));
    }

    #[test]
    fn given_token_is_the_call_itself() {
        let given = CancellationToken::new();
        let call = CallToken::from(given.clone());
        call.token().cancel();
        assert!(given.is_cancelled() && call.is_cancelled());
        let given = CancellationToken::new();
        CallToken::from(given.clone()).cancel();
        assert!(given.is_cancelled());
    }

    #[test]
    fn token_that_is_made_while_the_call_ends_is_cancelled() {
        let parent = Arc::new(CancellationToken::new());
        for _ in 0..500 {
            let (call, barrier) = (CallToken::child_of(&parent), Barrier::new(2));
            let token = std::thread::scope(|scope| {
                scope.spawn(|| {
                    barrier.wait();
                    call.cancel();
                });
                barrier.wait();
                call.token().clone()
            });
            assert!(token.is_cancelled());
        }
    }
}
