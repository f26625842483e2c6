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
            RemoteEvent::Changed => self.announce(session).await,
            // Of what pages show beside the session.
            RemoteEvent::Canvas { .. } | RemoteEvent::Browser { .. } => {}
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

    /// What runs turns elsewhere.
    pub(crate) fn remote(&self) -> Option<Arc<dyn RemoteTurns>> {
        self.backend.remote()
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
    pub(super) async fn say_elsewhere(&self, id: &str, text: &str) -> Option<Result<SentMessage, ApiError>> {
        let (live, remote) = (self.mirror(id)?, self.backend.remote()?);
        let said = remote.say(id, text).await.map_err(ApiError::unavailable);
        Some(said.map(|()| SentMessage { item: live.change(|live| live.user(text, None, true)), queued: true }))
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
        let PendingMessage { text, blocks, model, accepted, ended, purpose } = message;
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
        let answers_said = purpose == MessagePurpose::AnswerSaid;
        let turn = RemoteTurn { session, agent, access, text, blocks, model, messages, answers_said };
        let is_done = self.wait_for_end(&*remote, (turn, &cancel), queue, ended.into_iter().collect()).await;
        // What is not known now is heard with the next turn.
        let unheard = if is_done { remote.unheard(&self.record.id).await.unwrap_or_default() } else { Vec::new() };
        if !unheard.is_empty() {
            // The worker ended the turn before it heard of them: another one answers them.
            let (text, accepted, purpose) = (unheard.join("\n\n"), oneshot::channel().0, MessagePurpose::AnswerSaid);
            let message = PendingMessage { text, blocks: Vec::new(), model: None, accepted, ended: None, purpose };
            Box::pin(self.give_away(message, conversation, queue)).await;
        }
    }

    /// Returns whether the turn came to its own end.
    async fn wait_for_end(
        &self,
        remote: &dyn RemoteTurns,
        (turn, cancel): (RemoteTurn, &CancellationToken),
        queue: &mut mpsc::Receiver<PendingMessage>,
        mut waiting: Vec<oneshot::Sender<TurnEnd>>,
    ) -> bool {
        self.host.announce(&self.record.id).await;
        let mut running = remote.run(turn, cancel);
        let mut ticks = tokio::time::interval(FLUSH);
        let end = loop {
            tokio::select! {
                end = &mut running => break end,
                () = self.host.stop.cancelled() => return false,
                Some(message) = queue.recv() => waiting.extend(self.say(message, remote).await),
                _ = ticks.tick() => self.live.flush(),
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
        end.reason == EndReason::Done
    }

    /// The last events may be on their way when the outcome is known; of a worker that is gone there are none.
    async fn show_end(&self, end: &TurnEnd) {
        // What the user says just now comes after it.
        let has_end = || self.live.live().items.iter().any(|item| matches!(item.content, ItemContent::TurnEnd(_)));
        let shown = async {
            while !has_end() {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(LAST_EVENTS, shown).await.is_err() {
            self.live.event(&TurnEvent::End(end));
        }
    }

    async fn say(&self, message: PendingMessage, remote: &dyn RemoteTurns) -> Option<oneshot::Sender<TurnEnd>> {
        if !message.blocks.is_empty() {
            let busy = ApiError::conflict("Files cannot be sent while a turn runs.").help("Send them when it has ended, or stop it.");
            message.accepted.send(Err(busy)).ok();
            return None;
        }
        // The user knows that it was taken once it is stored.
        if let Err(why) = remote.say(&self.record.id, &message.text).await {
            message.accepted.send(Err(ApiError::unavailable(why).help("Send the message again."))).ok();
            return None;
        }
        let item = self.live.change(|live| live.user(&message.text, None, true));
        message.accepted.send(Ok(SentMessage { item, queued: true })).ok();
        message.ended
    }
}

fn failed(why: String) -> TurnEnd {
    let mut end = TurnEnd::new(EndReason::Failed);
    end.error = Some(why);
    end
}
