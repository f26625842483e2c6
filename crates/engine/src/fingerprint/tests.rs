use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use haft_contract::{ExecHost, Location, Plan};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

fn at(requested: &str, path: &str, zone: Zone) -> Location {
    Location::new(requested.into(), path.into(), "shown".into(), zone, Arc::new(()))
}

fn exec(change: impl FnOnce(&mut Exec)) -> Effect {
    let mut exec = Exec::new("/bin/git", vec!["push".into(), "origin".into()], "/w");
    change(&mut exec);
    Effect::Exec(exec)
}

/// Effects of which no two are the same; neighbours differ in one thing.
fn effects() -> Vec<Effect> {
    let workspace = || at("a", "/w/a", Zone::Workspace);
    let odd = |byte: u8| {
        let path = OsString::from_vec(vec![b'/', byte]);
        Location::new("a".into(), path.into(), "shown".into(), Zone::Workspace, Arc::new(()))
    };
    let path_plans = [
        Plan::nothing().read(workspace()),
        Plan::nothing().write(workspace()),
        Plan::nothing().delete(workspace()),
        Plan::nothing().read_tree(workspace()),
        Plan::nothing().read(at("b", "/w/a", Zone::Workspace)),
        Plan::nothing().read(at("a", "/w/b", Zone::Workspace)),
        Plan::nothing().read(at("a", "/w/a", Zone::ReadOnlyRoot)),
        Plan::nothing().read(at("a", "/w/a", Zone::Outside)),
        Plan::nothing().read(odd(0xfe)),
        Plan::nothing().read(odd(0xff)),
        Plan::nothing().connect(Connect::new("https", "example.org", 443, "GET")),
        Plan::nothing().connect(Connect::new("http", "example.org", 443, "GET")),
        Plan::nothing().connect(Connect::new("https", "example.net", 443, "GET")),
        Plan::nothing().connect(Connect::new("https", "example.org", 444, "GET")),
        Plan::nothing().connect(Connect::new("https", "example.org", 443, "POST")),
        Plan::nothing().send("mail", "me", false),
        Plan::nothing().send("mail", "me", true),
        Plan::nothing().send("mail", "you", true),
        Plan::nothing().send("chat", "me", true),
    ];
    let mut effects: Vec<Effect> = path_plans.iter().flat_map(|plan| plan.effects().to_vec()).collect();
    effects.extend([
        exec(|_| {}),
        exec(|exec| exec.program = "/usr/bin/git".into()),
        exec(|exec| exec.named = "git".into()),
        exec(|exec| exec.arguments = vec!["push origin".into()]),
        exec(|exec| exec.arguments.push("--force".into())),
        exec(|exec| exec.directory = "/v".into()),
        exec(|exec| exec.environment = vec!["LANG".into()]),
        exec(|exec| exec.environment = vec!["LANG".into(), "HOME".into()]),
        exec(|exec| exec.host = ExecHost::Sandbox),
        exec(|exec| exec.host = ExecHost::Node),
        Effect::Spawn { agent: "a".into() },
        Effect::Spawn { agent: "b".into() },
        Effect::Configure { key: "a".into() },
        Effect::Ask { user: "a".into() },
        Effect::Unknown { why: "a".into() },
        Effect::Unknown { why: "b".into() },
    ]);
    effects
}

#[test]
fn every_detail_of_an_effect_counts_and_so_do_their_number_and_order() {
    let mut plans: Vec<Vec<Effect>> = effects().into_iter().map(|effect| vec![effect]).collect();
    plans.push(Vec::new());
    plans.push(effects());
    plans.push(effects().into_iter().rev().collect());
    plans.push(effects().into_iter().chain(effects()).collect());
    let hashes: HashSet<String> = plans.iter().map(|plan| fingerprint("exec", &json!({}), plan)).collect();
    assert_eq!(hashes.len(), plans.len());
    assert!(hashes.iter().all(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())));
}

#[test]
fn it_is_the_same_each_time() {
    let of = || fingerprint("exec", &json!({"command": "git push", "n": [1, null]}), &effects());
    assert_eq!(of(), of());
}

#[test]
fn parts_do_not_run_into_each_other() {
    let values =
        [json!(["a", "b"]), json!(["ab"]), json!(["a,b"]), json!([["a"], "b"]), json!({"a": "b"}), json!("null"), json!(null), json!("")];
    let more = [json!(1), json!(1.0), json!("1"), json!(true), json!("true"), json!([]), json!({}), json!({"": null})];
    let all: Vec<Value> = values.into_iter().chain(more).collect();
    let hashes: HashSet<String> = all.iter().map(|value| fingerprint("t", value, &[])).collect();
    assert_eq!(hashes.len(), all.len());
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-c]{0,2}", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The same value with every object written backwards.
fn backwards(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(backwards).collect(),
        Value::Object(map) => Value::Object(map.iter().rev().map(|(key, item)| (key.clone(), backwards(item))).collect::<Map<_, _>>()),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn it_differs_exactly_when_the_call_does(
        tools in ("[a-b]{1,2}", "[a-b]{1,2}"), arguments in (any_value(), any_value()), which in (0..8_usize, 0..8_usize),
    ) {
        let all = effects();
        let of = |tool: &str, arguments: &Value, which: usize| fingerprint(tool, arguments, &all[which..=which]);
        let one = of(&tools.0, &arguments.0, which.0);
        prop_assert_eq!(&one, &of(&tools.0, &backwards(&arguments.0), which.0));
        let other = of(&tools.1, &arguments.1, which.1);
        prop_assert_eq!(one == other, tools.0 == tools.1 && arguments.0 == arguments.1 && which.0 == which.1);
    }
}
