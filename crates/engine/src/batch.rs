//! Many calls of one response: together where their effects allow it, results in call order.

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use haft_contract::{ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::Session;
use crate::engine::{Engine, identify};
use crate::stages::settle::Trail;

impl Engine {
    /// Answers all calls of one response. Calls whose effects conflict run in call order, all others together; a call
    /// that fails never touches the others.
    pub async fn run_all(&self, calls: Vec<ToolCall>, session: &Session) -> Vec<ToolResult> {
        self.run_all_until(calls, session, &session.cancellation().child_token()).await
    }

    /// As [`Engine::run_all`], stopped by this token as well.
    pub async fn run_all_until(&self, calls: Vec<ToolCall>, session: &Session, cancel: &CancellationToken) -> Vec<ToolResult> {
        let planning: FuturesOrdered<_> = calls
            .into_iter()
            .map(|call| async move {
                let mut trail = Trail::new(identify(&call, session), session.host().clock().now());
                let prepared = self.prepare(call, session, &mut trail).await;
                (trail, prepared)
            })
            .collect();
        let planned: VecDeque<_> = planning.collect().await;
        // Every ticket is drawn before the first call runs: that is what keeps conflicting calls in call order.
        let queued: Vec<_> = planned
            .into_iter()
            .map(|(trail, prepared)| (trail, prepared.map(|ready| (self.inner.locks.queue(ready.plan()), ready))))
            .collect();
        let running: FuturesOrdered<_> = queued
            .into_iter()
            .map(|(mut trail, prepared)| async move {
                let outcome = match prepared {
                    Ok((ticket, ready)) => self.perform(ready, ticket, session, &cancel.child_token(), &mut trail).await,
                    Err(early) => early.outcome(),
                };
                self.settle(trail, outcome, session).await
            })
            .collect();
        running.collect().await
    }
}
