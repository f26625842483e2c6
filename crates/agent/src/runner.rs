//! The loop: ask the model, run what it asks for while it still speaks, give it the results, until it asks for nothing.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::Stream;
use futures_util::stream::unfold;
use haft_contract::{Content, ToolCall, ToolResult, base64};
use haft_engine::{Engine, Session};
use haft_provider::transcript::{repair, validate};
use haft_provider::{Block, Delta, Message, Piece, ProviderError, Reply, StopReason, ToolSpec, Trouble, Turn, Usage};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::budget::fitted;
use crate::events::{EndReason, TurnEnd, TurnEvent, Watcher};
use crate::heard::Heard;
use crate::ledger::{Entry, Ledger};
use crate::provider::{Answer, Provider};

/// How often an answer that broke off is asked for again within one turn.
const MOST_BREAKS: u32 = 3;
/// How often a model may pause without a call before that counts as its end.
const MOST_PAUSES: u32 = 16;

/// Everything that a conversation needs to go on.
pub struct Runner {
    /// Answers calls.
    pub engine: Engine,
    /// On whose behalf.
    pub session: Session,
    /// Who answers turns.
    pub provider: Arc<dyn Provider>,
    /// Where the conversation is kept.
    pub ledger: Arc<dyn Ledger>,
    /// Who watches.
    pub watcher: Arc<dyn Watcher>,
    /// What stands before the conversation.
    pub system: String,
    /// More rounds than this end a turn; `None` leaves it to the guards.
    pub max_rounds: Option<u32>,
    /// The conversation so far; it was repaired when it was loaded.
    pub messages: Vec<Message>,
    /// What the person types while tools run.
    pub steering: Steering,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("session", &self.session).field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}

/// Messages of the person that arrive in the middle of a turn; they are delivered with the next results.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<Vec<String>>>);

impl Steering {
    /// Says something to the model as soon as it listens.
    pub fn say(&self, text: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.into());
    }
    fn take(&self) -> Vec<Block> {
        let texts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        texts.into_iter().map(Block::text).collect()
    }
}

/// What a turn has come to so far.
#[derive(Debug, Default)]
struct Progress {
    rounds: u32,
    breaks: u32,
    pauses: u32,
    usage: Usage,
    text: String,
}

/// What ends a turn before the model does.
enum Stopped {
    Provider(ProviderError),
    NotKept(String),
}

/// What a round leads to.
enum Next {
    Round,
    End(EndReason),
}

impl Runner {
    /// One turn: everything from what the person said to the model's last word. Whatever happens, it has an end, and every call
    /// has its result.
    pub async fn turn(&mut self, input: Message, cancel: &CancellationToken) -> TurnEnd {
        let model = self.model_name();
        self.watcher.event(&TurnEvent::Start { session: self.session.id(), model: &model });
        let mut progress = Progress::default();
        let ended = self.rounds(input, cancel, &mut progress).await;
        let (reason, error) = match ended {
            Ok(reason) => (reason, None),
            Err(Stopped::Provider(error)) if error.trouble == Trouble::Cancelled => (EndReason::Cancelled, None),
            Err(Stopped::Provider(error)) => (EndReason::Failed, Some(error.message)),
            Err(Stopped::NotKept(why)) => (EndReason::Failed, Some(format!("The conversation could not be kept, so it stops here: {why}"))),
        };
        let end = TurnEnd { reason, text: progress.text, rounds: progress.rounds, usage: progress.usage, error };
        self.watcher.event(&TurnEvent::End(&end));
        end
    }

    async fn rounds(&mut self, input: Message, cancel: &CancellationToken, progress: &mut Progress) -> Result<EndReason, Stopped> {
        self.add(Entry::User { message: input.clone() }, input).await?;
        loop {
            if self.max_rounds.is_some_and(|most| progress.rounds >= most) {
                return Ok(EndReason::MaxRounds);
            }
            progress.rounds += 1;
            self.mend();
            if let Next::End(reason) = self.round(cancel, progress).await? {
                return Ok(reason);
            }
            if cancel.is_cancelled() {
                return Ok(EndReason::Cancelled);
            }
            if self.session.should_stop() {
                return Ok(EndReason::Loop);
            }
        }
    }

    /// A turn that failed leaves a conversation that no provider takes, such as two messages of the person in a row. What is
    /// kept is repaired when the session is opened again.
    fn mend(&mut self) {
        if !validate(&self.messages).is_empty() {
            self.messages = repair(std::mem::take(&mut self.messages)).0;
        }
    }

    /// One question to the model, and the calls of its answer.
    async fn round(&mut self, cancel: &CancellationToken, progress: &mut Progress) -> Result<Next, Stopped> {
        let (heard, answered, results) = self.ask_and_run(cancel).await;
        if let Some(why) = heard.not_kept {
            return Err(Stopped::NotKept(why));
        }
        let (reply, broke) = match answered {
            Ok(answer) => (self.answered(answer, progress), None),
            // What was begun has happened, so the model must hear of it, although its answer broke off.
            Err(error) => (Reply::new(heard.blocks(), StopReason::Other("broken off".into()), Usage::default()), Some(error)),
        };
        progress.text = text_of(&reply.blocks);
        let (stop, called) = (reply.stop.clone(), reply.blocks.iter().any(|block| block.call_id().is_some()));
        self.add_answer(reply, &results).await?;
        match broke {
            Some(error) => self.after_a_break(error, progress),
            None => Ok(after(&stop, called, progress)),
        }
    }

    fn answered(&self, answer: Answer, progress: &mut Progress) -> Reply {
        for warning in &answer.warnings {
            self.watcher.event(&TurnEvent::Notice(warning));
        }
        progress.usage += answer.reply.usage;
        self.watcher.event(&TurnEvent::Usage(answer.reply.usage));
        answer.reply
    }

    /// An answer that broke off is asked for again, unless that cannot help.
    fn after_a_break(&self, error: ProviderError, progress: &mut Progress) -> Result<Next, Stopped> {
        progress.breaks += 1;
        if !error.is_retryable() || progress.breaks > MOST_BREAKS {
            return Err(Stopped::Provider(error));
        }
        self.watcher.event(&TurnEvent::Notice(&format!("the answer broke off ({error}); asking again")));
        Ok(Next::Round)
    }

    /// Asks the model; every call runs as soon as it is complete, and is on disk before that.
    async fn ask_and_run(&self, cancel: &CancellationToken) -> (Heard, Result<Answer, ProviderError>, Vec<ToolResult>) {
        let tools = self.tools();
        let model = self.provider.model();
        let (messages, left_out) = fitted(&self.messages, model, &self.system, &tools);
        if left_out > 0 {
            let notice = format!("{left_out} old results are left out of what the model is sent, so that the conversation fits");
            self.watcher.event(&TurnEvent::Notice(&notice));
        }
        let turn = Turn { model, system: &self.system, messages: &messages, tools: &tools };
        let heard = Mutex::new(Heard::default());
        let (sender, receiver) = mpsc::unbounded_channel();
        let asking = async {
            let mut each = |delta: Delta| self.hear(delta, &heard, &sender);
            let answered = self.provider.answer(turn, cancel, &mut each).await;
            drop(sender);
            answered
        };
        let calls = self.begun(receiver, &heard);
        let running = self.engine.run_arriving(calls, &self.session, cancel, |result| self.watcher.event(&TurnEvent::ToolEnd(result)));
        let (answered, results) = tokio::join!(asking, running);
        (heard.into_inner().unwrap_or_else(PoisonError::into_inner), answered, results)
    }

    fn hear(&self, delta: Delta, heard: &Mutex<Heard>, calls: &mpsc::UnboundedSender<Block>) {
        heard.lock().unwrap_or_else(PoisonError::into_inner).take(&delta);
        match delta {
            Delta::Text(text) => self.watcher.event(&TurnEvent::Text(&text)),
            Delta::Thinking(text) => self.watcher.event(&TurnEvent::Thinking(&text)),
            // Nobody receives any more when the turn was cut short; then the call does not run.
            Delta::CallReady { call, .. } => drop(calls.send(call)),
            _ => {}
        }
    }

    /// The calls as the engine takes them: each is kept first, and none that could not be kept is made.
    fn begun<'a>(&'a self, receiver: mpsc::UnboundedReceiver<Block>, heard: &'a Mutex<Heard>) -> impl Stream<Item = ToolCall> + 'a {
        unfold(receiver, move |mut receiver| async move {
            let call = receiver.recv().await?;
            if let Err(why) = self.ledger.keep(&Entry::Begun { call: call.clone() }).await {
                heard.lock().unwrap_or_else(PoisonError::into_inner).not_kept = Some(why);
                return None;
            }
            let Block::Call { id, name, arguments, .. } = call else { return None };
            self.watcher.event(&TurnEvent::ToolStart { call_id: &id, tool: &name, arguments: &arguments });
            Some((ToolCall::new(id, name, arguments), receiver))
        })
    }

    /// Keeps an answer and the results of its calls, in this order.
    async fn add_answer(&mut self, reply: Reply, results: &[ToolResult]) -> Result<(), Stopped> {
        let Reply { blocks, stop, usage, .. } = reply;
        let results: Vec<Block> = blocks.iter().filter_map(|block| result_block(block, results)).collect();
        if !blocks.is_empty() {
            let message = Message::assistant(blocks);
            let model = self.model_name();
            self.add(Entry::Assistant { message: message.clone(), model, stop, usage }, message).await?;
        }
        let said: Vec<Block> = results.into_iter().chain(self.steering.take()).collect();
        if said.is_empty() {
            return Ok(());
        }
        let message = Message::results(said);
        self.add(Entry::Results { message: message.clone() }, message).await
    }

    async fn add(&mut self, entry: Entry, message: Message) -> Result<(), Stopped> {
        self.ledger.keep(&entry).await.map_err(Stopped::NotKept)?;
        self.messages.push(message);
        Ok(())
    }

    /// What the model is shown: every tool that the policy offers to this session, in its dialect.
    fn tools(&self) -> Vec<ToolSpec> {
        let offered = |entry: &Arc<haft_engine::Entry>| self.engine.offers(entry, &self.session).verdict != haft_engine::Verdict::Deny;
        let shown = |entry: Arc<haft_engine::Entry>| {
            let shown = entry.definition().in_dialect(self.session.dialect());
            ToolSpec { name: shown.name.to_string(), description: shown.description.to_string(), parameters: shown.parameters.into_owned() }
        };
        let entries = self.engine.registry().entries().into_iter();
        entries.filter(|entry| !entry.definition().deferred).filter(offered).map(shown).collect()
    }

    fn model_name(&self) -> String {
        let model = self.provider.model();
        format!("{}/{}", model.provider, model.name)
    }
}

/// What follows from an answer that came to its end.
fn after(stop: &StopReason, called: bool, progress: &mut Progress) -> Next {
    match stop {
        _ if called => Next::Round,
        StopReason::MaxTokens => Next::End(EndReason::MaxTokens),
        StopReason::Refused => Next::End(EndReason::Refused),
        StopReason::Paused if progress.pauses < MOST_PAUSES => {
            progress.pauses += 1;
            Next::Round
        }
        _ => Next::End(EndReason::Done),
    }
}

fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// The result of a call, as the model gets it.
fn result_block(block: &Block, results: &[ToolResult]) -> Option<Block> {
    let Block::Call { id, name, .. } = block else { return None };
    let result = results.iter().find(|result| result.call_id == *id)?;
    let mut content = vec![Piece::Text { text: result.to_json() }];
    if let Ok(output) = &result.outcome {
        content.extend(output.content.iter().filter_map(|content| match content {
            Content::Image { mime, data } => Some(Piece::Image { mime: mime.clone(), data: base64::encode(data) }),
            _ => None,
        }));
    }
    Some(Block::Result { id: id.clone(), name: name.clone(), content, is_error: !result.is_success() })
}
