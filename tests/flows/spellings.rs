//! Every name and every parameter that the seeds' file tools have, in each spelling that models send: all of them are the same
//! call, and that is the one that is recorded.

use haft::Dialect;
use serde_json::{Value, json};

use crate::support::World;

const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "code", "execution_count": null, "id": "aa", "metadata": {}, "outputs": [], "source": ["x = 1"]},
  {"cell_type": "markdown", "id": "bb", "metadata": {}, "source": ["# title"]}
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

/// What is added to every call of a tool that does not say otherwise.
fn defaults(tool: &str) -> Value {
    match tool {
        "read_file" => json!({"line_numbers": false, "raw": false, "again": false}),
        "write_file" => json!({"mode": "overwrite"}),
        "edit_file" => json!({"replace_all": false}),
        "apply_patch" => json!({"dry_run": false}),
        "glob_search" => json!({"hidden": false, "ignored": false}),
        "grep_search" => json!({"case_insensitive": false, "multiline": false, "only_matching": false, "hidden": false, "ignored": false}),
        "notebook_edit" => json!({"edit_mode": "replace"}),
        other => panic!("{other} has no spellings here"),
    }
}

/// Calls by this name with these arguments, and expects that the tool was called with those.
async fn expect(dialect: Dialect, name: &str, arguments: &Value, tool: &str, canonical: &Value) {
    let world = World::with(&[], |session| session.dialect(dialect));
    std::fs::create_dir(world.file("sub")).unwrap();
    for (path, content) in [("a.rs", "one\ntwo\nthree\n"), ("sub/b.rs", "Two\n"), ("n.ipynb", NOTEBOOK)] {
        std::fs::write(world.file(path), content).unwrap();
    }
    let result = world.call(name, arguments.clone()).await;
    let said = result.outcome.map_err(|error| format!("{name}({arguments}) in {dialect}: {error}")).unwrap();
    let warnings = said.details.as_ref().map(|details| details["warnings"].clone()).unwrap_or_default();
    assert_eq!(warnings, Value::Null, "{name}({arguments}) in {dialect}");
    let mut expected = defaults(tool);
    expected.as_object_mut().unwrap().extend(canonical.as_object().unwrap().clone());
    let record = &world.history().await[0];
    assert_eq!((record.tool.as_str(), &record.arguments), (tool, &expected), "{name}({arguments}) in {dialect}");
}

async fn expect_all(tool: &str, rows: &[(&str, Value, Value)]) {
    for (name, arguments, canonical) in rows {
        for dialect in Dialect::ALL {
            expect(*dialect, name, arguments, tool, canonical).await;
        }
    }
}

#[tokio::test]
async fn of_reading() {
    let rows = [
        ("read_file", json!({"path": "a.rs"}), json!({"path": "a.rs"})),
        ("read", json!({"file_path": "a.rs"}), json!({"path": "a.rs"})),
        ("Read", json!({"filePath": "a.rs", "limit": "2"}), json!({"path": "a.rs", "limit": 2})),
        ("read", json!({"file": "a.rs", "limit": 2.0}), json!({"path": "a.rs", "limit": 2})),
        ("read_file", json!({"filename": " a.rs ", "pages": "1-5"}), json!({"path": "a.rs", "pages": "1-5"})),
        // Those who call it so count from 1.
        ("Read", json!({"file_path": "a.rs", "offset": 2}), json!({"path": "a.rs", "offset": 2})),
        ("read", json!({"path": "a.rs", "offset": 2}), json!({"path": "a.rs", "offset": 2})),
    ];
    expect_all("read_file", &rows).await;
    // Only here does one name count differently.
    for (dialect, given, line) in [(Dialect::Haft, 2, 2), (Dialect::Claw, 2, 3), (Dialect::Claw, 0, 1), (Dialect::OpenClaw, 2, 2)] {
        let arguments = json!({"path": "a.rs", "offset": given});
        expect(dialect, "read_file", &arguments, "read_file", &json!({"path": "a.rs", "offset": line})).await;
    }
}

#[tokio::test]
async fn of_writing() {
    let rows = [
        ("write_file", json!({"path": "w", "content": " x\n"}), json!({"path": "w", "content": " x\n"})),
        ("write", json!({"file_path": "w", "content": ""}), json!({"path": "w", "content": ""})),
        ("Write", json!({"filePath": "w", "content": "x"}), json!({"path": "w", "content": "x"})),
        ("file_write", json!({"path": "w", "content": "x", "mode": "Append"}), json!({"path": "w", "content": "x", "mode": "append"})),
    ];
    expect_all("write_file", &rows).await;
}

#[tokio::test]
async fn of_editing() {
    let one = json!({"path": "a.rs", "old_string": "two", "new_string": ""});
    let both = json!({"path": "a.rs", "edits": [{"old_string": "one", "new_string": "1"}, {"old_string": "two", "new_string": " 2"}]});
    let single = json!({"path": "a.rs", "edits": [{"old_string": "two", "new_string": "2", "replace_all": true}]});
    let rows = [
        ("edit_file", one.clone(), one.clone()),
        ("edit", json!({"path": "a.rs", "oldText": "two", "newText": ""}), one.clone()),
        ("Edit", json!({"file_path": "a.rs", "old_string": "two", "new_string": ""}), one.clone()),
        ("edit", json!({"file": "a.rs", "old_text": "two", "new_text": ""}), one.clone()),
        ("edit", json!({"filePath": "a.rs", "oldString": "two", "newString": ""}), one),
        (
            "edit",
            json!({"path": "a.rs", "old_string": "two", "new_string": "2", "replaceAll": "true"}),
            json!({"path": "a.rs", "old_string": "two", "new_string": "2", "replace_all": true}),
        ),
        (
            "edit",
            json!({"path": "a.rs", "edits": [{"oldText": "one", "newText": "1"}, {"old_text": "two", "new_text": " 2"}]}),
            both.clone(),
        ),
        ("edit", json!({"path": "a.rs", "edits": [{"oldString": "one", "newString": "1"}, {"old": "two", "new": " 2"}]}), both.clone()),
        ("edit", json!({"path": "a.rs", "edits": both["edits"].to_string()}), both),
        ("edit", json!({"path": "a.rs", "edits": {"oldText": "two", "newText": "2", "replaceAll": true}}), single),
    ];
    expect_all("edit_file", &rows).await;
}

#[tokio::test]
async fn of_patching() {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-two\n+2\n*** End Patch";
    let rows = [
        ("apply_patch", json!({"input": patch}), json!({"input": patch})),
        ("apply-patch", json!({"patch": patch}), json!({"input": patch})),
        ("apply_patch", json!({"diff": patch, "dryRun": true}), json!({"input": patch, "dry_run": true})),
    ];
    expect_all("apply_patch", &rows).await;
}

#[tokio::test]
async fn of_finding() {
    let rows = [
        ("glob_search", json!({"pattern": "**/*.{rs,md}"}), json!({"pattern": "**/*.{rs,md}"})),
        ("Glob", json!({"pattern": "*", "path": "sub"}), json!({"pattern": "*", "path": "sub"})),
        ("glob", json!({"glob_pattern": "*", "directory": "sub"}), json!({"pattern": "*", "path": "sub"})),
        (
            "glob",
            json!({"pattern": "*", "head_limit": 5, "include_hidden": true, "no_ignore": "true", "exclude": "x"}),
            json!({"pattern": "*", "limit": 5, "hidden": true, "ignored": true, "exclude": ["x"]}),
        ),
    ];
    expect_all("glob_search", &rows).await;
}

#[tokio::test]
async fn of_searching() {
    let around = json!({"pattern": "two", "before": 1, "after": 2, "context": 3, "output_mode": "content"});
    let rows = [
        ("grep_search", json!({"pattern": " two"}), json!({"pattern": " two"})),
        ("Grep", json!({"pattern": "two", "-i": true}), json!({"pattern": "two", "case_insensitive": true})),
        (
            "grep_search",
            json!({"pattern": "two", "-i": "true", "-n": false}),
            json!({"pattern": "two", "case_insensitive": true, "line_numbers": false}),
        ),
        ("grep", json!({"pattern": "two", "-B": 1, "-A": 2, "-C": 3, "output_mode": "content"}), around.clone()),
        ("grep_search", json!({"pattern": "two", "-B": "1", "-A": "2", "context": 3, "output_mode": "Content"}), around),
        ("grep_search", json!({"pattern": "two", "-o": true}), json!({"pattern": "two", "only_matching": true})),
        (
            "grep_search",
            json!({"pattern": "two", "path": "sub", "glob": "*.rs", "type": "rust", "head_limit": 0, "offset": 0, "multiline": true}),
            json!({"pattern": "two", "path": "sub", "glob": ["*.rs"], "type": "rust", "head_limit": 0, "offset": 0, "multiline": true}),
        ),
        // Not the type's name, but the ending of its files.
        (
            "grep_search",
            json!({"pattern": "two", "type": "rs", "output_mode": "count"}),
            json!({"pattern": "two", "type": "rs", "output_mode": "count"}),
        ),
    ];
    expect_all("grep_search", &rows).await;
}

#[tokio::test]
async fn of_editing_notebooks() {
    let rows = [
        (
            "NotebookEdit",
            json!({"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "", "cell_type": "code", "edit_mode": "replace"}),
            json!({"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "", "cell_type": "code"}),
        ),
        (
            "notebook_edit",
            json!({"path": "n.ipynb", "cell_number": 1, "edit_mode": "delete"}),
            json!({"notebook_path": "n.ipynb", "cell_id": "1", "edit_mode": "delete"}),
        ),
        (
            "NotebookEdit",
            json!({"notebookPath": "n.ipynb", "cellId": "cell-0", "newSource": "y", "cellType": "Markdown", "editMode": "insert"}),
            json!({"notebook_path": "n.ipynb", "cell_id": "cell-0", "new_source": "y", "cell_type": "markdown", "edit_mode": "insert"}),
        ),
    ];
    expect_all("notebook_edit", &rows).await;
}
