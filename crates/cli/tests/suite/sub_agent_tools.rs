//! Tools of MCP servers and of plugins in sub-agents: they have those that their parent and their type both have.

use haft_testkit::Round;
use serde_json::{Value, json};

use super::family::{call, children, family, text, transcript};
use super::mcp_servers::table;
use super::model::Talk;
use super::plugins::{add, write_plugin};

const PARTS: [&str; 2] = ["mcp__hub__work", "do_it"];

/// Types that name a tool of a server and of a plugin, one of them, and all.
const TYPES: [(&str, &str); 3] =
    [("both", "tools: mcp__hub__work, do_it\n"), ("neither", "tools: read_file\n"), ("reader", "access: read-only\n")];

/// What becomes of a call of each tool in a sub-agent of this type.
fn outcomes(config: &str, kind: &str) -> (Vec<&'static str>, Talk) {
    let child = vec![Round::Calls(PARTS.map(|tool| call(tool, tool, json!({"n": 1}))).to_vec()), text("Tried.")];
    let parent = vec![Round::call("p1", "agent", json!({"prompt": "CHILD", "subagent_type": kind})), text("Over.")];
    let talk = family("openai", "", vec![("PARENT", parent), ("CHILD", child)]);
    let script = "cat > /dev/null; echo x > made; printf '{\"result\": \"did it\"}'";
    assert_eq!(add(&talk.world, &write_plugin(&talk.world, "p", "do_it", "", script)).code, 0);
    talk.configure(&format!("{config}{}", table(&talk.world, "good", "")));
    let types = talk.world.path("config/haft/agents");
    std::fs::create_dir_all(&types).unwrap();
    for (name, front) in TYPES {
        std::fs::write(types.join(format!("{name}.md")), format!("---\ndescription: Tries\n{front}---\nTry it.\n")).unwrap();
    }
    assert_eq!(talk.world.run(&["mcp", "test", "hub"]).code, 0);
    let ran = talk.says(&["PARENT"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines = transcript(&talk, children(&talk)[0]["id"].as_str().unwrap());
    let outcome = |tool: &str| {
        let line = lines.iter().find(|line| line.starts_with(&format!("results: result {tool} "))).unwrap_or_else(|| panic!("{lines:?}"));
        match line {
            line if line.contains(" success: ") => "success",
            line if line.contains("is not available") => "not available",
            _ => "denied",
        }
    };
    (PARTS.map(outcome).to_vec(), talk)
}

#[test]
fn tools_of_servers_and_plugins_run_in_a_sub_agent_that_its_parent_and_its_type_give_them() {
    for (config, kind, expected) in [
        ("", "general-purpose", ["success", "success"]),
        ("", "both", ["success", "success"]),
        ("", "neither", ["not available", "not available"]),
        ("", "explore", ["not available", "not available"]),
        ("[tools]\ndeny = ['mcp__hub__*']\n", "both", ["not available", "success"]),
        ("[tools]\ndeny = ['group:plugins']\n", "both", ["success", "not available"]),
        ("[rules]\ndeny = ['do_it', 'mcp__hub__work']\n", "general-purpose", ["not available", "not available"]),
        ("[subagents.tools]\ndeny = ['mcp__hub__work']\n", "both", ["not available", "success"]),
    ] {
        let (outcomes, talk) = outcomes(config, kind);
        assert_eq!(outcomes, expected, "{config}{kind}");
        assert_eq!(talk.world.file("made").exists(), expected[1] == "success", "{config}{kind}");
    }
}

#[test]
fn plugin_that_changes_files_does_not_run_in_a_type_that_only_reads() {
    let (outcomes, talk) = outcomes("", "reader");
    assert_eq!(outcomes[0], "success", "the server says that its tool only reads");
    assert_ne!(outcomes[1], "success");
    assert!(!talk.world.file("made").exists());
    let explained = talk.world.run(&["explain", "mcp__hub__work", "--as-subagent=neither", "--json"]).json();
    assert_eq!(explained["verdict"], Value::from("deny"), "{explained}");
}
