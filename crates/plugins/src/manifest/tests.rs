use haft_contract::Access;
use serde_json::json;

use super::*;

const TOOL: &str = "[[tools]]\nname = 'count'\ndescription = 'Counts.'\n";

fn manifest(head: &str, tools: &str) -> String {
    format!("name = 'p'\nversion = '1'\ndescription = 'd'\ncommand = ['python3', '{{plugin}}/a.py']\n{head}{tools}")
}

#[test]
fn manifest_declares_tools_with_defaults() {
    let parsed = PluginManifest::parse(&manifest("", TOOL)).unwrap();
    let tool = &parsed.tools[0];
    assert_eq!(
        (tool.effects, tool.effects.access(), tool.timeout.as_secs(), tool.optional),
        (DeclaredEffects::WorkspaceWrite, Access::WorkspaceWrite, 30, false)
    );
    assert_eq!(tool.parameters, json!({"type": "object", "properties": {}}));
    assert_eq!(parsed.words("/data/x"), ["python3", "/data/x/a.py"]);
    let own = PluginManifest { command: vec!["./bin/run".into(), "--quiet".into()], ..parsed };
    assert_eq!(own.words("/data/x"), ["/data/x/bin/run", "--quiet"]);
}

#[test]
fn faults_of_a_manifest_name_their_key() {
    let tool = |more: &str| manifest("", &format!("{TOOL}{more}"));
    let cases = [
        ("name = 'x'\nversion = \n".into(), "plugin.toml is not TOML: line 2: "),
        (manifest("comand = 'x'\n", TOOL), "plugin.toml has the unknown key 'comand': did you mean 'command'?"),
        (manifest("zzz = 'x'\n", TOOL), "unknown key 'zzz': there are: name, version, description, command, component, tools"),
        (manifest("", "").replace("'p'", "'P P'"), "'name' of plugin.toml must be lower-case letters"),
        (manifest("", "").replace("'p'", "'a--b'"), "'name' of plugin.toml must be lower-case letters"),
        (manifest("", "").replace("'p'", "'../x'"), "'name' of plugin.toml must be lower-case letters"),
        (manifest("", TOOL).replace("version = '1'\n", ""), "'version' of plugin.toml is missing"),
        (manifest("", TOOL).replace("['python3', '{plugin}/a.py']", "[]"), "'command' of plugin.toml is missing"),
        (manifest("", TOOL).replace("['python3', '{plugin}/a.py']", "'python3 a.py'"), "'command' of plugin.toml must be a list"),
        (manifest("", ""), "'tools' of plugin.toml must be 1 to 64 tables"),
        (tool("timout = 5\n"), "tool 'count' has the unknown key 'timout': did you mean 'timeout'?"),
        (tool("timeout = 0\n"), "'timeout' of tool 'count' must be a number of seconds from 1 to 1800"),
        (tool("timeout = 'soon'\n"), "'timeout' of tool 'count' must be a number of seconds"),
        (tool("optional = 'yes'\n"), "'optional' of tool 'count' must be true or false"),
        (tool("effects = 'everything'\n"), "'effects' of tool 'count' is not known: 'everything' is none of: read-only, workspace-write"),
        (tool("effects = 5\n"), "'effects' of tool 'count' is not known"),
        (tool("[tools.parameters]\ntype = 'string'\n"), "the root must be an object with properties"),
        (
            tool("[tools.parameters]\ntype = 'object'\n[tools.parameters.properties.a]\noneOf = [{type = 'string'}, {type = 'integer'}]\n"),
            "'oneOf' is not understood",
        ),
        (tool(TOOL), "has two tools named 'count'"),
        (manifest("", &TOOL.replace("'count'", "'Count Me'")), "'name' of tool 1 must be a-z, digits and '_'"),
        (manifest("", &TOOL.replace("'count'", "'mcp/x'")), "'name' of tool 1 must be a-z, digits and '_'"),
        (manifest("", &TOOL.replace("'count'", "'mcp__hub__read'")), "must not begin with 'mcp__'"),
        (
            manifest("", &format!("{TOOL}parameters = {{type = 'object', properties = {{'$a b' = {{}}}}}}\n")),
            "'parameters' of tool 'count' has '$a b'",
        ),
        (manifest("", &TOOL.replace("Counts.", "Counts.\u{202e}x")), "'description' of tool 'count' holds hidden or control characters"),
        (manifest("", &TOOL.replace("Counts.", &"x".repeat(9_000))), "has 9000 bytes, and 8000 are the most"),
        (" ".repeat(LARGEST + 1), "plugin.toml has 262145 bytes, and 262144 are the most"),
    ];
    for (text, expected) in cases {
        let fault = PluginManifest::parse(&text).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault:?} lacks {expected:?}");
    }
}
