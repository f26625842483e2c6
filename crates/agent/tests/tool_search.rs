//! More tools than a model takes: which it is shown, and how it finds the others.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Weak};

use haft_agent::{Revealed, Shelves, offered, shown};
use haft_contract::{Dialect, Source, ToolCall, ToolResult};
use haft_engine::catalog::Vocabulary;
use haft_engine::{Engine, PolicySpec, Registry, Session, StandardPolicy};
use haft_provider::{Block, Message, Model, Protocol, ToolSpec};
use haft_store::{FileBlobs, InMemoryCallLog};
use haft_testkit::{FakeHost, ScriptedTool};
use serde_json::{Value, json};

struct World {
    engine: Engine,
    session: Session,
    shelves: Shelves,
    model: Model,
    _folder: tempfile::TempDir,
}

/// So many tools, of which some are deferred and some denied, and the search among them.
fn world(count: usize, deferred: &[usize], denied: &[&str]) -> World {
    let (registry, shelves) = (Registry::new(), Shelves::default());
    for number in 0..count {
        let tool = ScriptedTool::new(format!("tool_{number}")).define(|definition| {
            definition.description = format!("Does what number{number} does.").into();
            definition.deferred = deferred.contains(&number);
        });
        registry.register(tool.shared(), Source::BuiltIn).unwrap();
    }
    registry.register(shelves.tool(), Source::BuiltIn).unwrap();
    let mut spec = PolicySpec::default();
    spec.tools.deny = denied.iter().map(|name| (*name).into()).collect();
    let entries = registry.entries();
    let vocabulary = Vocabulary::with(entries.iter().map(|entry| (entry.definition(), entry.source())));
    let policy = StandardPolicy::compile(&spec, vocabulary).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
    let engine = Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), blobs).policy(Arc::new(policy)).build();
    let session = Session::builder(FakeHost::new() as _).id("s").build();
    World { engine, session, shelves, model: Model::new("acme", Protocol::OpenAi, "m"), _folder: folder }
}

impl World {
    fn open(&self, messages: &[Message]) -> Revealed {
        self.shelves.open(&self.engine, &self.session, messages)
    }

    /// What the next request shows, and what is said of it.
    fn shown(&self, revealed: &Revealed) -> (Vec<ToolSpec>, Option<String>) {
        shown(&offered(&self.engine, &self.session), self.session.dialect(), &self.model, revealed)
    }

    fn names(&self, revealed: &Revealed) -> Vec<String> {
        self.shown(revealed).0.into_iter().map(|tool| tool.name).collect()
    }

    async fn call(&self, arguments: Value) -> ToolResult {
        self.engine.run(ToolCall::new("1", "tool_search", arguments.to_string()), &self.session).await
    }

    /// What a search tells the model.
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
async fn of_three_hundred_tools_a_model_is_shown_what_it_takes_and_finds_the_rest() {
    let world = world(300, &[], &[]);
    let revealed = world.open(&[]);
    let (tools, warning) = world.shown(&revealed);
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
    let told = json!({
        "matches": ["tool_250"],
        "query": "number250",
        "normalized_query": "number250",
        "total_deferred_tools": 173,
        "tools": [definition],
    });
    assert_eq!(found, told);
    let names = world.names(&revealed);
    assert_eq!(names, [numbered(0..126), vec!["tool_250".into(), "tool_search".into()]].concat(), "still exactly 128");
}

#[tokio::test]
async fn what_is_deferred_is_shown_from_when_it_is_found() {
    let world = world(6, &[1, 3, 4], &[]);
    let revealed = world.open(&[]);
    assert_eq!(world.names(&revealed), ["tool_0", "tool_2", "tool_5", "tool_search"]);
    assert_eq!(world.shown(&revealed).1, None, "nothing is missing that a person expects");
    assert_eq!(world.search("select:tool_4,TOOL-1,nothing").await["not_found"], json!(["nothing"]));
    assert_eq!(world.names(&revealed), ["tool_0", "tool_2", "tool_5", "tool_search", "tool_1", "tool_4"]);
    world.search("number3").await;
    assert_eq!(
        world.names(&revealed),
        ["tool_0", "tool_2", "tool_5", "tool_1", "tool_4", "tool_3"],
        "with everything shown there is nothing to search for"
    );
}

#[tokio::test]
async fn a_tool_that_is_denied_is_never_found() {
    let world = world(200, &[], &["tool_150"]);
    let revealed = world.open(&[]);
    for query in ["number150", "select:tool_150", "+number150 tool_150"] {
        let found = world.search(query).await;
        let matches = found["matches"].as_array().unwrap();
        assert!(!matches.contains(&json!("tool_150")) && !found.to_string().contains("Does what number150"), "{query}: {found}");
    }
    assert!(!world.names(&revealed).contains(&"tool_150".to_owned()));
    assert_eq!(revealed.names().iter().filter(|name| *name == "tool_150").count(), 0);
}

#[tokio::test]
async fn without_the_search_what_does_not_fit_is_missing_and_that_is_said() {
    let mut world = world(4, &[3], &["tool_search"]);
    let revealed = world.open(&[]);
    let said = |world: &World| world.shown(&revealed).1.unwrap();
    assert_eq!(said(&world), "1 tools are not shown before they are searched for; allow tool_search, and the model can find them");
    world.model.max_tools = 2;
    assert_eq!(world.names(&revealed), ["tool_0", "tool_1"]);
    assert_eq!(said(&world), "m takes 2 tools at most: 1 are not shown (tool_2); allow tool_search, and the model can find them");
    world.model.max_tools = 0;
    assert_eq!(world.names(&revealed), Vec::<String>::new());
}

#[tokio::test]
async fn a_session_that_goes_on_keeps_the_tools_that_it_has_called() {
    let world = world(6, &[4, 5], &[]);
    let call = |name: &str| Block::Call { id: name.into(), name: name.into(), arguments: String::new(), opaque: None };
    let messages = [Message::user("go"), Message::assistant(vec![call("Tool-5"), call("gone"), call("tool_0")])];
    let revealed = world.open(&messages);
    assert_eq!(world.names(&revealed), ["tool_0", "tool_1", "tool_2", "tool_3", "tool_search", "tool_5"]);
}

#[tokio::test]
async fn searches_that_mean_nothing_say_what_to_write() {
    let world = world(3, &[2], &[]);
    let result = world.call(json!({"query": "anything"})).await;
    let message = "tool_search finds tools for the model of a conversation, and this is none: `haft tools` lists them.";
    assert_eq!(result.outcome.unwrap_err().message(), message);
    let _revealed = world.open(&[]);
    let result = world.call(json!({"query": " + "})).await;
    let message = "The argument 'query' names nothing: write words, or 'select:' and names of tools.";
    assert_eq!(result.outcome.unwrap_err().message(), message);
    let nothing = world.search("xylophone").await;
    assert_eq!(nothing["note"], json!("No tool that you may use matches. Use other or fewer words, or do without."));
}

#[tokio::test]
async fn a_model_reads_and_writes_the_names_of_its_dialect() {
    let mut world = world(3, &[2], &[]);
    world.session = Session::builder(FakeHost::new() as _).id("s").dialect(Dialect::Claw).build();
    let revealed = world.open(&[]);
    assert_eq!(world.names(&revealed), ["tool_0", "tool_1", "ToolSearch"]);
    let result = world.engine.run(ToolCall::new("1", "ToolSearch", r#"{"query":"number2","max_results":1}"#), &world.session).await;
    assert!(result.is_success(), "{}", result.to_json());
    assert_eq!(revealed.names(), ["tool_2"]);
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
