use std::sync::Arc;

mod layout;
mod properties;

use haft_contract::{DynTool, Erased, ErrorKind, SeenFiles};
use haft_testkit::{FakeHost, context_for, expect_error, expect_text, run_tool};
use serde_json::{Value, json};

use super::outcome::fresh_id;
use super::*;
use crate::shared::notebook::Notebook;

/// As Jupyter writes them: one blank a step, names in order, a line end at the end.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "aa",
   "metadata": {
    "k": 1.50
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "1"
     ]
    }
   ],
   "source": [
    "x = 1\n",
    "print(\"\u00e9\")"
   ]
  },
  {
   "cell_type": "markdown",
   "id": "bb",
   "metadata": {},
   "source": [
    "# Title é"
   ]
  }
 ],
 "metadata": {
  "language_info": {
   "name": "julia"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

async fn edit(host: &Arc<FakeHost>, mut arguments: Value) -> Result<ToolOutput, ToolError> {
    if arguments.get("notebook_path").is_none() {
        arguments["notebook_path"] = "n.ipynb".into();
    }
    run_tool(&Erased::new(NotebookEdit), arguments, Arc::clone(host)).await
}

/// The notebook after a change that should succeed.
async fn after(before: &str, arguments: Value) -> String {
    let host = FakeHost::new();
    host.files.put("n.ipynb", before);
    edit(&host, arguments).await.unwrap();
    host.files.text("n.ipynb").unwrap()
}

/// The notebook with one part of its text replaced, which must be there once.
fn with(old: &str, new: &str) -> String {
    assert_eq!(NOTEBOOK.matches(old).count(), 1, "{old}");
    NOTEBOOK.replace(old, new)
}

const OLD_CODE: &str = "   \"outputs\": [\n    {\n     \"name\": \"stdout\",\n     \"output_type\": \"stream\",\n     \"text\": [\n      \"1\"\n     ]\n    }\n   ],\n   \
     \"source\": [\n    \"x = 1\\n\",\n    \"print(\\\"\\u00e9\\\")\"\n   ]\n";

#[tokio::test]
async fn a_source_is_replaced_and_its_outputs_go() {
    let host = FakeHost::new();
    host.files.put("n.ipynb", NOTEBOOK);
    let output = edit(&host, json!({"cell_id": "aa", "new_source": "x = 2\nprint(\"é\")"})).await.unwrap();
    let said = "Replaced cell 'aa' (code) of n.ipynb; its outputs were cleared.\n\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n print(\"é\")";
    let details = json!({
        "path": "n.ipynb", "edit_mode": "replace", "cell_id": "aa", "index": 0, "cell_type": "code", "language": "julia", "changed": true,
    });
    assert_eq!(output, ToolOutput::text(said).with_details(details));
    let new_code = "   \"outputs\": [],\n   \"source\": [\n    \"x = 2\\n\",\n    \"print(\\\"é\\\")\"\n   ]\n";
    let expected = with(OLD_CODE, new_code).replace("\"execution_count\": 3", "\"execution_count\": null");
    assert_eq!(host.files.text("n.ipynb").unwrap(), expected);
    assert_eq!(host.journal.kept().into_iter().map(|image| image.content).collect::<Vec<_>>(), [Some(NOTEBOOK.as_bytes().to_vec())]);
}

#[tokio::test]
async fn what_stays_the_same_is_not_written() {
    let host = FakeHost::new();
    host.files.put("n.ipynb", NOTEBOOK);
    let output = edit(&host, json!({"cell_id": "bb", "new_source": "# Title é", "cell_type": "markdown"})).await.unwrap();
    assert_eq!(output.details.clone().unwrap()["changed"], false);
    assert_eq!(expect_text(Ok(output)), "Cell 'bb' of n.ipynb has that source already; nothing was changed.");
    assert!(host.journal.kept().is_empty());
}

#[tokio::test]
async fn a_type_brings_and_takes_what_belongs_to_it() {
    let markdown = with(OLD_CODE, "   \"source\": [\n    \"text\"\n   ]\n").replacen(
        "   \"cell_type\": \"code\",\n   \"execution_count\": 3,\n",
        "   \"cell_type\": \"markdown\",\n",
        1,
    );
    assert_eq!(after(NOTEBOOK, json!({"cell_id": "aa", "new_source": "text", "cell_type": "markdown"})).await, markdown);
    let code = with(
        "   \"cell_type\": \"markdown\",\n   \"id\": \"bb\",\n   \"metadata\": {},\n   \"source\"",
        "   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"bb\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\"",
    );
    assert_eq!(after(NOTEBOOK, json!({"cell_id": "bb", "new_source": "# Title é", "cell_type": "code"})).await, code);
    let raw = with("\"markdown\"", "\"raw\"");
    assert_eq!(after(NOTEBOOK, json!({"cell_id": "bb", "new_source": "# Title é", "cell_type": "raw"})).await, raw);
    let attached = with("\"id\": \"bb\",", "\"attachments\": {},\n   \"id\": \"bb\",");
    assert_eq!(after(&attached, json!({"cell_id": "bb", "new_source": "# Title é", "cell_type": "code"})).await, code);
}

#[tokio::test]
async fn cells_are_inserted_behind_another_or_at_the_start() {
    let host = FakeHost::new();
    for (arguments, place, index) in
        [(json!({}), "at the start", 0), (json!({"cell_id": "aa"}), "after cell 'aa'", 1), (json!({"cell_id": "1"}), "after cell 'bb'", 2)]
    {
        host.files.put("n.ipynb", NOTEBOOK);
        let mut arguments = arguments;
        (arguments["edit_mode"], arguments["new_source"]) = ("insert".into(), "a\nb\n".into());
        let output = edit(&host, arguments).await.unwrap();
        let details = output.details.clone().unwrap();
        let id = details["cell_id"].as_str().unwrap().to_owned();
        assert!(id.len() == 8 && id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
        assert_eq!(
            (&details["index"], expect_text(Ok(output))),
            (&json!(index), format!("Inserted cell '{id}' (code) {place} of n.ipynb.\n\n@@ -0,0 +1,2 @@\n+a\n+b"))
        );
        let new = format!(
            "  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"{id}\",\n   \"metadata\": {{}},\n   \"outputs\": [],\n   \
             \"source\": [\n    \"a\\n\",\n    \"b\\n\"\n   ]\n  }}"
        );
        let expected = match index {
            0 => with(" \"cells\": [\n", &format!(" \"cells\": [\n{new},\n")),
            1 => with("  },\n  {\n   \"cell_type\": \"markdown\"", &format!("  }},\n{new},\n  {{\n   \"cell_type\": \"markdown\"")),
            _ => with("  }\n ],\n", &format!("  }},\n{new}\n ],\n")),
        };
        assert_eq!(host.files.text("n.ipynb").unwrap(), expected);
    }
}

#[tokio::test]
async fn ids_are_new_and_only_where_the_format_has_them() {
    let old = with("\"nbformat_minor\": 5", "\"nbformat_minor\": 4");
    let inserted = after(&old, json!({"edit_mode": "insert", "new_source": "# x", "cell_type": "markdown"})).await;
    assert!(inserted.starts_with(
        "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"metadata\": {},\n   \"source\": [\n    \"# x\"\n   ]\n  },\n  {"
    ));
    // The same call at the same time would make the same id again: one that is taken is passed over.
    let once = after(NOTEBOOK, json!({"edit_mode": "insert", "new_source": "1"})).await;
    let twice = after(&once, json!({"edit_mode": "insert", "new_source": "2"})).await;
    let ids: Vec<String> = Notebook::parse(&twice).unwrap().cells.iter().filter_map(|cell| cell.id.clone()).collect();
    assert_eq!(ids.len(), 4);
    assert_ne!(ids[0], ids[1]);
    let notebook = Notebook::parse(NOTEBOOK).unwrap();
    assert_eq!((fresh_id(&notebook, "0123456789"), fresh_id(&notebook, "")), ("01234567".into(), "cell-0".into()));
}

#[tokio::test]
async fn cells_are_deleted() {
    let (list, first) = (NOTEBOOK.find("  {").unwrap(), NOTEBOOK.find("  {\n   \"cell_type\": \"markdown\"").unwrap());
    let end = NOTEBOOK.find("\n ],\n \"metadata\"").unwrap();
    let without_first = [&NOTEBOOK[..list], &NOTEBOOK[first..]].concat();
    let without_second = [&NOTEBOOK[..first - 2], &NOTEBOOK[end..]].concat();
    let delete = |cell: &str| json!({"cell_id": cell, "edit_mode": "delete"});
    assert_eq!(after(NOTEBOOK, delete("aa")).await, without_first);
    assert_eq!(after(NOTEBOOK, delete("cell-1")).await, without_second);
    let none = after(&without_second, json!({"edit_mode": "delete"})).await;
    assert_eq!(none, format!("{}[]{}", &NOTEBOOK[..NOTEBOOK.find('[').unwrap()], &NOTEBOOK[end + 3..]));
    let again = after(&none, json!({"edit_mode": "insert", "new_source": "# T", "cell_type": "raw"})).await;
    assert!(
        again.starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"raw\",\n   \"id\": ")
            && again.contains("\n   ]\n  }\n ],\n \"metadata\"")
    );
    let host = FakeHost::new();
    host.files.put("n.ipynb", NOTEBOOK);
    assert_eq!(expect_text(edit(&host, delete("bb")).await), "Deleted cell 'bb' (markdown) of n.ipynb.\n\n@@ -1 +0,0 @@\n-# Title é");
}

#[tokio::test]
async fn what_is_wrong_is_said_and_nothing_written() {
    let host = FakeHost::new();
    let twins = with("\"bb\"", "\"aa\"");
    let odd = with("\"markdown\"", "\"heading\"");
    let new = |value: Value| {
        let mut value = value;
        value["new_source"] = "x".into();
        value
    };
    let cells = "Its cells are 'aa', 'bb'.";
    for (content, arguments, kind, message) in [
        (NOTEBOOK, new(json!({"cell_id": "cc"})), ErrorKind::ValidationError, format!("Cell id not found: 'cc' in n.ipynb. {cells}")),
        (
            NOTEBOOK,
            new(json!({"cell_id": "cell-2"})),
            ErrorKind::ValidationError,
            format!("Cell id not found: 'cell-2' in n.ipynb. {cells}"),
        ),
        (
            NOTEBOOK,
            new(json!({})),
            ErrorKind::ValidationError,
            format!("Missing required parameter: 'cell_id'. It names the cell to replace. {cells}"),
        ),
        (
            NOTEBOOK,
            json!({"cell_id": "aa"}),
            ErrorKind::ValidationError,
            "Missing required parameter: 'new_source'. With edit_mode='replace' it is the source of the cell.".into(),
        ),
        (
            NOTEBOOK,
            new(json!({"notebook_path": "n.py"})),
            ErrorKind::ValidationError,
            "Not a notebook: 'n.py' does not end in .ipynb. Use edit_file for other files.".into(),
        ),
        (
            &twins,
            new(json!({"cell_id": "aa"})),
            ErrorKind::ValidationError,
            "Ambiguous cell id: 2 cells of n.ipynb are called 'aa'. Name one by its number, such as cell_id='0'.".into(),
        ),
        (
            &odd,
            new(json!({"cell_id": "bb"})),
            ErrorKind::ValidationError,
            "Cell 'bb' has the unknown type 'heading'. Give cell_type as well: code, markdown or raw.".into(),
        ),
        (
            "{\"nbformat\": 4, \"cells\": []}",
            json!({"edit_mode": "delete"}),
            ErrorKind::ValidationError,
            "Missing required parameter: 'cell_id'. It names the cell to delete. The notebook has no cells: use edit_mode='insert'.".into(),
        ),
        (
            "{\"a\":\n ]",
            new(json!({})),
            ErrorKind::NotText,
            "Not a notebook: n.ipynb cannot be read as one: it is not JSON: expected value at line 2 column 2.".into(),
        ),
        ("{}", new(json!({})), ErrorKind::NotText, "Not a notebook: n.ipynb cannot be read as one: it has no number 'nbformat'.".into()),
        (NOTEBOOK, new(json!({"notebook_path": "no.ipynb"})), ErrorKind::FileNotFound, "File not found: no.ipynb".into()),
    ] {
        host.files.put("n.ipynb", content);
        assert_eq!(expect_error(edit(&host, arguments.clone()).await), (kind, message), "{arguments}");
        assert_eq!(host.files.text("n.ipynb").unwrap(), content);
    }
    host.files.put("n.ipynb", b"\xff".to_vec());
    let (kind, message) = expect_error(edit(&host, new(json!({}))).await);
    assert!(kind == ErrorKind::NotText && message.contains("it is not UTF-8"), "{message}");
    let (kind, message) = expect_error(edit(&host, new(json!({"cell_type": "heading"}))).await);
    assert!(kind == ErrorKind::ValidationError && ["code", "markdown", "raw"].iter().all(|name| message.contains(name)), "{message}");
    assert!(host.journal.kept().is_empty());
}

#[tokio::test]
async fn what_someone_else_changed_is_not_overwritten() {
    let (host, seen, place) = (FakeHost::new(), Arc::new(SeenFiles::default()), std::path::Path::new("/workspace/n.ipynb"));
    let edit = async |source: &str| {
        let arguments = json!({"notebook_path": "n.ipynb", "cell_id": "bb", "new_source": source});
        let (plan, run) = Erased::new(NotebookEdit).prepare(arguments, &PlanContext::new(&*host)).unwrap().into_parts();
        run(context_for(plan, Arc::clone(&host)).remembering(Arc::clone(&seen))).await
    };
    host.files.put("n.ipynb", NOTEBOOK);
    edit("never read").await.unwrap();
    let known = seen.fingerprint(place).unwrap();
    edit("its own change is known").await.unwrap();
    assert_ne!(seen.fingerprint(place).unwrap(), known);
    host.files.put("n.ipynb", NOTEBOOK);
    let message = "n.ipynb was changed since this session saw it last, so nothing was written. Read it again, then repeat the change.";
    assert_eq!(expect_error(edit("x").await), (ErrorKind::ExecutionError, message.to_owned()));
    assert_eq!(host.files.text("n.ipynb").unwrap(), NOTEBOOK);
}

#[test]
fn the_plan_reads_and_writes_the_notebook() {
    let host = FakeHost::new();
    let arguments = json!({"notebook_path": "../n.ipynb", "new_source": ""});
    let prepared = Erased::new(NotebookEdit).prepare(arguments, &PlanContext::new(&*host)).unwrap();
    let effect = |kind: &str| json!({"effect": kind, "path": "/n.ipynb", "outside": true});
    assert_eq!(serde_json::to_value(prepared.plan().effects()).unwrap(), json!([effect("read"), effect("write")]));
}
