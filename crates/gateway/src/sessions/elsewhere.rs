//! Turns of sessions that other processes run: given away by this server, or by another one and only shown here.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use haft_agent::{EndReason, TurnEnd, TurnEvent, TurnWatcher};
use haft_provider::Message;
use haft_tui::chat::ChatBackend;
use haft_tui::conversation::Conversation;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::actor::{FLUSH, SessionActor};
use super::host::{MessagePurpose, PendingMessage, SentMessage, SessionHost};
use super::watcher::LiveSession;
use crate::api::ItemContent;
use crate::attachments::shown_text;
use crate::error::ApiError;
use crate::remote::{RemoteEvent, RemoteMessage, RemoteTurn, RemoteTurns};

/// How long the last events of a turn may take that has ended.
const LAST_EVENTS: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);
/// Messages of one turn among which is looked for what the user said.
const MOST_LOOKED_AT: usize = 10_000;
/// Turns of other servers that are shown at once.
const MOST_MIRRORS: usize = 10_000;

impl SessionHost {
    /// Shows what happens in a turn that another process runs.
    pub(crate) async fn mirror_event(&self, session: &str, event: RemoteEvent) {
        match event {
            RemoteEvent::Begin { agent, text, messages } => self.begin_mirror(session, &agent, &text, messages).await,
            RemoteEvent::Event { event } => {
                if let Some(live) = self.live_of(session) {
                    event.tell(&live);
                    live.flush();
                }
            }
            RemoteEvent::Question { view } => self.approvals.asked_elsewhere(view, self.backend.remote()),
            RemoteEvent::QuestionClosed { id, answer, by } => self.approvals.closed_elsewhere(session, &id, &answer, &by),
            RemoteEvent::Over => {
                self.approvals.over_elsewhere(session);
                let mirror = self.mirrors().remove(session);
                if let Some(live) = mirror {
                    live.change(|live| (live.clear(), Vec::new()));
                    self.announce(session).await;
                }
            }
        }
    }

    async fn begin_mirror(&self, session: &str, agent: &str, text: &str, messages: u64) {
        if let Some(own) = self.own_live(session).filter(|own| own.live().base.is_some()) {
            // This server gave the turn away.
            own.live().is_heard = true;
            return;
        }
        if self.mirror(session).is_some() {
            // Another worker continues it.
            return;
        }
        let live = LiveSession::new(session, agent, &self.approvals, self.backend.calls());
        live.change(|turn| {
            turn.begin(self.approvals.hub.newest(), messages);
            turn.user(text, Some(messages), false)
        });
        self.keep_mirror(session, live);
        self.announce(session).await;
    }

    fn keep_mirror(&self, session: &str, live: LiveSession) {
        let mut mirrors = self.mirrors();
        if mirrors.len() < MOST_MIRRORS {
            mirrors.insert(session.to_owned(), live);
        }
    }

    pub(super) fn mirror(&self, id: &str) -> Option<LiveSession> {
        self.mirrors().get(id).cloned()
    }

    pub(crate) fn mirrored(&self) -> Vec<String> {
        self.mirrors().keys().cloned().collect()
    }

    /// Says something to the model of a turn that another server gave away; `None` if there is no such turn.
    pub(super) fn say_elsewhere(&self, id: &str, text: &str) -> Option<SentMessage> {
        let (live, remote) = (self.mirror(id)?, self.backend.remote()?);
        let item = live.change(|live| live.user(text, None, true));
        remote.tell(id, RemoteMessage::Say { text: text.to_owned() });
        Some(SentMessage { item, queued: true })
    }

    pub(super) fn cancel_elsewhere(&self, id: &str) -> bool {
        let Some((_, remote)) = self.mirror(id).zip(self.backend.remote()) else { return false };
        remote.tell(id, RemoteMessage::Cancel);
        true
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn mirrors(&self) -> MutexGuard<'_, HashMap<String, LiveSession>> {
        self.mirrors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionActor {
    pub(super) fn remote(&self) -> Option<Arc<dyn RemoteTurns>> {
        self.host.backend.remote()
    }

    /// Gives the turn of a message to another process, and waits for its end.
    pub(super) async fn give_away(
        &self,
        message: PendingMessage,
        conversation: &mut Option<(Arc<dyn ChatBackend>, Conversation)>,
        queue: &mut mpsc::Receiver<PendingMessage>,
    ) {
        self.close(conversation).await;
        let PendingMessage { text, blocks, model, accepted, ended, .. } = message;
        let (Some(remote), Ok(record)) = (self.remote(), self.host.backend.sessions().open(&self.record.id).await) else {
            return drop(accepted.send(Err(ApiError::conflict("The session is gone."))));
        };
        let mut shown = Message::user(&text);
        shown.blocks.extend(blocks.iter().cloned());
        let item = self.live.change(|live| {
            live.begin(self.host.approvals.hub.newest(), record.messages);
            live.user(&shown_text(&shown), Some(record.messages), false)
        });
        // Not a child of the server's: the turn continues when this server stops. Before the user knows of the turn, who may stop it at once.
        let cancel = CancellationToken::new();
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).cancel = Some(cancel.clone());
        accepted.send(Ok(SentMessage { item, queued: false })).ok();
        let access = self.host.chosen_access(&record);
        let (session, agent, messages) = (record.id.clone(), record.agent.clone(), record.messages);
        let turn = RemoteTurn { session, agent, access, text, blocks, model, messages };
        let said = self.wait_for_end(&*remote, (turn, &cancel), queue, ended.into_iter().collect()).await;
        let unheard = self.find_unheard(said, messages).await;
        if !unheard.is_empty() {
            // The worker ended the turn before it heard of them: another one answers them.
            let (text, accepted) = (unheard.join("\n\n"), oneshot::channel().0);
            let message = PendingMessage { text, blocks: Vec::new(), model: None, accepted, ended: None, purpose: MessagePurpose::Ask };
            Box::pin(self.give_away(message, conversation, queue)).await;
        }
    }

    /// What was said during a turn and is not in the conversation, which was this long before.
    async fn find_unheard(&self, mut said: Vec<String>, messages: u64) -> Vec<String> {
        if said.is_empty() {
            return said;
        }
        let Ok(stored) = self.host.backend.sessions().messages(&self.record.id, messages, MOST_LOOKED_AT).await else { return Vec::new() };
        let is_stored = |text: &String| {
            let text = serde_json::Value::from(text.as_str()).to_string();
            stored.iter().any(|message| message.body.contains(text.trim_matches('"')))
        };
        said.retain(|text| !is_stored(text));
        said
    }

    /// Returns what the user said meanwhile, unless the turn was stopped or failed.
    async fn wait_for_end(
        &self,
        remote: &dyn RemoteTurns,
        (turn, cancel): (RemoteTurn, &CancellationToken),
        queue: &mut mpsc::Receiver<PendingMessage>,
        mut waiting: Vec<oneshot::Sender<TurnEnd>>,
    ) -> Vec<String> {
        self.host.announce(&self.record.id).await;
        let mut running = remote.run(turn, cancel);
        let mut ticks = tokio::time::interval(FLUSH);
        // What the user says before a worker has the turn: nobody would hear it.
        let (mut unheard, mut said) = (Vec::new(), Vec::new());
        let end = loop {
            tokio::select! {
                end = &mut running => break end,
                () = self.host.stop.cancelled() => return Vec::new(),
                Some(message) = queue.recv() => waiting.extend(self.say(message, &mut unheard)),
                _ = ticks.tick() => self.live.flush(),
            }
            if self.live.live().is_heard {
                for text in unheard.drain(..) {
                    said.push(String::clone(&text));
                    remote.tell(&self.record.id, RemoteMessage::Say { text });
                }
            }
        };
        let end = end.unwrap_or_else(failed);
        self.show_end(&end).await;
        self.host.approvals.over_elsewhere(&self.record.id);
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).cancel = None;
        self.live.change(|live| (live.clear(), Vec::new()));
        self.host.announce(&self.record.id).await;
        for ended in waiting {
            // The program may have stopped waiting.
            ended.send(end.clone()).ok();
        }
        said.append(&mut unheard);
        if end.reason == EndReason::Done { said } else { Vec::new() }
    }

    /// The last events may be on their way when the outcome is known; of a worker that is gone there are none.
    async fn show_end(&self, end: &TurnEnd) {
        let has_end = || matches!(self.live.live().items.last(), Some(item) if matches!(item.content, ItemContent::TurnEnd(_)));
        let shown = async {
            while !has_end() {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(LAST_EVENTS, shown).await.is_err() {
            self.live.event(&TurnEvent::End(end));
        }
    }

    fn say(&self, message: PendingMessage, unheard: &mut Vec<String>) -> Option<oneshot::Sender<TurnEnd>> {
        if !message.blocks.is_empty() {
            let busy = ApiError::conflict("Files cannot be sent while a turn runs.").help("Send them when it has ended, or stop it.");
            message.accepted.send(Err(busy)).ok();
            return None;
        }
        let item = self.live.change(|live| live.user(&message.text, None, true));
        unheard.push(message.text);
        message.accepted.send(Ok(SentMessage { item, queued: true })).ok();
        message.ended
    }
}

fn failed(why: String) -> TurnEnd {
    let mut end = TurnEnd::new(EndReason::Failed);
    end.error = Some(why);
    end
}
