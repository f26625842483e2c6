//! `haft run`: one turn of a conversation.

mod schema;
pub(super) mod server;
mod server_lines;

use std::io::Read;
use std::sync::Arc;

use haft_agent::{EndReason, TurnEnd, TurnWatcher};
use tokio_util::sync::CancellationToken;

use haft_tui::chat::Prompt;

use crate::arguments::{Common, RunArgs};
use crate::attachments;
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::conversation::{self, ConversationStart};
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note};
use crate::terminal::{JsonLines, TurnPrinter, introduce};
use crate::user_commands;
use crate::wire::{UserPrompts, Wire, models};

/// The longest prompt.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) fn run(common: &Common, request: &RunArgs, output: &Output) -> Result<Exit, Failure> {
    let prompt = prompt(request)?;
    if let Some(named) = &request.server {
        return server::run(request, named, &prompt, output);
    }
    let schema = request.schema.as_deref().map(schema::read).transpose()?;
    let wire = Arc::new(Wire::new(common, output)?);
    block_on(async {
        let watcher = watcher(output, schema.is_some());
        let prompts = if request.prompt == "-" { UserPrompts::Never } else { UserPrompts::Allowed };
        let session = match &request.session {
            Some(name) => Some(conversation::named_session(&wire, name).await?),
            None => None,
        };
        let stored = match (&request.model, &session) {
            (None, Some(session)) => conversation::stored_model(&wire, session).await?,
            _ => None,
        };
        let start = ConversationStart {
            session: session.as_deref(),
            model: request.model.as_deref().or(stored.as_deref()),
            prompts,
            max_rounds: request.max_rounds,
            waits_for_agents: true,
            output: schema.clone(),
        };
        // Before the session is opened: a command or file that is not there leaves no empty one.
        let sent = expand_prompt(&wire, request, &prompt).await?;
        let message = attachments::message(&wire, &sent, &request.files).await?;
        let mut conversation = conversation::open(&wire, start, watcher).await?;
        if let Err(failure) = attachments::check_pictures(&message, conversation.runner.provider.model()) {
            if request.session.is_none() {
                conversation.sessions.delete(&conversation.record.id).await?;
            }
            return Err(failure);
        }
        schema.as_deref().map_or(Ok(()), |schema| schema::check(&conversation.runner, schema))?;
        conversation.title_from(&prompt).await?;
        sent.prepare(&conversation.runner.session)?;
        if !output.json && request.model.is_none() && !models::is_configured(&wire.settings) {
            introduce(conversation.runner.provider.model(), &conversation.reason);
        }
        let cancel = CancellationToken::new();
        let (end, stopped) = interruptible(conversation.runner.turn(message, &cancel), &cancel).await?;
        conversation.finish().await;
        conversation.log.flush().await?;
        if end.reason == EndReason::Cancelled && !output.json {
            note(&format!("{DIM}haft sessions resume {} continues it.{DIM:#}", conversation.record.id));
        }
        if let Some(value) = end.output.as_ref().filter(|_| !output.json) {
            output.data(value)?;
        }
        // Whatever else the model did, without the output the command has failed.
        let is_missing = schema.is_some() && end.output.is_none();
        Ok(match exit(&end, stopped) {
            Exit::Success if is_missing => Exit::Failed,
            exit => exit,
        })
    })
}

/// What the model gets of a prompt: a command of the user is expanded.
async fn expand_prompt(wire: &Wire, request: &RunArgs, prompt: &str) -> Result<Prompt, Failure> {
    match user_commands::parse(prompt) {
        // What a program writes to standard input is data.
        _ if request.prompt == "-" => Ok(Prompt::data(prompt.to_owned())),
        Some((name, arguments)) => user_commands::expand(wire, name, arguments).await,
        None => Ok(Prompt::typed(prompt.to_owned())),
    }
}

/// Shows the turn: as JSON lines, or on the terminal, there without text where the result is structured.
fn watcher(output: &Output, is_structured: bool) -> Arc<dyn TurnWatcher> {
    if output.json {
        return Arc::new(JsonLines::default());
    }
    let printer = Arc::new(TurnPrinter::new(output));
    if is_structured { Arc::new(schema::WithoutText(printer)) } else { printer }
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
