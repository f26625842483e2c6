//! One configured server: started when it is first needed, and again after a crash.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use haft_contract::{ErrorKind, Progress, ToolContext, ToolError, ToolOutput, ToolSource};
use haft_engine::Registry;
use haft_pattern::NameGlob;
use rmcp::model::Tool;
use serde_json::{Map, Value};

use super::connection::{ListedTools, MAX_ITEMS, MAX_TOOL_BYTES, RemoteCallLimits, ServerConnection, ServerLauncher};
use super::failure::{ConnectionState, ServerFailure};
use super::handler::{Elicitor, HandlerState};
use super::record::{self, QuarantinedTool, Review, ServerApproval, ServerRecord};
use super::sampling::{Sampler, SamplingUse, ServerSampling};
use super::settings::ServerSettings;
use super::tool::McpTool;
use super::{content, names};

/// A server that says often that its tools have changed is asked no more often than this.
const REFRESH_INTERVAL: Duration = Duration::from_millis(300);
/// The first wait before a server is started again, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// A call waits this long for a server that is to be started again; beyond it, the call fails at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// A connection that lasted this long was a good one.
const STABLE: Duration = Duration::from_mins(1);

/// What all servers share.
#[derive(Clone)]
pub struct ClientParts {
    /// Starts programs.
    pub launcher: Arc<dyn ServerLauncher>,
    /// Asks the user; `None` where nobody can be asked.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// Lends the user's model; `None` where there is none.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// The data folder.
    pub data_folder: PathBuf,
    /// Hears of what the user should know: tools that wait, servers that failed.
    pub warn: Arc<dyn Fn(&str) + Send + Sync>,
}

haft_contract::opaque_debug!(ClientParts: data_folder = data_folder);

/// A configured server.
pub struct McpServer {
    settings: ServerSettings,
    parts: ClientParts,
    registry: Weak<Registry>,
    // Held while a server starts, so that calls at the same time start it once.
    link: tokio::sync::Mutex<Link>,
    tools: Mutex<KnownTools>,
    sampling_use: Arc<SamplingUse>,
}

haft_contract::opaque_debug!(McpServer: settings = settings);

/// The connection, and what became of those before it.
#[derive(Default)]
struct Link {
    connection: Option<Arc<ServerConnection>>,
    since: Option<Instant>,
    failures: u32,
    retry_at: Option<Instant>,
    last: Option<ServerFailure>,
}

/// The tools of the server as they were last seen.
#[derive(Default)]
struct KnownTools {
    /// Our names, with the fingerprints of what is registered under them.
    registered: HashMap<String, String>,
    /// The server's names of the tools that may be used.
    usable: Vec<String>,
    quarantined: Vec<QuarantinedTool>,
    is_known: bool,
}

impl McpServer {
    /// A server whose tools are registered as far as they are known; it is not started.
    pub fn new(settings: ServerSettings, parts: ClientParts, registry: &Arc<Registry>) -> Arc<Self> {
        let server = Arc::new(Self {
            settings,
            parts,
            registry: Arc::downgrade(registry),
            link: tokio::sync::Mutex::default(),
            tools: Mutex::default(),
            sampling_use: Arc::default(),
        });
        if let Some(record) = ServerRecord::read(&server.parts.data_folder, &server.settings).filter(ServerRecord::is_readable) {
            server.use_tools(record.review());
        }
        server
    }

    /// How it is configured.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }
    /// Whether its tools are known.
    pub fn is_known(&self) -> bool {
        self.lock_tools().is_known
    }
    /// Our names of the tools that may be used, sorted.
    pub fn tool_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.lock_tools().registered.keys().cloned().collect();
        names.sort_unstable();
        names
    }
    /// The tools that wait for the user.
    pub fn quarantined(&self) -> Vec<QuarantinedTool> {
        self.lock_tools().quarantined.clone()
    }

    pub(super) fn data_folder(&self) -> &std::path::Path {
        &self.parts.data_folder
    }

    pub(super) fn warn(&self, message: &str) {
        (self.parts.warn)(message);
    }

    // Plain data, each changed in one step: after a panic elsewhere it is still consistent.
    fn lock_tools(&self) -> MutexGuard<'_, KnownTools> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts it, if it does not run, and learns its tools.
    pub async fn start(self: &Arc<Self>) -> Result<(), ServerFailure> {
        self.connect().await.map(drop)
    }

    /// What the server says of itself: name and version, protocol, instructions.
    pub async fn about(self: &Arc<Self>) -> Result<Value, ServerFailure> {
        let info = self.connect().await?.info();
        Ok(info.map(|info| serde_json::to_value(&*info).unwrap_or_default()).unwrap_or_default())
    }

    /// Approves these tools, as they were shown to the user. One that has changed since waits.
    pub fn approve(self: &Arc<Self>, shown: &[QuarantinedTool]) -> Result<(), ServerFailure> {
        let failed = |why: String| ServerFailure::new(&self.settings.name, why).advise("Free disk space or correct the permissions");
        let mut record = ServerRecord::read(&self.parts.data_folder, &self.settings).unwrap_or_default();
        record.approve(shown, SystemTime::now());
        record.write(&self.parts.data_folder, &self.settings).map_err(|error| failed(format!("its tools cannot be stored: {error}")))?;
        self.use_tools(record.review());
        Ok(())
    }

    /// What the user trusts of it; `None` if it is nothing.
    pub fn approval(&self) -> Option<ServerApproval> {
        ServerRecord::read(&self.parts.data_folder, &self.settings)?.approval()
    }

    /// Lets its tools wait again until the user has looked at them; false if none was approved.
    pub fn revoke(self: &Arc<Self>) -> std::io::Result<bool> {
        let Some(mut record) = ServerRecord::read(&self.parts.data_folder, &self.settings).filter(|record| record.approval().is_some())
        else {
            return Ok(false);
        };
        record.revoke();
        record.write(&self.parts.data_folder, &self.settings)?;
        self.use_tools(record.review());
        Ok(true)
    }

    /// Ends it.
    pub async fn close(&self) {
        let connection = self.link.lock().await.connection.take();
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.close().await;
        }
    }

    /// The open connection; a new one if there is none.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Arc<ServerConnection>, ServerFailure> {
        let mut link = self.link.lock().await;
        if let Some(connection) = link.open() {
            return Ok(connection);
        }
        link.wait(&self.settings.name).await?;
        match self.open().await {
            Ok(connection) => {
                (link.connection, link.since) = (Some(Arc::clone(&connection)), Some(Instant::now()));
                Ok(connection)
            }
            Err(failure) => {
                link.failed(failure.clone());
                Err(failure)
            }
        }
    }

    async fn open(self: &Arc<Self>) -> Result<Arc<ServerConnection>, ServerFailure> {
        let name = &self.settings.name;
        // Without the folder there is no log, which is no reason to fail.
        drop(record::make_folder(&self.parts.data_folder));
        let state = Arc::new(ConnectionState::new(Some(record::log_path(&self.parts.data_folder, name))));
        let requests = self.settings.requests;
        let sampling = ServerSampling {
            mode: requests.sampling,
            limits: requests.sampling_limits,
            sampler: self.parts.sampler.clone(),
            used: Arc::clone(&self.sampling_use),
        };
        let handler = Arc::new(HandlerState::new(name, requests, self.parts.elicitor.clone(), sampling));
        let connection = Arc::new(ServerConnection::open(&self.settings, &self.parts, handler, state).await?);
        self.refresh(&connection).await?;
        tokio::spawn(watch(Arc::downgrade(self), Arc::downgrade(&connection), Arc::clone(connection.handler())));
        Ok(connection)
    }

    /// Asks for the tools, and uses those that are approved.
    async fn refresh(self: &Arc<Self>, connection: &ServerConnection) -> Result<(), ServerFailure> {
        let has_tools = connection.info().is_none_or(|info| info.capabilities.tools.is_some());
        let ListedTools { mut tools, unreadable, left_out } =
            if has_tools { connection.tools(self.settings.timeouts.start).await? } else { ListedTools::default() };
        let name = &self.settings.name;
        if unreadable > 0 {
            (self.parts.warn)(&format!("{unreadable} tools of the MCP server '{name}' are left out: what it says of them cannot be read"));
        }
        if left_out {
            (self.parts.warn)(&format!(
                "tools of the MCP server '{name}' are left out: a server has at most {MAX_ITEMS} of {} MB, each with a name of its own",
                MAX_TOOL_BYTES >> 20
            ));
        }
        tools.retain(|tool| self.is_wanted(tool));
        let (folder, before) = (&self.parts.data_folder, ServerRecord::read(&self.parts.data_folder, &self.settings));
        let record = ServerRecord::after(before, &tools, SystemTime::now());
        if let Err(error) = record.write(folder, &self.settings) {
            (self.parts.warn)(&format!("the tools of the MCP server '{}' cannot be stored: {error}", self.settings.name));
        }
        self.use_tools(record.review());
        Ok(())
    }

    fn is_wanted(&self, tool: &Tool) -> bool {
        let is_in = |patterns: &[String]| patterns.iter().any(|pattern| NameGlob::parse_stars(pattern).matches(&tool.name));
        self.settings.allowed_tools.as_deref().is_none_or(is_in) && !is_in(&self.settings.denied_tools)
    }

    /// Registers what may be used, and removes the rest.
    fn use_tools(self: &Arc<Self>, review: Review) {
        let Some(registry) = self.registry.upgrade() else { return };
        let source = ToolSource::Mcp(self.settings.name.clone());
        let remote: Vec<&str> = review.usable.iter().map(|tool| &*tool.name).collect();
        let wanted: Vec<(String, String, &Tool)> = names::map(&self.settings.name, &remote)
            .into_iter()
            .zip(&review.usable)
            .map(|((_, ours), tool)| (ours, record::fingerprint(tool), tool))
            .collect();
        let mut known = self.lock_tools();
        known.registered.retain(|name, print| {
            let stays = wanted.iter().any(|(ours, wanted, _)| ours == name && wanted == print);
            stays || {
                registry.unregister(name);
                false
            }
        });
        for (ours, print, tool) in &wanted {
            if known.registered.contains_key(ours) {
                continue;
            }
            let Some(made) = McpTool::new(self, ours.clone(), tool) else {
                (self.parts.warn)(&format!("the tool {ours} is left out: its parameters are too large"));
                continue;
            };
            match registry.register(Arc::new(made), source.clone()) {
                Ok(()) => drop(known.registered.insert(ours.clone(), print.clone())),
                Err(error) => (self.parts.warn)(&format!("the tool {ours} is left out: {error}")),
            }
        }
        let is_news = known.quarantined.len() != review.quarantined.len();
        known.usable = review.usable.iter().map(|tool| tool.name.to_string()).collect();
        (known.quarantined, known.is_known) = (review.quarantined, true);
        let waiting = known.quarantined.len();
        drop(known);
        if is_news && waiting > 0 {
            let (name, tools) = (&self.settings.name, haft_text::numbers::count(waiting, "tool"));
            (self.parts.warn)(&format!(
                "{tools} of the MCP server '{name}' cannot be used before you have looked: run `haft mcp trust {name}`"
            ));
        }
    }

    /// Calls a tool of the server by its own name.
    pub(crate) async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let cancelled = || ToolError::new(ErrorKind::Cancelled, "The call was cancelled before the server was asked.");
        let connection = tokio::select! {
            connection = self.connect() => connection?,
            () = cx.cancelled() => return Err(cancelled()),
        };
        // The list may have been old until the server was started.
        if !self.lock_tools().usable.iter().any(|name| name == tool) {
            return Err(self.not_usable(tool));
        }
        let (context, timeouts) = (cx.clone(), self.settings.timeouts);
        let limits = RemoteCallLimits {
            idle: timeouts.idle,
            total: timeouts.total,
            cancel: cx.cancellation(),
            progress: Arc::new(move |line| context.progress(Progress::message(line))),
        };
        let result = connection.call(tool, arguments, limits).await?;
        content::of_call(&self.settings.name, result)
    }

    fn not_usable(&self, tool: &str) -> ToolError {
        let (name, shown) = (&self.settings.name, haft_text::display::shorten(tool, 80));
        let why = self.quarantined().iter().find(|waiting| waiting.name == tool).map(|waiting| waiting.why);
        match why {
            Some(why) => ToolError::denied(format!(
                "The tool '{shown}' of the MCP server '{name}' cannot be used: {}. The user must look at it first: `haft mcp trust {name}`.",
                why.as_str()
            )),
            None => {
                ToolError::new(ErrorKind::ToolNotFound, format!("The MCP server '{name}' has no tool '{shown}' any more. Use another."))
            }
        }
    }
}

impl Link {
    /// The connection, if it is open. One that has ended is noted as a failure.
    fn open(&mut self) -> Option<Arc<ServerConnection>> {
        let connection = self.connection.take()?;
        if connection.is_closed() {
            if self.since.is_some_and(|since| since.elapsed() > STABLE) {
                self.failures = 0;
            }
            self.failed(ServerFailure::new("", connection.reason()));
            return None;
        }
        self.connection = Some(Arc::clone(&connection));
        Some(connection)
    }

    fn failed(&mut self, failure: ServerFailure) {
        let wait = FIRST_WAIT.saturating_mul(1 << self.failures.min(10)).min(LONGEST_WAIT);
        self.failures += 1;
        (self.retry_at, self.last) = (Some(Instant::now() + wait), Some(failure));
    }

    /// Waits until the server may be started again; fails if that takes long.
    async fn wait(&mut self, name: &str) -> Result<(), ServerFailure> {
        let Some(wait) = self.retry_at.map(|at| at.saturating_duration_since(Instant::now())) else { return Ok(()) };
        if wait > PATIENCE {
            let why = self.last.as_ref().map_or_else(String::new, |last| last.why.clone());
            let advice = format!("It failed {} times; it is started again in {} s at the earliest", self.failures, wait.as_secs() + 1);
            return Err(ServerFailure::new(name, why).advise(advice));
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// Asks for the tools again whenever the server says that they have changed, until the connection ends.
async fn watch(server: Weak<McpServer>, connection: Weak<ServerConnection>, handler: Arc<HandlerState>) {
    loop {
        tokio::select! {
            () = handler.tools_changed.notified() => {}
            () = handler.ended.cancelled() => return,
        }
        tokio::time::sleep(REFRESH_INTERVAL).await;
        let (Some(server), Some(connection)) = (server.upgrade(), connection.upgrade()) else { return };
        if let Err(failure) = server.refresh(&connection).await {
            (server.parts.warn)(&failure.to_string());
        }
    }
}
