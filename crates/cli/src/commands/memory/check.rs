//! `haft memory check`: what a user may want to clean up.

use std::path::Path;

use haft_memory::{MemoryProblem, check_notes};
use haft_text::{display, numbers};
use serde_json::json;

use super::{MemoryFiles, failed};
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, Output};
use crate::text_builder::TextBuilder;
use crate::wire::Wire;

pub(super) async fn run(wire: &Wire, output: &Output) -> Result<Exit, Failure> {
    let files = MemoryFiles::open(wire)?;
    let chunks = wire.memory().chunks(files.host.files(), &files.roots).await.map_err(failed)?;
    let chunks: Vec<_> = chunks.into_iter().map(|(chunk, _)| chunk).collect();
    let workspace = &wire.settings.workspace;
    let exists = |file: &str, target: &str| {
        let folder = workspace.join(file).parent().map_or_else(|| workspace.clone(), Path::to_owned);
        let decoded = haft_text::percent::decode(target);
        let is_there = |target: &str| folder.join(target).exists() || workspace.join(target.trim_start_matches('/')).exists();
        is_there(target) || is_there(&decoded)
    };
    let problems = check_notes(&chunks, &exists);
    let rows =
        || problems.iter().map(|problem| json!({"kind": problem.kind, "at": problem.at, "message": problem.message})).collect::<Vec<_>>();
    output.show(|| json!({"problems": rows()}), || page(&problems))?;
    Ok(if problems.is_empty() { Exit::Success } else { Exit::Failed })
}

fn page(problems: &[MemoryProblem]) -> String {
    let mut page = TextBuilder::default();
    for problem in problems {
        let at = display::escape_line(&problem.at);
        page.line(format_args!("{CAUTION}{}{CAUTION:#}: {at}: {}", problem.kind, display::escape_line(&problem.message)));
    }
    page.line(format_args!(
        "{}",
        if problems.is_empty() { "nothing to clean up".into() } else { numbers::count(problems.len(), "problem") }
    ));
    page.finish()
}
