//! `tools/call`: a call through the engine, its progress on the way, and its result.

use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use haft_contract::{Arguments, ErrorKind, Progress, ToolCall, ToolResult};
use haft_engine::WHOLE_IN;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ProgressNotificationParam, ProgressToken, Resource};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::approvals::can_ask;
use super::backend::ClientAgent;
use super::client_session::{ClientSession, is_stateless};
use super::early_call::EarlyCall;
use super::input_required::DetachedCall;
use super::log::{ClientLog, LogSeverity};
use super::resources;
use super::routes::{CallMessage, CallMessages, Questions, RouteGuard, level_of};
use crate::convert::{self, ResultShape};

/// The name under which messages are logged that belong to no call.
const SERVER: &str = "haft";
/// How long the last messages of a call may take to reach the client.
const LAST_MESSAGES: Duration = Duration::from_secs(1);

/// A unique id for a call: clients reuse theirs. Drawn once and then counted: a call needs no random numbers of the system, and ids that
/// grow stay together in the index of the history.
pub(super) fn call_id() -> String {
    static START: OnceLock<String> = OnceLock::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let start = START.get_or_init(|| uuid::Uuid::now_v7().simple().to_string());
    format!("mcp_{}{:08x}", &start[..24], COUNT.fetch_add(1, Ordering::Relaxed))
}

impl ClientSession {
    /// Answers a call.
    pub(super) async fn call(
        self: &Arc<Self>,
        request: CallToolRequestParams,
        shape: ResultShape,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let stateless = is_stateless(&context);
        if let Some(state) = request.request_state.as_deref().filter(|_| stateless) {
            let call = self.waiting.resume(&request, state)?;
            return Box::pin(self.waiting.advance(&request, call, &context.ct)).await;
        }
        if let Some(early) = EarlyCall::take(&context) {
            return Box::pin(self.continue_early(shape, early, context)).await;
        }
        let slot = self.slot()?;
        let capabilities = context.client_capabilities();
        let agent = self.agent_of(&context, capabilities.as_ref()).await?;
        let asks = can_ask(capabilities.as_ref());
        let log = if stateless { Arc::new(ClientLog::of_request(context.meta.log_level())) } else { Arc::clone(&self.log) };
        let run =
            CallRun { client: Arc::clone(self), agent, shape, peer: context.peer.clone(), token: context.meta.get_progress_token(), log };
        if !(stateless && asks) {
            let questions = if asks { Questions::Elicit(context.peer.clone()) } else { Questions::Nobody };
            return run.answer(request, questions, &context.ct, stateless).await.map(CallToolResponse::from);
        }
        let call = run.detach(&request, slot);
        Box::pin(self.waiting.advance(&request, call, &context.ct)).await
    }

    /// A place for a call, of which there are so many.
    pub(super) fn slot(&self) -> Result<OwnedSemaphorePermit, ErrorData> {
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        slot.map_err(|_| ErrorData::internal_error("Too many calls run at once: wait for some of them first.", None))
    }

    /// Answers a call that runs already.
    pub(super) async fn continue_early(
        self: &Arc<Self>,
        shape: ResultShape,
        early: EarlyCall,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let EarlyCall { name, agent, mut running, messages, route, cancel, slot: _slot } = early;
        let (token, log) = (context.meta.get_progress_token(), Arc::clone(&self.log));
        let run = CallRun { client: Arc::clone(self), agent, shape, peer: context.peer.clone(), token, log };
        let running = async {
            tokio::select! {
                biased;
                result = &mut running => result,
                () = context.ct.cancelled() => {
                    cancel.cancel();
                    running.await
                }
            }
        };
        let result = run.forward_until(pin!(running), route, messages, &name).await;
        run.deliver(result, false).await.map(CallToolResponse::from)
    }
}

/// The call of a request.
pub(super) fn tool_call(request: CallToolRequestParams) -> ToolCall {
    let arguments = Arguments::Json(Value::Object(request.arguments.unwrap_or_default()));
    ToolCall::new(call_id(), request.name.into_owned(), arguments)
}

/// What the client is told of a result. Links lead to what was cut from it.
pub(super) fn answer_of(result: ToolResult, shape: ResultShape, links: Vec<Resource>) -> Result<CallToolResult, ErrorData> {
    match &result.outcome {
        Err(error) if error.kind() == ErrorKind::ToolNotFound => Err(ErrorData::invalid_params(error.message().to_owned(), None)),
        _ => Ok(convert::call_result(result, shape, links)),
    }
}

/// Resources with what was cut from the result.
pub(super) fn links(agent: &ClientAgent, result: &ToolResult) -> Vec<Resource> {
    let Ok(output) = &result.outcome else { return Vec::new() };
    let paths = output.texts().filter_map(spill_path);
    let listing = |path: PathBuf| agent.resources.iter().find_map(|source| source.of_path(&path));
    paths.filter_map(listing).map(resources::listed).collect()
}

/// A call with everything that it needs.
struct CallRun {
    client: Arc<ClientSession>,
    agent: Arc<ClientAgent>,
    shape: ResultShape,
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    log: Arc<ClientLog>,
}

impl CallRun {
    async fn answer(
        self,
        request: CallToolRequestParams,
        questions: Questions,
        cancel: &CancellationToken,
        stateless: bool,
    ) -> Result<CallToolResult, ErrorData> {
        let result = self.run(request, questions, cancel).await;
        self.deliver(result, stateless).await
    }

    async fn deliver(&self, result: ToolResult, stateless: bool) -> Result<CallToolResult, ErrorData> {
        let links = links(&self.agent, &result);
        if !links.is_empty() && !stateless {
            self.peer.notify_resource_list_changed().await.ok();
        }
        answer_of(result, self.shape, links)
    }

    async fn run(&self, request: CallToolRequestParams, questions: Questions, cancel: &CancellationToken) -> ToolResult {
        let name = request.name.clone();
        let call = tool_call(request);
        let (route, messages) = self.client.routes.add(&call.id, questions);
        let running = pin!(self.agent.engine.run_until(call, &self.agent.session, cancel));
        self.forward_until(running, route, messages, &name).await
    }

    /// Waits for the result of a call; its messages reach the client before it.
    async fn forward_until(
        &self,
        mut running: Pin<&mut (impl Future<Output = ToolResult> + Send)>,
        route: RouteGuard,
        messages: CallMessages,
        name: &str,
    ) -> ToolResult {
        let mut forwarding = pin!(self.forward(messages, name).fuse());
        let result = tokio::select! {
            biased;
            result = &mut running => result,
            () = &mut forwarding => running.await,
        };
        drop(route);
        tokio::time::timeout(LAST_MESSAGES, forwarding).await.ok();
        result
    }

    async fn forward(&self, messages: CallMessages, tool: &str) {
        let mut notifier = ProgressNotifier { peer: &self.peer, log: &self.log, token: self.token.as_ref(), last: -1.0 };
        while let Some(message) = messages.next().await {
            match message {
                CallMessage::Progress(progress) => notifier.send(progress, tool).await,
                CallMessage::Notice(notice) => self.log.send(&self.peer, level_of(&notice), SERVER, notice.message).await,
            }
        }
    }

    /// Runs the call on a task of its own, because it may outlast the request.
    fn detach(self, request: &CallToolRequestParams, slot: tokio::sync::OwnedSemaphorePermit) -> DetachedCall {
        let (sender, questions) = mpsc::channel(1);
        let (done, result) = oneshot::channel();
        let cancel = self.client.closing().child_token();
        let (request, token) = (request.clone(), cancel.clone());
        let given = request.input_responses.clone().unwrap_or_default();
        tokio::spawn(async move {
            let answer = Box::pin(self.answer(request, Questions::InputRequired(sender, given), &token, true)).await;
            let failed = |error: ErrorData| CallToolResult::error(vec![rmcp::model::ContentBlock::text(error.message)]);
            done.send(answer.unwrap_or_else(failed)).ok();
            drop(slot);
        });
        DetachedCall { result, questions, guard: cancel.drop_guard() }
    }
}

/// The path of the spill that a shortened text names last. Looks at quotes alone: nearly every text names none.
fn spill_path(text: &str) -> Option<PathBuf> {
    let mut quotes = text.rmatch_indices('\'').map(|(at, _)| text.split_at(at + 1));
    let (_, rest) = quotes.find(|(before, _)| before.ends_with(WHOLE_IN))?;
    rest.split_once('\'').map(|(path, _)| PathBuf::from(path))
}

/// Sends the progress of one call.
struct ProgressNotifier<'a> {
    peer: &'a Peer<RoleServer>,
    log: &'a ClientLog,
    token: Option<&'a ProgressToken>,
    /// The protocol wants every number larger than the one before.
    last: f64,
}

impl ProgressNotifier<'_> {
    async fn send(&mut self, progress: Progress, tool: &str) {
        if let Some(token) = self.token {
            let number = |key: &str| progress.details.as_ref().and_then(|details| details[key].as_f64());
            let given = number("progress").filter(|progress| *progress > self.last);
            self.last = given.unwrap_or(self.last + 1.0);
            let mut update = ProgressNotificationParam::new(token.clone(), self.last).with_message(progress.message.clone());
            update.total = given.and_then(|_| number("total"));
            self.peer.notify_progress(update).await.ok();
        }
        self.log.send(self.peer, LogSeverity::Info, tool, progress.message).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spill_is_found_at_the_end_of_a_shortened_text() {
        let text = format!("x {WHOLE_IN}/fake' y\n\n(Output truncated. {WHOLE_IN}/data/spills/1.txt': read_file continues.)");
        assert_eq!(spill_path(&text), Some(PathBuf::from("/data/spills/1.txt")));
        let middle = format!("head\n[{WHOLE_IN}/data/spills/2.txt': read_file continues.]\nit's the tail");
        assert_eq!(spill_path(&middle), Some(PathBuf::from("/data/spills/2.txt")));
        assert_eq!(spill_path("nothing"), None);
        assert_eq!(spill_path("'quoted' x"), None);
    }

    #[test]
    fn call_ids_differ() {
        let (one, other) = (call_id(), call_id());
        assert!(one < other && one.len() == 36 && one.starts_with("mcp_"), "{one} {other}");
    }
}
