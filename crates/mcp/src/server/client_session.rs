//! What the server holds for one client: its agent, its running calls, its subscriptions.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_contract::ports::{Approver, SmallModel, UserQuestions};
use rmcp::model::{ClientCapabilities, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::approvals::{ElicitingApprover, can_ask};
use super::backend::{ClientAgent, ClientPorts, ToolBackend};
use super::input_required::WaitingCalls;
use super::log::ClientLog;
use super::pending::PendingRequests;
use super::prompt_watch::PromptWatch;
use super::questions::ElicitingQuestions;
use super::roots;
use super::routes::CallRoutes;
use super::sampling::ClientModel;
use super::subscriptions::Subscriptions;

/// Calls of a client that run at once. More are refused, not queued.
const MOST_CALLS: u32 = 256;

/// The agents of a client: its capabilities may differ from request to request, and an agent that cannot ask must not wait for answers.
#[derive(Default)]
struct AgentCells {
    asking: OnceCell<Arc<ClientAgent>>,
    silent: OnceCell<Arc<ClientAgent>>,
}

impl AgentCells {
    fn get(&self, asks: bool) -> &OnceCell<Arc<ClientAgent>> {
        if asks { &self.asking } else { &self.silent }
    }
}

/// One client.
pub(super) struct ClientSession {
    pub(super) backend: Arc<dyn ToolBackend>,
    pub(super) routes: Arc<CallRoutes>,
    pub(super) log: Arc<ClientLog>,
    pub(super) waiting: WaitingCalls,
    pub(super) slots: Arc<Semaphore>,
    pub(super) subscriptions: Subscriptions,
    pub(super) prompt_watch: PromptWatch,
    /// Its requests over HTTP that have no answer yet.
    pub(super) requests: Arc<PendingRequests>,
    direct: OnceLock<Peer<RoleServer>>,
    agents: Mutex<Arc<AgentCells>>,
    roots: Mutex<Option<Vec<PathBuf>>>,
    /// Notices of changed roots since it was asked for them last.
    roots_notices: AtomicU64,
    closing: CancellationToken,
    _end: DropGuard,
}

impl ClientSession {
    /// A client of this server; its calls end with the token.
    pub(super) fn new(backend: Arc<dyn ToolBackend>, closing: &CancellationToken) -> Self {
        let closing = closing.child_token();
        Self {
            backend,
            routes: Arc::default(),
            log: Arc::default(),
            waiting: WaitingCalls::default(),
            slots: Arc::new(Semaphore::new(MOST_CALLS as usize)),
            subscriptions: Subscriptions::default(),
            prompt_watch: PromptWatch::default(),
            requests: Arc::default(),
            direct: OnceLock::new(),
            agents: Mutex::default(),
            roots: Mutex::default(),
            roots_notices: AtomicU64::new(0),
            _end: closing.clone().drop_guard(),
            closing,
        }
    }

    /// Ends when the client has gone.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Lets the calls of this client be answered without the SDK: it has shaken hands, so that no request has to say who sends it.
    pub(super) fn allow_direct_calls(&self, peer: &Peer<RoleServer>) {
        self.direct.get_or_init(|| peer.clone());
    }

    /// The client, if its calls can be answered without the SDK.
    pub(super) fn direct_peer(&self) -> Option<&Peer<RoleServer>> {
        self.direct.get()
    }

    /// Waits until every slot of a call is free, and keeps them.
    pub(super) async fn all_calls_ended(&self) {
        if let Ok(slots) = self.slots.acquire_many(MOST_CALLS).await {
            slots.forget();
        }
    }

    /// The agent for a request, built by the first one that needs it.
    pub(super) async fn agent(&self, context: &RequestContext<RoleServer>) -> Result<Arc<ClientAgent>, ErrorData> {
        self.agent_of(context, context.client_capabilities().as_ref()).await
    }

    /// The same, for a client that can do this.
    pub(super) async fn agent_of(
        &self,
        context: &RequestContext<RoleServer>,
        capabilities: Option<&ClientCapabilities>,
    ) -> Result<Arc<ClientAgent>, ErrorData> {
        let cells = self.cells();
        let asks = can_ask(capabilities);
        let cell = cells.get(asks);
        if let Some(agent) = cell.get() {
            return Ok(Arc::clone(agent));
        }
        // Boxed: this is done once, and what it needs would be moved with every request.
        Box::pin(cell.get_or_try_init(|| self.open(context, capabilities, asks))).await.cloned()
    }

    async fn open(
        &self,
        context: &RequestContext<RoleServer>,
        capabilities: Option<&ClientCapabilities>,
        asks: bool,
    ) -> Result<Arc<ClientAgent>, ErrorData> {
        let can_request = !is_stateless(context);
        let roots = if can_request && lists_roots(capabilities) { roots::fetch(&context.peer).await } else { None };
        self.roots.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&roots);
        let approver = asks.then(|| self.approver());
        let questions = asks.then(|| Arc::new(ElicitingQuestions { routes: Arc::clone(&self.routes) }) as Arc<dyn UserQuestions>);
        let model = (can_request && lends_model(capabilities)).then(|| Arc::new(ClientModel(context.peer.clone())) as Arc<dyn SmallModel>);
        let ports = ClientPorts {
            approver,
            questions,
            progress: Arc::clone(&self.routes) as _,
            messages: Arc::clone(&self.routes) as _,
            model,
            roots,
            cancel: self.closing.child_token(),
        };
        self.backend.open(ports).await.map(Arc::new).map_err(|why| ErrorData::internal_error(why, None))
    }

    fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(ElicitingApprover { routes: Arc::clone(&self.routes), backend: Arc::clone(&self.backend) })
    }

    /// Takes up new folders of the client: later calls have an agent with them. Notices that come while it is asked ask once more, not
    /// once each.
    pub(super) async fn update_roots(&self, peer: &Peer<RoleServer>) {
        let is_asked = || peer.peer_info().is_some_and(|info| lists_roots(Some(&info.capabilities)));
        if self.roots_notices.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        loop {
            let notices = self.roots_notices.load(Ordering::Acquire);
            if is_asked() {
                self.ask_for_roots(peer).await;
            }
            if self.roots_notices.compare_exchange(notices, 0, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return;
            }
        }
    }

    async fn ask_for_roots(&self, peer: &Peer<RoleServer>) {
        let Some(roots) = roots::fetch(peer).await else { return };
        let before = self.roots.lock().unwrap_or_else(PoisonError::into_inner).replace(roots.clone());
        if before != Some(roots) {
            *self.agents.lock().unwrap_or_else(PoisonError::into_inner) = Arc::default();
        }
    }

    fn cells(&self) -> Arc<AgentCells> {
        Arc::clone(&self.agents.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The agent for requests of a client that can ask, or cannot, if it was built before.
    pub(super) fn open_agent(&self, asks: bool) -> Option<Arc<ClientAgent>> {
        self.cells().get(asks).get().cloned()
    }

    /// The agents that were built so far.
    pub(super) fn open_agents(&self) -> Vec<Arc<ClientAgent>> {
        let cells = self.cells();
        [&cells.asking, &cells.silent].into_iter().filter_map(OnceCell::get).cloned().collect()
    }
}

/// Whether the request is of a version in which servers send no requests and each request stands alone.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn lists_roots(capabilities: Option<&ClientCapabilities>) -> bool {
    capabilities.is_some_and(|capabilities| capabilities.roots.is_some())
}

fn lends_model(capabilities: Option<&ClientCapabilities>) -> bool {
    capabilities.is_some_and(|capabilities| capabilities.sampling.is_some())
}
