//! A tool with state and files: it counts its notes, and says beforehand which file it will write.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::sync::atomic::{AtomicU64, Ordering};

use haft::{Plan, PlanContext, Tool, ToolContext, ToolError, ToolMeta, Toolbox, WriteMode};
use schemars::JsonSchema;
use serde::Deserialize;

/// Adds a line to the notes of this program.
#[derive(ToolMeta)]
#[tool(name = "take_note", section = Files, category = Io, access = WorkspaceWrite, timeout_secs = 5)]
struct TakeNote {
    taken: AtomicU64,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    /// The line to add.
    text: String,
}

impl Tool for TakeNote {
    type Params = Note;
    type Output = String;

    fn plan(&self, _: &Note, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        Ok(Plan::nothing().write(cx.locate("notes.txt")?))
    }

    async fn execute(&self, note: Note, cx: &ToolContext) -> Result<String, ToolError> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
        cx.fs().write("notes.txt", format!("{number}. {}\n", note.text).into_bytes(), WriteMode::Append).await?;
        Ok(format!("That is note {number}."))
    }
}

/// The notes before and after the last one is undone.
pub(crate) async fn run() -> Result<String, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (work, state) = (folder.path().join("work"), folder.path().join("state"));
    std::fs::create_dir(&work)?;
    let toolbox = Toolbox::open(&work, &state)?;
    toolbox.add(TakeNote { taken: AtomicU64::new(0) })?;
    for text in ["sharpen the axe", "oil the handle"] {
        toolbox.call("take_note", serde_json::json!({"text": text})).await.outcome?;
    }
    let both = std::fs::read_to_string(work.join("notes.txt"))?;
    toolbox.undo_last().await?;
    Ok(format!("{both}---\n{}", std::fs::read_to_string(work.join("notes.txt"))?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", run().await?);
    Ok(())
}
