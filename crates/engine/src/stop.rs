//! What ends a call early: its own end, its session, or whoever asked for it.

use std::future::pending;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Shared, select_all};
use haft_contract::{BoxFuture, ToolError};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::Session;
use crate::stages::run::cancelled;

/// The token of one call. It is cancelled when the call ends, however it ends, so that nothing the tool kept still works.
#[derive(Debug)]
pub(crate) struct Stop<'a> {
    own: CancellationToken,
    outer: Option<&'a CancellationToken>,
    /// Of the sessions up the line.
    above: Vec<CancellationToken>,
    _end: DropGuard,
}

impl<'a> Stop<'a> {
    /// For a call of this session, stopped by this token as well.
    pub(crate) fn new(session: &Session, outer: Option<&'a CancellationToken>) -> Self {
        let own = session.cancellation().child_token();
        Self { _end: own.clone().drop_guard(), own, outer, above: session.stopped_by().to_vec() }
    }
    /// The call's own token, for its tool.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.own
    }
    /// Whether someone wants it to end.
    pub(crate) fn is_requested(&self) -> bool {
        self.own.is_cancelled() || self.others().any(CancellationToken::is_cancelled)
    }
    /// Resolves when someone does.
    pub(crate) async fn requested(&self) {
        tokio::select! {
            () = self.own.cancelled() => {}
            () = outer(self.outer) => {}
            () = any_of(&self.above) => {}
        }
    }
    fn others(&self) -> impl Iterator<Item = &CancellationToken> {
        self.outer.into_iter().chain(&self.above)
    }
    /// Waits for something, unless the call is to end first.
    pub(crate) async fn unless<T>(&self, waiting: impl Future<Output = T>) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            done = waiting => Ok(done),
            () = self.requested() => Err(cancelled()),
        }
    }
}

/// How long those who hear of a call's end may still take, all together, once the call is to stop.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Resolves a moment after a call was to stop; every clone at the same one.
pub(crate) type Over<'a> = Shared<BoxFuture<'a, ()>>;

impl Stop<'_> {
    /// When nobody is waited for any more.
    pub(crate) fn over(&self) -> Over<'_> {
        let over = async {
            self.requested().await;
            tokio::time::sleep(LAST_MOMENT).await;
        };
        over.boxed().shared()
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

/// Waits for something for so long.
pub(crate) async fn within<T>(time: Duration, waiting: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(time, waiting).await.ok()
}
