//! What a call costs here and behind what a user would take instead: the same tool, the same arguments as text, the same text as the
//! answer, in one process. rmcp's router and rig parse the arguments and call the tool; Haft also validates, decides, bounds, redacts and
//! keeps history on disk. `just peers` prints medians and ratios.

use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::store::{CallLog, FileBlobs, SqliteCallLog};
use haft::{Engine, Erased, Registry, Session, ToolCall, ToolError, ToolSource};
use rig_core::effect::EffectKind;
use rig_core::serve::adapters::ToolAdapter;
use rig_core::serve::{ErasedHandler, serve_inline};
use rmcp::handler::server::router::tool::{AsyncTool, ToolBase, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{Peer, RequestContext, ServiceExt};
use rmcp::{RoleServer, ServerHandler};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const ARGUMENTS: &str = r#"{"word":"hello","number":42}"#;
const BURST: u32 = 1_000;
const ROUNDS: usize = 21;

fn format_reply(word: &str, number: u32) -> String {
    format!("{word} {number} and a few more words")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (ours, router, rig) = (Ours::new(), Router::new().await, ErasedHandler::new(ToolAdapter::new(Rig)));
    let (mut haft, mut rmcp, mut again, mut other, mut bare) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        rmcp.push(time(|| router.call()).await);
        haft.push(time(|| ours.call()).await);
        ours.log.flush().await.expect("history is written");
        other.push(time(|| call_rig(&rig)).await);
        bare.push(time(|| call_tool_of_rig(&Rig)).await);
        again.push(time(|| router.call()).await);
    }
    let [haft, rmcp, again, other, bare] = [haft, rmcp, again, other, bare].map(middle);
    let row = |what: &str, time: Duration, beside: Duration, reference: &str| {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        println!("{what:<34} {:>8.2} µs {:>8.2} µs {:>6.2}x  {reference}", micros(time), micros(beside), micros(time) / micros(beside));
    };
    row("the router against itself (A/A)", again, rmcp, "the same code");
    row("one call of Haft, every stage", haft, rmcp, "rmcp's router alone; target 1.5x");
    row("one call of Haft, every stage", haft, other, "rig's handler of the tool, as its drivers call it");
    row("one call of Haft, every stage", haft, bare, "the tool of rig alone: arguments parsed, answer written");
}

async fn time<F: Future<Output = String>>(call: impl Fn() -> F) -> Duration {
    let started = Instant::now();
    for _ in 0..BURST {
        black_box(call().await);
    }
    started.elapsed() / BURST
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Says a word and a number.
#[haft::tool]
async fn ping(
    /// A word.
    word: String,
    /// A number.
    number: u32,
) -> Result<String, ToolError> {
    Ok(format_reply(&word, number))
}

struct Ours {
    engine: Engine,
    session: Session,
    log: Arc<SqliteCallLog>,
    _folder: tempfile::TempDir,
}

impl Ours {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Registry::new();
        registry.register(Arc::new(Erased::new(Ping)), ToolSource::BuiltIn).expect("it registers");
        let log = Arc::new(SqliteCallLog::open(folder.path()).expect("a database").log);
        let blobs = Arc::new(FileBlobs::open(folder.path()).expect("a blob folder"));
        let engine = Engine::builder(Arc::new(registry), Arc::clone(&log) as Arc<dyn CallLog>, blobs).build();
        // The loop guard would, rightly, stop a program that makes the same call a million times.
        let session = Session::builder(Arc::new(haft::CustomHost::default())).loop_limits(None).build();
        Self { engine, session, log, _folder: folder }
    }
    async fn call(&self) -> String {
        self.engine.run(ToolCall::new("1", "ping", ARGUMENTS), &self.session).await.to_json()
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Params {
    word: String,
    number: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Said {
    text: String,
}

struct Service;
impl ServerHandler for Service {}

struct RouterPing;
impl ToolBase for RouterPing {
    type Parameter = Params;
    type Output = Said;
    type Error = rmcp::ErrorData;
    fn name() -> Cow<'static, str> {
        "ping".into()
    }
}
impl AsyncTool<Service> for RouterPing {
    async fn invoke(_: &Service, params: Params) -> Result<Said, rmcp::ErrorData> {
        Ok(Said { text: format_reply(&params.word, params.number) })
    }
}

struct Router {
    router: ToolRouter<Service>,
    peer: Peer<RoleServer>,
}

impl Router {
    /// The router wants the peer of a connection, so there is one; no call goes over it.
    async fn new() -> Self {
        let (here, there) = tokio::io::duplex(4096);
        let server = tokio::spawn(async move { Service.serve(here).await });
        let client = ().serve(there).await.expect("a client");
        let server = server.await.expect("no panic").expect("a server");
        let peer = server.peer().clone();
        std::mem::forget((client, server));
        Self { router: ToolRouter::new().with_async_tool::<RouterPing>(), peer }
    }
    async fn call(&self) -> String {
        let arguments = serde_json::from_str(ARGUMENTS).expect("JSON");
        let request = RequestContext::new(rmcp::model::NumberOrString::Number(1), self.peer.clone());
        let params = CallToolRequestParams::new("ping").with_arguments(arguments);
        let response = self.router.call(ToolCallContext::new(&Service, params, request)).await.expect("an answer");
        let CallToolResponse::Complete(result) = response else { panic!("the tool asks for nothing and is no task") };
        serde_json::to_string(&result).expect("JSON")
    }
}

struct Rig;

impl rig_core::tool::PortableTool for Rig {
    const NAME: &'static str = "ping";
    type Args = Params;
    type Output = String;
    type Error = std::convert::Infallible;
    fn description(&self) -> String {
        "Says a word and a number.".into()
    }
    fn parameters(&self) -> serde_json::Value {
        schemars::schema_for!(Params).to_value()
    }
    async fn call(&self, params: Params) -> Result<String, Self::Error> {
        Ok(format_reply(&params.word, params.number))
    }
}

async fn call_rig(handler: &ErasedHandler) -> String {
    let call = EffectKind::ToolCall { name: "ping".into(), args: ARGUMENTS.into() };
    serde_json::to_string(&serve_inline(handler, call).await.expect("an answer")).expect("JSON")
}

async fn call_tool_of_rig(tool: &Rig) -> String {
    use rig_core::tool::{ErasedTool, ToolContext};
    let result = tool.execute(ARGUMENTS.to_owned(), &mut ToolContext::default()).await;
    serde_json::to_string(&result).expect("JSON")
}
