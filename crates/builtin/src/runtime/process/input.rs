//! What a job is given to read.

use haft_contract::{Job, ToolError, ToolOutput};
use serde_json::json;

use super::super::exit::ending;
use super::super::words::remarked;
use super::keys::{self, Typed};
use super::params::{Action, Params};

const PASTE: (&str, &str) = ("\u{1b}[200~", "\u{1b}[201~");

/// Gives a job the input that a call has for it.
pub(super) async fn given(job: &dyn Job, params: &Params) -> Result<ToolOutput, ToolError> {
    let status = job.status();
    if let Some(end) = &status.end {
        let (id, ending) = (&status.id, ending(end, &status.line));
        return Err(ToolError::execution(format!("Job '{id}' reads nothing any more: it has ended. {ending}")));
    }
    let Typed { bytes, warnings } = input(params, job.has_terminal())?;
    let closes = params.eof == Some(true) && params.action == Action::Write;
    job.write(&bytes, closes).await?;
    let (count, id) = (bytes.len(), &status.id);
    let amount = if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") };
    let and = if closes { ", and closed its input" } else { "" };
    let text = remarked(format!("Gave job '{id}' {amount}{and}. 'poll' shows what it makes of it."), &warnings);
    let mut details = json!({"job": id, "bytes": count, "closed": closes});
    if !warnings.is_empty() {
        details["warnings"] = warnings.into();
    }
    Ok(ToolOutput::text(text).with_details(details))
}

/// The input of a call, for whoever judges it.
pub(super) fn shown(params: &Params) -> String {
    let texts = [&params.literal, &params.data, &params.text].into_iter().flatten().cloned();
    let keys = [&params.hex, &params.keys].into_iter().flatten().flatten().cloned();
    texts.chain(keys).collect::<Vec<_>>().join(" ")
}

fn input(params: &Params, terminal: bool) -> Result<Typed, ToolError> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let plain = |text: String| Typed { bytes: text.into_bytes(), warnings: Vec::new() };
    match params.action {
        Action::SendKeys => keys::typed(
            params.literal.as_deref().unwrap_or_default(),
            params.hex.as_deref().unwrap_or_default(),
            params.keys.as_deref().unwrap_or_default(),
            terminal,
        ),
        Action::Submit => Ok(plain(text(&params.data) + keys::enter(terminal))),
        Action::Paste if params.bracketed.unwrap_or(terminal) => {
            // What is pasted must not end the paste: the rest of it would be typed.
            let pasted = text(&params.text).replace(PASTE.1, "");
            Ok(plain(format!("{}{pasted}{}", PASTE.0, PASTE.1)))
        }
        Action::Paste => Ok(plain(text(&params.text))),
        _ => Ok(plain(text(&params.data))),
    }
}
