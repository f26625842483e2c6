//! The methods of the protocol, each handed to the part that answers it.
#![expect(deprecated, reason = "clients of earlier versions use logging, roots and subscriptions")]

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_text::display;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::backend::ToolBackend;
use super::client_session::{ClientSession, is_stateless};
use super::http::OpenedSession;
use super::listing::ToolListing;
use super::prompt_watch::PromptVersions;
use super::subscriptions::{LOOK_EVERY, MOST_SUBSCRIPTIONS, ResourceWatch};
use super::{completion, paging, prompts, resources};
use crate::convert::ResultShape;

/// What clients are told about the server.
const INSTRUCTIONS: &str = "The tools of Haft. Every call passes the policy of its user: a refusal says why, and repeating the call does \
    not help. Output that was cut names a haft:// resource with the whole of it.";

/// The methods that have parameters.
const METHODS: [&str; 13] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "tools/call",
    "tools/list",
];
/// How much of the name of a method that nobody knows is repeated.
const LONGEST_METHOD: usize = 200;

/// Answers one client, or requests that stand alone. Cheap to clone.
#[derive(Clone)]
pub(super) struct ToolServer {
    shared: Arc<SharedParts>,
    own: Arc<OnceLock<Arc<ClientSession>>>,
}

haft_contract::opaque_debug!(ToolServer);

/// What all clients of a server share.
struct SharedParts {
    backend: Arc<dyn ToolBackend>,
    closing: CancellationToken,
    /// Serves requests that stand alone: they come from clients that have the same rights.
    stateless: OnceLock<Arc<ClientSession>>,
    listing: Mutex<Option<Arc<ToolListing>>>,
}

impl ToolServer {
    /// A server of these tools. Cancelling the token ends every call.
    pub(super) fn new(backend: Arc<dyn ToolBackend>, closing: CancellationToken) -> Self {
        let shared = SharedParts { backend, closing, stateless: OnceLock::new(), listing: Mutex::default() };
        Self { shared: Arc::new(shared), own: Arc::default() }
    }

    /// The client, if its calls can be answered without the SDK.
    pub(super) fn direct_client(&self) -> Option<&Arc<ClientSession>> {
        self.own.get().filter(|client| client.direct_peer().is_some())
    }

    /// The form of the results of a tool.
    pub(super) fn shape(&self, tool: &str) -> ResultShape {
        self.listing().shape(tool)
    }

    /// A server of the same tools for another client.
    pub(super) fn for_next_client(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), own: Arc::default() }
    }

    /// Waits until no call runs. Calls that come meanwhile are refused.
    pub(super) async fn all_calls_ended(&self) {
        for client in [self.own.get(), self.shared.stateless.get()].into_iter().flatten() {
            client.all_calls_ended().await;
        }
    }

    fn client(&self) -> &Arc<ClientSession> {
        self.own.get().unwrap_or_else(|| self.shared.stateless.get_or_init(|| self.new_client()))
    }

    fn new_client(&self) -> Arc<ClientSession> {
        Arc::new(ClientSession::new(Arc::clone(&self.shared.backend), &self.shared.closing))
    }

    /// The tools as they are now.
    pub(super) fn listing(&self) -> Arc<ToolListing> {
        let version = *self.shared.backend.changes().borrow();
        let mut listing = self.shared.listing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = listing.as_ref().filter(|listing| listing.version == version) {
            return Arc::clone(current);
        }
        let current = Arc::new(ToolListing::new(version, &*self.shared.backend));
        *listing = Some(Arc::clone(&current));
        current
    }
}

impl ToolServer {
    /// Tells a client of what it has asked for, until it goes.
    async fn tell_changes(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let agents = vec![self.client().agent(context.request_context()).await?];
        let mut watch = ResourceWatch::start(context.accepted().resource_subscriptions.clone().unwrap_or_default(), &agents);
        let mut prompts = PromptVersions::read(&agents);
        let watches_prompts = context.accepted().prompts_list_changed == Some(true);
        let mut changes = self.shared.backend.changes();
        // A client that did not ask for a notice is not sent it.
        let tools = async {
            while changes.changed().await.is_ok() {
                context.sink().notify_tool_list_changed().await.ok();
            }
        };
        let resources = async {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                for uri in watch.changed(&agents) {
                    context.sink().notify_resource_updated(uri).await.ok();
                }
            }
        };
        let prompts = async {
            if !watches_prompts {
                std::future::pending::<()>().await;
            }
            loop {
                prompts.changed(&agents).await;
                context.sink().notify_prompt_list_changed().await.ok();
            }
        };
        tokio::select! {
            () = context.cancelled() => {}
            () = self.shared.closing.cancelled() => {}
            () = tools => {}
            () = resources => {}
            () = prompts => {}
        }
        Ok(())
    }
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder()
        .enable_logging()
        .enable_completions()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_resources_subscribe()
        .enable_tools()
        .enable_tool_list_changed()
        .build()
}

/// Whether requests after this handshake need not say who sends them: in a connection that began without one, they still must.
fn needs_no_metadata(handshake: &Context) -> bool {
    // The SDK takes what the handshake said for other requests only where they need not say it themselves.
    handshake.meta.client_info().is_none() && handshake.client_info().is_some()
}

type Context = RequestContext<RoleServer>;
type Paged<T> = Result<T, ErrorData>;

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("haft", env!("CARGO_PKG_VERSION")).with_title("Haft");
        ServerConfig::new(capabilities()).with_server_info(server).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(&self, request: InitializeRequestParams, context: Context) -> Result<InitializeResult, ErrorData> {
        let client = self.own.get_or_init(|| self.new_client());
        let negotiated = self.negotiate_initialize(&request)?;
        // As negotiated, so that a later handshake cannot make a version of a client that has none.
        let mut info = request;
        info.protocol_version = negotiated.protocol_version.clone();
        context.peer.set_peer_info(info);
        if needs_no_metadata(&context) {
            client.allow_direct_calls(&context.peer);
            OpenedSession::note(&context, client);
        }
        Ok(negotiated)
    }

    /// Tells the client of every change of the tools, until it has gone. The task holds nothing of the session, which ends it.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (mut changes, closing) = (self.shared.backend.changes(), self.client().closing().clone());
        tokio::spawn(async move {
            let told = async { while changes.changed().await.is_ok() && context.peer.notify_tool_list_changed().await.is_ok() {} };
            closing.run_until_cancelled(told).await;
        });
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        Box::pin(self.client().update_roots(&context.peer)).await;
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        self.client().log.set(request.level);
        Ok(())
    }

    async fn list_tools(&self, request: Option<PaginatedRequestParams>, _: Context) -> Paged<ListToolsResult> {
        let page = paging::page(self.listing().tools().to_vec(), request)?;
        Ok(ListToolsResult { next_cursor: page.next, ..ListToolsResult::with_all_items(page.items) })
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.listing().get(name).cloned()
    }

    /// The SDK also takes a request for one that nobody knows when its parameters are of the wrong kinds.
    async fn on_custom_request(&self, request: CustomRequest, _: Context) -> Result<CustomResult, ErrorData> {
        if METHODS.contains(&request.method.as_str()) {
            let text = format!("The parameters of '{}' are not of the kinds that it takes.", request.method);
            return Err(ErrorData::invalid_params(text, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, display::shorten(&request.method, LONGEST_METHOD).into_owned(), None))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let shape = self.shape(&request.name);
        Box::pin(self.client().call(request, shape, context)).await
    }

    async fn list_resources(&self, request: Option<PaginatedRequestParams>, context: Context) -> Paged<ListResourcesResult> {
        let page = paging::page(resources::list(&*self.client().agent(&context).await?), request)?;
        Ok(ListResourcesResult { next_cursor: page.next, ..ListResourcesResult::with_all_items(page.items) })
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Paged<ListResourceTemplatesResult> {
        let page = paging::page(resources::templates(&*self.client().agent(&context).await?), request)?;
        Ok(ListResourceTemplatesResult { next_cursor: page.next, ..ListResourceTemplatesResult::with_all_items(page.items) })
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, context: Context) -> Result<ReadResourceResponse, ErrorData> {
        let agent = self.client().agent(&context).await?;
        Box::pin(resources::read(&agent, &request.uri)).await.map(Into::into)
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        self.client().agent(&context).await?;
        self.client().subscribe(request.uri, context.peer)
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.client().subscriptions.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        accepted.resource_subscriptions.as_mut().into_iter().for_each(|uris| uris.truncate(MOST_SUBSCRIPTIONS));
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        // Boxed: every request is moved with the space for the largest one.
        Box::pin(self.tell_changes(context)).await
    }

    async fn list_prompts(&self, request: Option<PaginatedRequestParams>, context: Context) -> Paged<ListPromptsResult> {
        let agent = self.client().agent(&context).await?;
        if !is_stateless(&context) {
            self.client().watch_prompts(context.peer);
        }
        let page = paging::page(prompts::list(&agent), request)?;
        Ok(ListPromptsResult { next_cursor: page.next, ..ListPromptsResult::with_all_items(page.items) })
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, context: Context) -> Result<GetPromptResponse, ErrorData> {
        let agent = self.client().agent(&context).await?;
        Box::pin(prompts::get(&agent, &request.name, request.arguments)).await.map(Into::into)
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        Ok(completion::complete(&*self.client().agent(&context).await?, &request.r#ref, &request.argument))
    }
}
