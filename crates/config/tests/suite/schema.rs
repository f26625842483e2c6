//! The schema for editors.

use haft_config::{KEYS, schema};
use serde_json::{Value as Json, json};

use super::fixture::Fixture;

/// The example of the design, as a user writes it.
const EXAMPLE: &str = include_str!("example.toml");

#[test]
fn every_key_is_in_the_schema() {
    let schema = schema();
    for key in KEYS {
        let pointer = format!("/properties/{}", key.path.replace("[]", "/items/properties").replace('.', "/properties/"))
            .replace("/items/properties/properties/", "/items/properties/")
            .replace("properties/*", "additionalProperties");
        let found = schema.pointer(&pointer).unwrap_or_else(|| panic!("{} at {pointer}", key.path));
        assert_eq!(found["description"], key.doc, "{}", key.path);
    }
}

#[test]
fn schema_is_valid_and_agrees_with_the_loader() {
    let schema = schema();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let cases = [
        (EXAMPLE, true),
        ("", true),
        ("access = 'read-only'", true),
        ("access = 'root'", false),
        ("tools.deny = 'a'", false),
        ("tools.denny = []", false),
        ("tools.deny = ['']", false),
        ("guards.loop_note = 0", false),
        ("guards.loop = 1", false),
        ("guards.taint = 'never'", false),
        ("workspace.roots = [{ path = '/a', access = 'full-access' }]", false),
        ("workspace.roots = [{ access = 'read-only' }]", false),
        ("[[hooks]]\nevnt = 1", false),
        ("[[hooks]]\nevent = 'after_tool_call'", false),
        ("[[hooks]]\nevent = 'after_tool_call'\ncommand = 'x'\npriority = -5", true),
        ("preset = 'ask'\nask = 'beyond'", true),
        ("preset = 'none'", false),
        ("ask = 'sometimes'", false),
        ("tools.profile = ['a']", false),
        ("[agents.'a.b'.tools.by_provider.'openai/gpt-4.1']\nprofile = 'a'\nallow = []\nalso_allow = ['b']\ndeny = ['c']", true),
        ("[agents.a.tools.by_provider.b]\ndisabled = []", false),
        ("[channels.'telegram:-100'.senders.'id:42']\ndeny = ['a']", true),
        ("[channels.a.senders.b.tools]\ndeny = ['a']", false),
        ("[groups]\nmine = ['a']", true),
        ("[groups]\nmine = 'a'", false),
        ("[agents.'']", false),
        ("subagents.max_depth = 17", false),
        ("[providers.x]\nprotocl = 1", false),
        ("[providers.x]\nmodels = ['m']\nretries = 20\napi_key_command = 'pass show x'", true),
        ("[providers.x]\nretries = 21", false),
        ("[models.'a/b']\nmax_tools = 0\nlegacy_schema = false", true),
        ("[prices.'a/b']\ninput = 0.25\noutput = 1", true),
        ("budget.turn = -1", false),
        ("budget.turn = 1000000.5", false),
        ("budget.turn = '1'", false),
        ("budget.then = 'ask'\ncontext.compact_percent = 20", true),
        ("context.compact_percent = 19", false),
        ("[exec]\nsecurity = 'allowlist'\nask = 'on-miss'\nhost = 'gateway'", true),
        ("exec.security = 'off'", false),
        ("exec.limits.memory = '512MB'\nexec.limits.file_size = '1 GiB'\nexec.limits.tmp_size = 4096", true),
        ("exec.limits.memory = '1.5GB'", false),
        ("exec.limits.memory = '2iB'", false),
        ("exec.limits.memory = 1", false),
        ("sandbox.backend = 'jail'", false),
    ];
    for (text, valid) in cases {
        let json: Json = toml::from_str(text).unwrap();
        assert_eq!(validator.is_valid(&json), valid, "{text}");
    }
}

#[test]
fn the_designs_example_is_read_without_a_problem() {
    assert_eq!(Fixture::new().user(EXAMPLE).load().problems, []);
}

#[test]
fn defaults_in_the_schema_are_those_that_hold() {
    assert_eq!(schema().pointer("/properties/guards/properties/loop_stop/default"), Some(&json!(10)));
    assert_eq!(schema().pointer("/properties/access/default"), Some(&json!("workspace-write")));
    assert_eq!(schema().pointer("/properties/tools/properties/allow/default"), None, "absent is not an empty list");
    assert_eq!(schema().pointer("/properties/tools/properties/profile/default"), None, "absent is no profile");
    assert_eq!(schema().pointer("/properties/hooks/items/properties/timeout_seconds/default"), Some(&json!(10)));
}

#[test]
fn the_schema_as_it_is_shipped() {
    insta::assert_json_snapshot!(schema());
}
