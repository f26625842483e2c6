//! One session and one task for each conversation: its messages are answered one after the other.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_store::ConversationRecord;
use haft_text::truncate::first_chars;
use serde_json::json;
use tokio::sync::mpsc;

use super::{Inbox, WaitingMessage, is_owner, locked};
use crate::driver::IncomingMessage;
use crate::limits::{MOST_CONVERSATIONS, MOST_WAITING};
use crate::texts::pieces;
use crate::voice;

/// How often a queue is looked at in which somebody has a place.
const RECORDING: Duration = Duration::from_millis(20);
/// Messages of one answer; the rest is on the page.
const MOST_PIECES: usize = 10;

impl Inbox {
    /// A place in the queue of a conversation, whose task is started if there is none. A conversation has a task only while it is answered,
    /// so that those that are silent take no place of others.
    pub(super) fn reserve(self: &Arc<Self>, channel: &str, message: &IncomingMessage) -> Option<mpsc::OwnedPermit<WaitingMessage>> {
        let key = conversation_key(channel, message);
        let mut workers = locked(&self.workers);
        // Of a task that failed.
        workers.retain(|_, queue| !queue.is_closed());
        if let Some(queue) = workers.get(&key) {
            return queue.clone().try_reserve_owned().ok();
        }
        if workers.len() >= MOST_CONVERSATIONS || self.stop.is_cancelled() {
            return None;
        }
        let (queue, messages) = mpsc::channel(MOST_WAITING);
        let place = queue.clone().try_reserve_owned().ok();
        workers.insert(key.clone(), queue);
        let (inbox, channel) = (Arc::clone(self), channel.to_owned());
        tokio::spawn(async move { inbox.work(&key, &channel, messages).await });
        place
    }

    async fn work(&self, key: &str, channel: &str, mut messages: mpsc::Receiver<WaitingMessage>) {
        loop {
            let next = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                message = messages.recv() => message,
                () = self.left_by_all(key) => return,
            };
            let Some(waiting) = next else { return };
            if self.respond(channel, &waiting).await {
                self.settled(channel, &waiting.message.id).await;
            }
        }
    }

    /// Returns when nothing waits in a queue, and nobody has a place in it; then it is not in the list any more.
    async fn left_by_all(&self, key: &str) {
        loop {
            {
                let mut workers = locked(&self.workers);
                if workers.get(key).is_none_or(|queue| queue.capacity() == MOST_WAITING) {
                    workers.remove(key);
                    return;
                }
            }
            // Somebody records a message for it, or it turned out to be known.
            tokio::time::sleep(RECORDING).await;
        }
    }

    /// Runs the turn of a message, and sends its answer. `false` if the server stopped before: the next one answers it.
    async fn respond(&self, channel: &str, waiting: &WaitingMessage) -> bool {
        let message = &waiting.message;
        let begun = waiting.cut_off.unwrap_or_else(SystemTime::now);
        let turn = async {
            let session = self.session(channel, message).await?;
            let text = self.text_of(channel, message).await;
            let answer = match waiting.cut_off {
                Some(since) => self.host.resume(&session, text, since).await?,
                None => self.host.turn(&session, text).await?,
            };
            Ok::<_, String>((session, answer))
        };
        let (session, answer) = match turn.await {
            Ok((session, answer)) => (Some(session), answer),
            Err(_) if self.stop.is_cancelled() => return false,
            // The sender is told that it failed; why is for the owner, who sees it on the page.
            Err(_) => (None, "This message could not be answered. The owner of this Haft can see why.".to_owned()),
        };
        if let Some(session) = &session
            && self.was_said(channel, message, session, &answer, begun).await
        {
            return true;
        }
        let longest = self
            .service
            .find(channel)
            .and_then(|channel| channel.driver.as_ref().ok())
            .map_or(1_000, |driver| driver.capabilities().longest);
        for (number, piece) in pieces(&answer, longest).into_iter().take(MOST_PIECES).enumerate() {
            let key = format!("answer-{}-{number}", key_of(&message.id));
            self.reply(channel, message, &piece, Some(key)).await.ok();
        }
        true
    }

    /// What a message says, also by voice or in its subject.
    async fn text_of(&self, channel: &str, message: &IncomingMessage) -> String {
        let text = match self.service.find(channel).map(|channel| &channel.driver) {
            Some(Ok(driver)) => voice::text_of(message, &**driver, self.transcriber.get().map(|transcriber| &**transcriber)).await,
            _ => message.text.clone(),
        };
        let subject = message.subject.as_deref().map(str::trim).filter(|subject| !subject.is_empty() && *subject != text);
        subject.map_or_else(|| text.clone(), |subject| format!("Subject: {}\n\n{text}", first_chars(subject, 500)))
    }

    /// Whether the model has sent the same text to this conversation with the tool `message` already.
    async fn was_said(&self, channel: &str, message: &IncomingMessage, session: &str, answer: &str, since: SystemTime) -> bool {
        let Ok(store) = self.service.store() else { return false };
        let Ok(sent) = store.outgoing(Some(channel), 20, SystemTime::now()).await else { return false };
        let excerpt = haft_text::truncate::ellipsize(answer.trim(), 200).into_owned();
        sent.iter().any(|record| {
            let intent = &record.intent;
            intent.created >= since
                && intent.recipient == message.conversation
                && intent.origin.as_ref().is_some_and(|(origin, _)| origin == session)
                && intent.excerpt.trim() == excerpt
        })
    }

    /// The session of a conversation, which knows the sender of the newest message.
    async fn session(&self, channel: &str, message: &IncomingMessage) -> Result<String, String> {
        let failed = |error: haft_store::StoreError| error.to_string();
        let (store, conversation) = (self.service.store()?, conversation_name(message));
        let configured = self.service.find(channel).ok_or("the channel is gone")?;
        let known = store.conversation(channel, &conversation).await.map_err(failed)?;
        let (is_owner, sender) = (is_owner(configured, &message.sender), json!(message.sender).to_string());
        let session = match &known {
            Some(known) => known.session.clone(),
            None => self.host.begin(configured.settings.agent.as_deref(), &title(channel, message)).await?,
        };
        let is_another = known.as_ref().is_some_and(|known| known.sender != sender || known.is_owner != is_owner);
        let record = ConversationRecord {
            channel: channel.to_owned(),
            conversation,
            session: session.clone(),
            sender,
            is_owner,
            updated: SystemTime::now(),
        };
        store.put_conversation(record).await.map_err(failed)?;
        if is_another {
            self.host.change_sender(&session).await;
        }
        Ok(session)
    }
}

fn conversation_key(channel: &str, message: &IncomingMessage) -> String {
    format!("{channel}\n{}", conversation_name(message))
}

/// The name of a conversation. A group says so: the policy has a step for it.
pub(super) fn conversation_name(message: &IncomingMessage) -> String {
    let kind = if message.is_group { "group" } else { "direct" };
    match &message.thread {
        Some(thread) => format!("{kind}:{}/{thread}", message.conversation),
        None => format!("{kind}:{}", message.conversation),
    }
}

/// The channel as the policy knows it: `telegram`, or `telegram:-100` for one group of it.
pub fn policy_channel(record: &ConversationRecord) -> String {
    let room = record.conversation.strip_prefix("group:").map(|rest| rest.split_once('/').map_or(rest, |(room, _)| room));
    room.map_or_else(|| record.channel.clone(), |room| format!("{}:{room}", record.channel))
}

fn title(channel: &str, message: &IncomingMessage) -> String {
    let sender = message.sender.username.as_deref().or(message.sender.name.as_deref()).unwrap_or(&message.sender.id);
    let sender = haft_text::display::shorten(sender, 40);
    if message.is_group { format!("{channel}: {}", message.conversation) } else { format!("{channel}: {sender}") }
}

/// Ids of messages have marks that keys of services may not have.
pub(super) fn key_of(id: &str) -> String {
    crate::signature::sha256(id.as_bytes())[..24].to_owned()
}
