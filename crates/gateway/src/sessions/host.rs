//! All sessions of the server: opened when a message comes, seen by every page, ended with the server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_agent::{Steering, TurnEnd};
use haft_contract::Access;
use haft_provider::Block;
use haft_store::{NewSession, SessionOverview, SessionRecord};
use haft_tui::chat::ChatOptions;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::actor::SessionActor;
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
/// The same where other processes run the turns.
const MOST_ELSEWHERE: usize = 10_000;
/// How long a session may take to close.
const CLOSING: Duration = Duration::from_secs(10);
/// How often it is looked whether all have ended.
const LOOK: Duration = Duration::from_millis(50);

/// All sessions that run in this server.
pub(crate) struct SessionHost {
    pub(super) backend: Arc<dyn GatewayBackend>,
    pub(super) approvals: PageApprovals,
    open: Mutex<HashMap<String, OpenSession>>,
    /// Sessions of which a turn runs in another process, for another server.
    pub(super) mirrors: Mutex<HashMap<String, LiveSession>>,
    /// Counts the changes of the settings by pages.
    pub(super) settings: AtomicU64,
    /// The access levels that users chose for sessions in this server.
    pub(super) access: Mutex<HashMap<String, Access>>,
    pub(super) stop: CancellationToken,
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
pub(super) struct TurnControl {
    pub(super) cancel: Option<CancellationToken>,
    pub(super) steering: Option<Steering>,
    pub(super) access: Option<String>,
    pub(super) window: Option<u64>,
}

/// A message on its way to the task of its session.
pub(super) struct PendingMessage {
    pub(super) text: String,
    /// Files that come with it.
    pub(super) blocks: Vec<Block>,
    pub(super) model: Option<String>,
    pub(super) accepted: oneshot::Sender<Result<SentMessage, ApiError>>,
    /// Gets the end of the turn that answers it.
    pub(super) ended: Option<oneshot::Sender<TurnEnd>>,
    pub(super) purpose: MessagePurpose,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessagePurpose {
    /// The model answers it.
    Ask,
    /// It was said to a turn that ended before the model heard it, and is stored: the model answers it.
    AnswerSaid,
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
        let (open, mirrors) = (Mutex::default(), Mutex::default());
        Arc::new(Self { backend, approvals, open, mirrors, settings: AtomicU64::default(), access: Mutex::default(), stop })
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
        self.announce_everywhere(&record.id).await;
        self.view(&record).await
    }

    /// Sends a message: to the turn that runs, or as the beginning of one.
    pub(crate) async fn send(
        self: &Arc<Self>,
        id: &str,
        text: String,
        blocks: Vec<Block>,
        model: Option<String>,
    ) -> Result<SentMessage, ApiError> {
        self.send_with(id, (text, blocks), model, None, MessagePurpose::Ask).await
    }

    /// The same, for a program that waits for the end of the turn.
    pub(crate) async fn send_and_wait(self: &Arc<Self>, id: &str, text: String, model: Option<String>) -> Result<TurnEnd, ApiError> {
        let (ended, end) = oneshot::channel();
        self.send_with(id, (text, Vec::new()), model, Some(ended), MessagePurpose::Ask).await?;
        end.await.map_err(|_| ApiError::unavailable("The server stopped in the middle of the turn."))
    }

    /// Puts a text into a conversation that nobody asked for in it, such as the result of a scheduled job.
    pub(crate) async fn announce_text(self: &Arc<Self>, id: &str, text: String) -> Result<(), ApiError> {
        self.send_with(id, (text, Vec::new()), None, None, MessagePurpose::Announce).await.map(drop)
    }

    async fn send_with(
        self: &Arc<Self>,
        id: &str,
        (text, blocks): (String, Vec<Block>),
        model: Option<String>,
        ended: Option<oneshot::Sender<TurnEnd>>,
        purpose: MessagePurpose,
    ) -> Result<SentMessage, ApiError> {
        let record = self.backend.sessions().open(id).await?;
        if purpose == MessagePurpose::Ask
            && ended.is_none()
            && let Some(sent) = self.say_elsewhere(id, &text).await
        {
            return sent;
        }
        let session = self.opened(&record)?;
        let (accepted, answer) = oneshot::channel();
        let full =
            |_| ApiError::conflict("Too many messages wait for this session.").help("Wait until it has answered, or cancel its turn.");
        session.messages.try_send(PendingMessage { text, blocks, model, accepted, ended, purpose }).map_err(full)?;
        answer.await.unwrap_or_else(|_| Err(ApiError::conflict("The session was closed meanwhile.").help("Send the message again.")))
    }

    /// Takes back the newest message that waits for the model.
    pub(crate) fn take_back(&self, id: &str) -> Option<String> {
        self.control(id)?.steering.as_ref()?.take_back()
    }

    /// Cancels the turn that runs.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let cancel = self.control(id).and_then(|control| control.cancel);
        cancel.inspect(CancellationToken::cancel).is_some() || self.cancel_elsewhere(id)
    }

    /// What a running turn has so far, with the number of messages before it, and a number that changes with each begin and end.
    pub(crate) fn snapshot(&self, id: &str) -> (Vec<ItemView>, Option<u64>, u64, u64) {
        let Some(session) = self.live_of(id) else { return (Vec::new(), None, 0, self.approvals.hub.newest()) };
        let live = session.live();
        let (mut items, base, generation, newest) = (live.items.clone(), live.base, live.generation, self.approvals.hub.newest());
        drop(live);
        for item in &mut items {
            if let ItemContent::Call { call, .. } = &mut item.content
                && call.state == CallState::Waiting
            {
                call.approval = self.approvals.of_call(id, &call.id);
            }
        }
        (items, base, generation, newest)
    }

    /// The state of a call of a turn that runs.
    pub(crate) fn state_of_call(&self, session: &str, call: &str) -> Option<CallState> {
        let session = self.live_of(session)?;
        let live = session.live();
        live.items.iter().rev().find_map(|item| match &item.content {
            ItemContent::Call { call: view, .. } if view.id == call => Some(view.state),
            _ => None,
        })
    }

    /// A session as it is now.
    pub(crate) async fn view(&self, record: &SessionRecord) -> Result<SessionView, ApiError> {
        let store = self.backend.sessions();
        let (usage, sub_agent) = (store.session_usage(&record.id).await?, store.sub_agent(&record.id).await?);
        Ok(self.view_of(SessionOverview { record: record.clone(), usage, sub_agent }))
    }

    /// The same, where the store was asked already.
    pub(crate) fn view_of(&self, overview: SessionOverview) -> SessionView {
        let access = self.chosen_access(&overview.record);
        let mut view = session_view(overview);
        view.access = access.map(|level| level.as_str().to_owned());
        let Some(session) = self.live_of(&view.id) else { return view };
        let live = session.live();
        view.state = match (live.base, live.waiting) {
            (None, _) => SessionState::Idle,
            (Some(_), 0) => SessionState::Running,
            (Some(_), _) => SessionState::Waiting,
        };
        view.context_tokens = live.context_tokens;
        view.last_line = live.last_line.clone().or(view.last_line);
        drop(live);
        if let Some(control) = self.control(&view.id) {
            view.access = view.access.or(control.access);
            view.context_window = control.window;
        }
        view
    }

    /// How many sessions are open.
    pub(crate) fn open_count(&self) -> usize {
        self.sessions().len()
    }

    /// Whether a turn of it runs.
    pub(crate) fn is_running(&self, id: &str) -> bool {
        self.live_of(id).is_some_and(|session| session.live().base.is_some())
    }

    /// What pages see of a session that works, in this process or for another server.
    pub(super) fn live_of(&self, id: &str) -> Option<LiveSession> {
        let own = self.sessions().get(id).map(|session| session.live.clone());
        own.filter(|own| own.live().base.is_some()).or_else(|| self.mirror(id)).or_else(|| self.own_live(id))
    }

    pub(super) fn own_live(&self, id: &str) -> Option<LiveSession> {
        self.sessions().get(id).map(|session| session.live.clone())
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

    /// The same, to the pages of all servers.
    pub(crate) async fn announce_everywhere(&self, id: &str) {
        self.announce(id).await;
        if let Some(remote) = self.backend.remote() {
            remote.announce(id);
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
            tokio::time::sleep(LOOK).await;
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
        let most = if self.backend.remote().is_some() { MOST_ELSEWHERE } else { MOST_OPEN };
        if sessions.len() >= most {
            return Err(ApiError::conflict(format!("{most} sessions are open.")).help("Wait until one of them is idle."));
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
