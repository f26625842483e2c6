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
    assert_eq!(registry.replace(other().shared(), plugin()).unwrap(), ["alpha"]);
    let entry = registry.get("alpha").unwrap();
    let found = (registry.names(), entry.definition().description.as_ref(), entry.is_disabled());
    assert_eq!(found, (vec!["zeta".to_owned(), "alpha".into(), "mid".into()], "another", true));
    assert_eq!(registry.version(), 5);
    assert_eq!(registry.replace(ScriptedTool::new("new").shared(), plugin()).unwrap(), [""; 0]);
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

#[test]
fn aliases_are_names_too() {
    let registry = Registry::new();
    let aliased = |alias: &'static str| ScriptedTool::new("t").define(move |definition| definition.aliases.push(alias.into())).shared();
    let long = "a".repeat(65);
    for bad in ["", " ", "a b", "a\nb", "größe", "1a", "-a", "a/b", &*long] {
        let alias: &'static str = bad.to_owned().leak();
        assert_eq!(registry.register(aliased(alias), plugin()), Err(RegisterError::BadName { name: bad.into() }), "{bad:?}");
    }
    assert!(registry.names().is_empty());
    for (number, good) in ["WebFetch", "my-tool", "my.tool", "x1"].into_iter().enumerate() {
        let tool = ScriptedTool::new(format!("t{number}")).define(|definition| definition.aliases.push(good.into()));
        registry.register(tool.shared(), plugin()).unwrap();
        assert_eq!(registry.get(good).unwrap().name(), format!("t{number}"));
    }
}

#[test]
fn replacing_tool_takes_the_place_of_every_tool_whose_name_it_has() {
    let registry = registry(&["exec", "read_file", "noop"]);
    let tool = ScriptedTool::new("bash").define(|definition| definition.aliases = vec!["exec".into(), "noop".into()]);
    assert_eq!(registry.replace(tool.shared(), plugin()), Ok(vec!["exec".into(), "noop".into()]));
    assert_eq!(registry.names(), ["bash", "read_file"]);
    for (name, owner) in [("exec", "bash"), ("noop", "bash"), ("read_file", "read_file")] {
        assert_eq!(registry.get(name).unwrap().name(), owner, "{name}");
    }
    let version = registry.version();
    assert!(registry.replace(ScriptedTool::new("Bad Name").shared(), plugin()).is_err());
    assert_eq!((registry.names().len(), registry.version()), (2, version), "a refused tool leaves no trace");
    assert_eq!(registry.replace(ScriptedTool::new("fresh").shared(), plugin()), Ok(vec![]));
}

#[test]
fn view_of_many_names_takes_no_longer_than_its_names() {
    let names: Vec<String> = (0..4000).map(|number| format!("tool_{number}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let registry = registry(&all);
    let time = |count: usize| {
        let asked: Vec<&str> = all[..count].iter().chain(&all[..count]).copied().collect();
        let started = std::time::Instant::now();
        assert_eq!(registry.view(asked.iter().copied()).len(), count);
        started.elapsed()
    };
    // Ten times as many names; a search through all known ones for each would take a hundred times as long. On a busy machine one
    // measurement says little, so one of many must show it.
    let measured: Vec<_> = (0..40).map(|_| (time(400), time(4000))).collect();
    assert!(measured.iter().any(|(few, many)| *many < *few * 30), "400 names and 4000: {measured:?}");
}
