//! What `haft config check` finds in settings that are valid TOML and do not do what they say; and presets.

use std::fs;

use serde_json::json;

use super::harness::World;

/// Every problem: key, message, help.
fn problems(config: &str) -> Vec<[String; 3]> {
    let found = World::with_config(config).run(&["config", "check", "--json"]).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let of = |problem: &serde_json::Value| ["key", "message", "help"].map(|field| text(&problem[field]));
    found["problems"].as_array().unwrap().iter().map(of).collect()
}

const PROVIDER: &str = "[providers.home]\nprotocol = \"openai\"\nmodels = [\"x\"]\nbase_url = ";
const HOOK: &str = "[[hooks]]\nname = \"guard\"\nevent = \"before_tool_call\"\ncommand = ";

#[test]
fn settings_that_cannot_do_what_they_say_are_found() {
    let only_tools = "to offer only some tools, list them in tools.allow; to limit an effect, write rules.only, such as \"write(docs/**)\"";
    let table: &[(String, &str, &str, &str)] = &[
        (
            "model = \"gpt-5\"".into(),
            "model",
            "'model': 'gpt-5' is not a model",
            "write it as provider/model, such as anthropic/claude-sonnet-4-5",
        ),
        (
            "[agents.a]\nmodel = \"work/x\"".into(),
            "agents.a.model",
            "'agents.a.model': there is no provider 'work'",
            "known providers: anthropic, openai, gemini; configure others in [providers.work]",
        ),
        (
            format!("{PROVIDER}\"localhost:11434/v1\""),
            "providers.home.base_url",
            "'providers.home.base_url' is 'localhost:11434/v1', which has no scheme: no request can be sent there",
            "write \"http://localhost:11434/v1\"",
        ),
        (
            format!("{HOOK}\"no-such-program --x\""),
            "hooks[].command",
            "the hook 'guard' runs 'no-such-program', which is not on this machine",
            "install the program, or correct the command; until then every call that the hook guards fails or is not guarded",
        ),
        (
            "[rules]\nallow = [\"write(/srv/x/**)\"]".into(),
            "rules.allow",
            "'rules.allow' has 'write(/srv/x/**)', which never matches: the access level refuses it before",
            "an allow rule lifts no access level: set ask = \"beyond\", add the folder to workspace.roots, or remove the rule",
        ),
        (
            "[rules]\ndeny = [\"exec(git push *)\"]\n[agents.a.rules]\nask = [\"exec(git push origin)\"]".into(),
            "agents.a.rules.ask",
            "'agents.a.rules.ask' has 'exec(git push origin)', and 'deny exec(git push *)' matches the same: the strictest wins",
            "remove one of the two, or narrow the stricter one",
        ),
        (
            "[agents.a.rules]\ndeny = [\"write(docs/**)\"]\nallow = [\"write_file(docs/a.md)\"]".into(),
            "agents.a.rules.allow",
            "'agents.a.rules.allow' has 'write_file(docs/a.md)', and 'deny write(docs/**)' matches the same: the strictest wins",
            "remove one of the two, or narrow the stricter one",
        ),
        (
            "[agents.a]\naccess = \"read-only\"\n[agents.a.rules]\nallow = [\"write_file(docs/a.md)\"]".into(),
            "agents.a.rules.allow",
            "'agents.a.rules.allow' has 'write_file(docs/a.md)', which never matches: the access level refuses it before",
            "an allow rule lifts no access level: set ask = \"beyond\", add the folder to workspace.roots, or remove the rule",
        ),
        (
            "[rules]\ndeny = [\"read_file(domain:a.org)\"]".into(),
            "rules.deny",
            "'rules.deny' holds 'read_file(domain:a.org)': 'domain:…' can never match a path",
            "write a path pattern, such as 'docs/**'",
        ),
        (
            "[rules]\nallow = [\"read_file\"]".into(),
            "rules.allow",
            "'rules.allow' has 'read_file', about which nothing asks: an allow rule replaces an approval and denies nothing else",
            only_tools,
        ),
        (
            "[rules]\nonly = [\"read_file\"]".into(),
            "rules.only",
            "'rules.only' holds 'read_file': 'only' lists effects, and 'read_file' is a tool",
            "list the only tools in tools.allow",
        ),
        (
            "[tools]\ndeny = [\"write_file\", \"group:runtime\", \"notebook_edit\", \"apply_patch\"]".into(),
            "tools.deny",
            "'tools.deny' has 'write_file', and 'edit_file' and 'tts' can write files as well",
            "to deny the effect whichever tool has it, add 'write' to rules.deny, or 'write(…)' for a part of it",
        ),
        (
            "[rules]\ndeny = [\"web_fetch\"]".into(),
            "rules.deny",
            "'rules.deny' has 'web_fetch', and 'http_request', 'web_search' and 'browser' can reach hosts as well",
            "to deny the effect whichever tool has it, add 'connect' to rules.deny, or 'connect(…)' for a part of it",
        ),
    ];
    for (config, key, message, help) in table {
        let found = problems(config);
        assert_eq!(found.first(), Some(&[key, message, help].map(|text| (*text).to_owned())), "{config}: {found:?}");
    }
}

#[test]
fn settings_that_do_what_they_say_are_left_alone() {
    for config in [
        "model = \"anthropic/claude-sonnet-4-5\"".to_owned(),
        format!("{PROVIDER}\"http://localhost:11434/v1\""),
        format!("{HOOK}\"read -r call; exit 0\""),
        format!("{HOOK}\"MODE=1 sh -c 'exit 0'\""),
        "ask = \"changes\"\n[rules]\nallow = [\"write_file\"]".to_owned(),
        "ask = \"beyond\"\n[rules]\nallow = [\"write(/srv/x/**)\"]".to_owned(),
        "[tools]\ndeny = [\"write_file\"]\n[rules]\ndeny = [\"write\"]".to_owned(),
        "[tools]\ndeny = [\"group:fs\"]".to_owned(),
    ] {
        assert_eq!(problems(&config), Vec::<[String; 3]>::new(), "{config}");
    }
}

#[test]
fn habits_of_other_tools_are_answered_with_our_keys() {
    for (config, key, ours) in [
        ("[permissions]\nallow = [\"Bash(ls)\"]", "permissions", "[rules]"),
        ("approval_policy = \"on-request\"", "approval_policy", "ask = \"beyond\""),
        ("sandbox_mode = \"workspace-write\"", "sandbox_mode", "access = \"workspace-write\""),
        ("[mcpServers.x]\ncommand = \"y\"", "mcpServers", "mcp__SERVER__TOOL"),
        ("mcp_servers = {}", "mcp_servers", "mcp__SERVER__TOOL"),
        ("allowedTools = [\"Read\"]", "allowedTools", "tools.allow"),
        ("disallowed_tools = []", "disallowed_tools", "tools.deny"),
        ("defaultMode = \"plan\"", "defaultMode", "haft config preset"),
        ("[model_providers.x]\nname = \"y\"", "model_providers", "[providers.NAME]"),
        ("[providers.x]\napi_key = \"y\"", "providers.x.api_key", "api_key_env"),
        ("additionalDirectories = []", "additionalDirectories", "workspace.roots"),
        ("instructions = \"x\"", "instructions", "[agents.main]"),
    ] {
        let found = problems(config);
        let [[at, message, help], ..] = &found[..] else { panic!("{config}: nothing found") };
        assert_eq!((at.as_str(), message.as_str()), (key, &*format!("unknown key '{key}'")), "{config}");
        assert!(help.contains(ours), "{config}: {help}");
    }
}

#[test]
fn a_preset_is_shown_and_written_and_marked() {
    let world = World::with_config("# mine\naccess = \"full-access\"\n");
    let current = |world: &World| {
        let listed = world.run(&["config", "preset", "--json"]).json();
        let marked = listed.as_array().unwrap().iter().find(|preset| preset["current"] == true).map(|preset| preset["name"].clone());
        marked.unwrap_or_default()
    };
    assert_eq!(current(&world), json!(null), "full access and rules is no preset");
    let tried = world.run(&["config", "preset", "auto", "--dry-run"]);
    let file = world.path("config/haft/config.toml");
    assert_eq!((tried.code, fs::read_to_string(&file).unwrap().as_str()), (0, "# mine\naccess = \"full-access\"\n"));
    let chosen = world.run(&["config", "preset", "auto"]);
    assert_eq!(
        chosen.stdout,
        "auto: For longer work: only the network and what lies outside the workspace are asked about.\n  ask: \"rules\" -> \"beyond\"\n  \
         access stays \"full-access\", not \"workspace-write\": [world]/config/haft/config.toml:2:10 sets it; remove it there to use the \
         preset's\nsaved: as preset = \"auto\" in [world]/config/haft/config.toml\n"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\naccess = \"full-access\"\npreset = \"auto\"\n");
    world.configure("");
    assert_eq!(current(&world), "default");
    for name in ["careful", "auto", "trusted", "readonly", "full", "default"] {
        assert_eq!(world.run(&["config", "preset", name]).code, 0);
        assert_eq!(current(&world), name);
    }
    let unknown = world.run(&["config", "preset", "carefull"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean 'careful'?"), "{}", unknown.stderr);
}
