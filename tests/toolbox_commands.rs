//! A program that embeds Haft and runs commands. It is a program of its own, because `haft::start` must be the first line of `main`: the
//! sandbox starts this program again.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test without the harness")]

use haft::{ToolError, Toolbox};
use serde_json::json;

const NAME: &str = "sandboxed_commands_of_a_toolbox_run_and_are_undone";

/// Counts the words of a text.
#[haft::tool]
async fn count_words(
    /// The text.
    text: String,
) -> Result<String, ToolError> {
    Ok(text.split_whitespace().count().to_string())
}

fn main() {
    haft::start();
    let words: Vec<String> = std::env::args().skip(1).collect();
    // What test runners ask a program without the harness of the standard library.
    if words.iter().any(|word| word == "--list") {
        if !words.iter().any(|word| word == "--ignored") {
            println!("{NAME}: test");
        }
        return;
    }
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    if filters.is_empty() || filters.iter().any(|filter| NAME.contains(filter.as_str())) {
        tokio::runtime::Runtime::new().unwrap().block_on(commands_run());
        println!("test {NAME} ... ok");
    }
}

async fn commands_run() {
    let folder = tempfile::tempdir().unwrap();
    let (work, state) = (folder.path().join("work"), folder.path().join("state"));
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("notes.txt"), "sharpen the axe\n").unwrap();
    std::fs::write(folder.path().join("private.txt"), "outside\n").unwrap();
    let toolbox = Toolbox::open(&work, &state).unwrap();
    toolbox.add(CountWords).unwrap();
    let names: Vec<String> = toolbox.definitions().into_iter().map(|definition| definition.name.into_owned()).collect();
    for name in ["exec", "process", "count_words"] {
        assert!(names.iter().any(|known| known == name), "{name} is missing: {names:?}");
    }
    let ran = toolbox.call("exec", json!({"command": "cat notes.txt && echo oil >> notes.txt && pwd"})).await.to_json();
    assert!(ran.contains(r#""status":"success""#) && ran.contains("sharpen the axe"), "{ran}");
    assert_eq!(std::fs::read_to_string(work.join("notes.txt")).unwrap(), "sharpen the axe\noil\n");
    // The view of the command is made from the policy: the folder above the workspace is not in it.
    let outside = toolbox.call("exec", json!({"command": "cat ../private.txt"})).await.to_json();
    assert!(!outside.contains("outside\\n") && !outside.contains("\"outside"), "{outside}");
    let private = state.join("haft.db").display().to_string();
    let own = toolbox.call("exec", json!({"command": format!("test -e {private} && echo seen || echo hidden")})).await.to_json();
    assert!(!own.contains("seen"), "{own}");
    toolbox.undo_last().await.unwrap();
    assert_eq!(std::fs::read_to_string(work.join("notes.txt")).unwrap(), "sharpen the axe\n");
}
