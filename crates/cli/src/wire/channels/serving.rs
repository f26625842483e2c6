//! What channels need of `haft serve`: sessions that answer, and approvals that are answered from a channel.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use haft_channels::{ApprovalAnswers, ChannelApproval, ConversationHost, HookRequest, Inbox};
use haft_contract::BoxFuture;
use haft_contract::ports::{ApprovalAnswer, ApprovalRequest};
use haft_gateway::{ApprovalListener, HookDelivery, PageApprovals, ServedSessions};
use haft_store::{StateStore, StoredTaint};
use tokio_util::sync::CancellationToken;

use crate::output::warn;
use crate::wire::{TurnProgress, Wire, turn_progress};

/// What a model is told whose answer a restart cut off.
const CONTINUE: &str = "[The server was restarted in the middle of your answer. Continue it: do not repeat what is done.]";

/// The channels of a server, once it runs.
#[derive(Clone, Default)]
pub(crate) struct ServedChannels(Arc<OnceLock<Arc<Inbox>>>);

impl ServedChannels {
    /// Begins to take messages, until it is stopped.
    pub(crate) fn start(
        &self,
        wire: &Wire,
        store: &Arc<StateStore>,
        approvals: &PageApprovals,
        conversations: ServedSessions,
        stop: CancellationToken,
    ) {
        let host = Arc::new(ServedHost { conversations, store: Arc::clone(store) });
        let answers = Arc::new(PageAnswers(approvals.clone()));
        let inbox = Inbox::new(Arc::clone(wire.channels()), host, answers, stop);
        match wire.transcriber() {
            Some(Ok(transcriber)) => inbox.transcribe_with(transcriber),
            Some(Err(failure)) => warn(&format!("voice messages are not transcribed: {}", failure.message)),
            None => {}
        }
        if self.0.set(Arc::clone(&inbox)).is_err() {
            return;
        }
        approvals.listen(Arc::new(InboxListener(Arc::clone(&inbox))));
        tokio::spawn(inbox.run(Arc::new(|channel, why| warn(&format!("channel {channel}: {why}")))));
    }

    /// A request of a service.
    pub(crate) async fn hook(&self, channel: &str, request: HookDelivery) -> (u16, String) {
        let Some(inbox) = self.0.get() else { return (503, "{\"error\":\"The server is starting.\"}".to_owned()) };
        let HookDelivery { headers, body, at } = request;
        let answer = inbox.hook(channel, &HookRequest { headers, body, at }).await;
        (answer.status, answer.body)
    }
}

struct ServedHost {
    conversations: ServedSessions,
    store: Arc<StateStore>,
}

impl ConversationHost for ServedHost {
    fn begin<'a>(&'a self, agent: Option<&'a str>, title: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let session = self.conversations.begin(agent.map(str::to_owned), title).await?;
            // Everything in it comes from outside.
            let taint = StoredTaint { private: false, untrusted: true };
            self.store.sessions().add_taint(&session, taint).await.map_err(|error| error.to_string())?;
            Ok(session)
        })
    }

    fn change_sender<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.conversations.close(session))
    }

    fn turn<'a>(&'a self, session: &'a str, text: String) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let answer = self.conversations.ask(session, text, None).await.and_then(|end| end.error.map_or(Ok(end.text), Err));
            answer.inspect_err(|why| warn(&format!("a message of a channel was not answered: {why}")))
        })
    }

    fn resume<'a>(&'a self, session: &'a str, text: String, since: SystemTime) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            // The same words may have been said before.
            let begins = |said: &str, at: SystemTime| at >= since && said.trim() == text.trim();
            let progress = turn_progress(&*self.store.sessions(), session, 0, begins).await.map_err(|error| error.to_string())?;
            match progress {
                TurnProgress::Answered(answer) => Ok(answer),
                TurnProgress::Nothing => self.turn(session, text).await,
                TurnProgress::Begun => self.turn(session, CONTINUE.to_owned()).await,
            }
        })
    }
}

struct PageAnswers(PageApprovals);

impl ApprovalAnswers for PageAnswers {
    fn answer<'a>(&'a self, notice: &'a ChannelApproval, is_allowed: bool, by: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let answer = if is_allowed { ApprovalAnswer::Once } else { ApprovalAnswer::Deny { comment: None } };
        Box::pin(async move { self.0.answer_as(&notice.id, &notice.fingerprint, answer, by) })
    }
}

/// Shows questions of sessions of channels in their conversations.
struct InboxListener(Arc<Inbox>);

impl ApprovalListener for InboxListener {
    fn opened(&self, request: &ApprovalRequest) {
        let notice = ChannelApproval {
            id: request.id.clone(),
            fingerprint: request.fingerprint.clone(),
            session: request.call.session.to_string(),
            tool: request.call.tool.clone(),
            effects: request.effects.iter().map(|effect| format!("{} {}", effect.kind(), effect.target())).collect(),
            reason: request.reason.clone(),
        };
        let inbox = Arc::clone(&self.0);
        tokio::spawn(async move { inbox.approval_opened(notice).await });
    }

    fn closed(&self, id: &str, answer: &str, by: &str) {
        let (inbox, id, answer, by) = (Arc::clone(&self.0), id.to_owned(), answer.to_owned(), by.to_owned());
        // A question may end while the program does.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { inbox.approval_closed(&id, &answer, &by).await });
        }
    }
}
