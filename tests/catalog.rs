//! The catalog against the seeds and against the tools themselves: every name, section, profile and group.
#![allow(clippy::expect_used, reason = "a test that cannot continue has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haft::catalog::{NOT_BUILT_YET, ToolGroup, Vocabulary, in_profile};
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{
    Access, Candidate, Dialect, DynTool, Engine, Form, Plan, PlanContext, Prepared, Registry, Session, ToolCall, ToolDefinition, ToolError,
    ToolOutput, ToolResult, ToolSource,
};
use serde_json::{Value, json};

/// Every tool that a seed names, by the seed's number, and what it is called here.
#[rustfmt::skip] // one tool a line
const SEEDS: &[(&str, &str, &str)] = &[
    ("000", "get_current_time", "get_current_time"),
    ("000", "read_file", "read_file"),
    ("000", "write_file", "write_file"),
    ("000", "http_request", "http_request"),

    ("001", "bash", "exec"),
    ("001", "read_file", "read_file"),
    ("001", "write_file", "write_file"),
    ("001", "edit_file", "edit_file"),
    ("001", "glob_search", "glob_search"),
    ("001", "grep_search", "grep_search"),
    ("001", "WebFetch", "web_fetch"),
    ("001", "WebSearch", "web_search"),
    ("001", "TodoWrite", "todo_write"),
    ("001", "Skill", "skill"),
    ("001", "Agent", "agent"),
    ("001", "ToolSearch", "tool_search"),
    ("001", "NotebookEdit", "notebook_edit"),
    ("001", "Sleep", "sleep"),
    ("001", "SendUserMessage", "send_user_message"),
    ("001", "Config", "config"),
    ("001", "StructuredOutput", "structured_output"),
    ("001", "REPL", "repl"),
    ("001", "PowerShell", "powershell"),

    ("002", "get_current_time", "get_current_time"),
    ("002", "read_file", "read_file"),
    ("002", "write_file", "write_file"),
    ("002", "http_request", "http_request"),

    ("003", "file_write", "write_file"),
    ("003", "system_info", "system_info"),
    ("003", "notify", "notify"),
    ("003", "noop", "noop"),

    ("004", "read", "read_file"),
    ("004", "write", "write_file"),
    ("004", "edit", "edit_file"),
    ("004", "apply_patch", "apply_patch"),
    ("004", "exec", "exec"),
    ("004", "process", "process"),
    ("004", "web_search", "web_search"),
    ("004", "web_fetch", "web_fetch"),
    ("004", "memory_search", "memory_search"),
    ("004", "memory_get", "memory_get"),
    ("004", "sessions_list", "sessions_list"),
    ("004", "sessions_history", "sessions_history"),
    ("004", "sessions_send", "sessions_send"),
    ("004", "sessions_spawn", "sessions_spawn"),
    ("004", "subagents", "subagents"),
    ("004", "session_status", "session_status"),
    ("004", "browser", "browser"),
    ("004", "canvas", "canvas"),
    ("004", "message", "message"),
    ("004", "cron", "cron"),
    ("004", "gateway", "gateway"),
    ("004", "nodes", "nodes"),
    ("004", "agents_list", "agents_list"),
    ("004", "image", "image"),
    ("004", "tts", "tts"),
    ("004", "whatsapp_login", "whatsapp_login"),
];

/// Seed 004, section 2.2.
#[rustfmt::skip] // as the seed lists them
const PROFILES: &[(&str, &[&str])] = &[
    ("minimal", &["session_status"]),
    (
        "coding",
        &[
            "read", "write", "edit", "apply_patch", "exec", "process", "memory_search", "memory_get", "sessions_list", "sessions_history",
            "sessions_send", "sessions_spawn", "subagents", "session_status", "image",
        ],
    ),
    ("messaging", &["sessions_list", "sessions_history", "sessions_send", "session_status", "message"]),
];

/// Seed 004, sections 2.1 and 2.3. The groups are the sections.
const GROUPS: &[(&str, &[&str])] = &[
    ("fs", &["read", "write", "edit", "apply_patch"]),
    ("runtime", &["exec", "process"]),
    ("web", &["web_search", "web_fetch"]),
    ("memory", &["memory_search", "memory_get"]),
    ("sessions", &["sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "subagents", "session_status"]),
    ("ui", &["browser", "canvas"]),
    ("messaging", &["message"]),
    ("automation", &["cron", "gateway"]),
    ("nodes", &["nodes"]),
    ("agents", &["agents_list"]),
    ("media", &["image", "tts"]),
];

/// The tools of seed 004's catalog; `whatsapp_login` is a channel's, in none of its sections.
fn catalogued(canonical: &str) -> bool {
    SEEDS.iter().any(|(seed, name, of)| *seed == "004" && *of == canonical && *name != "whatsapp_login")
}

fn canonical(names: &[&str]) -> BTreeSet<String> {
    let vocabulary = vocabulary();
    names.iter().map(|name| vocabulary.canonical(name).expect("a tool of the catalog").to_owned()).collect()
}

/// Every tool that comes with Haft, by its own definition, and every tool that is not built yet.
fn catalog() -> Vec<ToolDefinition> {
    let mut built: Vec<ToolDefinition> = haft::builtin::all().iter().map(|tool| tool.definition().clone()).collect();
    // One that needs a service which is not configured has its names all the same.
    for definition in &mut built {
        definition.absent = None;
    }
    let planned = NOT_BUILT_YET.iter().map(|meta| ToolDefinition::from_meta(meta, json!({})));
    built.into_iter().chain(planned).collect()
}

fn vocabulary() -> Vocabulary {
    Vocabulary::default().with(catalog().iter().map(|definition| (definition, &ToolSource::BuiltIn)))
}

/// Answers for a tool of the catalog, whether it is built or not: its names are under test.
struct Stub(ToolDefinition);

impl DynTool for Stub {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }
    fn prepare(&self, _: Value, _: &PlanContext<'_>) -> Result<Prepared, ToolError> {
        let name = self.0.name.to_string();
        Ok(Prepared::new(Plan::nothing(), |_| Box::pin(async { Ok(ToolOutput::text(name)) })))
    }
}

/// An engine with every tool of the catalog, and no other.
fn whole_catalog(folder: &std::path::Path) -> Engine {
    let registry = Registry::new();
    for mut definition in catalog() {
        definition.parameters = json!({"type": "object", "properties": {}}).into();
        definition.forms = definition.forms.iter().map(|form| Form::new(form.dialect, form.name)).collect();
        registry.register(Arc::new(Stub(definition)), ToolSource::BuiltIn).expect("no two tools share a name");
    }
    let blobs = FileBlobs::open(folder).expect("a folder of its own");
    Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).build()
}

/// Registration trusts the schema of a tool that comes with Haft; here it is checked as that of any other tool.
#[test]
fn every_built_in_tool_passes_the_checks_of_other_tools() {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::Plugin("test".into())).expect("its names, schema, defaults and forms are sound");
    }
}

/// The tools of seed 004 that something holds for.
fn those(holds: impl Fn(&ToolDefinition) -> bool) -> BTreeSet<String> {
    let tools = catalog().into_iter().filter(|tool| catalogued(&tool.name) && holds(tool));
    tools.map(|tool| tool.name.into_owned()).collect()
}

#[test]
fn every_name_of_every_seed_is_known() {
    let vocabulary = vocabulary();
    for (seed, name, expected) in SEEDS {
        assert_eq!(vocabulary.canonical(name), Some(*expected), "{name} of seed {seed}");
    }
}

/// Known is not enough: each name is called, as each family of models would.
#[tokio::test]
async fn every_name_of_every_seed_is_callable_in_every_dialect() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = whole_catalog(folder.path());
    for dialect in [Dialect::Haft, Dialect::Claw, Dialect::OpenClaw] {
        let host = haft_testkit::FakeHost::new();
        let session = Session::builder(host).owner().access(Access::FullAccess).dialect(dialect).loop_limits(None).build();
        for (seed, name, expected) in SEEDS {
            let ToolResult { tool, outcome, .. } = engine.run(ToolCall::new("1", *name, json!({})), &session).await;
            let said: String = outcome.expect(name).texts().collect();
            assert_eq!((&*tool, said.as_str()), (*expected, *expected), "{name} of seed {seed} in {dialect:?}");
        }
    }
}

#[test]
fn profiles_hold_what_seed_004_says() {
    for (profile, names) in PROFILES {
        assert_eq!(those(|tool| in_profile(tool, profile)), canonical(names), "{profile}");
    }
    assert_eq!(those(|tool| in_profile(tool, "full")), those(|_| true));
}

#[test]
fn groups_hold_what_seed_004_says() {
    let in_group = |group: &str| those(|tool| ToolGroup::from_name(group).holds(&Candidate::new(tool, &ToolSource::BuiltIn)));
    let mut all_but_files_and_programs = BTreeSet::new();
    for (group, names) in GROUPS {
        assert_eq!(in_group(group), canonical(names), "group:{group}");
        if !["fs", "runtime"].contains(group) {
            all_but_files_and_programs.extend(canonical(names));
        }
    }
    assert_eq!(in_group("openclaw"), all_but_files_and_programs);
}

/// The catalog is made of the tools themselves; a row that is left behind would name a tool twice.
#[test]
fn no_tool_is_both_built_and_not_built_yet() {
    let mut owners = BTreeMap::new();
    for definition in catalog() {
        for name in haft::names(&definition) {
            let before = owners.insert(name.clone(), definition.name.clone());
            assert_eq!(before, None, "'{name}': remove its row from NOT_BUILT_YET, or rename the tool");
        }
    }
}

#[test]
fn every_name_in_every_dialect_is_in_the_vocabulary() {
    let vocabulary = vocabulary();
    for tool in catalog() {
        for name in tool.names() {
            assert_eq!(vocabulary.canonical(name), Some(&*tool.name), "{name}");
        }
    }
}
