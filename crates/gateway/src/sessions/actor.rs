//! One task for each session that works: it holds the conversation, and takes messages in their order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_agent::{LedgerEntry, Steering, TurnEnd};
use haft_contract::ports::{MessageLevel, SubAgents, UserMessage, WakeSource};
use haft_provider::{Block, Message, StopReason, Usage};
use haft_store::SessionRecord;
use haft_tui::chat::{ChatBackend, ChatOptions, adopt_chosen_model, close_conversation, open_conversation, page_prompt};
use haft_tui::conversation::Conversation;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::host::{MessagePurpose, PendingMessage, SentMessage, SessionHost, TurnControl};
use super::watcher::LiveSession;
use crate::attachments::shown_text;
use crate::error::ApiError;

/// A session that nobody writes to is closed after this time, unless a job of it runs.
const IDLE: Duration = Duration::from_mins(10);
/// The same where other processes run the turns: nothing is open here.
const IDLE_ELSEWHERE: Duration = Duration::from_secs(5);
/// How often text that grows is sent.
pub(super) const FLUSH: Duration = Duration::from_millis(50);

/// The task of a session.
pub(super) struct SessionActor {
    pub(super) host: Arc<SessionHost>,
    pub(super) record: SessionRecord,
    pub(super) live: LiveSession,
    pub(super) turn: Arc<Mutex<TurnControl>>,
    /// The settings with which the conversation was opened.
    pub(super) settings: AtomicU64,
}

/// What happens while no turn runs.
enum NextStep {
    Message(PendingMessage),
    /// A sub-agent has answered, or sent a message.
    News,
    Close,
}

impl SessionActor {
    pub(super) async fn run(self, mut queue: mpsc::Receiver<PendingMessage>) {
        let mut conversation: Option<(Arc<dyn ChatBackend>, Conversation)> = None;
        loop {
            match self.next_step(&mut queue, conversation.as_ref().map(|(_, conversation)| conversation)).await {
                NextStep::Message(message) if message.purpose == MessagePurpose::Announce => self.show(message, &mut conversation).await,
                NextStep::Message(message) if self.remote().is_some() => self.give_away(message, &mut conversation, &mut queue).await,
                NextStep::Message(message) => self.answer(message, &mut conversation, &mut queue).await,
                NextStep::News => {
                    if let Some((_, conversation)) = &mut conversation {
                        self.tell_news(conversation, &mut queue).await;
                    }
                }
                NextStep::Close => break,
            }
        }
        self.close(&mut conversation).await;
        queue.close();
        while queue.try_recv().is_ok() {}
    }

    /// A turn on what sub-agents answered and sent meanwhile.
    async fn tell_news(&self, conversation: &mut Conversation, queue: &mut mpsc::Receiver<PendingMessage>) {
        let message = conversation.runner.waiting_messages();
        let stored = conversation.sessions.open(&self.record.id).await.map_or(conversation.record.messages, |record| record.messages);
        self.live.change(|live| (live.begin(self.host.approvals.hub.newest(), stored), Vec::new()));
        self.turn(conversation, message, queue, None).await;
    }

    async fn next_step(&self, queue: &mut mpsc::Receiver<PendingMessage>, conversation: Option<&Conversation>) -> NextStep {
        let news = async {
            let Some(conversation) = conversation else { return std::future::pending().await };
            tokio::select! {
                _ = conversation.agents.unreported_end() => {}
                _ = conversation.runner.steering.wake("") => {}
            }
        };
        let idle = if self.remote().is_some() { IDLE_ELSEWHERE } else { IDLE };
        tokio::select! {
            biased;
            () = self.host.stop.cancelled() => NextStep::Close,
            message = queue.recv() => message.map_or(NextStep::Close, NextStep::Message),
            () = news => NextStep::News,
            () = tokio::time::sleep(idle), if conversation.is_none_or(is_quiet) => NextStep::Close,
        }
    }

    /// Stores a text as one of the model's, and shows it.
    async fn show(&self, message: PendingMessage, conversation: &mut Option<(Arc<dyn ChatBackend>, Conversation)>) {
        let shown = match self.opened(None, conversation).await {
            Ok((_, conversation)) => self.keep_text(conversation, &message.text).await,
            Err(error) => Err(error),
        };
        message.accepted.send(shown).ok();
        if self.remote().is_some() {
            // The next turn is another process's, which needs the session.
            self.close(conversation).await;
        }
        self.host.announce(&self.record.id).await;
    }

    pub(super) async fn close(&self, conversation: &mut Option<(Arc<dyn ChatBackend>, Conversation)>) {
        if let Some((_, before)) = conversation.take() {
            // What it could not finish is in the store.
            close_conversation(before).await.ok();
        }
    }

    async fn keep_text(&self, conversation: &mut Conversation, text: &str) -> Result<SentMessage, ApiError> {
        let message = Message::assistant(vec![Block::text(text)]);
        let (model, stop, usage) = ("scheduled".to_owned(), StopReason::EndTurn, Usage::default());
        let entry = LedgerEntry::Assistant { message: message.clone(), model, stop, usage };
        conversation.runner.ledger.keep(&entry).await.map_err(ApiError::internal)?;
        conversation.runner.messages.push(message);
        let stored = conversation.sessions.open(&self.record.id).await?.messages;
        self.live.change(|live| {
            live.begin(self.host.approvals.hub.newest(), stored);
            let level = MessageLevel::Info;
            ((), live.message(&UserMessage { message: text.to_owned(), level, proactive: true, attachments: Vec::new() }))
        });
        self.live.change(|live| (live.clear(), Vec::new()));
        Ok(SentMessage { item: String::new(), queued: false })
    }

    /// Opens the conversation if that is not done, and runs the turn of a message.
    async fn answer(
        &self,
        message: PendingMessage,
        conversation: &mut Option<(Arc<dyn ChatBackend>, Conversation)>,
        queue: &mut mpsc::Receiver<PendingMessage>,
    ) {
        let PendingMessage { text, blocks, model, accepted, ended, .. } = message;
        if model.is_some() || self.is_outdated(conversation.as_ref()) {
            self.close(conversation).await;
        }
        let prepared = self.prepare(&text, blocks, model.as_deref(), conversation).await;
        let (message, title, number) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return drop(accepted.send(Err(error))),
        };
        let Some((_, conversation)) = conversation else { return };
        let item = self.live.change(|live| {
            live.begin(self.host.approvals.hub.newest(), number);
            live.user(&title, Some(number), false)
        });
        accepted.send(Ok(SentMessage { item, queued: false })).ok();
        self.turn(conversation, message, queue, ended).await;
    }

    /// Whether the settings have changed since it was opened. A job of it would end with it, so then it stays.
    fn is_outdated(&self, conversation: Option<&(Arc<dyn ChatBackend>, Conversation)>) -> bool {
        let newest = self.host.settings.load(Ordering::Relaxed);
        conversation.is_some_and(|(_, conversation)| self.settings.load(Ordering::Relaxed) != newest && is_quiet(conversation))
    }

    /// The flags of the conversation, with the access level that the user chose for it.
    fn options(&self) -> ChatOptions {
        let access = self.host.chosen_access(&self.record);
        ChatOptions { access, ..ChatOptions::default() }.for_session(&self.record)
    }

    /// Gives an open conversation the access level that the user chose since.
    async fn take_access(&self, chat: &mut Arc<dyn ChatBackend>, conversation: &mut Conversation) -> Result<(), ApiError> {
        let chosen = self.host.chosen_access(&self.record);
        if chosen.is_some_and(|level| level != conversation.runner.session.access()) {
            let with_level = self.host.backend.chat(&self.options())?;
            with_level.rewire(conversation).await?;
            *chat = with_level;
        }
        Ok(())
    }

    async fn prepare(
        &self,
        text: &str,
        blocks: Vec<Block>,
        model: Option<&str>,
        conversation: &mut Option<(Arc<dyn ChatBackend>, Conversation)>,
    ) -> Result<(Message, String, u64), ApiError> {
        let (chat, conversation) = self.opened(model, conversation).await?;
        self.take_access(chat, conversation).await?;
        adopt_chosen_model(conversation, &**chat).await?;
        let prompt = page_prompt(&**chat, text).await?;
        let model = conversation.runner.provider.model();
        if !model.accepts_pictures && blocks.iter().any(|block| matches!(block, Block::Image { .. })) {
            let message = format!("{}/{} takes no pictures. Nothing was sent.", model.provider, model.name);
            return Err(ApiError::bad_request(message).help("Choose another model, or leave the picture out."));
        }
        let mut message = chat.message(&prompt, model).await?;
        let mut shown = Message::user(text);
        shown.blocks.extend(blocks.iter().cloned());
        message.blocks.extend(blocks);
        conversation.title_from(text).await?;
        prompt.prepare(&conversation.runner.session)?;
        let number = conversation.sessions.open(&self.record.id).await?.messages;
        Ok((message, shown_text(&shown), number))
    }

    /// The conversation; it is opened if that is not done.
    async fn opened<'a>(
        &self,
        model: Option<&str>,
        conversation: &'a mut Option<(Arc<dyn ChatBackend>, Conversation)>,
    ) -> Result<&'a mut (Arc<dyn ChatBackend>, Conversation), ApiError> {
        if conversation.is_none() {
            self.settings.store(self.host.settings.load(Ordering::Relaxed), Ordering::Relaxed);
            let chat = self.host.backend.chat(&self.options())?;
            let record = self.host.backend.sessions().open(&self.record.id).await?;
            let opened = open_conversation(&*chat, model, Some(&record), Arc::new(self.live.clone())).await?;
            *conversation = Some((chat, opened));
        }
        conversation.as_mut().ok_or_else(|| ApiError::internal("The conversation is not open."))
    }

    /// Runs a turn to its end; messages that arrive meanwhile are delivered with the next results.
    async fn turn(
        &self,
        conversation: &mut Conversation,
        message: Message,
        queue: &mut mpsc::Receiver<PendingMessage>,
        ended: Option<oneshot::Sender<TurnEnd>>,
    ) {
        let mut waiting: Vec<oneshot::Sender<TurnEnd>> = ended.into_iter().collect();
        let cancel = self.host.stop.child_token();
        let steering = conversation.runner.steering.clone();
        self.set_control(conversation, &cancel, &steering);
        self.host.announce(&self.record.id).await;
        let turn = conversation.runner.turn(message, &cancel);
        let mut turn = std::pin::pin!(turn);
        let mut ticks = tokio::time::interval(FLUSH);
        let end = loop {
            tokio::select! {
                end = &mut turn => break end,
                Some(message) = queue.recv() => waiting.extend(self.steer(message, &steering)),
                _ = ticks.tick() => self.live.flush(),
            }
        };
        // A failed flush is told by the next call that is recorded.
        conversation.log.flush().await.ok();
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).cancel = None;
        self.live.change(|live| (live.clear(), Vec::new()));
        self.host.announce(&self.record.id).await;
        for ended in waiting {
            // The program may have stopped waiting.
            ended.send(end.clone()).ok();
        }
    }

    fn set_control(&self, conversation: &Conversation, cancel: &CancellationToken, steering: &Steering) {
        let mut control = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        (control.cancel, control.steering) = (Some(cancel.clone()), Some(steering.clone()));
        control.access = Some(conversation.runner.session.access().as_str().to_owned());
        control.window = Some(conversation.runner.provider.model().context_window);
    }

    fn steer(&self, message: PendingMessage, steering: &Steering) -> Option<oneshot::Sender<TurnEnd>> {
        if !message.blocks.is_empty() {
            let busy = ApiError::conflict("Files cannot be sent while a turn runs.").help("Send them when it has ended, or stop it.");
            message.accepted.send(Err(busy)).ok();
            return None;
        }
        let item = self.live.change(|live| live.user(&message.text, None, true));
        steering.say(message.text);
        message.accepted.send(Ok(SentMessage { item, queued: true })).ok();
        message.ended
    }
}

/// Whether no job of the conversation runs.
fn is_quiet(conversation: &Conversation) -> bool {
    let session = &conversation.runner.session;
    session.host().processes().jobs(session.id()).iter().all(|job| job.status().end.is_some())
}
