//! `haft run`: one turn of a conversation, from the person's words to the model's last.

use std::io::Read;
use std::sync::Arc;

use haft_agent::{EndReason, Runner, Steering, StoredSession, TurnEnd, Watcher};
use haft_provider::Message;
use haft_store::{NewSession, SessionStore};
use tokio_util::sync::CancellationToken;

use crate::arguments::{Common, Run};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::terminal::{JsonLines, TurnOnTerminal};
use crate::wire::{self, Asking, Stores, Wire, models};

/// What stands before every conversation.
const SYSTEM: &str = "You are an assistant with tools on the person's own machine. Use them when they help, several at once where they do \
                      not depend on each other. A refusal of a tool says why and what to do instead: do not repeat the same call.";
/// How much of the first thing that is said is a session's title.
const TITLE_CHARACTERS: usize = 60;
/// More than this is not a prompt.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) fn run(common: &Common, request: &Run, output: &Output) -> Result<Exit, Failure> {
    let prompt = prompt(request)?;
    let wire = Wire::new(common, output)?;
    block_on(async {
        let provider = models::provider(&wire.settings, request.model.as_deref()).await?;
        let Stores { log, sessions: store } = wire::stores(&wire.settings.data_folder)?;
        let (stored, resumed) = open(&wire, store, request, &prompt).await?;
        for flaw in &resumed.flaws {
            note(&format!("the session was broken off: {}", flaw.sentence));
        }
        let asking = if request.prompt == "-" { Asking::Never } else { Asking::Allowed };
        let wired = wire.conversing(log, asking, &stored.record().id, provider.model())?;
        let watcher: Arc<dyn Watcher> = if output.json { Arc::new(JsonLines) } else { Arc::new(TurnOnTerminal::new(output)) };
        let cancel = CancellationToken::new();
        let mut runner = Runner {
            engine: wired.engine,
            session: wired.session,
            provider,
            ledger: Arc::new(stored),
            watcher,
            system: wire.prompt().unwrap_or(SYSTEM).to_owned(),
            max_rounds: request.max_rounds,
            messages: resumed.messages,
            steering: Steering::default(),
        };
        let (end, stopped) = interruptible(runner.turn(Message::user(prompt), &cancel), &cancel).await?;
        wired.log.flush().await?;
        finish(&end, stopped, output)
    })
}

/// The words of the command line, or all of standard input.
fn prompt(request: &Run) -> Result<String, Failure> {
    let mut text = request.prompt.clone();
    if text == "-" {
        text.clear();
        let read = std::io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("there is nothing to say to the model").help("haft run \"what time is it?\""));
    }
    if text.len() as u64 > MOST_BYTES {
        return Err(Failure::usage(format!("the prompt is longer than {MOST_BYTES} bytes")).help("write it into a file, and name the file"));
    }
    Ok(text)
}

async fn open(
    wire: &Wire,
    store: Arc<dyn SessionStore>,
    request: &Run,
    prompt: &str,
) -> Result<(StoredSession, haft_agent::Resumed), Failure> {
    let record = if let Some(id) = &request.session {
        store.open(id).await?
    } else {
        let mut session = NewSession::new(wire.settings.agent.as_str(), &wire.settings.workspace);
        session.title = Some(prompt.trim().lines().next().unwrap_or_default().chars().take(TITLE_CHARACTERS).collect());
        store.create(session).await?
    };
    Ok(StoredSession::open(store, record).await?)
}

fn finish(end: &TurnEnd, stopped: Option<Exit>, output: &Output) -> Result<Exit, Failure> {
    match (end.reason, stopped) {
        (EndReason::Cancelled, Some(exit)) => Ok(exit),
        (EndReason::Failed, _) if !output.json => {
            Err(Failure::failed("provider_error", end.error.clone().unwrap_or_else(|| "there was no answer".into())))
        }
        (EndReason::Done | EndReason::MaxTokens, _) => Ok(Exit::Success),
        _ => Ok(Exit::Failed),
    }
}
