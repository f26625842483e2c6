//! Changes of memory by the user: calls of the file tools, recorded and undoable like any other.

use std::sync::Arc;

use haft_contract::{ToolCall, ToolError};
use haft_memory::parse_citation;
use haft_store::CallLog;
use haft_text::{display, numbers};
use serde_json::{Value, json};

use super::{MemoryFiles, failed};
use crate::arguments::CallerArgs;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::wire::{UserPrompts, Wire};

/// The largest file whose lines are removed here.
const MOST_BYTES: usize = 8 << 20;

pub(super) async fn add(wire: &Arc<Wire>, text: &str, file: &str, output: &Output) -> Result<Exit, Failure> {
    let (citation, call) = add_note(wire, text, file).await?;
    output.show(|| json!({"citation": citation, "call": call}), || format!("{}\n", display::escape_line(&citation)))
}

/// Adds a note; returns where it is, and the id of the call.
pub(crate) async fn add_note(wire: &Arc<Wire>, text: &str, file: &str) -> Result<(String, String), Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage("the note is empty").help("say what to remember: haft memory add \"Releases are on Fridays\""));
    }
    check_secrets(text)?;
    let files = MemoryFiles::open(wire)?;
    let at = files.file(file)?;
    let before = content(&files, &at).await?;
    let start = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    // One entry of a list: later lines belong to it.
    let entry = text.replace('\n', "\n  ");
    let line = before.lines().count() + 1;
    let call = write(wire, file, &format!("{start}- {entry}\n"), "append").await?;
    Ok((format!("{}#L{line}", at.display()), call))
}

fn check_secrets(text: &str) -> Result<(), Failure> {
    let Some(shape) = haft_redact::first_secret(text) else { return Ok(()) };
    let message = format!("the note holds a secret ({shape}), and memory is plain text that models read");
    Err(Failure::usage(message).help("leave the secret out, and say where it is kept"))
}

/// Replaces the text of a file; returns the id of the call.
pub(crate) async fn replace(wire: &Arc<Wire>, path: &str, text: &str) -> Result<String, Failure> {
    check_secrets(text)?;
    let files = MemoryFiles::open(wire)?;
    files.file(path)?;
    write(wire, path, text, "overwrite").await
}

/// What was removed of memory, and with which call.
pub(crate) struct RemovedNote {
    /// The file.
    pub(crate) path: String,
    /// Its lines that are gone; `None` if the file is.
    pub(crate) lines: Option<String>,
    pub(crate) call: String,
}

pub(super) async fn forget(wire: &Arc<Wire>, citation: &str, output: &Output) -> Result<Exit, Failure> {
    let RemovedNote { path, lines, call } = remove(wire, citation).await?;
    match lines {
        None => output.show(|| json!({"removed": path, "call": call}), || format!("removed: {}\n", display::escape_line(&path))),
        Some(lines) => output.show(
            || json!({"removed": lines, "from": path, "call": call}),
            || format!("removed: {}\n", display::escape_lines(lines.trim_end())),
        ),
    }
}

/// Removes lines, or a whole file.
pub(crate) async fn remove(wire: &Arc<Wire>, citation: &str) -> Result<RemovedNote, Failure> {
    let (path, lines) = parse_citation(citation).map_err(Failure::usage)?;
    let files = MemoryFiles::open(wire)?;
    let at = files.file(path)?;
    let before = content(&files, &at).await?;
    let all: Vec<&str> = before.split_inclusive('\n').collect();
    if all.is_empty() {
        return Err(Failure::failed("file_not_found", format!("there is nothing in '{path}'")).help("`haft memory list` lists the files"));
    }
    let Some(lines) = lines else {
        let call =
            call(wire, "apply_patch", json!({"patch": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n")})).await?;
        return Ok(RemovedNote { path: path.to_owned(), lines: None, call });
    };
    if lines.last > all.len() {
        return Err(Failure::usage(format!("'{path}' has {}", numbers::count(all.len(), "line"))).help("`haft memory search` names lines"));
    }
    let kept: String =
        all.iter().enumerate().filter(|(at, _)| !(lines.first..=lines.last).contains(&(at + 1))).map(|(_, line)| *line).collect();
    let removed: String = all[lines.first - 1..lines.last].concat();
    let call = write(wire, path, &kept, "overwrite").await?;
    Ok(RemovedNote { path: path.to_owned(), lines: Some(removed), call })
}

async fn content(files: &MemoryFiles, at: &haft_contract::Location) -> Result<String, Failure> {
    let file = match files.host.files().open(at).await {
        Ok(file) => file,
        Err(error) if error.kind() == haft_contract::ErrorKind::FileNotFound => return Ok(String::new()),
        Err(error) => return Err(failed(error)),
    };
    if file.size() > MOST_BYTES as u64 {
        return Err(Failure::usage(format!("'{}' has {}", at.display(), numbers::size(file.size()))).help("change it with an editor"));
    }
    let bytes = file.read_at(0, MOST_BYTES).await.map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("'{}' is not UTF-8 text", at.display())).help("change it with an editor"))
}

async fn write(wire: &Arc<Wire>, path: &str, content: &str, mode: &str) -> Result<String, Failure> {
    call(wire, "write_file", json!({"path": path, "content": content, "mode": mode})).await
}

/// Makes a call of the user; returns its id.
async fn call(wire: &Arc<Wire>, tool: &str, arguments: Value) -> Result<String, Failure> {
    let store = wire.conversation_store()?;
    wire.repair_interrupted(&(Arc::clone(&store) as Arc<dyn CallLog>)).await;
    let jobs = wire.recorded_jobs(&store);
    let services = wire.memory_services();
    let setup = wire.calling(&wire.settings.workspace, store, jobs, UserPrompts::Allowed, &CallerArgs::default(), services)?;
    let id = format!("call_{}", &haft_store::new_uuid().simple().to_string()[16..]);
    let result = setup.engine.run(ToolCall::new(id.clone(), tool, arguments), &setup.session).await;
    setup.log.flush().await?;
    result.outcome.map(|_| id).map_err(|error: ToolError| failed(error))
}
