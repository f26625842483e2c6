//! `haft memory`: adds, searches, lists, removes, checks and explains notes.

pub(crate) mod change;
mod check;
pub(crate) mod why;

use std::sync::Arc;

use haft_contract::ports::{Host, MemoryAnswer, MemoryAuthor, MemoryHit, MemoryIndex, MemoryQuery, MemoryScope, MemoryWriter};
use haft_contract::{Location, PlanContext, ToolError};
use haft_memory::IndexedNote;
use haft_text::{display, numbers};
use haft_tui::time::local_time;
use serde_json::{Value, json};

use crate::arguments::{Common, MemoryCommand};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, Output, STRONG, note, warn};
use crate::table::{ColumnFit, Table, TableCell};
use crate::text_builder::TextBuilder;
use crate::wire::Wire;

const MOMENT: &str = "%Y-%m-%d %H:%M";

pub(crate) fn run(common: &Common, command: &MemoryCommand, output: &Output) -> Result<Exit, Failure> {
    let wire = Arc::new(Wire::new(common, output)?);
    block_on(async {
        match command {
            MemoryCommand::Add { text, file } => change::add(&wire, text, file, output).await,
            MemoryCommand::Forget { citation } => change::forget(&wire, citation, output).await,
            MemoryCommand::Search { query, limit } => search(&wire, query, usize::try_from(*limit).unwrap_or(6), output).await,
            MemoryCommand::List => list(&wire, output).await,
            MemoryCommand::Check => check::run(&wire, output).await,
            MemoryCommand::Why { citation } => why::run(&wire, citation, output).await,
        }
    })
}

/// The files of memory as the user may read them: rules on reading hold.
struct MemoryFiles {
    host: Arc<dyn Host>,
    roots: Vec<Location>,
}

impl MemoryFiles {
    fn open(wire: &Wire) -> Result<Self, Failure> {
        let host = wire.memory_host()?;
        let roots = PlanContext::new(&*host).memory_roots().map_err(failed)?;
        Ok(Self { host, roots })
    }

    fn file(&self, path: &str) -> Result<Location, Failure> {
        let located = PlanContext::new(&*self.host).memory_file(path);
        located.map_err(|error| Failure::usage(error.message().trim_end_matches('.').to_owned()).help("`haft memory list` lists the files"))
    }

    fn scope(&self) -> MemoryScope<'_> {
        MemoryScope { files: self.host.files(), roots: self.roots.clone(), sessions: None }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn failed(error: ToolError) -> Failure {
    Failure::failed(error.kind().as_str(), error.message().trim_end_matches('.').to_owned())
}

/// What fits a question.
pub(crate) async fn find(wire: &Wire, query: &str, limit: usize) -> Result<MemoryAnswer, Failure> {
    if query.trim().is_empty() {
        return Err(Failure::usage("the query is empty").help("say what to look for: haft memory search \"release day\""));
    }
    let files = MemoryFiles::open(wire)?;
    let query = MemoryQuery { query: query.to_owned(), max_results: limit, min_score: 0.0 };
    wire.memory().search(query, files.scope()).await.map_err(failed)
}

async fn search(wire: &Wire, query: &str, limit: usize, output: &Output) -> Result<Exit, Failure> {
    let answer = find(wire, query, limit).await?;
    for warning in answer.fallback.iter().chain(&answer.warnings) {
        warn(warning.trim_end_matches('.'));
    }
    if answer.hits.is_empty() {
        let files = numbers::count(answer.files, "memory file");
        note(&format!("nothing in {files} fits"));
    }
    output.show(|| answer_json(&answer), || page(&answer.hits))
}

pub(crate) fn answer_json(answer: &MemoryAnswer) -> Value {
    let results: Vec<Value> = answer
        .hits
        .iter()
        .map(|hit| {
            json!({
                "citation": hit.citation(), "path": hit.path, "start_line": hit.start_line, "end_line": hit.end_line,
                "score": hit.score, "snippet": hit.snippet, "source": hit.source, "written_by": writer_json(&hit.writer),
            })
        })
        .collect();
    json!({"results": results, "model": answer.model, "fallback": answer.fallback, "files": answer.files, "warnings": answer.warnings})
}

fn page(hits: &[MemoryHit]) -> String {
    let mut page = TextBuilder::default();
    for hit in hits {
        let by = describe(&hit.writer);
        page.line(format_args!("{STRONG}{}{STRONG:#}  {DIM}{:.2}, {by}{DIM:#}", display::escape_line(&hit.citation()), hit.score));
        for line in hit.snippet.lines() {
            page.line(format_args!("  {}", display::escape_line(line)));
        }
    }
    page.finish()
}

/// Who wrote it, in a few words.
fn describe(writer: &MemoryWriter) -> String {
    let call = writer.call.as_deref().map(|call| format!(", call {}", short(call))).unwrap_or_default();
    let mixed = if writer.is_mixed { ", edited since" } else { "" };
    match writer.author() {
        MemoryAuthor::User => format!("you{call}{mixed}"),
        MemoryAuthor::Agent => {
            let taint = if writer.is_tainted { format!(", {CAUTION}after untrusted content{CAUTION:#}") } else { String::new() };
            let session = writer.session.as_deref().unwrap_or_default();
            format!("agent {}, session {}{call}{mixed}{taint}", writer.agent.as_deref().unwrap_or_default(), short(session))
        }
    }
}

/// As long as `haft history` needs it.
fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

fn writer_json(writer: &MemoryWriter) -> Value {
    json!({
        "author": writer.author(), "agent": writer.agent, "session": writer.session, "call": writer.call,
        "tainted": writer.is_tainted, "edited_since": writer.is_mixed,
    })
}

/// All files of memory, and what the user should know about them.
pub(crate) async fn notes(wire: &Wire) -> Result<(Vec<IndexedNote>, Vec<String>), Failure> {
    let files = MemoryFiles::open(wire)?;
    wire.memory().notes(files.host.files(), &files.roots).await.map_err(failed)
}

async fn list(wire: &Wire, output: &Output) -> Result<Exit, Failure> {
    let (notes, warnings) = notes(wire).await?;
    for warning in &warnings {
        warn(warning.trim_end_matches('.'));
    }
    if notes.is_empty() {
        note("there are no memory files: `haft memory add TEXT` makes MEMORY.md, and memory/*.md may hold more");
    }
    let mut table = Table::new(&[("FILE", ColumnFit::Cut), ("SIZE", ColumnFit::Keep), ("CHANGED", ColumnFit::Keep)]);
    for note in &notes {
        let changed = note.known.stamp.modified.map(|at| local_time(at, MOMENT)).unwrap_or_default();
        let size = numbers::size(note.known.stamp.size);
        table.row(vec![TableCell::new(&note.path), TableCell::new(&size), TableCell::styled(&changed, DIM)]);
    }
    let rows = || notes.iter().map(|note| json!({"path": note.path, "bytes": note.known.stamp.size, "note": note.known.note}));
    output.show(|| rows().collect::<Vec<_>>(), || table.render(output.width))
}
