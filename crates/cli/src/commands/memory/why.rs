//! `haft memory why`: who wrote lines, and with which call.

use haft_contract::ports::{MemoryIndex, MemoryLines};
use haft_memory::parse_citation;
use haft_text::display;
use serde_json::{Value, json};

use super::{MemoryFiles, describe, failed, writer_json};
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, STRONG};
use crate::text_builder::TextBuilder;
use crate::wire::Wire;

const MOST_BYTES: usize = 8 << 20;

pub(super) async fn run(wire: &Wire, citation: &str, output: &Output) -> Result<Exit, Failure> {
    let (path, wanted) = parse_citation(citation).map_err(Failure::usage)?;
    let files = MemoryFiles::open(wire)?;
    let at = files.file(path)?;
    let file = files.host.files().open(&at).await.map_err(failed)?;
    let content = file.read_at(0, MOST_BYTES).await.map_err(failed)?;
    let text = String::from_utf8_lossy(&content);
    let lines: Vec<&str> = text.lines().collect();
    let (first, last) = wanted.map_or((1, lines.len()), |wanted| (wanted.first, wanted.last.min(lines.len())));
    if first > lines.len() {
        return Err(Failure::usage(format!("'{path}' has {}", haft_text::numbers::count(lines.len(), "line"))));
    }
    let parts = wire.memory().writers(&at, &content).await.map_err(failed)?;
    let parts: Vec<MemoryLines> = parts
        .into_iter()
        .filter(|part| part.first <= last && part.last >= first)
        .map(|part| MemoryLines { first: part.first.max(first), last: part.last.min(last), ..part })
        .collect();
    output.show(
        || json!({"path": at.display(), "parts": parts.iter().map(part_json).collect::<Vec<_>>()}),
        || page(at.display(), &lines, &parts),
    )
}

/// A file with who wrote each part of it.
pub(crate) async fn file_json(wire: &Wire, path: &str) -> Result<Value, Failure> {
    let files = MemoryFiles::open(wire)?;
    let at = files.file(path)?;
    let file = files.host.files().open(&at).await.map_err(failed)?;
    let content = file.read_at(0, MOST_BYTES).await.map_err(failed)?;
    let parts = wire.memory().writers(&at, &content).await.map_err(failed)?;
    let is_whole = content.len() as u64 == file.size() && std::str::from_utf8(&content).is_ok();
    let parts: Vec<Value> = parts.iter().map(part_json).collect();
    Ok(json!({"path": at.display(), "text": String::from_utf8_lossy(&content), "editable": is_whole, "parts": parts}))
}

fn part_json(part: &MemoryLines) -> Value {
    json!({"first": part.first, "last": part.last, "written_by": writer_json(&part.writer)})
}

fn page(path: &str, lines: &[&str], parts: &[MemoryLines]) -> String {
    let mut page = TextBuilder::default();
    for part in parts {
        let path = display::escape_line(path);
        let range = if part.first == part.last { format!("#L{}", part.first) } else { format!("#L{}-L{}", part.first, part.last) };
        page.line(format_args!("{STRONG}{path}{range}{STRONG:#}  {}", describe(&part.writer)));
        for line in lines.get(part.first - 1..part.last).unwrap_or_default() {
            page.line(format_args!("  {}", display::escape_line(line)));
        }
        if let Some(call) = &part.writer.call {
            page.line(format_args!("  {DIM}haft history {call}{DIM:#}"));
        }
    }
    page.finish()
}
