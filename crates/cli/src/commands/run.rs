//! `haft run`: one turn of a conversation.

use std::io::Read;
use std::sync::Arc;

use haft_agent::{EndReason, TurnEnd, TurnWatcher};
use haft_provider::Message;
use tokio_util::sync::CancellationToken;

use crate::arguments::{Common, RunArgs};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::conversation::{self, ConversationStart};
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note};
use crate::terminal::{JsonLines, TurnPrinter, introduce};
use crate::wire::{UserPrompts, Wire, models};

/// The longest prompt.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) fn run(common: &Common, request: &RunArgs, output: &Output) -> Result<Exit, Failure> {
    let prompt = prompt(request)?;
    let wire = Wire::new(common, output)?;
    block_on(async {
        let watcher: Arc<dyn TurnWatcher> = if output.json { Arc::new(JsonLines::default()) } else { Arc::new(TurnPrinter::new(output)) };
        let prompts = if request.prompt == "-" { UserPrompts::Never } else { UserPrompts::Allowed };
        let start = ConversationStart { session: request.session.as_deref(), model: request.model.as_deref(), prompts };
        let mut conversation = conversation::open(&wire, start, watcher).await?;
        conversation.title_from(&prompt).await?;
        conversation.runner.max_rounds = request.max_rounds;
        if !output.json && request.model.is_none() && !models::is_configured(&wire.settings) {
            introduce(conversation.runner.provider.model(), &conversation.reason);
        }
        let cancel = CancellationToken::new();
        let (end, stopped) = interruptible(conversation.runner.turn(Message::user(prompt), &cancel), &cancel).await?;
        conversation.log.flush().await?;
        if end.reason == EndReason::Cancelled && !output.json {
            note(&format!("{DIM}haft sessions resume {} continues it.{DIM:#}", conversation.record.id));
        }
        Ok(exit(&end, stopped))
    })
}

/// The prompt of the command line, or standard input.
fn prompt(request: &RunArgs) -> Result<String, Failure> {
    let mut text = request.prompt.clone();
    if text == "-" {
        text.clear();
        let read = std::io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").help("haft run \"what time is it?\""));
    }
    if text.len() as u64 > MOST_BYTES {
        return Err(Failure::usage(format!("the prompt is longer than {MOST_BYTES} bytes")).help("write it to a file, and name the file"));
    }
    Ok(text)
}

/// The exit code of a turn.
fn exit(end: &TurnEnd, stopped: Option<Exit>) -> Exit {
    match (end.reason, stopped) {
        (EndReason::Cancelled, Some(exit)) => exit,
        (EndReason::Done | EndReason::MaxTokens, _) => Exit::Success,
        _ => Exit::Failed,
    }
}
