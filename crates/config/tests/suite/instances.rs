//! Keys with chosen names: each path has its own layers.

use haft_config::{ConfigLayer, Loaded};
use haft_contract::Access;
use serde_json::{Value as Json, json};

use super::fixture::Fixture;

/// The tables in which the four lists stand, as TOML writes them, and as the segments of a path.
const TABLES: &[(&str, &[&str])] = &[
    ("tools", &["tools"]),
    ("tools.by_provider.\"openai/gpt-4.1\"", &["tools", "by_provider", "openai/gpt-4.1"]),
    ("agents.\"a.b\".tools", &["agents", "a.b", "tools"]),
    ("agents.coder.tools.by_provider.gemini", &["agents", "coder", "tools", "by_provider", "gemini"]),
    ("subagents.tools", &["subagents", "tools"]),
    ("sandbox.tools", &["sandbox", "tools"]),
    ("channels.\"telegram:-100\".tools", &["channels", "telegram:-100", "tools"]),
    ("channels.\"telegram:-100\".senders.\"id:42\"", &["channels", "telegram:-100", "senders", "id:42"]),
];

fn at<'p>(table: &[&'p str], key: &'p str) -> Vec<&'p str> {
    table.iter().copied().chain([key]).collect()
}

fn json_at(loaded: &Loaded, path: &[&str]) -> Json {
    loaded.provenance.get_at(path).map_or(Json::Null, |setting| json!([setting.value, setting.source.layer]))
}

#[test]
fn an_allow_list_of_a_project_must_match_as_well_in_every_table() {
    for (written, table) in TABLES {
        let path = at(table, "allow");
        let line = |list: &str| format!("{written}.allow = {list}");
        let own = Fixture::new().user(line("['a']")).load();
        assert_eq!(json_at(&own, &path), json!([[["a"]], "user"]), "{written}");
        let both = Fixture::new().user(line("['a', 'b']")).project(line("['b']")).load();
        assert_eq!(json_at(&both, &path), json!([[["a", "b"], ["b"]], "project"]), "{written}");
        assert_eq!(both.problems, [], "{written}");
        let sources: Vec<_> = both.provenance.value_at(&path).lists().iter().map(|list| list.source.layer).collect();
        assert_eq!(sources, [ConfigLayer::User, ConfigLayer::Project], "{written}");
        let none = Fixture::new().user(line("[]")).load();
        assert_eq!((json_at(&none, &path), none.provenance.was_set(&path)), (json!([[[]], "user"]), true), "{written}");
    }
}

#[test]
fn denials_add_up_in_every_table() {
    for (written, table) in TABLES {
        let line = |list: &str| format!("{written}.deny = {list}");
        let loaded = Fixture::new().user(line("['a', 'b']")).project(line("['b', 'c']")).load();
        let path = at(table, "deny");
        let entries: Vec<_> =
            loaded.provenance.value_at(&path).entries().iter().map(|entry| (entry.value.as_str(), entry.source.layer)).collect();
        let (user, project) = (ConfigLayer::User, ConfigLayer::Project);
        assert_eq!(entries, [("a", user), ("b", user), ("b", project), ("c", project)], "{written}: 'b' goes when both files drop it");
        assert_eq!((json_at(&loaded, &path), loaded.problems), (json!([["a", "b", "c"], "project"]), vec![]), "{written}");
    }
}

#[test]
fn also_allow_is_user_only_in_every_table() {
    for (written, table) in TABLES {
        let path = at(table, "also_allow");
        let line = |list: &str| format!("{written}.also_allow = {list}");
        let fixture = Fixture::new().user(line("['a']")).project(line("['b']"));
        let loaded = fixture.load();
        assert_eq!(json_at(&loaded, &path), json!([["a"], "user"]), "{written}");
        let [problem] = &fixture.problems(&loaded)[..] else { panic!("{:?}", loaded.problems) };
        let message = format!(
            "a project file cannot widen: '{written}.also_allow = [\"b\"]' is ignored, [\"a\"] stays (home/.config/haft/config.toml:1:"
        );
        assert!(problem.contains(&message), "{problem}");
    }
}

#[test]
fn a_profile_of_a_project_must_hold_as_well() {
    for (written, table) in TABLES.iter().filter(|(table, _)| !table.starts_with("channels") && !table.starts_with("sandbox")) {
        let path = at(table, "profile");
        let line = |name: &str| format!("{written}.profile = '{name}'");
        let texts = |loaded: &Loaded| -> Vec<(String, ConfigLayer)> {
            loaded.provenance.value_at(&path).texts().iter().map(|text| (text.value.clone(), text.source.layer)).collect()
        };
        let loaded = Fixture::new().user(line("coding")).project(line("minimal")).load();
        assert_eq!(texts(&loaded), [("coding".to_owned(), ConfigLayer::User), ("minimal".to_owned(), ConfigLayer::Project)], "{written}");
        let same = Fixture::new().user(line("coding")).project(line("coding")).load();
        assert_eq!((texts(&same), same.problems), (vec![("coding".to_owned(), ConfigLayer::User)], vec![]), "{written}");
        let alone = Fixture::new().project(line("minimal")).load();
        assert_eq!(texts(&alone), [("minimal".to_owned(), ConfigLayer::Project)], "{written}");
        assert_eq!(texts(&Fixture::new().load()), [], "{written}");
    }
    let by_variable =
        Fixture::new().user("tools.profile = 'coding'").project("tools.profile = 'minimal'").variable("HAFT_TOOLS_PROFILE", "full");
    assert_eq!(super::fixture::texts(&by_variable.load(), "tools.profile"), ["full"], "the user's layers replace each other");
}

#[test]
fn paths_do_not_meet_each_other() {
    let user = "[agents.a.tools]\ndeny = ['x']\n[agents.'a.tools']\naccess = 'read-only'\n[tools.by_provider.'b.deny']\ndeny = ['y']\n";
    let loaded = Fixture::new().user(user).load();
    assert_eq!(loaded.problems, []);
    assert_eq!(json_at(&loaded, &["agents", "a", "tools", "deny"]), json!([["x"], "user"]));
    assert_eq!(json_at(&loaded, &["agents", "a.tools", "access"]), json!(["read-only", "user"]));
    assert_eq!(json_at(&loaded, &["tools", "by_provider", "b.deny", "deny"]), json!([["y"], "user"]));
    for absent in
        [&["agents", "a", "access"][..], &["agents", "a.tools", "tools", "deny"], &["tools", "by_provider", "b"], &["agents"], &[]]
    {
        assert_eq!(json_at(&loaded, absent), Json::Null, "{absent:?}");
        assert!(!loaded.provenance.was_set(absent), "{absent:?}");
    }
    assert_eq!(loaded.provenance.value_at(&["agents", "b", "tools", "deny"]).entries(), []);
    assert!(!loaded.provenance.was_set(&["tools", "allow"]) && loaded.provenance.get_at(&["tools", "allow"]).is_some());
}

#[test]
fn an_agents_access_from_a_project_only_falls() {
    let access = |loaded: &Loaded| match loaded.provenance.get_at(&["agents", "a", "access"]).map(|setting| &setting.value) {
        Some(haft_config::ConfigValue::Access(level)) => Some(*level),
        _ => None,
    };
    let line = |level: &str| format!("agents.a.access = '{level}'\n");
    let (read, write, full) = (Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess);
    // What the user says of the session and of the agent, what the project says of the agent, what holds.
    let cases = [
        ("workspace-write", None, "read-only", Some(read), 0),
        ("workspace-write", None, "workspace-write", None, 0),
        ("workspace-write", None, "full-access", None, 1),
        ("full-access", None, "workspace-write", Some(write), 0),
        ("workspace-write", Some("full-access"), "full-access", Some(full), 0),
        ("workspace-write", Some("full-access"), "workspace-write", Some(write), 0),
        ("full-access", Some("read-only"), "workspace-write", Some(read), 1),
    ];
    for (session, own, project, expected, warnings) in cases {
        let user = format!("access = '{session}'\n{}", own.map(line).unwrap_or_default());
        let loaded = Fixture::new().user(&user).project(line(project)).load();
        assert_eq!((access(&loaded), loaded.problems.len()), (expected, warnings), "{user} {project}: {:?}", loaded.problems);
    }
    let lowered = Fixture::new().user("access = 'full-access'").project(line("workspace-write")).flag("access", "read-only").load();
    assert_eq!(access(&lowered), Some(read), "a session that the user lowered later lowers the agent too");
    let fixture = Fixture::new().project(line("full-access"));
    assert_eq!(
        fixture.problems(&fixture.load()),
        ["warning project 1:19 agents.a.access a project file cannot widen: 'agents.a.access = \"full-access\"' is ignored, \
          \"workspace-write\" stays (built-in) | if you want it, set 'agents.a.access' in your own file"]
    );
}

#[test]
fn projects_table_never_overrides_the_users() {
    let cases = [
        // (the user's table, the project's, whether the project's would override it)
        ("tools.by_provider.openai", "tools.by_provider.'openai/gpt-4.1'", Some("tools.by_provider.openai")),
        ("tools.by_provider.OpenAI", "tools.by_provider.openai", Some("tools.by_provider.OpenAI")),
        ("tools.by_provider.open-ai", "tools.by_provider.open_ai", None),
        ("channels.my-chat.tools", "channels.my_chat.tools", Some("channels.my-chat")),
        ("tools.by_provider.openai", "tools.by_provider.openai", None),
        ("tools.by_provider.openai", "tools.by_provider.openai2", None),
        ("tools.by_provider.'openai/gpt-4.1'", "tools.by_provider.openai", None),
        ("tools.by_provider.openai", "tools.by_provider.gemini", None),
        ("tools.by_provider.openai", "agents.a.tools.by_provider.'openai/x'", None),
        ("agents.a.tools.by_provider.openai", "agents.a.tools.by_provider.'openai/x'", Some("agents.a.tools.by_provider.openai")),
        ("channels.telegram.tools", "channels.'telegram:-100'.tools", Some("channels.telegram")),
        ("channels.telegram.tools", "channels.telegram.senders.'id:42'", Some("channels.telegram")),
        ("channels.telegram.senders.'*'", "channels.telegram.senders.'id:42'", Some("channels.telegram")),
        ("channels.telegram.senders.'id:42'", "channels.telegram.senders.'id:42'", None),
        ("channels.telegram.tools", "channels.'telegram:-100'.senders.'id:42'", Some("channels.telegram")),
        ("channels.telegram.tools", "channels.slack.senders.'id:42'", None),
    ];
    for (own, project, overridden) in cases {
        let fixture = Fixture::new().user(format!("{own}.deny = ['x']")).project(format!("{project}.deny = ['y']"));
        let loaded = fixture.load();
        let written = project.replace('\'', "\"");
        let expected: Vec<String> = overridden
            .iter()
            .map(|table| {
                format!(
                    "warning project 1:{} {written}.deny a project file cannot widen: '{written}.deny' is ignored, because it would override \
                     your '{table}' | if you want it, set '{written}.deny' in your own file",
                    project.len() + 9
                )
            })
            .collect();
        assert_eq!(fixture.problems(&loaded), expected, "{own} {project}");
        assert!(loaded.problems.iter().all(haft_config::Problem::is_widening), "{own} {project}");
        let denials = loaded.provenance.settings().iter().flat_map(|setting| setting.value.entry_sources()).count();
        assert_eq!(denials, if overridden.is_some() { 1 } else { 2 }, "{own} {project}");
    }
}

#[test]
fn projects_empty_table_does_not_override_the_users() {
    let project = "[channels.t.senders.'id:42']\n[channels.'t:-1'.senders.x]\n[tools.by_provider.'openai/x']\n[channels.other]\n";
    let loaded = Fixture::new().user("channels.t.tools.deny = ['x']\ntools.by_provider.openai.deny = ['x']").project(project).load();
    let names = |path: &[&str]| loaded.provenance.names_beneath(path);
    assert_eq!((names(&["channels"]), names(&["tools", "by_provider"])), (vec!["t".to_owned(), "other".into()], vec!["openai".to_owned()]));
    assert_eq!((names(&["channels", "t", "senders"]), names(&["channels", "t:-1", "senders"])), (vec![], vec![]));
    let own = Fixture::new()
        .user("[channels.t.senders.'id:42']\n[channels.t.tools]\ndeny = ['x']")
        .project("channels.t.senders.'id:42'.deny = ['y']");
    assert_eq!(own.load().problems, [], "the user's own empty table is theirs to begin with");
}
