//! Turns of sessions: the session is opened as `haft chat` opens one, and closed with the turn, so that any worker can have the next.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::{EndReason, Runner, Steering, TurnEnd};
use haft_fleet::TakenWork;
use haft_gateway::{RemoteEvent, RemoteMessage};
use haft_provider::Message;
use haft_store::{SessionOwner, SessionRecord, StoreError};
use haft_tui::chat::{ChatBackend, close_conversation, open_conversation, page_prompt};
use haft_tui::conversation::Conversation;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::reach::SessionMessages;
use super::said::SaidMessages;
use super::watcher::TurnSink;
use super::{TurnRunner, outcome};
use crate::commands::chat::Backend;
use crate::failure::Failure;
use crate::wire::{TurnProgress, TurnWork, turn_progress};

/// How long a worker that was lost may still have the session: the server of the database ends its connection in this time.
const CLAIM_PATIENCE: Duration = Duration::from_secs(45);
const CLAIM_AGAIN: Duration = Duration::from_millis(250);
/// How long the queue may take to know that this worker listens.
const LISTEN_PATIENCE: Duration = Duration::from_secs(5);
/// What the model is told when another worker had the turn before.
const CUT_OFF: &str = "[The worker of this turn was lost.] Your turn was cut off. Continue it: do not repeat what is done.";

impl TurnRunner {
    pub(super) async fn turn(&self, work: &TakenWork, turn: TurnWork) -> String {
        // Before servers know that it begins, so that nothing that they say from then on is missed.
        let told = timeout(LISTEN_PATIENCE, self.reach.listen(&turn.session)).await;
        let sink = TurnSink::open(self.reach.clone(), &turn.session);
        let begin = RemoteEvent::Begin { agent: turn.agent.clone(), text: turn.text.clone(), messages: turn.messages };
        sink.send(begin);
        // A turn that cannot be told anything comes to its end all the same.
        let told = told.ok().flatten();
        let end = self.run_turn(work, &turn, &sink, told).await.unwrap_or_else(|failure| failed(&failure));
        sink.send(RemoteEvent::Over);
        sink.close().await;
        outcome(&end)
    }

    async fn run_turn(
        &self,
        work: &TakenWork,
        turn: &TurnWork,
        sink: &TurnSink,
        told: Option<SessionMessages>,
    ) -> Result<TurnEnd, Failure> {
        let sessions = self.served.store.sessions();
        let record = sessions.open(&turn.session).await?;
        self.wait_until_free(&record).await?;
        let said = SaidMessages::open(&self.served.store, &turn.session).await?;
        let progress = match work.attempt {
            0 | 1 => TurnProgress::Nothing,
            _ => {
                let begins = |text: &str, _| turn.answers_said || turn.text.starts_with('/') || text.contains(&turn.text);
                turn_progress(&*sessions, &turn.session, turn.messages, begins).await?
            }
        };
        let begin = match progress {
            TurnProgress::Answered(text) => return Ok(answered(text)),
            TurnProgress::Begun => TurnBegin::CutOff,
            TurnProgress::Nothing if turn.answers_said => TurnBegin::Said,
            TurnProgress::Nothing => TurnBegin::Message,
        };
        let volumes = self.volumes.for_agent(&turn.agent);
        let folder = volumes.open(&record).await?;
        let wire = self.wire(&turn.agent, Some(folder.clone()), turn.limits.clone())?;
        let chat = Backend::new(Arc::new(wire), &self.output);
        let mut conversation = open_conversation(&chat, turn.model.as_deref(), Some(&record), Arc::new(sink.clone())).await?;
        conversation.runner.waits_for_agents = true;
        let steering = conversation.runner.steering.clone();
        if let Some(said) = &said {
            said.pass_on(&steering).await?;
        }
        let end = match first_message(&chat, &mut conversation, turn, begin).await? {
            Some(message) => drive(&mut conversation.runner, message, told, said.as_ref()).await,
            // Another turn has answered it.
            None => answered(String::new()),
        };
        if let Some(said) = &said {
            said.forget_heard(&steering).await?;
        }
        conversation.log.flush().await?;
        close_conversation(conversation).await?;
        volumes.save(&folder, &record).await?;
        Ok(end)
    }

    /// Waits until a worker that was lost has the session no longer.
    async fn wait_until_free(&self, record: &SessionRecord) -> Result<(), Failure> {
        let until = tokio::time::Instant::now() + CLAIM_PATIENCE;
        loop {
            match self.served.store.sessions().claim(&record.id, SessionOwner::this_process()).await {
                Err(StoreError::Busy { .. }) if tokio::time::Instant::now() < until => tokio::time::sleep(CLAIM_AGAIN).await,
                claim => return Ok(claim.map(drop)?),
            }
        }
    }
}

/// With what a turn begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnBegin {
    /// The message of the user.
    Message,
    /// What the user said to the turn before, which did not hear it.
    Said,
    /// Another worker has begun it.
    CutOff,
}

/// The message that begins the turn; `None` if nothing is to be answered.
async fn first_message(
    chat: &Backend,
    conversation: &mut Conversation,
    turn: &TurnWork,
    begin: TurnBegin,
) -> Result<Option<Message>, Failure> {
    if begin == TurnBegin::Said {
        let message = conversation.runner.waiting_messages();
        return Ok((!message.blocks.is_empty()).then_some(message));
    }
    let is_own = begin == TurnBegin::Message;
    let text = if is_own { turn.text.as_str() } else { CUT_OFF };
    let prompt = page_prompt(chat, text).await?;
    let mut message = chat.message(&prompt, conversation.runner.provider.model()).await?;
    if is_own {
        message.blocks.extend(turn.blocks.iter().cloned());
        conversation.title_from(text).await?;
    }
    prompt.prepare(&conversation.runner.session)?;
    Ok(Some(message))
}

/// Runs the turn, and does what servers say meanwhile.
async fn drive(runner: &mut Runner, message: Message, mut told: Option<SessionMessages>, said: Option<&SaidMessages>) -> TurnEnd {
    let (cancel, steering) = (CancellationToken::new(), runner.steering.clone());
    let mut running = std::pin::pin!(runner.turn(message, &cancel));
    loop {
        let next = async {
            match &mut told {
                Some(told) => told.next().await,
                None => None,
            }
        };
        tokio::select! {
            end = &mut running => return end,
            Some(message) = next => match serde_json::from_slice(&message) {
                Ok(RemoteMessage::Cancel) => cancel.cancel(),
                Ok(RemoteMessage::Said) => pass_on(said, &steering),
                Ok(RemoteMessage::Say { text }) => steering.say(text),
                // Answers are for the question.
                _ => {}
            },
        }
    }
}

/// The turn continues while the database is asked. What cannot be read now is answered with another turn.
fn pass_on(said: Option<&SaidMessages>, steering: &Steering) {
    let Some((said, steering)) = said.cloned().map(|said| (said, steering.clone())) else { return };
    tokio::spawn(async move { said.pass_on(&steering).await.ok() });
}

fn answered(text: String) -> TurnEnd {
    let mut end = TurnEnd::new(EndReason::Done);
    end.text = text;
    end
}

fn failed(failure: &Failure) -> TurnEnd {
    let mut end = TurnEnd::new(EndReason::Failed);
    end.error = Some(failure.message.clone());
    end
}
