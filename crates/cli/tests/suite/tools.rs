//! `haft tools`: the list, one tool, and JSON.

use serde_json::{Value, json};

use super::harness::{World, of_tools};

const CONFIG: &str = "access = \"workspace-write\"\n\n[tools]\ndeny = [\"http_*\"]\ndisabled = [\"Notify\"]\n";

/// Some tools of each state and section; the golden files do not change with every new tool.
const SAMPLE: &[&str] = &["read_file", "exec", "http_request", "notify", "get_current_time", "noop", "tool_search"];

#[test]
fn the_list_at_every_width() {
    let world = World::with_config(CONFIG);
    for (name, variables) in [("pipe", &[][..]), ("40", &[("COLUMNS", "40")]), ("80", &[("COLUMNS", "80")]), ("110", &[("COLUMNS", "110")])]
    {
        let ran = world.run_with(variables, &["tools"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        insta::assert_snapshot!(format!("tools_{name}"), of_tools(SAMPLE, &ran.stdout));
        if let Some((_, width)) = variables.first() {
            assert!(ran.stdout.lines().all(|line| line.chars().count() <= width.parse().unwrap()), "{}", ran.stdout);
        }
    }
}

#[test]
fn one_tool_in_full() {
    let world = World::with_config(CONFIG);
    insta::assert_snapshot!("tools_write_file", world.run_with(&[("COLUMNS", "80")], &["tools", "file_write"]).stdout);
    insta::assert_snapshot!("tools_unknown", world.run(&["tools", "raed_file"]).all());
    assert!(
        world
            .run(&["tools", "http_request"])
            .stdout
            .starts_with("http_request - HTTP request - not offered (removed by tools.deny, config.toml:4)")
    );
}

fn names(tools: &Value) -> Vec<&str> {
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn json_has_the_offered_ones_and_with_all_the_others_too() {
    let all: Vec<&str> = haft_builtin::metas().map(|meta| meta.name).collect();
    // No channel and no model that sees is configured, and no page is open.
    let offered: Vec<&str> = all.iter().copied().filter(|name| !["message", "canvas", "image"].contains(name)).collect();
    let plain = World::new().run(&["tools", "--json"]).json();
    assert_eq!(names(&plain), offered);
    assert!(plain[0].get("available").is_none());
    let world = World::with_config(CONFIG);
    let left: Vec<&str> = offered.iter().copied().filter(|name| !["http_request", "notify"].contains(name)).collect();
    assert_eq!(names(&world.run(&["tools", "--json"]).json()), left);
    let with_hidden = world.run(&["tools", "--json", "--all"]).json();
    assert_eq!(names(&with_hidden), all);
    let state = |name: &str| {
        let tool = with_hidden.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        (tool["available"].clone(), tool["reason"].clone())
    };
    assert_eq!(state("read_file"), (json!(true), Value::Null));
    assert_eq!(state("http_request"), (json!(false), json!("removed by tools.deny, config.toml:4")));
    assert_eq!(state("notify"), (json!(false), json!("removed by tools.disabled, config.toml:5")));
    assert_eq!(state("message"), (json!(false), json!("not available: no channel is configured")));
}

/// The names of tools in the form of each protocol, as data.
#[test]
fn json_for_a_provider_is_what_a_request_to_it_has() {
    let world = World::new();
    let shown = |provider: &str| world.run(&["tools", "--json", "--provider", provider]).json();
    let gemini = shown("gemini/gemini-2.5-pro");
    let declared = &gemini[0]["functionDeclarations"];
    assert_eq!(names(declared)[0], "read_file", "{gemini}");
    let anthropic = shown("anthropic/claude-sonnet-4-5");
    assert_eq!((names(&anthropic)[0], &anthropic[0]["input_schema"]["type"]), ("read_file", &json!("object")));
    let openai = shown("openai/gpt-5.2");
    assert!(openai[0]["type"] == "function" && openai.to_string().contains("\"read_file\""), "{openai}");
    assert_eq!(names(&shown("nobody/x"))[0], "read_file", "a provider that is not known has no form of its own");
}

#[test]
fn settings_of_single_tools_hold_by_any_name_of_the_tool() {
    let config = "[tool_settings.sleep]\ntimeout_seconds = 1\n\n[tool_settings.read]\naccess = \"full-access\"\n";
    let world = World::with_config(config);
    let listed = world.run(&["tools", "--json", "--all"]).json();
    let tool = |name: &str| listed.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone();
    assert_eq!(tool("sleep")["timeout_seconds"], 1);
    assert_eq!(tool("read_file")["access"], "full-access");
    let late = world.run(&["call", "sleep", "--duration", "5"]);
    assert!(late.code != 0 && late.all().contains("timed out after 1s"), "{late:?}");
    world.write("notes.txt", "sharpen the axe\n");
    let refused = world.run(&["call", "read_file", "--path", "notes.txt"]);
    assert!(refused.code != 0 && refused.all().contains("full-access"), "{refused:?}");
}

#[test]
fn listing_leaves_no_trace() {
    let world = World::new();
    assert_eq!(world.run(&["tools"]).code, 0);
    assert!(!world.state().exists(), "a list needs no data folder");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let world = World::new();
    let words = ["explain", "read_file", r#"{"path":"/etc/passwd"}"#];
    let styled = |variables: &[(&str, &str)]| world.run_with(variables, &words).stdout.contains('\u{1b}');
    assert!(!styled(&[]), "a pipe");
    assert!(styled(&[("CLICOLOR_FORCE", "1")]));
    assert!(!styled(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}
