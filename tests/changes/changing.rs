//! Any calls of the tools that change files: made so that most find what they look for, and some do not.

use std::collections::BTreeMap;
use std::sync::Mutex;

use haft::ToolResult;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::world::World;

/// A notebook whose cells have no ids: new ones would be other ones in every world.
pub(crate) const NOTEBOOK: &str = r#"{
 "cells": [{"cell_type": "code", "metadata": {}, "source": "1", "outputs": [], "execution_count": null}],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
"#;

const PLACES: [&str; 5] = ["a", "b", "d/c", "d/e/f", "new/g/h"];
const BOOK: &str = "n.ipynb";
const LINES: [&str; 4] = ["one", "two", "three", "four"];

pub(crate) type Call = (&'static str, Value);

/// Runs a property over this many cases; failures are made small, but not for long: each case is work on a disk.
pub(crate) fn hold<S: Strategy>(cases: u32, any: &S, mut holds: impl FnMut(S::Value)) {
    let config = ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 100, ..ProptestConfig::default() };
    let holds = std::cell::RefCell::new(&mut holds);
    TestRunner::new(config)
        .run(any, |value| {
            (holds.borrow_mut())(value);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// Files that are there at the start, with their permissions.
pub(crate) fn start() -> impl Strategy<Value = BTreeMap<&'static str, (String, u32)>> {
    let modes = select(vec![0o600, 0o640, 0o644, 0o755]);
    btree_map(select(PLACES.to_vec()), (text(), modes), 1..=4)
}

/// Puts them there, and a notebook.
pub(crate) fn prepare(world: &World, start: &BTreeMap<&'static str, (String, u32)>) {
    world.put(BOOK, NOTEBOOK, 0o640);
    for (name, (content, mode)) in start {
        world.put(name, content, *mode);
    }
}

/// Some of the lines, in their order: a line is there once.
fn text() -> impl Strategy<Value = String> {
    let ends = select(vec!["\n", "\n", "\r\n", ""]);
    (subsequence(LINES.to_vec(), 1..=LINES.len()), ends).prop_map(|(lines, end)| format!("{}{end}", lines.join("\n")))
}

fn place() -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => select(PLACES.to_vec()), 1 => Just(BOOK)]
}

pub(crate) fn calls(most: usize) -> impl Strategy<Value = Vec<Call>> {
    vec(prop_oneof![3 => write(), 4 => edit(), 4 => patch(), 2 => cell()], 4..=most)
}

fn write() -> impl Strategy<Value = Call> {
    let modes = select(vec!["overwrite", "append"]);
    (place(), text(), modes).prop_map(|(path, content, mode)| ("write_file", json!({"path": path, "content": content, "mode": mode})))
}

fn edit() -> impl Strategy<Value = Call> {
    let old = select([&LINES[..], &["o", "e", "\n", ""]].concat());
    (place(), old, select(LINES.to_vec()), any::<bool>()).prop_map(|(path, old, new, all)| {
        ("edit_file", json!({"path": path, "old_string": old, "new_string": format!("{new}!"), "replace_all": all}))
    })
}

/// What a patch does to one file.
fn part() -> impl Strategy<Value = String> {
    let line = || select(LINES.to_vec());
    prop_oneof![
        2 => (place(), text()).prop_map(|(path, content)| {
            let added: Vec<_> = content.lines().collect();
            format!("*** Add File: {path}\n+{}\n", added.join("\n+"))
        }),
        1 => place().prop_map(|path| format!("*** Delete File: {path}\n")),
        2 => (place(), line(), line()).prop_map(|(path, old, new)| format!("*** Update File: {path}\n@@\n-{old}\n+{new} more\n")),
        2 => (place(), place(), line()).prop_map(|(path, to, old)| {
            format!("*** Update File: {path}\n*** Move to: {to}\n@@\n-{old}\n+moved\n")
        }),
    ]
}

fn patch() -> impl Strategy<Value = Call> {
    let parts = prop_oneof![3 => vec(part(), 1), 1 => vec(part(), 2..=3)];
    parts.prop_map(|parts| ("apply_patch", json!({"input": format!("*** Begin Patch\n{}*** End Patch\n", parts.concat())})))
}

fn cell() -> impl Strategy<Value = Call> {
    (0..2_u8, select(LINES.to_vec()), select(vec!["replace", "insert", "delete"])).prop_map(|(cell, source, mode)| {
        let arguments = json!({"notebook_path": BOOK, "cell_id": cell.to_string(), "new_source": source, "edit_mode": mode});
        ("notebook_edit", if mode == "delete" { without(arguments, "new_source") } else { arguments })
    })
}

fn without(mut arguments: Value, name: &str) -> Value {
    arguments.as_object_mut().unwrap().remove(name);
    arguments
}

/// How many calls of each tool worked: a property that holds because nothing was ever done holds for nothing.
#[derive(Debug, Default)]
pub(crate) struct Worked(Mutex<BTreeMap<String, usize>>);

impl Worked {
    pub(crate) fn count(&self, results: &[ToolResult]) {
        let mut counts = self.0.lock().unwrap();
        for result in results.iter().filter(|result| result.is_success()) {
            *counts.entry(result.tool.to_string()).or_default() += 1;
        }
    }
    /// Fails unless every tool worked, and not by a rare chance.
    pub(crate) fn assert_each(&self) {
        let counts = self.0.lock().unwrap();
        assert!(counts.len() == 4 && counts.values().all(|count| *count > 5), "{counts:?}");
    }
}
