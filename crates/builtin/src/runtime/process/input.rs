//! Input of a job.

use haft_contract::{Job, ToolError, ToolOutput};
use serde_json::json;

use super::keys::{self, KeyInput};
use super::params::{JobAction, Params};
use crate::command::exit::ending;
use crate::command::job_text::with_remarks;

const PASTE: (&str, &str) = ("\u{1b}[200~", "\u{1b}[201~");

/// Sends the input of a call to a job.
pub(super) async fn send(job: &dyn Job, params: &Params) -> Result<ToolOutput, ToolError> {
    let status = job.status();
    if let Some(end) = &status.end {
        let (id, ending) = (&status.id, ending(end, &status.command));
        return Err(ToolError::execution(format!("Job '{id}' reads no input: it has ended. {ending}")));
    }
    let KeyInput { bytes, warnings } = input(params, job.has_terminal())?;
    let closes = params.eof == Some(true) && params.action == JobAction::Write;
    job.write(&bytes, closes).await?;
    let (count, id) = (bytes.len(), &status.id);
    let amount = if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") };
    let and = if closes { ", and closed its input" } else { "" };
    let text = with_remarks(format!("Gave job '{id}' {amount}{and}. 'poll' shows its output."), &warnings);
    let mut details = json!({"job": id, "bytes": count, "closed": closes});
    if !warnings.is_empty() {
        details["warnings"] = warnings.into();
    }
    Ok(ToolOutput::text(text).with_details(details))
}

/// The input of a call in one line, for the plan.
pub(super) fn summary(params: &Params) -> String {
    let texts = [&params.literal, &params.data, &params.text].into_iter().flatten().cloned();
    let keys = [&params.hex, &params.keys].into_iter().flatten().flatten().cloned();
    texts.chain(keys).collect::<Vec<_>>().join(" ")
}

fn input(params: &Params, terminal: bool) -> Result<KeyInput, ToolError> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let plain = |text: String| KeyInput { bytes: text.into_bytes(), warnings: Vec::new() };
    match params.action {
        JobAction::SendKeys => keys::encode_keys(
            params.literal.as_deref().unwrap_or_default(),
            params.hex.as_deref().unwrap_or_default(),
            params.keys.as_deref().unwrap_or_default(),
            terminal,
        ),
        JobAction::Submit => Ok(plain(text(&params.data) + keys::enter(terminal))),
        JobAction::Paste if params.bracketed.unwrap_or(terminal) => {
            // The text must not end the paste: the rest of it would be typed.
            let pasted = text(&params.text).replace(PASTE.1, "");
            Ok(plain(format!("{}{pasted}{}", PASTE.0, PASTE.1)))
        }
        JobAction::Paste => Ok(plain(text(&params.text))),
        _ => Ok(plain(text(&params.data))),
    }
}
