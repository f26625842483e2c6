//! A server with the tools, prompts and resources that the conformance suite calls, on the ordinary engine.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::ports::{ApprovalRequest, Services};
use haft_contract::{BoxFuture, Content, Dialect, EmbeddedDocument, ErrorKind, Progress, ToolContext, ToolError, ToolOutput, ToolSource};
use haft_engine::{Engine, Registry, Session, ToolEntry};
use haft_mcp::server::{
    ClientAgent, ClientPorts, PromptFault, PromptListing, PromptParameter, PromptSource, ResourceFault, ResourceListing, ResourcePage,
    ResourceSource, ResourceTemplateListing, SessionResources, ToolBackend,
};
use haft_policy::{PolicySpec, RuleLists, StandardPolicy};
use haft_store::{Blobs, CallLog, FileBlobs, InMemoryCallLog};
use haft_testkit::{FakeHost, ScriptedTool};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

/// A picture of one pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4,
    0x89,
];

/// The agents of a test server.
pub(crate) struct FixtureBackend {
    pub(crate) registry: Arc<Registry>,
    pub(crate) log: Arc<InMemoryCallLog>,
    /// The ids of the sessions that were opened.
    pub(crate) opened: Mutex<Vec<String>>,
    /// How many sessions have ended.
    pub(crate) ended: Arc<Mutex<usize>>,
    /// The version of the prompts; from 1 on there is one more.
    pub(crate) prompts: Arc<AtomicU64>,
    folder: TempDir,
}

impl FixtureBackend {
    pub(crate) fn new() -> Arc<Self> {
        let registry = Registry::new();
        for tool in tools() {
            registry.register(tool.shared(), ToolSource::BuiltIn).unwrap();
        }
        registry.register(structured_of_another_server().shared(), ToolSource::Mcp("hub".to_owned())).unwrap();
        Arc::new(Self {
            registry: Arc::new(registry),
            log: Arc::default(),
            opened: Mutex::default(),
            ended: Arc::default(),
            prompts: Arc::default(),
            folder: TempDir::new().unwrap(),
        })
    }

    /// Waits until so many sessions have ended.
    pub(crate) async fn wait_for_ends(&self, count: usize) {
        until(|| *self.ended.lock().unwrap() >= count).await;
    }

    /// Waits until so many sessions were opened.
    pub(crate) async fn wait_for_opened(&self, count: usize) {
        until(|| self.opened.lock().unwrap().len() >= count).await;
    }

    fn agent(&self, client: ClientPorts) -> ClientAgent {
        let host = FakeHost::new();
        let mut services = Services::default();
        services.small_model = client.model;
        services.messages = Some(client.messages);
        services.questions = client.questions;
        host.services.set(services).ok();
        let session = Session::builder(host as _).loop_limits(None).progress(client.progress).cancellation(client.cancel);
        let session = client.approver.into_iter().fold(session, haft_engine::SessionBuilder::approver).build();
        let blobs = FileBlobs::open(self.folder.path()).unwrap().of_session(session.id()).unwrap();
        let spills = blobs.spill_folder().to_owned();
        let mut spec = PolicySpec::default();
        spec.rules = RuleLists { ask: vec!["test_elicitation".into()], ..RuleLists::default() };
        let policy = StandardPolicy::compile(
            &spec,
            haft_policy::catalog::Vocabulary::default()
                .with(self.registry.entries().iter().map(|entry| (entry.definition(), entry.source()))),
        );
        let log = Arc::clone(&self.log) as Arc<dyn CallLog>;
        let engine = Engine::builder(Arc::clone(&self.registry), log, Arc::new(blobs)).policy(Arc::new(policy.unwrap())).build();
        self.opened.lock().unwrap().push(session.id().to_string());
        let resources = SessionResources::new(engine.clone(), session.clone(), spills);
        ClientAgent::new(engine, session)
            .with_resources(Arc::new(resources))
            .with_resources(Arc::new(FixtureResources))
            .with_prompts(Arc::new(FixturePrompts(Arc::clone(&self.prompts))))
            .with_guard(Ended(Arc::clone(&self.ended)))
    }
}

async fn until(is_so: impl Fn() -> bool) {
    let polling = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), polling).await.expect("it happens in time");
}

struct Ended(Arc<Mutex<usize>>);

impl Drop for Ended {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

impl ToolBackend for FixtureBackend {
    fn tools(&self) -> Vec<Arc<ToolEntry>> {
        self.registry.entries()
    }
    fn dialect(&self) -> Dialect {
        Dialect::Haft
    }
    fn changes(&self) -> watch::Receiver<u64> {
        self.registry.changes()
    }
    fn open(&self, client: ClientPorts) -> BoxFuture<'_, Result<ClientAgent, String>> {
        Box::pin(std::future::ready(Ok(self.agent(client))))
    }
    fn describe(&self, request: &ApprovalRequest) -> String {
        format!("Allow {}? {}", request.call.tool, request.reason)
    }
}

fn tools() -> Vec<ScriptedTool> {
    let gives = |name: &str, output: fn() -> ToolOutput| ScriptedTool::new(name).body(move |_, _| std::future::ready(Ok(output())));
    vec![
        ScriptedTool::new("test_simple_text").returns("This is a simple text response for testing."),
        gives("test_image_content", || ToolOutput::default().with_image("image/png", PIXEL.to_vec())),
        gives("test_audio_content", || ToolOutput::default().with(Content::Audio { mime: "audio/wav".into(), data: b"RIFF".to_vec() })),
        gives("test_embedded_resource", || ToolOutput::default().with(example())),
        gives("test_multiple_content_types", || ToolOutput::text("Mixed:").with_image("image/png", PIXEL.to_vec()).with(example())),
        ScriptedTool::new("test_error_handling").fails(ErrorKind::ExecutionError, "This tool intentionally returns an error for testing"),
        ScriptedTool::new("test_tool_with_logging").body(with_progress),
        ScriptedTool::new("test_tool_with_progress").body(with_progress),
        ScriptedTool::new("test_sampling").schema(text_schema("prompt")).body(with_sampling),
        ScriptedTool::new("test_elicitation").schema(text_schema("message")).returns("The user allowed it."),
        ScriptedTool::new("test_reconnection").sleeps(Duration::from_millis(200)),
        ScriptedTool::new("large_output").body(|_, _| std::future::ready(Ok(ToolOutput::text("0123456789abcde\n".repeat(20_000))))),
        ScriptedTool::new("page_of_text").body(|_, _| std::future::ready(Ok(ToolOutput::text("0123456789abcde\n".repeat(512))))),
        ScriptedTool::new("wait_for_cancel").timeout(Duration::from_mins(5)).waits_for_cancel(),
        ScriptedTool::new("with_header").schema(header_schema()).returns("The header fits."),
        structured(),
        reader(),
    ]
    .into_iter()
    .chain(super::asking::tools())
    .collect()
}

fn example() -> Content {
    Content::Document(EmbeddedDocument::text("test://example-resource", "text/plain", "Resource content for testing."))
}

fn text_schema(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

/// A parameter that clients repeat in a header, so that proxies can route by it.
fn header_schema() -> Value {
    json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
}

fn structured() -> ScriptedTool {
    let tool = ScriptedTool::new("structured").define(|definition| {
        definition.output = Some(json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}).into());
    });
    tool.body(|_, _| std::future::ready(Ok(ToolOutput::text("{\"count\": 2}").with_details(json!({"count": 2})))))
}

/// As a tool of a server that we use: its structured content is a part of the details.
fn structured_of_another_server() -> ScriptedTool {
    let tool = ScriptedTool::new("mcp__hub__structured").define(|definition| {
        definition.output = Some(json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}).into());
    });
    let details = json!({"server": "hub", "untrusted": true, "structured": {"count": 2}});
    tool.body(move |_, _| std::future::ready(Ok(ToolOutput::text("{\"count\": 2}").with_details(details.clone()))))
}

/// The reader of resources, on the files of the test.
fn reader() -> ScriptedTool {
    let parameters = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "offset": {"type": "integer"}, "column": {"type": "integer"}, "again": {"type": "boolean"},
    }});
    ScriptedTool::new("read_file").schema(parameters).body(|arguments: Value, _| async move {
        let text = std::fs::read_to_string(arguments["path"].as_str().unwrap()).map_err(|error| ToolError::execution(error.to_string()))?;
        let first = usize::try_from(arguments["offset"].as_u64().unwrap_or(1)).unwrap();
        let page: String = text.split_inclusive('\n').skip(first - 1).take(5).collect();
        let next = (text.lines().count() >= first + 5).then_some(first + 5);
        let note = next.map(|_| "\n(Showing a part.)").unwrap_or_default();
        Ok(ToolOutput::text(page + note).with_details(json!({"first_line": first, "next_offset": next})))
    })
}

async fn with_progress(_: Value, cx: ToolContext) -> Result<ToolOutput, ToolError> {
    for done in [0, 50, 100] {
        let mut progress = Progress::message(format!("{done} of 100"));
        progress.details = Some(json!({"progress": done, "total": 100}));
        cx.progress(progress);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(ToolOutput::text("done"))
}

async fn with_sampling(arguments: Value, cx: ToolContext) -> Result<ToolOutput, ToolError> {
    let model = cx.small_model().ok_or_else(|| ToolError::execution("The client lends no model."))?;
    let answer = model.answer(arguments["prompt"].as_str().unwrap_or_default(), "").await?;
    Ok(ToolOutput::text(format!("LLM response: {answer}")))
}

struct FixtureResources;

impl ResourceSource for FixtureResources {
    fn list(&self) -> Vec<ResourceListing> {
        let listing = |uri: &str, mime: &str| ResourceListing {
            uri: uri.to_owned(),
            name: uri.to_owned(),
            description: "A resource of the test".to_owned(),
            mime: mime.to_owned(),
            size: None,
        };
        vec![
            listing("test://static-text", "text/plain"),
            listing("test://static-binary", "image/png"),
            listing("test://watched-resource", "text/plain"),
        ]
    }

    fn templates(&self) -> Vec<ResourceTemplateListing> {
        let uri_template = "test://template/{id}/data".to_owned();
        vec![ResourceTemplateListing { uri_template, name: "template".to_owned(), description: "By its id".to_owned() }]
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<ResourcePage, ResourceFault>> {
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let document = match (uri, id) {
            ("test://static-text" | "test://watched-resource", _) => EmbeddedDocument::text(uri, "text/plain", "A static text."),
            ("test://static-binary", _) => EmbeddedDocument::bytes(uri, "image/png", PIXEL.to_vec()),
            (_, Some(id)) => EmbeddedDocument::text(uri, "application/json", json!({"id": id}).to_string()),
            _ => return Box::pin(std::future::ready(Err(ResourceFault::Unknown))),
        };
        Box::pin(std::future::ready(Ok(ResourcePage { document, next: None })))
    }
}

struct FixturePrompts(Arc<AtomicU64>);

impl PromptSource for FixturePrompts {
    fn list(&self) -> Vec<PromptListing> {
        let parameter = |name: &&str| PromptParameter { name: (*name).to_owned(), description: String::new(), required: true };
        let listing = |name: &str, parameters: &[&str]| PromptListing {
            name: name.to_owned(),
            description: "A prompt of the test".to_owned(),
            parameters: parameters.iter().map(parameter).collect(),
        };
        let late = (self.version() > 0).then(|| listing("late_prompt", &[]));
        let mut all = vec![
            listing("test_simple_prompt", &[]),
            listing("test_prompt_with_arguments", &["arg1", "arg2"]),
            listing("test_prompt_with_embedded_resource", &["resourceUri"]),
            listing("test_prompt_with_image", &[]),
        ];
        all.extend(late);
        all
    }

    fn version(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn get<'a>(&'a self, name: &'a str, arguments: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Content>, PromptFault>> {
        let argument = |name: &str| arguments.get(name).cloned().unwrap_or_default();
        let content = match name {
            "test_simple_prompt" => vec![Content::Text("This is a simple prompt for testing.".into())],
            "test_prompt_with_arguments" => {
                vec![Content::Text(format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))]
            }
            "test_prompt_with_embedded_resource" => {
                let document = EmbeddedDocument::text(argument("resourceUri"), "text/plain", "Embedded resource content.");
                vec![Content::Document(document), Content::Text("Please process the embedded resource above.".into())]
            }
            "test_prompt_with_image" => {
                vec![Content::Image { mime: "image/png".into(), data: PIXEL.to_vec() }, Content::Text("Analyze it.".into())]
            }
            _ => return Box::pin(std::future::ready(Err(PromptFault::Unknown))),
        };
        Box::pin(std::future::ready(Ok(content)))
    }
}
