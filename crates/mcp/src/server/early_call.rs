//! A call that runs before the SDK knows of its request.
//!
//! Most calls are done at once and say nothing before their result: these are answered without it. Over HTTP the SDK sends each request
//! through two tasks and a stream of events, so a call that is not done waits in its request and continues in the SDK's handler, where its
//! progress, its questions and its result have their stream. It says and asks nothing before that: messages wait in their queue, and
//! questions begin with a pause. On a pipe it continues in a task of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use futures_util::FutureExt;
use haft_contract::ToolResult;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::approvals::can_ask;
use super::backend::ClientAgent;
use super::calls::{answer_of, links, tool_call};
use super::client_session::ClientSession;
use super::routes::{CallMessages, Questions, RouteGuard};
use crate::convert::ResultShape;

/// A call that is not done. Dropping it stops the tool, as the engine does with every call.
pub(super) struct EarlyCall {
    pub(super) name: String,
    pub(super) agent: Arc<ClientAgent>,
    pub(super) running: Pin<Box<dyn Future<Output = ToolResult> + Send>>,
    pub(super) messages: CallMessages,
    pub(super) route: RouteGuard,
    pub(super) cancel: CancellationToken,
    pub(super) slot: OwnedSemaphorePermit,
}

/// What became of a call at once.
pub(super) enum EarlyOutcome {
    /// It is done.
    Answered(Result<CallToolResponse, ErrorData>),
    /// It runs, or has said something that must be sent before its result.
    Runs(EarlyCall),
}

/// What a call of a client that has shaken hands and called before needs.
pub(super) struct ReadyClient {
    agent: Arc<ClientAgent>,
    questions: Questions,
}

/// Where a call waits for the handler of its request.
#[derive(Clone)]
pub(super) struct EarlyCallSlot(Arc<Mutex<Option<EarlyCall>>>);

impl EarlyCallSlot {
    pub(super) fn new(call: EarlyCall) -> Self {
        Self(Arc::new(Mutex::new(Some(call))))
    }
}

impl EarlyCall {
    /// The call that was begun for this request.
    pub(super) fn take(context: &RequestContext<RoleServer>) -> Option<Self> {
        let slot = context.extensions.get::<Parts>()?.extensions.get::<EarlyCallSlot>()?;
        slot.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ClientSession {
    /// What the calls of this client need. `None`: the SDK must answer, which asks who calls.
    pub(super) fn ready(&self) -> Option<ReadyClient> {
        let peer = self.direct_peer()?;
        let asks = peer.peer_info().is_some_and(|info| can_ask(Some(&info.capabilities)));
        let agent = self.open_agent(asks)?;
        Some(ReadyClient { agent, questions: if asks { Questions::Elicit(peer.clone()) } else { Questions::Nobody } })
    }

    /// Begins a call, which the token cancels.
    pub(super) fn begin(
        self: &Arc<Self>,
        ReadyClient { agent, questions }: ReadyClient,
        request: CallToolRequestParams,
        shape: ResultShape,
        cancel: CancellationToken,
    ) -> EarlyOutcome {
        let slot = match self.slot() {
            Ok(slot) => slot,
            Err(error) => return EarlyOutcome::Answered(Err(error)),
        };
        let call = tool_call(request);
        let name = call.name.clone();
        let (route, messages) = self.routes.add(&call.id, questions);
        let (own, token) = (Arc::clone(&agent), cancel.clone());
        let mut running: Pin<Box<dyn Future<Output = ToolResult> + Send>> =
            Box::pin(async move { own.engine.run_until(call, &own.session, &token).await });
        let polled = catch_unwind(AssertUnwindSafe(|| (&mut running).now_or_never()));
        let Ok(polled) = polled else {
            return EarlyOutcome::Answered(Err(ErrorData::internal_error("The call ended without a result.", None)));
        };
        if let Some(result) = polled {
            let links = links(&agent, &result);
            if links.is_empty() && messages.is_empty() {
                return EarlyOutcome::Answered(answer_of(result, shape, links).map(CallToolResponse::from));
            }
            running = Box::pin(std::future::ready(result));
        }
        EarlyOutcome::Runs(EarlyCall { name, agent, running, messages, route, cancel, slot })
    }
}
