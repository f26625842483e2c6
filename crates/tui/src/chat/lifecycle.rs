//! Opens a session in its folder, with its agent and model, and closes it.

use std::sync::Arc;

use haft_agent::{Provider, TurnWatcher};
use haft_store::SessionRecord;

use super::backend::{ChatBackend, NamedFiles, Prompt};
use crate::conversation::Conversation;
use crate::failure::Failure;
use crate::output::warn;

/// Begins a conversation, or resumes one. The named model is stored as the session's model.
pub async fn open_conversation(
    backend: &dyn ChatBackend,
    named: Option<&str>,
    session: Option<&SessionRecord>,
    watcher: Arc<dyn TurnWatcher>,
) -> Result<Conversation, Failure> {
    let model = match (named, session.and_then(|session| session.model.as_deref())) {
        (None, Some(stored)) => usable_model(backend, stored).await,
        (named, _) => named,
    };
    let mut conversation = backend.open(session.map(|session| session.id.as_str()), model, watcher).await?;
    if named.is_some() {
        let provider = Arc::clone(&conversation.runner.provider);
        change_model(&mut conversation, backend, provider).await?;
    }
    Ok(conversation)
}

/// Continues with another model, which does not get blocks that only the last one understands.
pub(super) async fn change_model(
    conversation: &mut Conversation,
    backend: &dyn ChatBackend,
    provider: Arc<dyn Provider>,
) -> Result<(), Failure> {
    let name = format!("{}/{}", provider.model().provider, provider.model().name);
    conversation.sessions.set_model(&conversation.record.id, Some(&name)).await?;
    conversation.runner.provider = provider;
    backend.rewire(conversation).await
}

/// Continues with the model that the conversation chose for its next turn, if it did; says which.
pub async fn adopt_chosen_model(conversation: &mut Conversation, backend: &dyn ChatBackend) -> Result<Option<String>, Failure> {
    let Some(provider) = conversation.agents.take_chosen_model() else { return Ok(None) };
    let name = format!("{}/{}", provider.model().provider, provider.model().name);
    conversation.runner.provider = provider;
    backend.rewire(conversation).await?;
    Ok(Some(name))
}

/// The model that a session used last, if it can still be used.
async fn usable_model<'m>(backend: &dyn ChatBackend, stored: &'m str) -> Option<&'m str> {
    // The demo model has no provider that could be configured.
    let name = if stored.starts_with("demo/") { "demo" } else { stored };
    match backend.provider(Some(name)).await {
        Ok(_) => Some(name),
        Err(failure) => {
            warn(&format!("the session used {stored}, which cannot be used now: {}", failure.message));
            None
        }
    }
}

/// Releases the session, and deletes it if it has no messages.
pub async fn close_conversation(conversation: Conversation) -> Result<(), Failure> {
    conversation.finish().await;
    let Conversation { runner, record, sessions, .. } = conversation;
    let is_empty = runner.messages.is_empty() && record.messages == 0;
    // The runner holds the claim on the session.
    drop(runner);
    if is_empty {
        sessions.delete(&record.id).await?;
    }
    Ok(())
}

/// The prompt of a message on a page: a command of the user, or text. Files that it names are those that the agent may read.
pub async fn page_prompt(chat: &dyn ChatBackend, text: &str) -> Result<Prompt, Failure> {
    let command = text.trim().strip_prefix('/').map(|rest| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
    match command.filter(|(name, _)| !name.is_empty() && !name.contains('/')) {
        Some((name, arguments)) => Ok(Prompt { files: NamedFiles::Readable, ..chat.expand(name, arguments.trim()).await? }),
        None => Ok(Prompt { files: NamedFiles::Readable, ..Prompt::typed(text) }),
    }
}
