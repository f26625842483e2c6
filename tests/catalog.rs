//! The catalog against the seeds and against the tools themselves: every name, section, profile and group.
#![allow(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::sync::Arc;

use haft::catalog::{CATALOG, Group, Known, Vocabulary, in_profile};
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{
    Access, Candidate, Dialect, DynTool, Engine, Plan, PlanContext, Prepared, Registry, Session, Source, ToolCall, ToolDefinition,
    ToolError, ToolOutput, ToolResult,
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
    let vocabulary = Vocabulary::core();
    names.iter().map(|name| vocabulary.canonical(name).expect("a tool of the catalog").to_owned()).collect()
}

/// A tool of the catalog as a registry would know it.
fn definition(known: &Known) -> ToolDefinition {
    let mut definition = ToolDefinition::new(known.name, "", serde_json::json!({}));
    definition.section = known.section;
    definition.profiles = known.profiles.iter().map(|profile| (*profile).into()).collect();
    definition.aliases = known.aliases.iter().map(|alias| (*alias).into()).collect();
    definition.owner_only = known.owner_only;
    definition
}

/// Stands in for a tool of the catalog, whether it is built or not: its names are what is tried.
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
    for known in CATALOG {
        registry.register(Arc::new(Stub(definition(known))), Source::BuiltIn).expect("no two tools share a name");
    }
    let blobs = FileBlobs::open(folder).expect("a folder of its own");
    Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).build()
}

/// The tools of seed 004 that something holds for.
fn those(holds: impl Fn(&ToolDefinition) -> bool) -> BTreeSet<String> {
    let known = CATALOG.iter().filter(|known| catalogued(known.name) && holds(&definition(known)));
    known.map(|known| known.name.to_owned()).collect()
}

#[test]
fn every_name_of_every_seed_is_known() {
    let vocabulary = Vocabulary::core();
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
    let in_group = |group: &str| those(|tool| Group::named(group).holds(&Candidate::new(tool, &Source::BuiltIn)));
    let mut all_but_files_and_programs = BTreeSet::new();
    for (group, names) in GROUPS {
        assert_eq!(in_group(group), canonical(names), "group:{group}");
        if !["fs", "runtime"].contains(group) {
            all_but_files_and_programs.extend(canonical(names));
        }
    }
    assert_eq!(in_group("openclaw"), all_but_files_and_programs);
}

/// A policy speaks of a tool by the catalog; the tool must be what the catalog says.
#[test]
fn built_in_tools_are_what_the_catalog_says() {
    for tool in haft::builtin::all() {
        let definition = tool.definition();
        let known = CATALOG.iter().find(|known| known.name == definition.name);
        let known = known.unwrap_or_else(|| panic!("'{}' is not in the catalog", definition.name));
        let said = (known.label, known.section, known.profiles.to_vec(), known.aliases.to_vec(), known.owner_only);
        let profiles: Vec<&str> = definition.profiles.iter().map(AsRef::as_ref).collect();
        let aliases: Vec<&str> = definition.aliases.iter().map(AsRef::as_ref).collect();
        assert_eq!((&*definition.label, definition.section, profiles, aliases, definition.owner_only), said, "{}", definition.name);
    }
}

#[test]
fn what_dialects_call_a_tool_is_in_the_catalog() {
    let vocabulary = Vocabulary::core();
    for tool in haft::builtin::all() {
        for name in tool.definition().names() {
            assert_eq!(vocabulary.canonical(name), Some(&*tool.definition().name), "{name}");
        }
    }
}
