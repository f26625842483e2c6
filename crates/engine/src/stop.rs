//! What ends a call early: its own end, its session, or whoever asked for it.

use std::time::Duration;

use haft_contract::ToolError;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::Session;
use crate::stages::run::cancelled;

/// The token of one call. It is cancelled when the call ends, however it ends, so that nothing the tool kept still works.
#[derive(Debug)]
pub(crate) struct Stop<'a> {
    own: CancellationToken,
    outer: Option<&'a CancellationToken>,
    _end: DropGuard,
}

impl<'a> Stop<'a> {
    /// For a call of this session, stopped by this token as well.
    pub(crate) fn new(session: &Session, outer: Option<&'a CancellationToken>) -> Self {
        let own = session.cancellation().child_token();
        Self { _end: own.clone().drop_guard(), own, outer }
    }
    /// The call's own token, for its tool.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.own
    }
    /// Whether someone wants it to end.
    pub(crate) fn is_requested(&self) -> bool {
        self.own.is_cancelled() || self.outer.is_some_and(CancellationToken::is_cancelled)
    }
    /// Resolves when someone does.
    pub(crate) async fn requested(&self) {
        match self.outer {
            None => self.own.cancelled().await,
            Some(outer) => tokio::select! {
                () = self.own.cancelled() => {}
                () = outer.cancelled() => {}
            },
        }
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

/// Waits for something for so long.
pub(crate) async fn within<T>(time: Duration, waiting: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(time, waiting).await.ok()
}
