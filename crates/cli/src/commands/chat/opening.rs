//! A session is taken up, in its folder and with its agent and model, and put away again.

use std::sync::Arc;

use haft_agent::Watcher;
use haft_contract::visible;
use haft_store::SessionRecord;

use crate::arguments::Common;
use crate::conversation::{Beginning, Conversation};
use crate::failure::Failure;
use crate::output::{note, warn};
use crate::wire::{self, Asking, Wire, models};

/// The command line as if it had been given in the session's folder, for its agent; what it names itself stays.
pub(super) fn of_session(common: &Common, session: &SessionRecord) -> Result<Common, Failure> {
    let mut common = common.clone();
    if common.workspace.is_none() && session.workspace.is_dir() && wire::workspace(&common)? != session.workspace {
        note(&format!("working in {}, where the session was held", visible::line(&session.workspace.to_string_lossy())));
        common.workspace = Some(session.workspace.clone());
    }
    common.agent.get_or_insert_with(|| session.agent.clone());
    Ok(common)
}

/// Begins a conversation, or goes on with one. The model that is named is the session's from now on.
pub(super) async fn opened(
    wire: &Wire,
    named: Option<&str>,
    session: Option<&SessionRecord>,
    watcher: Arc<dyn Watcher>,
) -> Result<Conversation, Failure> {
    let model = match (named, session.and_then(|session| session.model.as_deref())) {
        (None, Some(kept)) => still_there(wire, kept).await,
        (named, _) => named,
    };
    let beginning = Beginning { session: session.map(|session| session.id.as_str()), model, asking: Asking::Allowed };
    let mut conversation = Conversation::open(wire, beginning, watcher).await?;
    if named.is_some() {
        let provider = Arc::clone(&conversation.runner.provider);
        conversation.change_model(wire, provider).await?;
    }
    Ok(conversation)
}

/// The model that a session went on with, if it can still be used.
async fn still_there<'m>(wire: &Wire, kept: &'m str) -> Option<&'m str> {
    // It has a name of its own, and no provider that could be configured.
    let name = if kept.starts_with("demo/") { "demo" } else { kept };
    match models::provider(&wire.settings, Some(name)).await {
        Ok(_) => Some(name),
        Err(failure) => {
            warn(&format!("the session was held with {kept}, which cannot be used now: {}", failure.message));
            None
        }
    }
}

/// Lets others have the session. One in which nothing was said is not kept.
pub(super) async fn put_away(conversation: Conversation) -> Result<(), Failure> {
    let Conversation { runner, record, sessions, .. } = conversation;
    let said = !runner.messages.is_empty() || record.messages > 0;
    // The claim goes with the runner.
    drop(runner);
    if !said {
        sessions.delete(&record.id).await?;
    }
    Ok(())
}
