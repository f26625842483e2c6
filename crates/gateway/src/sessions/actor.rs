//! One task for each session that works: it holds the conversation, and takes messages in their order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_agent::{LedgerEntry, Steering, TurnEnd};
use haft_contract::ports::{MessageLevel, SubAgents, UserMessage, WakeSource};
use haft_provider::{Block, Message, StopReason, Usage};
use haft_store::{NewSession, SessionRecord};
use haft_tui::chat::{ChatBackend, ChatOptions, NamedFiles, Prompt, adopt_chosen_model, close_conversation, open_conversation};
use haft_tui::conversation::Conversation;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::session_view;
use super::watcher::LiveSession;
use crate::api::{CallState, ItemContent, ItemView, SessionState, SessionView};
use crate::approvals::PageApprovals;
use crate::backend::GatewayBackend;
use crate::error::ApiError;

/// Messages that may wait for a session that is being opened.
const QUEUE: usize = 32;
/// Sessions that may work or be open at once.
const MOST_OPEN: usize = 256;
/// A session that nobody writes to is closed after this time, unless a job of it runs.
const IDLE: Duration = Duration::from_mins(10);
/// How long a session may take to close.
const CLOSING: Duration = Duration::from_secs(10);
/// How often text that grows is sent.
const FLUSH: Duration = Duration::from_millis(50);

/// All sessions that run in this server.
pub(crate) struct SessionHost {
    backend: Arc<dyn GatewayBackend>,
    approvals: PageApprovals,
    open: Mutex<HashMap<String, OpenSession>>,
    /// Counts the changes of the settings.
    settings: AtomicU64,
    stop: CancellationToken,
}

#[derive(Clone)]
struct OpenSession {
    live: LiveSession,
    messages: mpsc::Sender<PendingMessage>,
    turn: Arc<Mutex<TurnControl>>,
    /// Cancelled when its task has ended.
    done: CancellationToken,
}

/// How the turn that runs can be reached.
#[derive(Default)]
struct TurnControl {
    cancel: Option<CancellationToken>,
    steering: Option<Steering>,
    access: Option<String>,
    window: Option<u64>,
}

struct PendingMessage {
    text: String,
    model: Option<String>,
    accepted: oneshot::Sender<Result<SentMessage, ApiError>>,
    /// Gets the end of the turn that answers it.
    ended: Option<oneshot::Sender<TurnEnd>>,
    purpose: MessagePurpose,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessagePurpose {
    /// The model answers it.
    Ask,
    /// It is shown to the user, and the model knows of it.
    Announce,
}

/// A message that was taken.
#[derive(Debug)]
pub(crate) struct SentMessage {
    pub(crate) item: String,
    pub(crate) queued: bool,
}

impl SessionHost {
    pub(crate) fn new(backend: Arc<dyn GatewayBackend>, approvals: PageApprovals, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self { backend, approvals, open: Mutex::default(), settings: AtomicU64::default(), stop })
    }

    /// Begins a session.
    pub(crate) async fn create(&self, agent: Option<String>, model: Option<&str>, title: Option<&str>) -> Result<SessionView, ApiError> {
        let chat = self.backend.chat(&ChatOptions { agent, ..ChatOptions::default() })?;
        if let Some(model) = model {
            chat.provider(Some(model)).await?;
        }
        let mut session = NewSession::new(chat.agent(), chat.workspace());
        (session.model, session.title) = (model.map(str::to_owned), title.map(str::to_owned));
        let record = self.backend.sessions().create(session).await?;
        self.announce(&record.id).await;
        self.view(&record).await
    }

    /// Sends a message: to the turn that runs, or as the beginning of one.
    pub(crate) async fn send(self: &Arc<Self>, id: &str, text: String, model: Option<String>) -> Result<SentMessage, ApiError> {
        self.send_with(id, text, model, None, MessagePurpose::Ask).await
    }

    /// The same, for a program that waits for the end of the turn.
    pub(crate) async fn send_and_wait(self: &Arc<Self>, id: &str, text: String, model: Option<String>) -> Result<TurnEnd, ApiError> {
        let (ended, end) = oneshot::channel();
        self.send_with(id, text, model, Some(ended), MessagePurpose::Ask).await?;
        end.await.map_err(|_| ApiError::unavailable("The server stopped in the middle of the turn."))
    }

    /// Puts a text into a conversation that nobody asked for in it, such as the result of a scheduled job.
    pub(crate) async fn announce_text(self: &Arc<Self>, id: &str, text: String) -> Result<(), ApiError> {
        self.send_with(id, text, None, None, MessagePurpose::Announce).await.map(drop)
    }

    async fn send_with(
        self: &Arc<Self>,
        id: &str,
        text: String,
        model: Option<String>,
        ended: Option<oneshot::Sender<TurnEnd>>,
        purpose: MessagePurpose,
    ) -> Result<SentMessage, ApiError> {
        let record = self.backend.sessions().open(id).await?;
        let session = self.opened(&record)?;
        let (accepted, answer) = oneshot::channel();
        let full =
            |_| ApiError::conflict("Too many messages wait for this session.").help("Wait until it has answered, or cancel its turn.");
        session.messages.try_send(PendingMessage { text, model, accepted, ended, purpose }).map_err(full)?;
        answer.await.unwrap_or_else(|_| Err(ApiError::conflict("The session was closed meanwhile.").help("Send the message again.")))
    }

    /// Takes back the newest message that waits for the model.
    pub(crate) fn take_back(&self, id: &str) -> Option<String> {
        self.control(id)?.steering.as_ref()?.take_back()
    }

    /// Cancels the turn that runs.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let cancel = self.control(id).and_then(|control| control.cancel);
        cancel.inspect(CancellationToken::cancel).is_some()
    }

    /// What a running turn has so far, with the number of messages before it, and a number that changes with each begin and end.
    pub(crate) fn snapshot(&self, id: &str) -> (Vec<ItemView>, Option<u64>, u64, u64) {
        let session = self.sessions().get(id).cloned();
        let Some(session) = session else { return (Vec::new(), None, 0, self.approvals.hub.newest()) };
        let live = session.live.live();
        let (mut items, base, generation, newest) = (live.items.clone(), live.base, live.generation, self.approvals.hub.newest());
        drop(live);
        for item in &mut items {
            if let ItemContent::Call { call } = &mut item.content
                && call.state == CallState::Waiting
            {
                call.approval = self.approvals.of_call(id, &call.id);
            }
        }
        (items, base, generation, newest)
    }

    /// A session as it is now.
    pub(crate) async fn view(&self, record: &SessionRecord) -> Result<SessionView, ApiError> {
        let mut view = session_view(&*self.backend.sessions(), record).await?;
        let Some(session) = self.sessions().get(&record.id).cloned() else { return Ok(view) };
        let live = session.live.live();
        view.state = match (live.base, live.waiting) {
            (None, _) => SessionState::Idle,
            (Some(_), 0) => SessionState::Running,
            (Some(_), _) => SessionState::Waiting,
        };
        view.context_tokens = live.context_tokens;
        view.last_line = live.last_line.clone().or(view.last_line);
        drop(live);
        let control = session.turn.lock().unwrap_or_else(PoisonError::into_inner);
        (view.access, view.context_window) = (control.access.clone(), control.window);
        Ok(view)
    }

    /// Whether a turn of it runs.
    pub(crate) fn is_running(&self, id: &str) -> bool {
        self.sessions().get(id).is_some_and(|session| session.live.live().base.is_some())
    }

    /// Closes a session that does not work, so that it can be changed by others.
    pub(crate) async fn close(&self, id: &str) {
        let Some(OpenSession { messages, done, .. }) = self.sessions().remove(id) else { return };
        drop(messages);
        tokio::time::timeout(CLOSING, done.cancelled()).await.ok();
    }

    /// Sends the state of a session to all pages.
    pub(crate) async fn announce(&self, id: &str) {
        let Ok(record) = self.backend.sessions().open(id).await else { return };
        if let Ok(view) = self.view(&record).await {
            self.approvals.hub.send("session", Some(id), &json!({ "session": view }));
        }
    }

    /// The sessions of which a turn runs.
    pub(crate) fn running(&self) -> Vec<String> {
        self.sessions().iter().filter(|(_, session)| session.live.live().base.is_some()).map(|(id, _)| id.clone()).collect()
    }

    /// Sessions take the settings as they are now with their next message, unless a job of theirs runs.
    pub(crate) fn use_new_settings(&self) {
        self.settings.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until every turn has ended.
    pub(crate) async fn finished(&self) {
        while self.sessions().values().any(|session| !session.messages.is_closed()) {
            tokio::time::sleep(FLUSH).await;
        }
    }

    fn control(&self, id: &str) -> Option<TurnControl> {
        let session = self.sessions().get(id).cloned()?;
        let control = session.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let TurnControl { cancel, steering, access, window } = &*control;
        Some(TurnControl { cancel: cancel.clone(), steering: steering.clone(), access: access.clone(), window: *window })
    }

    /// The task of a session; it is started if there is none.
    fn opened(self: &Arc<Self>, record: &SessionRecord) -> Result<OpenSession, ApiError> {
        if self.stop.is_cancelled() {
            return Err(ApiError::unavailable("The server is stopping.").help("Send the message again when it has started again."));
        }
        let mut sessions = self.sessions();
        sessions.retain(|_, session| !session.messages.is_closed());
        if let Some(session) = sessions.get(&record.id) {
            return Ok(session.clone());
        }
        if sessions.len() >= MOST_OPEN {
            return Err(ApiError::conflict(format!("{MOST_OPEN} sessions are open.")).help("Wait until one of them is idle."));
        }
        let live = LiveSession::new(&record.id, &record.agent, &self.approvals, self.backend.calls());
        let (messages, queue) = mpsc::channel(QUEUE);
        let session = OpenSession { live, messages, turn: Arc::default(), done: CancellationToken::new() };
        sessions.insert(record.id.clone(), session.clone());
        let (live, turn, done) = (session.live.clone(), Arc::clone(&session.turn), session.done.clone().drop_guard());
        let actor = SessionActor { host: Arc::clone(self), record: record.clone(), live, turn, settings: AtomicU64::default() };
        tokio::spawn(async move {
            actor.run(queue).await;
            drop(done);
        });
        Ok(session)
    }

    // Sessions come and go whole, so the map is consistent after a panic elsewhere.
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task of a session.
struct SessionActor {
    host: Arc<SessionHost>,
    record: SessionRecord,
    live: LiveSession,
    turn: Arc<Mutex<TurnControl>>,
    /// The settings with which the conversation was opened.
    settings: AtomicU64,
}

/// What happens while no turn runs.
enum NextStep {
    Message(PendingMessage),
    /// A sub-agent has answered, or sent a message.
    News,
    Close,
}

impl SessionActor {
    async fn run(self, mut queue: mpsc::Receiver<PendingMessage>) {
        let mut conversation: Option<(Arc<dyn ChatBackend>, Conversation)> = None;
        loop {
            match self.next_step(&mut queue, conversation.as_ref().map(|(_, conversation)| conversation)).await {
                NextStep::Message(message) if message.purpose == MessagePurpose::Announce => self.show(message, &mut conversation).await,
                NextStep::Message(message) => self.answer(message, &mut conversation, &mut queue).await,
                NextStep::News => {
                    if let Some((_, conversation)) = &mut conversation {
                        self.tell_news(conversation, &mut queue).await;
                    }
                }
                NextStep::Close => break,
            }
        }
        if let Some((_, conversation)) = conversation {
            // What it could not finish is in the store.
            close_conversation(conversation).await.ok();
        }
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
        tokio::select! {
            biased;
            () = self.host.stop.cancelled() => NextStep::Close,
            message = queue.recv() => message.map_or(NextStep::Close, NextStep::Message),
            () = news => NextStep::News,
            () = tokio::time::sleep(IDLE), if conversation.is_none_or(is_quiet) => NextStep::Close,
        }
    }

    /// Stores a text as one of the model's, and shows it.
    async fn show(&self, message: PendingMessage, conversation: &mut Option<(Arc<dyn ChatBackend>, Conversation)>) {
        let shown = match self.opened(None, conversation).await {
            Ok((_, conversation)) => self.keep_text(conversation, &message.text).await,
            Err(error) => Err(error),
        };
        message.accepted.send(shown).ok();
        self.host.announce(&self.record.id).await;
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
        let PendingMessage { text, model, accepted, ended, .. } = message;
        if (model.is_some() || self.is_outdated(conversation.as_ref()))
            && let Some((_, before)) = conversation.take()
        {
            close_conversation(before).await.ok();
        }
        let prepared = self.prepare(&text, model.as_deref(), conversation).await;
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

    async fn prepare(
        &self,
        text: &str,
        model: Option<&str>,
        conversation: &mut Option<(Arc<dyn ChatBackend>, Conversation)>,
    ) -> Result<(Message, String, u64), ApiError> {
        let (chat, conversation) = self.opened(model, conversation).await?;
        adopt_chosen_model(conversation, &**chat).await?;
        let prompt = prompt(&**chat, text).await?;
        let message = chat.message(&prompt, conversation.runner.provider.model()).await?;
        conversation.title_from(text).await?;
        prompt.prepare(&conversation.runner.session)?;
        let number = conversation.sessions.open(&self.record.id).await?.messages;
        Ok((message, text.to_owned(), number))
    }

    /// The conversation; it is opened if that is not done.
    async fn opened<'a>(
        &self,
        model: Option<&str>,
        conversation: &'a mut Option<(Arc<dyn ChatBackend>, Conversation)>,
    ) -> Result<&'a mut (Arc<dyn ChatBackend>, Conversation), ApiError> {
        if conversation.is_none() {
            self.settings.store(self.host.settings.load(Ordering::Relaxed), Ordering::Relaxed);
            let options = ChatOptions::default().for_session(&self.record);
            let chat = self.host.backend.chat(&options)?;
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
        let item = self.live.change(|live| live.user(&message.text, None, true));
        steering.say(message.text);
        message.accepted.send(Ok(SentMessage { item, queued: true })).ok();
        message.ended
    }
}

/// The prompt of a message: a command of the user, or text. Files that it names are those that the agent may read.
async fn prompt(chat: &dyn ChatBackend, text: &str) -> Result<Prompt, ApiError> {
    let command = text.trim().strip_prefix('/').map(|rest| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
    match command.filter(|(name, _)| !name.is_empty() && !name.contains('/')) {
        Some((name, arguments)) => Ok(Prompt { files: NamedFiles::Readable, ..chat.expand(name, arguments.trim()).await? }),
        None => Ok(Prompt { files: NamedFiles::Readable, ..Prompt::typed(text) }),
    }
}

/// Whether no job of the conversation runs.
fn is_quiet(conversation: &Conversation) -> bool {
    let session = &conversation.runner.session;
    session.host().processes().jobs(session.id()).iter().all(|job| job.status().end.is_some())
}
