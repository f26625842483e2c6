//! The registry: names, order, views, switching off, versions.

use haft_contract::ToolSource;
use haft_engine::{RegisterError, Registry};
use haft_testkit::ScriptedTool;
use serde_json::json;

use crate::harness::plugin;

fn registry(names: &[&str]) -> Registry {
    let registry = Registry::new();
    for name in names {
        registry.register(ScriptedTool::new(*name).shared(), ToolSource::BuiltIn).unwrap();
    }
    registry
}

#[test]
fn tools_are_found_listed_in_order_and_counted_by_version() {
    let registry = registry(&["zeta", "alpha", "mid"]);
    assert_eq!(registry.names(), ["zeta", "alpha", "mid"]);
    assert!(registry.has("alpha") && !registry.has("nope"));
    assert_eq!(registry.get("Alpha").unwrap().name(), "alpha");
    assert_eq!(registry.version(), 3);
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let registry = registry(&["read_file"]);
    let error = registry.register(ScriptedTool::new("read_file").shared(), plugin()).unwrap_err();
    assert_eq!(error.to_string(), "Tool 'read_file' is already registered");
    let shadow = ScriptedTool::new("other").define(|definition| definition.aliases.push("Read-File".into()));
    let error = registry.register(shadow.shared(), plugin()).unwrap_err();
    assert_eq!(error, RegisterError::Duplicate { name: "read_file".into(), owner: "read_file".into() });
    assert_eq!((registry.names(), registry.version()), (vec!["read_file".into()], 1), "a refused tool leaves no trace");
}

#[test]
fn tool_is_replaced_in_its_place_and_stays_switched_off() {
    let registry = registry(&["zeta", "alpha", "mid"]);
    registry.set_disabled("alpha", true);
    let other = || ScriptedTool::new("alpha").define(|definition| definition.description = "another".into());
    registry.replace(other().shared()).unwrap();
    let entry = registry.get("alpha").unwrap();
    let found = (registry.names(), entry.definition().description.as_ref(), entry.is_disabled());
    assert_eq!(found, (vec!["zeta".to_owned(), "alpha".into(), "mid".into()], "another", true));
    assert_eq!(registry.version(), 5);
    registry.replace(ScriptedTool::new("new").shared()).unwrap();
    assert_eq!(registry.names().last().map(String::as_str), Some("new"));
}

#[test]
fn names_must_be_snake_case() {
    let registry = Registry::new();
    for name in ["", "ReadFile", "read-file", "1st", "_x", "read file", "réad", &"x".repeat(65)] {
        let error = registry.register(ScriptedTool::new(name).shared(), plugin()).unwrap_err();
        assert!(matches!(error, RegisterError::BadName { .. }), "{name}");
    }
}

#[test]
fn a_schema_that_breaks_the_guardrails_is_refused_with_its_path() {
    let union = ScriptedTool::new("bad")
        .schema(json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}));
    let error = Registry::new().register(union.shared(), plugin()).unwrap_err().to_string();
    assert!(error.starts_with("Tool 'bad' has parameters that not every provider takes:\n  parameters.properties.a: 'anyOf'"), "{error}");
}

#[test]
fn views_keep_the_asked_order_and_ignore_unknown_names() {
    let registry = registry(&["a", "b", "c"]);
    let view = registry.view(["c", "nope", "a", "c"]);
    assert_eq!(view.iter().map(|entry| entry.name()).collect::<Vec<_>>(), ["c", "a"]);
}

#[test]
fn unregistering_frees_the_name_and_keeps_the_rest_reachable() {
    let registry = registry(&["a", "b", "c"]);
    registry.register(ScriptedTool::new("d").shared(), plugin()).unwrap();
    assert!(registry.unregister("b") && !registry.unregister("b"));
    assert_eq!(registry.get("c").unwrap().name(), "c");
    assert!(registry.unregister_source(&plugin()));
    assert_eq!(registry.names(), ["a", "c"]);
    registry.register(ScriptedTool::new("b").shared(), ToolSource::BuiltIn).unwrap();
    assert_eq!(registry.version(), 7);
}

#[test]
fn switching_off_is_remembered_also_for_tools_to_come() {
    let registry = registry(&["a"]);
    registry.set_disabled("Other-Name", true);
    registry.set_disabled("A", true);
    assert!(registry.is_disabled("a") && registry.is_disabled("other_name") && !registry.is_disabled("b"));
    let later = ScriptedTool::new("later").define(|definition| definition.aliases.push("other_name".into()));
    registry.register(later.shared(), plugin()).unwrap();
    assert!(registry.is_disabled("LATER"), "an alias that was switched off before its tool came");
}
