//! A call that runs before the SDK knows of its request.
//!
//! Over HTTP the SDK sends each request through two tasks and a stream of events. Most calls are done at once and say nothing before
//! their result: these are answered without it. A call that is not done waits in its request and continues in the SDK's handler, where its
//! progress, its questions and its result have their stream. It says and asks nothing before that: messages wait in their queue, and
//! questions begin with a pause.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use futures_util::FutureExt;
use haft_contract::ToolResult;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::sync::CancellationToken;

use super::approvals::can_ask;
use super::backend::ClientAgent;
use super::calls::{answer_of, links, tool_call};
use super::client_session::ClientSession;
use super::routes::{CallMessage, Questions, RouteGuard};
use crate::convert::ResultShape;

/// A call that is not done. Dropping it stops the tool, as the engine does with every call.
pub(super) struct EarlyCall {
    pub(super) agent: Arc<ClientAgent>,
    pub(super) running: Pin<Box<dyn Future<Output = ToolResult> + Send>>,
    pub(super) messages: mpsc::Receiver<CallMessage>,
    pub(super) route: RouteGuard,
    pub(super) cancel: CancellationToken,
    pub(super) slot: OwnedSemaphorePermit,
}

/// What became of a call at once.
#[expect(clippy::large_enum_variant, reason = "nearly every call is done at once, and its answer is written at once")]
pub(super) enum EarlyOutcome {
    /// It is done.
    Answered(Result<CallToolResponse, ErrorData>),
    /// It runs, or has said something that must be sent before its result.
    Runs(EarlyCallSlot),
}

/// Where a call waits for the handler of its request.
#[derive(Clone)]
pub(super) struct EarlyCallSlot(Arc<Mutex<Option<EarlyCall>>>);

impl EarlyCall {
    /// The call that was begun for this request.
    pub(super) fn take(context: &RequestContext<RoleServer>) -> Option<Self> {
        let slot = context.extensions.get::<Parts>()?.extensions.get::<EarlyCallSlot>()?;
        slot.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ClientSession {
    /// Begins a call of a client that has shaken hands and called before. `None`: the SDK must answer it.
    pub(super) fn begin(self: &Arc<Self>, request: CallToolRequestParams, shape: ResultShape) -> Option<EarlyOutcome> {
        let peer = self.direct_peer()?;
        let asks = peer.peer_info().is_some_and(|info| can_ask(Some(&info.capabilities)));
        let agent = self.open_agent(asks)?;
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        let call = tool_call(request);
        let questions = if asks { Questions::Elicit(peer.clone()) } else { Questions::Nobody };
        let (route, messages) = self.routes.add(&call.id, questions);
        let (cancel, own) = (CancellationToken::new(), Arc::clone(&agent));
        let token = cancel.clone();
        let mut running: Pin<Box<dyn Future<Output = ToolResult> + Send>> =
            Box::pin(async move { own.engine.run_until(call, &own.session, &token).await });
        let polled = catch_unwind(AssertUnwindSafe(|| (&mut running).now_or_never()));
        let Ok(polled) = polled else {
            return Some(EarlyOutcome::Answered(Err(ErrorData::internal_error("The call ended without a result.", None))));
        };
        if let Some(result) = polled {
            let links = links(&agent, &result);
            if links.is_empty() && messages.is_empty() {
                return Some(EarlyOutcome::Answered(answer_of(result, shape, links).map(CallToolResponse::from)));
            }
            running = Box::pin(std::future::ready(result));
        }
        let call = EarlyCall { agent, running, messages, route, cancel, slot };
        Some(EarlyOutcome::Runs(EarlyCallSlot(Arc::new(Mutex::new(Some(call))))))
    }
}
