//! More tools than a model takes: which ones it is shown, and how it finds the others.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod stores;

use std::sync::{Arc, Weak};

use haft_agent::{DeferredTools, DisclosedTools, offered_tools, visible_tools};
use haft_contract::ports::Services;
use haft_contract::{Dialect, DynTool, Form, ToolCall, ToolOutput, ToolResult, ToolSource};
use haft_engine::{Engine, Registry, Session};
use haft_policy::catalog::Vocabulary;
use haft_policy::{PolicySpec, StandardPolicy};
use haft_provider::{Block, Message, Model, OfferedTool, Protocol};
use haft_store::FileBlobs;
use haft_testkit::{FakeHost, ScriptedTool};
use serde_json::{Value, json};

use self::stores::call_log;

struct World {
    engine: Engine,
    session: Session,
    deferred: DeferredTools,
    model: Model,
    _folder: tempfile::TempDir,
}

/// So many tools, of which some are deferred and some denied, and the search among them.
fn world(count: usize, hidden: &[usize], denied: &[&str]) -> World {
    let (registry, deferred) = (Registry::new(), DeferredTools::default());
    for number in 0..count {
        let tool = ScriptedTool::new(format!("tool_{number}")).define(|definition| {
            definition.description = format!("Does what number{number} does.").into();
            definition.deferred = hidden.contains(&number);
        });
        registry.register(tool.shared(), ToolSource::BuiltIn).unwrap();
    }
    registry.register(search_tool(), ToolSource::BuiltIn).unwrap();
    let mut spec = PolicySpec::default();
    spec.tools.deny = denied.iter().map(|name| (*name).into()).collect();
    let entries = registry.entries();
    let vocabulary = Vocabulary::default().with(entries.iter().map(|entry| (entry.definition(), entry.source())));
    let policy = StandardPolicy::compile(&spec, vocabulary).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
    let engine = Engine::builder(Arc::new(registry), call_log(), blobs).policy(Arc::new(policy)).build();
    let session = Session::builder(host(&deferred) as _).id("s").build();
    World { engine, session, deferred, model: Model::new("acme", Protocol::OpenAi, "m"), _folder: folder }
}

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "ToolSearch")];

/// What the built-in tool does with the index.
fn search_tool() -> Arc<dyn DynTool> {
    let tool = ScriptedTool::new("tool_search").define(|definition| {
        definition.description = "Find tools.".into();
        definition.parameters =
            json!({"type": "object", "properties": {"query": {"type": "string"}, "max_results": {"type": "integer"}}}).into();
        definition.forms = FORMS.into();
    });
    let tool = tool.body(|arguments, cx| async move {
        let most = arguments["max_results"].as_u64().unwrap_or(5);
        let report = cx.planning().search_tools(arguments["query"].as_str().unwrap(), usize::try_from(most).unwrap())?;
        Ok(ToolOutput::text(report.to_string()))
    });
    tool.shared()
}

/// A machine whose tools are found in this index.
fn host(deferred: &DeferredTools) -> Arc<FakeHost> {
    let (host, mut services) = (FakeHost::new(), Services::default());
    services.tools = Some(Arc::new(deferred.clone()));
    assert!(host.services.set(services).is_ok());
    host
}

impl World {
    fn open(&self, messages: &[Message]) -> DisclosedTools {
        self.deferred.disclose(&self.engine, &self.session, messages)
    }

    /// The tools of the next request, and the warning.
    fn shown(&self, disclosed: &DisclosedTools) -> (Vec<OfferedTool>, Option<String>) {
        visible_tools(&offered_tools(&self.engine, &self.session), self.session.dialect(), &self.model, disclosed)
    }

    fn names(&self, disclosed: &DisclosedTools) -> Vec<String> {
        self.shown(disclosed).0.into_iter().map(|tool| tool.name).collect()
    }

    async fn call(&self, arguments: Value) -> ToolResult {
        self.engine.run(ToolCall::new("1", "tool_search", arguments.to_string()), &self.session).await
    }

    /// The result of a search.
    async fn search(&self, query: &str) -> Value {
        let result = self.call(json!({"query": query})).await;
        let output = result.outcome.unwrap();
        serde_json::from_str(output.texts().next().unwrap()).unwrap()
    }
}

fn numbered(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("tool_{number}")).collect()
}

#[tokio::test]
async fn a_model_is_shown_as_many_of_three_hundred_tools_as_it_takes_and_finds_the_rest() {
    let world = world(300, &[], &[]);
    let disclosed = world.open(&[]);
    let (tools, warning) = world.shown(&disclosed);
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, [numbered(0..127), vec!["tool_search".into()]].concat(), "exactly 128");
    let expected =
        "m takes 128 tools at most: 173 are not shown (tool_127, tool_128, tool_129, tool_130, tool_131, …); tool_search finds them";
    assert_eq!(warning.as_deref(), Some(expected));
    let description = &tools[127].description;
    assert!(description.len() <= 1024 && description.contains("Not shown: tool_127, tool_128, "), "{description}");

    let found = world.search("number250").await;
    let definition = json!({
        "name": "tool_250",
        "description": "Does what number250 does.",
        "parameters": {"type": "object", "properties": {}},
    });
    let report = json!({
        "matches": ["tool_250"],
        "query": "number250",
        "normalized_query": "number250",
        "total_deferred_tools": 173,
        "tools": [definition],
    });
    assert_eq!(found, report);
    let names = world.names(&disclosed);
    assert_eq!(names, [numbered(0..126), vec!["tool_250".into(), "tool_search".into()]].concat(), "still exactly 128");
}

#[tokio::test]
async fn a_deferred_tool_is_shown_once_it_is_found() {
    let world = world(6, &[1, 3, 4], &[]);
    let disclosed = world.open(&[]);
    assert_eq!(world.names(&disclosed), ["tool_0", "tool_2", "tool_5", "tool_search"]);
    assert_eq!(world.shown(&disclosed).1, None, "nothing is missing that the user expects");
    assert_eq!(world.search("select:tool_4,TOOL-1,nothing").await["not_found"], json!(["nothing"]));
    assert_eq!(world.names(&disclosed), ["tool_0", "tool_2", "tool_5", "tool_search", "tool_1", "tool_4"]);
    world.search("number3").await;
    assert_eq!(
        world.names(&disclosed),
        ["tool_0", "tool_2", "tool_5", "tool_1", "tool_4", "tool_3"],
        "with everything shown there is nothing to search for"
    );
}

#[tokio::test]
async fn small_window_shows_the_first_tools_and_the_others_are_found() {
    let mut world = world(50, &[], &[]);
    world.model.context_window = 1_000;
    let disclosed = world.open(&[]);
    let (names, warning) = (world.names(&disclosed), world.shown(&disclosed).1);
    assert!(names.len() > 4 && names.len() < 40, "{names:?}");
    assert_eq!((names.first().map(String::as_str), names.last().map(String::as_str), warning), (Some("tool_0"), Some("tool_search"), None));
    world.search("number49").await;
    assert!(world.names(&disclosed).contains(&"tool_49".to_owned()));
    world.model.context_window = 128_000;
    assert_eq!(world.names(&world.open(&[])).len(), 50, "all, and nothing to search for");
}

#[tokio::test]
async fn a_tool_that_is_denied_is_never_found() {
    let world = world(200, &[], &["tool_150"]);
    let disclosed = world.open(&[]);
    for query in ["number150", "select:tool_150", "+number150 tool_150"] {
        let found = world.search(query).await;
        let matches = found["matches"].as_array().unwrap();
        assert!(!matches.contains(&json!("tool_150")) && !found.to_string().contains("Does what number150"), "{query}: {found}");
    }
    assert!(!world.names(&disclosed).contains(&"tool_150".to_owned()));
    assert_eq!(disclosed.names().iter().filter(|name| *name == "tool_150").count(), 0);
}

#[tokio::test]
async fn without_tool_search_the_user_is_warned_of_tools_that_do_not_fit() {
    let mut world = world(4, &[3], &["tool_search"]);
    let disclosed = world.open(&[]);
    let said = |world: &World| world.shown(&disclosed).1.unwrap();
    assert_eq!(said(&world), "1 tools are not shown before they are searched for; allow tool_search, and the model can find them");
    world.model.max_tools = 2;
    assert_eq!(world.names(&disclosed), ["tool_0", "tool_1"]);
    assert_eq!(said(&world), "m takes 2 tools at most: 1 are not shown (tool_2); allow tool_search, and the model can find them");
    world.model.max_tools = 0;
    assert_eq!(world.names(&disclosed), Vec::<String>::new());
}

#[tokio::test]
async fn a_resumed_session_keeps_the_tools_that_it_has_called() {
    let world = world(6, &[4, 5], &[]);
    let call = |name: &str| Block::Call { id: name.into(), name: name.into(), arguments: String::new(), opaque: None };
    let messages = [Message::user("go"), Message::assistant(vec![call("Tool-5"), call("gone"), call("tool_0")])];
    let disclosed = world.open(&messages);
    assert_eq!(world.names(&disclosed), ["tool_0", "tool_1", "tool_2", "tool_3", "tool_search", "tool_5"]);
}

#[tokio::test]
async fn an_empty_search_says_what_to_write() {
    let world = world(3, &[2], &[]);
    let result = world.call(json!({"query": "anything"})).await;
    let message = "tool_search works only in a conversation with a model. `haft tools` lists all tools.";
    assert_eq!(result.outcome.unwrap_err().message(), message);
    let _disclosed = world.open(&[]);
    let result = world.call(json!({"query": " + "})).await;
    let message = "The argument 'query' names nothing: write words, or 'select:' and names of tools.";
    assert_eq!(result.outcome.unwrap_err().message(), message);
    let nothing = world.search("xylophone").await;
    assert_eq!(nothing["note"], json!("No tool that you may use matches. Use other or fewer words, or do without."));
}

#[tokio::test]
async fn tools_that_are_shown_already_are_found_and_said_to_be_shown() {
    let world = world(3, &[2], &[]);
    let disclosed = world.open(&[]);
    world.shown(&disclosed);
    let found = world.search("number1").await;
    assert_eq!((&found["matches"], &found["already_shown"]), (&json!(["tool_1"]), &json!(["tool_1"])), "{found}");
    assert_eq!(found["note"], json!("You are shown all of these already: call them."));
    let found = world.search("select:tool_1,tool_2").await;
    assert_eq!((&found["already_shown"], &found["note"], &found["total_deferred_tools"]), (&json!(["tool_1"]), &Value::Null, &json!(1)));
    world.engine.registry().register(ScriptedTool::new("late").shared(), ToolSource::BuiltIn).unwrap();
    assert_eq!(world.search("late").await["matches"], json!(["late"]), "a tool that was registered later");
}

#[tokio::test]
async fn a_model_reads_and_writes_the_names_of_its_dialect() {
    let mut world = world(3, &[2], &[]);
    world.session = Session::builder(host(&world.deferred) as _).id("s").dialect(Dialect::Claw).build();
    let disclosed = world.open(&[]);
    assert_eq!(world.names(&disclosed), ["tool_0", "tool_1", "ToolSearch"]);
    let result = world.engine.run(ToolCall::new("1", "ToolSearch", r#"{"query":"number2","max_results":1}"#), &world.session).await;
    assert!(result.is_success(), "{}", result.to_json());
    assert_eq!(disclosed.names(), ["tool_2"]);
}

#[tokio::test]
async fn a_session_that_is_over_is_forgotten() {
    let world = world(3, &[2], &[]);
    let (first, second) = (world.open(&[]), world.open(&[]));
    drop(first);
    world.search("number2").await;
    assert_eq!(second.names(), ["tool_2"], "the newer one stays");
    drop(second);
    let registry: Weak<Registry> = Arc::downgrade(world.engine.registry());
    drop(world);
    assert_eq!(registry.strong_count(), 0, "nothing holds the tools any more");
}

#[tokio::test]
async fn tools_of_servers_beyond_the_token_budget_are_found_by_search_and_stay_found() {
    let mut world = world(3, &[], &[]);
    for number in 0..5 {
        let tool = ScriptedTool::new(format!("mcp__hub__t{number}")).define(|definition| {
            definition.description = format!("Speaks of subject{number}. {}", "More words. ".repeat(100)).into();
        });
        world.engine.registry().register(tool.shared(), ToolSource::Mcp("hub".into())).unwrap();
    }
    // About 320 tokens each: two of them fit beside the tools of Haft.
    world.model.context_window = 10_000;
    let disclosed = world.open(&[]);
    let of_haft = || vec!["tool_0".to_owned(), "tool_1".into(), "tool_2".into(), "tool_search".into()];
    let expected = [of_haft(), vec!["mcp__hub__t0".into(), "mcp__hub__t1".into()]].concat();
    let (tools, warning) = world.shown(&disclosed);
    assert_eq!((tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>(), warning), (expected.clone(), None));
    let search = tools.iter().find(|tool| tool.name == "tool_search").unwrap();
    assert!(search.description.contains("mcp__hub__t4: Speaks of subject4."), "known by name and one line: {}", search.description);
    assert_eq!(world.search("subject4").await["matches"], json!(["mcp__hub__t4"]));
    let with_found = [expected, vec!["mcp__hub__t4".into()]].concat();
    assert_eq!(world.names(&disclosed), with_found);
    // Another model has another window: all fit, and there is nothing to search for.
    world.model.context_window = 1_000_000;
    assert_eq!(world.names(&disclosed).len(), 8);
    world.model.context_window = 10_000;
    disclosed.set_budget(100);
    assert_eq!(world.names(&disclosed).len(), 8);
    drop(disclosed);
    let summary = Message::user("[Summary]\nIt was done.\n\n[Tools that tool_search has found: mcp__hub__t4, mcp__hub__gone]");
    assert_eq!(world.names(&world.open(&[summary])), with_found, "a summary remembers what was found");
}
