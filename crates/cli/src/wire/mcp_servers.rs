//! The configured MCP servers: settings from the configuration, programs started by the machine.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use haft_config::ConfigValue;
use haft_contract::{BoxFuture, ToolSource};
use haft_host::{GuardedClient, HttpOptions, LocalFiles, SystemResolver};
use haft_jobs::{LocalProcesses, ServerAccess, ServerChild, ServerCommand};
use haft_mcp::client::{
    BearerToken, ClientParts, Elicitation, Elicitor, HttpServer, Lifecycle, McpServers, OAuthClient, RESOURCES_TOOL, Sampling,
    SamplingLimits, ServerLauncher, ServerProcess, ServerRequests, ServerSandbox, ServerSettings, ServerStreams, ServerTimeouts,
    ServerTransport, StdioServer, server_name,
};

use super::shell::{self, Calls};
use super::{Settings, Wire};
use crate::failure::Failure;
use crate::output::warn;
use crate::terminal::Terminal;
use crate::wire::mcp_questions::TerminalElicitor;
use crate::wire::mcp_sampling::ModelSampler;

/// The servers of this process, which end before it does.
static SERVERS: Mutex<Vec<Weak<McpServers>>> = Mutex::new(Vec::new());

/// Ends every server of this process.
pub(crate) async fn close_servers() {
    let servers: Vec<Arc<McpServers>> = {
        let mut all = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        all.drain(..).filter_map(|servers| servers.upgrade()).collect()
    };
    for servers in servers {
        servers.close().await;
    }
}

/// Starts the server of a tool whose tools are not known yet, and ends it. Says whether the tool is one of a server.
pub(crate) fn learn_server(wire: &Arc<Wire>, tool: &str) -> Result<bool, Failure> {
    let Some(server) = wire.mcp.of_tool(tool).cloned() else { return Ok(tool == RESOURCES_TOOL && !wire.mcp.all().is_empty()) };
    if !server.is_known() {
        crate::commands::block_on(async {
            let started = server.start().await;
            server.close().await;
            started.map_err(|failure| Failure::failed("execution_error", failure.to_string()))
        })?;
    }
    Ok(true)
}

impl Wire {
    /// Every server that is configured and switched on. Its tools are registered as far as they are known.
    pub(super) fn configured_servers(&self) -> Result<Arc<McpServers>, Failure> {
        let settings = server_settings(&self.settings);
        if settings.is_empty() {
            return Ok(Arc::default());
        }
        // The registry may be that of another configuration.
        self.registry.unregister(RESOURCES_TOOL);
        for server in &settings {
            self.registry.unregister_source(&ToolSource::Mcp(server.name.clone()));
        }
        let servers = McpServers::new(settings, &self.client_parts()?, &self.registry);
        SERVERS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&servers));
        Ok(servers)
    }

    /// What servers need of this machine.
    pub(crate) fn client_parts(&self) -> Result<ClientParts, Failure> {
        Ok(ClientParts {
            launcher: Arc::new(self.server_launcher()?),
            elicitor: Terminal::is_there().then(|| Arc::new(TerminalElicitor) as Arc<dyn Elicitor>),
            sampler: Some(Arc::new(ModelSampler::new(&self.settings))),
            data_folder: self.settings.data_folder.clone(),
            warn: Arc::new(warn),
        })
    }

    fn server_launcher(&self) -> Result<LocalLauncher, Failure> {
        let (agent, root) = (&self.settings.agent, &self.settings.workspace);
        let workspace = self.workspace_options(&[agent.as_str()], root, None, Calls::OfUser)?;
        let (network, proxy) = (self.network_rules()?, self.upstream_proxy()?);
        let (config, data_folder) = (Arc::clone(&self.settings.config), self.settings.data_folder.clone());
        let make = move || {
            let options = shell::options(&config, &data_folder, Calls::OfUser).map_err(|failure| failure.message.clone())?;
            let files = LocalFiles::open(workspace.clone()).map_err(|error| error.message().to_owned())?;
            let http = HttpOptions { proxy: proxy.clone(), ..HttpOptions::default() };
            let http = GuardedClient::with(network.clone(), http, Arc::new(SystemResolver));
            Ok(LocalProcesses::default().with_shell(options, Arc::new(files), Arc::new(http)))
        };
        Ok(LocalLauncher { make: Box::new(make), processes: OnceLock::new() })
    }
}

/// The settings of every server that is switched on; a project's server that is not trusted has none. One that cannot be used is left
/// out with a warning: everything else works without it.
fn server_settings(settings: &Settings) -> Vec<ServerSettings> {
    let names = settings.provenance.names_beneath(&["mcp", "servers"]);
    let tables = names.iter().map(|name| ServerTable { settings, name });
    let used = tables.filter(|table| table.is_configured() && table.flag("enabled") != Some(false));
    used.filter_map(|table| table.settings().map_err(|failure| warn(&failure.message)).ok()).collect()
}

/// The table of a server.
struct ServerTable<'a> {
    settings: &'a Settings,
    name: &'a str,
}

impl ServerTable<'_> {
    fn value(&self, key: &str) -> &ConfigValue {
        self.settings.provenance.value_at(&["mcp", "servers", self.name, key])
    }
    fn text(&self, key: &str) -> Option<&str> {
        self.value(key).as_text()
    }
    fn flag(&self, key: &str) -> Option<bool> {
        match self.value(key) {
            ConfigValue::Flag(flag) => Some(*flag),
            _ => None,
        }
    }
    fn list(&self, key: &str) -> Vec<String> {
        self.value(key).entries().iter().map(|entry| entry.value.clone()).collect()
    }
    fn seconds(&self, key: &str, usual: Duration) -> Duration {
        self.value(key).as_count().map_or(usual, Duration::from_secs)
    }
    fn sampling_limits(&self) -> SamplingLimits {
        let usual = SamplingLimits::default();
        let requests = self.value("sampling_requests").as_count().and_then(|count| u32::try_from(count).ok());
        let tokens = self.value("sampling_tokens").as_count();
        SamplingLimits { requests: requests.unwrap_or(usual.requests), tokens: tokens.unwrap_or(usual.tokens) }
    }
    /// The entries of a table in this one.
    fn table(&self, key: &str) -> Vec<(String, String)> {
        let path = ["mcp", "servers", self.name, key];
        let within = self
            .settings
            .provenance
            .settings()
            .iter()
            .filter(|setting| setting.path.len() == 5 && setting.path.iter().zip(path).all(|(part, wanted)| part == wanted));
        within.filter_map(|setting| Some((setting.path[4].clone(), setting.value.as_text()?.to_owned()))).collect()
    }

    /// Whether it says how the server is reached.
    fn is_configured(&self) -> bool {
        self.text("command").or_else(|| self.text("url")).is_some()
    }

    fn settings(&self) -> Result<ServerSettings, Failure> {
        let refused = |why: String| Failure::config(format!("[mcp.servers.{}]: {why}", self.name));
        let name = server_name(self.name).map_err(refused)?;
        let transport = match self.text("url") {
            Some(url) => ServerTransport::Http(self.http(url)?),
            None => ServerTransport::Stdio(self.stdio()),
        };
        let usual = ServerTimeouts::default();
        let timeouts = ServerTimeouts {
            start: self.seconds("start_seconds", usual.start),
            idle: self.seconds("idle_seconds", usual.idle),
            total: self.seconds("total_seconds", usual.total),
        };
        Ok(ServerSettings {
            timeouts,
            allowed_tools: Some(self.list("allow")).filter(|allowed| !allowed.is_empty()),
            denied_tools: self.list("deny"),
            requests: ServerRequests {
                elicitation: match self.text("elicitation") {
                    Some("ask") => Elicitation::Ask,
                    Some("defaults") => Elicitation::Defaults,
                    _ => Elicitation::Off,
                },
                sampling: match self.text("sampling") {
                    Some("ask") => Sampling::Ask,
                    Some("allow") => Sampling::Allow,
                    _ => Sampling::Off,
                },
                sampling_limits: self.sampling_limits(),
            },
            lifecycle: match self.text("protocol") {
                Some("auto") => Lifecycle::Auto,
                Some("2026-07-28") => Lifecycle::Discover,
                _ => Lifecycle::Initialize,
            },
            ..ServerSettings::new(name, transport)
        })
    }

    fn http(&self, url: &str) -> Result<HttpServer, Failure> {
        let oauth = OAuthClient {
            id: self.text("client_id").map(str::to_owned),
            secret: self.secret("client_secret_env")?,
            issuer: self.text("issuer").map(str::to_owned),
        };
        Ok(HttpServer { url: url.to_owned(), headers: self.table("headers"), token: self.secret("token_env")?, oauth })
    }

    /// The secret in the variable that this key names.
    fn secret(&self, key: &str) -> Result<Option<BearerToken>, Failure> {
        let Some(variable) = self.text(key) else { return Ok(None) };
        let missing = || {
            let what = format!("the MCP server '{}' is left out: the variable {variable} is not set", self.name);
            Failure::config(format!("{what}; set it, or remove {key} from [mcp.servers.{}]", self.name))
        };
        Ok(Some(BearerToken(std::env::var(variable).ok().filter(|secret| !secret.trim().is_empty()).ok_or_else(missing)?)))
    }

    fn stdio(&self) -> StdioServer {
        let workspace = &self.settings.workspace;
        let passed = self.list("pass_env").into_iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
        let folders = self.list("folders").iter().map(|folder| absolute(workspace, folder)).collect();
        StdioServer {
            program: self.text("command").unwrap_or_default().to_owned(),
            arguments: self.list("args"),
            environment: passed.chain(self.table("env")).collect(),
            directory: self.text("cwd").map_or_else(|| workspace.clone(), |folder| absolute(workspace, folder)),
            sandbox: (self.flag("sandbox") == Some(true)).then(|| ServerSandbox { hosts: self.list("hosts"), folders }),
        }
    }
}

/// A path of the configuration: absolute, beneath the home folder, or in the workspace.
fn absolute(workspace: &Path, text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => workspace.join(text),
    }
}

type MakeProcesses = Box<dyn Fn() -> Result<LocalProcesses, String> + Send + Sync>;

/// Starts servers as programs of this machine, in the sandbox of commands if that is configured.
struct LocalLauncher {
    make: MakeProcesses,
    processes: OnceLock<Result<LocalProcesses, String>>,
}

impl ServerLauncher for LocalLauncher {
    fn launch<'a>(&'a self, name: &'a str, server: &'a StdioServer) -> BoxFuture<'a, Result<ServerStreams, String>> {
        let command = ServerCommand {
            name: name.to_owned(),
            program: server.program.clone(),
            arguments: server.arguments.clone(),
            directory: server.directory.clone(),
            environment: server.environment.clone(),
            sandbox: server.sandbox.as_ref().map(|sandbox| ServerAccess { hosts: sandbox.hosts.clone(), folders: sandbox.folders.clone() }),
        };
        Box::pin(async move {
            let processes = self.processes.get_or_init(|| (self.make)()).as_ref().map_err(Clone::clone)?;
            let mut child = processes.start_server(command).await.map_err(|error| error.message().to_owned())?;
            match (child.input.take(), child.output.take(), child.errors.take()) {
                (Some(input), Some(output), Some(errors)) => Ok(ServerStreams {
                    input: Box::new(input),
                    output: Box::new(output),
                    errors: Box::new(errors),
                    process: Box::new(ServerChildProcess(child)),
                }),
                _ => Err("its streams cannot be opened".to_owned()),
            }
        })
    }
}

struct ServerChildProcess(ServerChild);

impl ServerProcess for ServerChildProcess {
    fn ended(&mut self) -> BoxFuture<'_, String> {
        Box::pin(async {
            match self.0.wait().await {
                Ok(status) => match status.code() {
                    Some(127) => "its program was not found".to_owned(),
                    Some(code) => format!("it ended with exit code {code}"),
                    None => format!("it was ended ({status})"),
                },
                Err(error) => format!("it cannot be waited for: {error}"),
            }
        })
    }
}
