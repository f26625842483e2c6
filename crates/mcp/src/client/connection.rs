//! One connection to a server, from its start to its end.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_contract::{BoxFuture, ErrorKind, ToolError};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetPromptRequestParams, GetPromptResult, InputRequest,
    InputRequiredResult, InputResponses, ListToolsRequest, PaginatedRequestParams, Prompt, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResult, RequestId, Resource, ServerPeerInfo, ServerResult, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError,
};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio_util::sync::CancellationToken;

use super::content;
use super::failure::{ConnectionState, ServerFailure};
use super::handler::{ConnectionHandler, HandlerState, ProgressLine};
use super::http;
use super::oauth::Authorization;
use super::server::ClientParts;
use super::settings::{Lifecycle, ServerSettings, ServerTransport, StdioServer};
use super::stdio::LineTransport;

/// Pages of a list, and tools, resources or prompts in all.
const MAX_PAGES: usize = 64;
pub(crate) const MAX_ITEMS: usize = 1_000;
/// Bytes of all tools of a server, so that the record of what was approved and what was seen last fits in its file.
pub(crate) const MAX_TOOL_BYTES: usize = 16 * 1024 * 1024;
/// Rounds of a call that wants input before it answers.
const MAX_ROUNDS: usize = 8;
/// How long the end of a connection may take.
const CLOSE_TIME: Duration = Duration::from_secs(3);
/// A longer line of a server's errors is cut.
const MAX_ERROR_LINE: u64 = 16 * 1024;

/// The streams of a started server.
pub struct ServerStreams {
    /// Its standard input; closing it asks the server to end.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard error.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// The process itself; dropping it ends the server with all that it started.
    pub process: Box<dyn ServerProcess>,
}

haft_contract::opaque_debug!(ServerStreams);

/// A started server.
pub trait ServerProcess: Send + Sync {
    /// Waits until it has ended, and says how.
    fn ended(&mut self) -> BoxFuture<'_, String>;
}

/// Starts servers.
pub trait ServerLauncher: Send + Sync {
    /// Starts one, or says why not.
    fn launch<'a>(&'a self, name: &'a str, server: &'a StdioServer) -> BoxFuture<'a, Result<ServerStreams, String>>;
}

/// An open connection.
pub(crate) struct ServerConnection {
    name: String,
    running: RunningService<RoleClient, ConnectionHandler>,
    handler: Arc<HandlerState>,
    state: Arc<ConnectionState>,
    process: Option<Box<dyn ServerProcess>>,
}

/// The tools of a server.
#[derive(Debug, Default)]
pub(crate) struct ListedTools {
    /// Each name once.
    pub(crate) tools: Vec<Tool>,
    /// How many are left out because what the server says of them cannot be read.
    pub(crate) unreadable: usize,
    /// Whether others are left out because there are too many.
    pub(crate) left_out: bool,
}

impl ListedTools {
    /// The tools that are taken of a list, which may be cut already.
    fn select(list: Vec<Tool>, unreadable: usize, mut left_out: bool) -> Self {
        let (mut names, mut bytes) = (HashSet::new(), 0);
        let mut fits = |tool: &Tool| {
            bytes += serde_json::to_vec(tool).map_or(MAX_TOOL_BYTES, |text| text.len());
            bytes <= MAX_TOOL_BYTES
        };
        let mut tools = list;
        tools.retain(|tool| {
            // A call names a tool: which of two of one name it means, only the server knows.
            let is_taken = fits(tool) && names.insert(tool.name.clone());
            left_out |= !is_taken;
            is_taken
        });
        Self { tools, unreadable, left_out }
    }
}

/// How long a call may take, and who hears of its progress.
pub(crate) struct RemoteCallLimits<'a> {
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) progress: ProgressLine,
}

impl ServerConnection {
    /// Starts or reaches the server, and greets it.
    pub(crate) async fn open(
        settings: &ServerSettings,
        parts: &ClientParts,
        handler: Arc<HandlerState>,
        state: Arc<ConnectionState>,
    ) -> Result<Self, ServerFailure> {
        let opened = tokio::time::timeout(settings.timeouts.start, Self::start(settings, parts, handler, Arc::clone(&state))).await;
        let connection = opened.unwrap_or_else(|_| {
            let seconds = settings.timeouts.start.as_secs();
            Err(explain(settings, &state, format!("it did not answer in {seconds} s"))
                .advise(format!("Check its command, or raise mcp.servers.{}.start_seconds", settings.name)))
        })?;
        let version = connection.info().map(|info| info.protocol_version.clone());
        match version {
            Some(version) if ProtocolVersion::KNOWN_VERSIONS.contains(&version) => Ok(connection),
            version => {
                let version = version.map_or_else(String::new, |version| haft_text::display::shorten(version.as_str(), 40).into_owned());
                connection.close().await;
                Err(ServerFailure::new(&settings.name, format!("it speaks the protocol version '{version}', which Haft does not know"))
                    .advise("Update Haft or the server"))
            }
        }
    }

    async fn start(
        settings: &ServerSettings,
        parts: &ClientParts,
        handler: Arc<HandlerState>,
        state: Arc<ConnectionState>,
    ) -> Result<Self, ServerFailure> {
        let service = ConnectionHandler(Arc::clone(&handler));
        let name = settings.name.clone();
        let (mode, mut process) = (mode(settings.lifecycle), None);
        let greeted = match &settings.transport {
            ServerTransport::Stdio(server) => {
                let failed = |why: String| ServerFailure::new(&name, why).advise("Check the command and its arguments");
                let streams = parts.launcher.launch(&name, server).await.map_err(failed)?;
                process = Some(streams.process);
                tokio::spawn(keep_errors(streams.errors, Arc::clone(&state)));
                let transport = LineTransport::new(streams.output, streams.input, Arc::clone(&state));
                service.serve_with_lifecycle(transport, mode).await
            }
            ServerTransport::Http(server) => {
                let authorization = Authorization::for_server(&parts.data_folder, settings);
                let transport = http::transport(server, authorization, Arc::clone(&state))
                    .map_err(|why| ServerFailure::new(&name, why).advise("Correct its url or headers"))?;
                service.serve_with_lifecycle(transport, mode).await
            }
        };
        match greeted {
            Ok(running) => Ok(Self { name, running, handler, state, process }),
            Err(error) => {
                if let Some(mut process) = process.filter(|_| !is_answer(&error)) {
                    // How it ended tells most; one that does not end is ended by the drop.
                    if let Ok(end) = tokio::time::timeout(Duration::from_millis(500), process.ended()).await {
                        state.fail(end);
                    }
                }
                Err(explain(settings, &state, greeting_failure(&error, &state)))
            }
        }
    }

    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.running.peer_info()
    }
    pub(crate) fn handler(&self) -> &Arc<HandlerState> {
        &self.handler
    }
    pub(crate) fn is_closed(&self) -> bool {
        self.running.is_closed() || self.running.is_transport_closed()
    }
    /// Why it ended.
    pub(crate) fn reason(&self) -> String {
        let last = self.state.last_lines().map(|lines| format!("; its last output: {lines}")).unwrap_or_default();
        self.state.reason().or_else(|| self.state.trouble()).unwrap_or_else(|| format!("it ended{last}"))
    }

    /// Every tool, at most [`MAX_ITEMS`] of [`MAX_TOOL_BYTES`].
    pub(crate) async fn tools(&self, timeout: Duration) -> Result<ListedTools, ServerFailure> {
        let (peer, unreadable) = (self.running.peer().clone(), AtomicUsize::new(0));
        let (peer, unreadable) = (&peer, &unreadable);
        let tools = self.list("tools", timeout, |cursor| async move {
            match peer.list_tools(cursor.clone()).await {
                Err(ServiceError::UnexpectedResponse) => readable_tools(peer, cursor, unreadable).await,
                page => page.map(|page| (page.tools, page.next_cursor)),
            }
        });
        let (tools, is_cut) = tools.await?;
        Ok(ListedTools::select(tools, unreadable.load(Ordering::Relaxed), is_cut))
    }

    pub(crate) async fn resources(&self, timeout: Duration) -> Result<Vec<Resource>, ServerFailure> {
        let peer = self.running.peer().clone();
        let resources = self.list("resources", timeout, |cursor| {
            let peer = peer.clone();
            async move { peer.list_resources(cursor).await.map(|page| (page.resources, page.next_cursor)) }
        });
        resources.await.map(|(resources, _)| resources)
    }

    pub(crate) async fn prompts(&self, timeout: Duration) -> Result<Vec<Prompt>, ServerFailure> {
        let peer = self.running.peer().clone();
        let prompts = self.list("prompts", timeout, |cursor| {
            let peer = peer.clone();
            async move { peer.list_prompts(cursor).await.map(|page| (page.prompts, page.next_cursor)) }
        });
        prompts.await.map(|(prompts, _)| prompts)
    }

    /// All pages of a list, bounded in pages, items and time, and whether there is more.
    async fn list<T, F>(
        &self,
        what: &str,
        timeout: Duration,
        mut page: impl FnMut(Option<PaginatedRequestParams>) -> F,
    ) -> Result<(Vec<T>, bool), ServerFailure>
    where
        F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let pages = async {
            let (mut all, mut cursor) = (Vec::new(), None);
            for _ in 0..MAX_PAGES {
                let request = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
                let (items, next) = page(request).await.map_err(|error| self.failure(&error))?;
                all.extend(items);
                cursor = next;
                if cursor.is_none() || all.len() >= MAX_ITEMS {
                    break;
                }
            }
            let is_cut = cursor.is_some() || all.len() > MAX_ITEMS;
            all.truncate(MAX_ITEMS);
            Ok((all, is_cut))
        };
        let late = |_| Err(ServerFailure::new(&self.name, format!("it did not list its {what} in {} s", timeout.as_secs())));
        tokio::time::timeout(timeout, pages).await.unwrap_or_else(late)
    }

    pub(crate) async fn read_resource(&self, uri: &str, timeout: Duration) -> Result<ReadResourceResult, ServerFailure> {
        self.within(timeout, self.running.read_resource(ReadResourceRequestParams::new(uri))).await
    }

    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        timeout: Duration,
    ) -> Result<GetPromptResult, ServerFailure> {
        self.within(timeout, self.running.get_prompt(GetPromptRequestParams::new(name).with_arguments(arguments))).await
    }

    async fn within<T>(&self, timeout: Duration, work: impl Future<Output = Result<T, ServiceError>>) -> Result<T, ServerFailure> {
        let late = |_| Err(ServerFailure::new(&self.name, format!("it did not answer in {} s", timeout.as_secs())));
        tokio::time::timeout(timeout, work).await.map_or_else(late, |done| done.map_err(|error| self.failure(&error)))
    }

    fn failure(&self, error: &ServiceError) -> ServerFailure {
        match error {
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let failure = ServerFailure::new(&self.name, self.reason());
                if self.state.refusal().is_some() { failure.needing_sign_in() } else { failure }
            }
            ServiceError::UnexpectedResponse => ServerFailure::new(&self.name, "its answer is none that the protocol has".to_owned()),
            other => ServerFailure::new(&self.name, haft_text::display::shorten(&other.to_string(), 500)),
        }
    }

    /// Calls a tool: within its times, until it is cancelled, with rounds of input if the server wants some.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        limits: RemoteCallLimits<'_>,
    ) -> Result<CallToolResult, ToolError> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..MAX_ROUNDS {
            match self.call_once(params.clone(), &limits).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    params.request_state.clone_from(&wanted.request_state);
                    params.input_responses = Some(self.input(wanted).await?);
                }
                ServerResult::CustomResult(answer) => {
                    let readable = content::readable(answer.0);
                    return readable.ok_or_else(|| self.call_failure("its answer is not a result of a tool"));
                }
                _ => return Err(self.call_failure("its answer is not a result of a tool")),
            }
        }
        Err(self.call_failure(&format!("it wanted input more than {MAX_ROUNDS} times")))
    }

    async fn call_once(&self, params: CallToolRequestParams, limits: &RemoteCallLimits<'_>) -> Result<ServerResult, ToolError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(limits.idle).reset_timeout_on_progress().with_max_total_timeout(limits.total);
        let handle = self.running.send_request_with_option(request, options).await.map_err(|error| self.call_error(&error, limits))?;
        let (token, id) = (handle.progress_token.clone(), handle.id.clone());
        self.handler.watch(token.clone(), Arc::clone(&limits.progress));
        let mut abandoned = AbandonedCall { peer: self.running.peer(), id: Some(id) };
        let outcome = tokio::select! {
            biased;
            outcome = handle.await_response() => {
                abandoned.id = None;
                outcome.map_err(|error| self.call_error(&error, limits))
            }
            () = limits.cancel.cancelled() => Err(ToolError::new(ErrorKind::Cancelled, "The call was cancelled, and the server told so.")),
        };
        self.handler.unwatch(&token);
        outcome
    }

    /// Answers to what the server wants to know before it continues.
    async fn input(&self, wanted: InputRequiredResult) -> Result<InputResponses, ToolError> {
        let mut responses = InputResponses::new();
        for (key, request) in wanted.input_requests.unwrap_or_default() {
            let answer = match request {
                InputRequest::Elicitation(request) => json!(self.handler.elicit(request.params).await),
                InputRequest::ListRoots(_) => json!({ "roots": [] }),
                InputRequest::CreateMessage(request) => {
                    let answer = self.handler.sample(request.params).await;
                    json!(answer.map_err(|error| self.call_failure(&format!("it asked for an answer of your model: {}", error.message)))?)
                }
                _ => {
                    return Err(self.call_failure("it asked for something that Haft does not know"));
                }
            };
            responses.insert(key, answer);
        }
        Ok(responses)
    }

    fn call_error(&self, error: &ServiceError, limits: &RemoteCallLimits<'_>) -> ToolError {
        match error {
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => self.call_failure(&self.reason()),
            ServiceError::Timeout { timeout } => {
                let key = if *timeout == limits.total { "total_seconds" } else { "idle_seconds" };
                let (name, seconds) = (&self.name, timeout.as_secs());
                let what = format!(
                    "The MCP server '{name}' did not answer in {seconds} s. Ask for less, or let the user raise mcp.servers.{name}.{key}."
                );
                ToolError::new(ErrorKind::Timeout, what)
            }
            ServiceError::McpError(error) => {
                let text = haft_text::display::shorten(&error.message, 2_000);
                ToolError::execution(haft_text::untrusted::wrap(&format!("an error of the MCP server '{}'", self.name), &text))
            }
            ServiceError::UnexpectedResponse => self.call_failure("its answer is not a result of a tool"),
            other => self.call_failure(&haft_text::display::shorten(&other.to_string(), 500)),
        }
    }

    fn call_failure(&self, why: &str) -> ToolError {
        ToolError::execution(format!("The call of the MCP server '{}' failed: {why}. It may have had effects.", self.name))
    }

    /// Ends the connection, and the server if it was started.
    pub(crate) async fn close(mut self) {
        drop(self.running.close_with_timeout(CLOSE_TIME).await);
        if let Some(process) = &mut self.process {
            drop(tokio::time::timeout(CLOSE_TIME, process.ended()).await);
        }
    }
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        self.handler.ended.cancel();
    }
}

/// A call that nobody waits for any more: the server is told when this is dropped.
struct AbandonedCall<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for AbandonedCall<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let params = rmcp::model::CancelledNotificationParam::new(Some(id), Some("cancelled".to_owned()));
            drop(peer.notify_cancelled(params).await);
        });
    }
}

fn mode(lifecycle: Lifecycle) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match lifecycle {
        Lifecycle::Initialize => ClientLifecycleMode::Initialize,
        Lifecycle::Discover => ClientLifecycleMode::Discover { preferred_versions },
        Lifecycle::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
    }
}

/// A page of tools of which the SDK can read some: one that is wrong must not take all others away.
async fn readable_tools(
    peer: &Peer<RoleClient>,
    cursor: Option<PaginatedRequestParams>,
    unreadable: &AtomicUsize,
) -> Result<(Vec<Tool>, Option<String>), ServiceError> {
    let request = ListToolsRequest { params: cursor, ..Default::default() };
    let ServerResult::CustomResult(page) = peer.send_request(ClientRequest::ListToolsRequest(request)).await? else {
        return Err(ServiceError::UnexpectedResponse);
    };
    let next = page.0["nextCursor"].as_str().map(str::to_owned);
    let items = page.0["tools"].as_array().ok_or(ServiceError::UnexpectedResponse)?;
    let tools: Vec<Tool> = items.iter().filter_map(|item| serde_json::from_value(item.clone()).ok()).collect();
    unreadable.fetch_add(items.len() - tools.len(), Ordering::Relaxed);
    Ok((tools, next))
}

/// Keeps what a server writes to its standard error, line by line.
async fn keep_errors(errors: Box<dyn AsyncRead + Send + Unpin>, state: Arc<ConnectionState>) {
    use tokio::io::AsyncReadExt;
    let mut errors = BufReader::new(errors);
    loop {
        let mut line = Vec::new();
        match (&mut errors).take(MAX_ERROR_LINE).read_until(b'\n', &mut line).await {
            Ok(read) if read > 0 => state.log(String::from_utf8_lossy(&line).trim_end()),
            _ => return,
        }
    }
}

fn explain(settings: &ServerSettings, state: &ConnectionState, otherwise: String) -> ServerFailure {
    let why = state.reason().unwrap_or(otherwise);
    let last = state
        .last_lines()
        .filter(|last| !why.contains(last.as_str()))
        .map(|lines| format!("; its last output: {lines}"))
        .unwrap_or_default();
    let failure = ServerFailure::new(&settings.name, format!("{why}{last}")).advise("Check its command or address, and its variables");
    if state.refusal().is_some() { failure.needing_sign_in() } else { failure }
}

/// Whether the server answered: then it ends because it was left, and how says nothing.
const fn is_answer(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ConflictInitResponseId(..)
    )
}

fn greeting_failure(error: &ClientInitializeError, state: &ConnectionState) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended before it had greeted".to_owned(),
        ClientInitializeError::JsonRpcError(error) => format!("it refused to begin: {}", haft_text::display::shorten(&error.message, 300)),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..) => "its greeting is not one of the protocol".to_owned(),
        other if other.is_authorization_required() => {
            "it refuses the token, or wants one: name the variable that holds it in token_env".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => {
            format!("it cannot be reached: {}", state.trouble().unwrap_or_else(|| root_cause(&*error.error)))
        }
        other => haft_text::display::shorten(&other.to_string(), 500).into_owned(),
    }
}

/// What is at the end of a chain of errors: those before it name types of the SDK.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let last = std::iter::successors(Some(error), |error| error.source()).take(16).last();
    haft_text::display::shorten(&without_address(&last.unwrap_or(error).to_string()), 300).into_owned()
}

/// The words of an HTTP client without the address, whose query may hold a key. The settings have it.
fn without_address(words: &str) -> String {
    let parts = words.split_once(" for url (").and_then(|(before, after)| Some((before, after.split_once(')')?.1)));
    parts.map_or_else(|| words.to_owned(), |(before, after)| format!("{before}{after}"))
}

#[cfg(test)]
mod tests {
    use super::without_address;

    #[test]
    fn words_of_an_http_client_lose_the_address_and_keep_the_cause() {
        for (words, expected) in [
            ("Client error: error sending request for url (https://example.org/v1?key=secret)", "Client error: error sending request"),
            ("error for url (http://a/?k=s): connection refused", "error: connection refused"),
            ("error for url (never closed", "error for url (never closed"),
            ("connection refused", "connection refused"),
        ] {
            assert_eq!(without_address(words), expected);
        }
    }
}
