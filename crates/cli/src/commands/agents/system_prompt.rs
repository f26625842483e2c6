//! `haft agents show NAME --prompt`: the system prompt as the model gets it.

use haft_prompts::SystemPrompt;
use haft_text::display;
use serde_json::json;

use crate::arguments::CallerArgs;
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note};
use crate::system_prompt::system_prompt;
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire::Wire;

pub(super) fn run(wire: &Wire, output: &Output) -> Result<Exit, Failure> {
    let explainer = wire.explainer()?;
    let session = explainer.session(None, &CallerArgs::default())?;
    let (prompt, _) = block_on(system_prompt(wire, &explainer.engine, &session, None))?;
    let parts = || prompt.parts.iter().map(|part| json!({ "part": part.kind, "tokens": part.tokens(), "text": part.text }));
    let exit = output.show(
        || json!({ "tokens": total(&prompt), "parts": parts().collect::<Vec<_>>() }),
        || format!("{}\n", display::escape_lines(&prompt.text())),
    )?;
    if !output.json {
        note(table(&prompt).render(output.width).trim_end());
    }
    Ok(exit)
}

fn total(prompt: &SystemPrompt) -> usize {
    prompt.parts.iter().map(haft_prompts::PromptPart::tokens).sum()
}

fn table(prompt: &SystemPrompt) -> Table {
    let mut table = Table::new(&[("PART", ColumnFit::Keep), ("TOKENS", ColumnFit::Keep)]);
    for part in &prompt.parts {
        table.row(vec![TableCell::styled(part.kind, DIM), TableCell::new(&part.tokens().to_string())]);
    }
    table.row(vec![TableCell::new("all"), TableCell::new(&total(prompt).to_string())]);
    table
}
