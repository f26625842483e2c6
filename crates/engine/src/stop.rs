//! The stop signal of a call: cancelled by its own end, its session, or its caller.

use std::future::pending;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Shared, select_all};
use haft_contract::{BoxFuture, CallToken, ToolError};
use tokio_util::sync::CancellationToken;

use crate::Session;
use crate::stages::run::cancelled;

/// The token of one call. It is cancelled when the call ends, however it ends, so that a context that the tool kept is dead.
#[derive(Debug)]
pub(crate) struct StopSignal {
    own: CallToken,
    outer: Option<CancellationToken>,
    /// Tokens of the parent sessions.
    above: Vec<CancellationToken>,
}

impl Drop for StopSignal {
    fn drop(&mut self) {
        self.own.cancel();
    }
}

impl StopSignal {
    /// For a call of this session, stopped by this token as well.
    pub(crate) fn new(session: &Session, outer: Option<&CancellationToken>) -> Self {
        Self { own: session.call_token(), outer: outer.cloned(), above: session.stopped_by().to_vec() }
    }
    /// What stops the tool of the call.
    pub(crate) fn call_token(&self) -> &CallToken {
        &self.own
    }
    /// The call's own token, which is made now.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.own.token()
    }
    /// Whether the call is to stop.
    pub(crate) fn is_requested(&self) -> bool {
        self.own.is_cancelled() || self.others().any(CancellationToken::is_cancelled)
    }
    /// Resolves when the call is to stop.
    pub(crate) async fn requested(&self) {
        tokio::select! {
            () = self.own.token().cancelled() => {}
            () = outer(self.outer.as_ref()) => {}
            () = any_of(&self.above) => {}
        }
    }
    fn others(&self) -> impl Iterator<Item = &CancellationToken> {
        self.outer.iter().chain(&self.above)
    }
    /// Waits for a future, unless the call is to stop first.
    pub(crate) async fn unless<T>(&self, waiting: impl Future<Output = T>) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            done = waiting => Ok(done),
            () = self.requested() => Err(cancelled()),
        }
    }
}

/// How long all hooks together may run on after a call was stopped.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// Resolves a moment after a call was stopped; every clone at the same time.
pub(crate) type StopDeadline<'a> = Shared<BoxFuture<'a, ()>>;

impl StopSignal {
    /// The time after which no hook is waited for.
    pub(crate) fn deadline(&self) -> StopDeadline<'_> {
        let deadline = async {
            self.requested().await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        deadline.boxed().shared()
    }
}

async fn outer(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => pending().await,
    }
}

async fn any_of(tokens: &[CancellationToken]) {
    if tokens.is_empty() {
        return pending().await;
    }
    select_all(tokens.iter().map(|token| Box::pin(token.cancelled()))).await;
}

/// Waits for a future up to a time limit.
pub(crate) async fn within<T>(time: Duration, waiting: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(time, waiting).await.ok()
}
