//! Many calls of one response: together where their effects allow it, results in call order.

use futures_util::StreamExt;
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use haft_contract::{ToolCall, ToolError, ToolOutput, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::Session;
use crate::engine::{Early, Engine, Ready, guarded};
use crate::stages::settle::Trail;
use crate::stop::Stop;

/// A call on its way: its place in the batch, what ends it, what is known of it.
struct Travelling<'a> {
    place: usize,
    stop: Stop<'a>,
    trail: Trail,
}

impl Engine {
    /// Answers all calls of one response. Calls whose effects conflict run in call order, all others together; a call
    /// that fails never touches the others.
    pub async fn run_all(&self, calls: Vec<ToolCall>, session: &Session) -> Vec<ToolResult> {
        self.answer_all(calls, session, None).await
    }

    /// As [`Engine::run_all`], stopped by this token as well. The token is only listened to, never cancelled.
    pub async fn run_all_until(&self, calls: Vec<ToolCall>, session: &Session, cancel: &CancellationToken) -> Vec<ToolResult> {
        self.answer_all(calls, session, Some(cancel)).await
    }

    async fn answer_all(&self, calls: Vec<ToolCall>, session: &Session, cancel: Option<&CancellationToken>) -> Vec<ToolResult> {
        let mut results: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
        let mut planning: FuturesOrdered<_> =
            calls.into_iter().enumerate().map(|(place, call)| self.plan_one(place, call, session, cancel)).collect();
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                // Plans come in call order, and each call draws its ticket as it comes: that keeps conflicting calls in
                // order, and a slow planner holds up nobody before it.
                Some((travelling, planned)) = planning.next() => {
                    let ticketed = planned.map(|ready| (self.inner.locks.queue(ready.plan()), ready));
                    running.push(async move {
                        let Travelling { place, stop, mut trail } = travelling;
                        let outcome = match ticketed {
                            Ok((ticket, ready)) => guarded(async {
                                self.perform(ready, Some(ticket), session, &stop, &mut trail).await.map_err(Early::Refused)
                            }).await,
                            Err(outcome) => outcome,
                        };
                        (place, self.settle(trail, outcome, session).await)
                    });
                }
                Some((place, result)) = running.next() => results[place] = Some(result),
                else => break,
            }
        }
        results.into_iter().flatten().collect()
    }

    /// The first half of one call; what ended early has its outcome already.
    async fn plan_one<'a>(
        &self,
        place: usize,
        call: ToolCall,
        session: &Session,
        cancel: Option<&'a CancellationToken>,
    ) -> (Travelling<'a>, Result<Ready, Result<ToolOutput, ToolError>>) {
        let stop = Stop::new(session, cancel);
        let mut trail = Trail::new(&call, session);
        let mut ready = None;
        let outcome = guarded(async {
            ready = Some(self.prepare(call, session, &stop, &mut trail).await?);
            Ok(ToolOutput::default())
        })
        .await;
        (Travelling { place, stop, trail }, ready.ok_or(outcome))
    }
}
