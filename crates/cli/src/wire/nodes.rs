//! Nodes: those of this gateway, and what this machine runs as one.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::ports::NodeDirectory;
use haft_contract::{BoxFuture, ExecHost, ToolCall, ToolError, ToolSource};
use haft_engine::{Engine, EngineBuilder, Registry, Session};
use haft_nodes::device::{self, DeclaredCommand, DeviceSettings};
use haft_nodes::{About, CallClaims, ControlClient, NodeHub, NodeOutcome, NodePolicy, NodeRequest, NodeRunner, real_root};
use haft_store::CallLog;
use tokio_util::sync::CancellationToken;

use super::call_setup::WarningPrinter;
use super::shell::Calls;
use super::{JobSettings, Settings, UserPrompts, Wire, hooks, open_blobs, registry_in, store};
use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::Output;

/// The tools that a gateway may call on a node; its own policy decides on each call.
const TOOLS: &[&str] = &[
    "exec",
    "read_file",
    "write_file",
    "glob_search",
    "notify",
    "system_info",
    "camera_snap",
    "camera_list",
    "screen_record",
    "location_get",
    "node_invoke",
];

impl Wire {
    /// Where the list of paired machines and the key of the gateway are.
    pub(crate) fn nodes_folder(&self) -> PathBuf {
        self.settings.data_folder.join("nodes")
    }

    /// The socket by which other programs of this user reach the nodes of a server.
    pub(crate) fn nodes_socket(&self) -> PathBuf {
        self.run_folder().join("nodes.sock")
    }

    fn runs_on_nodes(&self) -> bool {
        self.settings.config.exec.host == ExecHost::Node
    }

    /// The nodes of a server of this user.
    pub(crate) fn node_control(&self) -> ControlClient {
        ControlClient::new(self.nodes_socket(), &self.nodes_folder(), self.runs_on_nodes())
    }

    /// The nodes of this process, if it is a server, else those of the running one.
    pub(super) fn node_directory(&self) -> Arc<dyn NodeDirectory> {
        match self.served.as_ref().and_then(|served| served.nodes.clone()) {
            Some(hub) => Arc::new(hub),
            None => Arc::new(self.node_control()),
        }
    }

    /// The nodes of a server.
    pub(crate) fn node_hub(&self, stop: CancellationToken) -> io::Result<NodeHub> {
        NodeHub::open(&self.nodes_folder(), self.runs_on_nodes(), stop)
    }

    /// The devices that this machine shares as a node.
    fn devices(&self) -> DeviceSettings {
        let settings = &self.settings.provenance;
        let mut devices = DeviceSettings::default();
        devices.camera = settings.value("node.camera").is_true();
        devices.screen = settings.value("node.screen").is_true();
        devices.location = settings.value("node.location").is_true();
        let declared = |(name, words): (&str, &[haft_config::Sourced<String>])| DeclaredCommand {
            name: name.to_owned(),
            words: words.iter().map(|word| word.value.clone()).collect(),
        };
        devices.commands = settings.lists_in(&["node", "commands"]).map(declared).collect();
        devices
    }
}

/// The name of this machine as a node.
pub(crate) fn node_name(settings: &Settings) -> String {
    let configured = settings.provenance.value("node.name").as_text().map(str::to_owned);
    configured.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}

/// Runs the calls of a gateway with an engine of this machine: its configuration, its policy, its history.
pub(crate) struct LocalRunner {
    engine: Engine,
    session: Session,
    root: PathBuf,
    about: About,
    log: Arc<dyn CallLog>,
    next: AtomicU64,
}

impl LocalRunner {
    pub(crate) fn new(configured: &Wire, common: &Common, output: &Output) -> Result<Self, Failure> {
        let devices = configured.devices();
        let wire = Wire::with_registry(node_registry(common, &devices)?, common, output)?;
        let folder = &wire.settings.workspace;
        let log = store(&wire.settings.data_folder)?;
        let jobs = wire.recorded_jobs(&log);
        let jobs = move || JobSettings { wait_for_exit: true, ..jobs() };
        let log: Arc<dyn CallLog> = log;
        let blobs = open_blobs(&wire.settings.data_folder, Some("node"))?;
        let host = wire.host(&wire.settings.agent, folder, Some(blobs.spill_folder()), jobs, Calls::OfModel)?;
        let policy = Arc::new(NodePolicy::new(Arc::clone(&wire.policy) as _));
        let engine = Engine::builder(Arc::clone(&wire.registry), Arc::clone(&log), blobs);
        let engine = engine.policy(policy).limits(wire.limits()).events(Arc::new(WarningPrinter));
        let engine = hooks::hooks(&wire.settings, &wire.policy, folder)?.into_iter().fold(engine, EngineBuilder::hook).build();
        // The gateway stops loops of its model; what it repeats on purpose is repeated.
        let session = wire.session(host, &wire.settings.agent, UserPrompts::Never, None).loop_limits(None).build();
        let root = real_root(folder);
        let about = About {
            actions: devices.actions(),
            platform: format!("{} {}, haft {}", std::env::consts::OS, std::env::consts::ARCH, env!("CARGO_PKG_VERSION")),
            workspace: root.to_string_lossy().into_owned(),
        };
        Ok(Self { engine, session, root, about, log, next: AtomicU64::new(1) })
    }

    async fn answer(&self, request: NodeRequest) -> NodeOutcome {
        if !TOOLS.contains(&request.tool.as_str()) {
            let message = "A gateway cannot call this tool on a node; nothing was done.";
            return NodeOutcome { result: Err(ToolError::denied(message)), effects: Vec::new() };
        }
        let id = format!("gateway-{}", self.next.fetch_add(1, Ordering::Relaxed));
        let call = ToolCall::new(id, request.tool, request.arguments);
        let running = self.engine.run(call, &self.session);
        let (result, effects) = CallClaims::limit(&request.effects, &self.root, running).await;
        // Written in the background: the answer does not wait for the disk, and a record that is lost is reported by the engine.
        let log = Arc::clone(&self.log);
        tokio::spawn(async move { log.flush().await });
        NodeOutcome { result: result.outcome.map_err(with_advice), effects }
    }
}

/// A refusal of this machine says what its user can change: nobody else can.
#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn with_advice(error: ToolError) -> ToolError {
    let advice = error.details().and_then(|details| details["to_change"].as_str()).unwrap_or_default().trim();
    // A tool that refuses by itself says what to change, and no setting of the policy would help.
    let end = if advice.is_empty() || advice.starts_with("no setting") {
        String::new()
    } else {
        format!(" The user of that machine can change it there: {advice}")
    };
    ToolError::new(error.kind(), format!("{}{end}", error.message()))
}

impl NodeRunner for LocalRunner {
    fn run(self: Arc<Self>, request: NodeRequest) -> BoxFuture<'static, NodeOutcome> {
        Box::pin(async move { Box::pin(self.answer(request)).await })
    }
    fn about(&self) -> About {
        self.about.clone()
    }
}

/// The tools of this machine, with those of its devices.
fn node_registry(common: &Common, devices: &DeviceSettings) -> Result<Arc<Registry>, Failure> {
    let registry = registry_in(common.workspace.as_deref())?;
    for tool in device::tools(devices) {
        registry.register(tool, ToolSource::BuiltIn).map_err(|error| Failure::failed("execution_error", error.to_string()))?;
    }
    Ok(registry)
}
