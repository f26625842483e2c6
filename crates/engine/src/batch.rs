//! All calls of one response: in parallel where their effects allow it, results in call order.

use std::task::{Context, Poll};

use futures_util::stream::{self, FuturesOrdered, FuturesUnordered};
use futures_util::{Stream, StreamExt};
use haft_contract::{ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::Session;
use crate::engine::Engine;
use crate::open_call::OpenCall;
use crate::stop::StopSignal;

impl Engine {
    /// Answers all calls of one response. Calls whose effects conflict run in call order, all others together; a call
    /// that fails never touches the others.
    pub async fn run_all(&self, calls: Vec<ToolCall>, session: &Session) -> Vec<ToolResult> {
        self.answer_all(stream::iter(calls), session, None, |_| {}).await
    }

    /// As [`Engine::run_all`], stopped by this token as well. The token is only listened to, never cancelled.
    pub async fn run_all_until(&self, calls: Vec<ToolCall>, session: &Session, cancel: &CancellationToken) -> Vec<ToolResult> {
        self.answer_all(stream::iter(calls), session, Some(cancel), |_| {}).await
    }

    /// As [`Engine::run_all_until`], for calls that are still arriving: each begins as soon as it is there, and each result
    /// is reported as soon as there is one. `next` is polled for the next call, and gives nothing after the last.
    pub async fn run_arriving(
        &self,
        next: impl FnMut(&mut Context<'_>) -> Poll<Option<ToolCall>>,
        session: &Session,
        cancel: &CancellationToken,
        each: impl FnMut(&ToolResult),
    ) -> Vec<ToolResult> {
        self.answer_all(stream::poll_fn(next), session, Some(cancel), each).await
    }

    async fn answer_all(
        &self,
        calls: impl Stream<Item = ToolCall>,
        session: &Session,
        cancel: Option<&CancellationToken>,
        mut each: impl FnMut(&ToolResult),
    ) -> Vec<ToolResult> {
        let mut calls = std::pin::pin!(calls.enumerate().fuse());
        let mut results: Vec<Option<ToolResult>> = Vec::new();
        let mut planning = FuturesOrdered::new();
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some((index, mut call)) = calls.next() => {
                    results.push(None);
                    planning.push_back(async move {
                        let stop = StopSignal::new(session, cancel);
                        let mut open = OpenCall::new(self, session, &mut call);
                        let planned = self.plan_call(&mut call, session, &stop, &mut open).await;
                        (index, planned, stop, open)
                    });
                }
                // Plans come in call order, and each call draws its ticket as it comes: that keeps conflicting calls in
                // order, and a slow planner delays no call before it.
                Some((index, planned, stop, open)) = planning.next() => {
                    let ticketed = planned.map(|ready| {
                        let ticket = self.inner.locks.queue(ready.plan());
                        (ready, Some(ticket))
                    });
                    running.push(async move { (index, self.complete(ticketed, session, stop, open).await) });
                }
                Some((index, result)) = running.next() => {
                    each(&result);
                    results[index] = Some(result);
                }
                else => break,
            }
        }
        results.into_iter().flatten().collect()
    }
}
