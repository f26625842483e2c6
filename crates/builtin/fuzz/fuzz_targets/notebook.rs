//! Any bytes as a notebook: reading and changing it never panics, and a change touches one cell alone.
//!
//! The first byte says what to change and in which cell, the rest is the file.
#![no_main]

use std::sync::{Arc, LazyLock};

use haft_contract::{DynTool, ToolError, ToolOutput};
use haft_testkit::{FakeHost, run_tool};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));
static READ: LazyLock<Arc<dyn DynTool>> = LazyLock::new(|| tool("read_file"));
static EDIT: LazyLock<Arc<dyn DynTool>> = LazyLock::new(|| tool("notebook_edit"));

fn tool(name: &str) -> Arc<dyn DynTool> {
    haft_builtin::all().into_iter().find(|tool| tool.definition().name == name).expect("a tool of that name")
}

fn run(tool: &dyn DynTool, arguments: Value, host: &Arc<FakeHost>) -> Result<ToolOutput, ToolError> {
    let outcome = RUNTIME.block_on(run_tool(tool, arguments, Arc::clone(host)));
    if let Err(error) = &outcome {
        assert!(!error.message().contains("failed: "), "a panic became {}", error.message());
        assert!(!error.message().contains("would break"), "a broken notebook was made: {}", error.message());
    }
    outcome
}

fn cells(content: &[u8]) -> Option<Vec<Value>> {
    let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    Some(serde_json::from_slice::<Value>(content).ok()?["cells"].as_array()?.clone())
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, content)) = data.split_first() else { return };
    let host = FakeHost::new();
    host.files.put("n.ipynb", content);
    drop(run(&**READ, json!({"path": "n.ipynb"}), &host));
    let (mode, kind, index) = (choice % 3, choice / 3 % 4, usize::from(choice / 12));
    let mut arguments = json!({"notebook_path": "n.ipynb", "cell_id": index.to_string(), "new_source": "a\né\"\\"});
    arguments["edit_mode"] = ["replace", "insert", "delete"][usize::from(mode)].into();
    if kind > 0 {
        arguments["cell_type"] = ["code", "markdown", "raw"][usize::from(kind) - 1].into();
    }
    let Ok(output) = run(&**EDIT, arguments, &host) else { return };
    let (Some(before), Some(after)) = (cells(content), cells(&host.files.get("n.ipynb").expect("it is still there"))) else { return };
    let index = output.details.and_then(|details| details["index"].as_u64()).expect("an index") as usize;
    let mut expected = before;
    match mode {
        0 => expected[index] = after[index].clone(),
        1 => expected.insert(index, after[index].clone()),
        _ => drop(expected.remove(index)),
    }
    assert_eq!(after, expected);
});
