//! The loop: ask the model, run what it asks for while it still speaks, give it the results, until it asks for nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::Stream;
use futures_util::stream::unfold;
use haft_contract::{Content, JobStatus, ToolCall, ToolResult, base64, visible};
use haft_engine::{Engine, Session};
use haft_provider::transcript::{Checked, repair};
use haft_provider::{Block, Delta, Message, Piece, ProviderError, Reply, StopReason, ToolSpec, Trouble, Turn, Usage};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cost::Micros;
use crate::events::{EndReason, Nobody, TurnEnd, TurnEvent, Watcher};
use crate::heard::Heard;
use crate::ledger::{Entry, Ledger};
use crate::meter::{Meter, Unmetered};
use crate::provider::{Answer, Provider};
use crate::room::{Room, Scale, Weight, cut_to_window};
use crate::tool_search::{Revealed, offered, shown};

/// How often an answer that broke off is asked for again within one turn.
const MOST_BREAKS: u32 = 3;
/// How often a model may pause without a call before that counts as its end.
const MOST_PAUSES: u32 = 16;

/// At which part of the window a conversation gives way unless told otherwise, in percent.
const COMPACT_PERCENT: u64 = 80;

/// Everything that a conversation needs to go on.
#[non_exhaustive]
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
    /// What counts the cost, and keeps the budget.
    pub meter: Arc<dyn Meter>,
    /// What stands before the conversation.
    pub system: String,
    /// More rounds than this end a turn; `None` leaves it to the guards.
    pub max_rounds: Option<u32>,
    /// At which part of the model's window the conversation gives way, in percent.
    pub compact_percent: u64,
    /// The conversation so far; it was repaired when it was loaded.
    pub messages: Vec<Message>,
    /// What the person types while tools run.
    pub steering: Steering,
    /// What `tool_search` has found.
    pub revealed: Revealed,
    /// How well the size of this conversation is known.
    pub(crate) scale: Scale,
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
    /// Takes the last message back, unless the model has it already.
    pub fn take_back(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
    fn take(&self) -> Vec<Block> {
        let texts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        texts.into_iter().map(Block::text).collect()
    }
}

/// What a turn has come to so far.
#[derive(Debug)]
pub(crate) struct Progress {
    began: Instant,
    rounds: u32,
    calls: u32,
    breaks: u32,
    pauses: u32,
    /// How often the conversation was summed up.
    pub(crate) summaries: u32,
    /// How far the conversation is known to be well-formed.
    pub(crate) checked: Checked,
    /// What it weighs.
    pub(crate) weight: Weight,
    usage: Usage,
    /// Nothing once an answer had no known price.
    cost: Option<Micros>,
    text: String,
}

impl Progress {
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            rounds: 0,
            calls: 0,
            breaks: 0,
            pauses: 0,
            summaries: 0,
            checked: Checked::default(),
            weight: Weight::default(),
            usage: Usage::default(),
            cost: Some(Micros::default()),
            text: String::new(),
        }
    }

    fn end(self, reason: EndReason, error: Option<String>, context: usize) -> TurnEnd {
        let Self { began, rounds, calls, usage, text, .. } = self;
        let cost = self.cost.filter(|_| usage != Usage::default());
        TurnEnd { reason, text, rounds, calls, usage, cost, context: context as u64, elapsed: began.elapsed(), error }
    }
}

/// What ends a turn before the model does.
pub(crate) enum Stopped {
    Provider(ProviderError),
    NotKept(String),
    Budget(String),
}

impl Stopped {
    pub(crate) fn told(self) -> (EndReason, Option<String>) {
        match self {
            Self::Provider(error) if error.trouble == Trouble::Cancelled => (EndReason::Cancelled, None),
            Self::Provider(error) => (EndReason::Failed, Some(error.message)),
            Self::NotKept(why) => (EndReason::Failed, Some(format!("The conversation could not be kept, so it stops here: {why}"))),
            Self::Budget(why) => (EndReason::Budget, Some(format!("The budget is used up: {why}."))),
        }
    }
}

/// What a round leads to.
enum Next {
    Round,
    End(EndReason),
}

impl Runner {
    /// A conversation that begins: nobody watches, nothing is counted, nothing was said.
    pub fn new(engine: Engine, session: Session, provider: Arc<dyn Provider>, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            engine,
            session,
            provider,
            ledger,
            watcher: Arc::new(Nobody),
            meter: Arc::new(Unmetered),
            system: String::new(),
            max_rounds: None,
            compact_percent: COMPACT_PERCENT,
            messages: Vec::new(),
            steering: Steering::default(),
            revealed: Revealed::default(),
            scale: Scale::default(),
        }
    }

    /// One turn: everything from what the person said to the model's last word. Whatever happens, it has an end, and every call
    /// has its result.
    pub async fn turn(&mut self, input: Message, cancel: &CancellationToken) -> TurnEnd {
        let model = self.model_name();
        self.watcher.event(&TurnEvent::Start { session: self.session.id(), model: &model });
        self.meter.begin();
        self.session.begin_turn();
        let mut progress = Progress::begin();
        let ended = self.rounds(input, cancel, &mut progress).await;
        let (reason, error) = ended.map_or_else(Stopped::told, |reason| (reason, None));
        let end = progress.end(reason, error, self.context());
        self.watcher.event(&TurnEvent::End(&end));
        end
    }

    async fn rounds(&mut self, mut input: Message, cancel: &CancellationToken, progress: &mut Progress) -> Result<EndReason, Stopped> {
        input.blocks.extend(self.notices());
        self.add(Entry::User { message: input.clone() }, input).await?;
        loop {
            if self.max_rounds.is_some_and(|most| progress.rounds >= most) {
                return Ok(EndReason::MaxRounds);
            }
            progress.rounds += 1;
            tokio::select! {
                biased;
                permitted = self.meter.permit() => permitted.map_err(Stopped::Budget)?,
                () = cancel.cancelled() => return Ok(EndReason::Cancelled),
            }
            self.mend(progress);
            let (tools, left_out) = self.tools();
            if let Some(notice) = left_out.filter(|_| progress.rounds == 1) {
                self.watcher.event(&TurnEvent::Notice(&notice));
            }
            let room = self.make_room(&tools, cancel, progress).await?;
            if let Next::End(reason) = self.round(&tools, &room, cancel, progress).await? {
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
    pub(crate) fn mend(&mut self, progress: &mut Progress) {
        if !progress.checked.is_valid(&self.messages) {
            self.messages = repair(std::mem::take(&mut self.messages)).0;
            (progress.weight, progress.checked) = (Weight::default(), Checked::default());
        }
    }

    /// One question to the model, and the calls of its answer.
    async fn round(
        &mut self,
        tools: &[ToolSpec],
        room: &Room,
        cancel: &CancellationToken,
        progress: &mut Progress,
    ) -> Result<Next, Stopped> {
        let (heard, answered, mut results) = self.ask_and_run(tools, cancel).await;
        progress.calls += u32::try_from(results.len()).unwrap_or(u32::MAX);
        if let Some(why) = heard.not_kept {
            return Err(Stopped::NotKept(why));
        }
        let (reply, broke) = match answered {
            Ok(Answer { reply, warnings }) => {
                for warning in &warnings {
                    self.watcher.event(&TurnEvent::Notice(warning));
                }
                self.learn(room, reply.usage, progress);
                (reply, None)
            }
            // What was begun has happened, so the model must hear of it, although its answer broke off.
            Err(error) => {
                let usage = heard.usage;
                (Reply::new(heard.blocks(), StopReason::Other("broken off".into()), usage), Some(error))
            }
        };
        if broke.is_none() || reply.usage != Usage::default() {
            self.count(reply.usage, progress).await?;
        }
        progress.text = text_of(&reply.blocks);
        let (stop, called) = (reply.stop.clone(), reply.blocks.iter().any(|block| block.call_id().is_some()));
        cut_to_window(&mut results, self.provider.model(), &self.engine, &self.session).await;
        let spoken = self.add_answer(reply, &results).await?;
        match broke {
            Some(error) => self.after_a_break(error, cancel, progress).await,
            // What the person said meanwhile wants an answer as results do.
            None => Ok(after(&stop, called || spoken, progress)),
        }
    }

    /// What an answer used is on record before the next is asked for.
    pub(crate) async fn count(&self, usage: Usage, progress: &mut Progress) -> Result<(), Stopped> {
        // A model that counts nothing costs nothing that could be counted.
        let cost =
            if usage == Usage::default() { None } else { self.meter.count(&self.model_name(), usage).await.map_err(Stopped::NotKept)? };
        progress.usage += usage;
        progress.cost = progress.cost.zip(cost).map(|(sum, cost)| sum.plus(cost));
        self.watcher.event(&TurnEvent::Usage(usage, cost));
        Ok(())
    }

    /// An answer that broke off is asked for again, unless that cannot help. A conversation that the model finds too long is
    /// summed up first.
    async fn after_a_break(&mut self, error: ProviderError, cancel: &CancellationToken, progress: &mut Progress) -> Result<Next, Stopped> {
        progress.breaks += 1;
        if error.trouble == Trouble::TooLong && progress.summaries == 0 && self.sum_up(cancel, progress).await? {
            return Ok(Next::Round);
        }
        // What had not begun was tried often enough by the client.
        let worth_asking = error.is_retryable() && (error.partial || error.trouble == Trouble::Garbled);
        if !worth_asking || progress.breaks > MOST_BREAKS {
            return Err(Stopped::Provider(error));
        }
        self.watcher.event(&TurnEvent::Notice(&format!("the answer broke off ({error}); asking again")));
        Ok(Next::Round)
    }

    /// Asks the model; every call runs as soon as it is complete, and is on disk before that.
    async fn ask_and_run(&self, tools: &[ToolSpec], cancel: &CancellationToken) -> (Heard, Result<Answer, ProviderError>, Vec<ToolResult>) {
        let turn = Turn { model: self.provider.model(), system: &self.system, messages: &self.messages, tools };
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

    /// Keeps an answer and the results of its calls, in this order, and says whether the person has said something meanwhile.
    async fn add_answer(&mut self, reply: Reply, results: &[ToolResult]) -> Result<bool, Stopped> {
        let Reply { blocks, stop, usage, .. } = reply;
        let results: Vec<Block> = blocks.iter().filter_map(|block| result_block(block, results)).collect();
        if !blocks.is_empty() {
            let message = Message::assistant(blocks);
            let model = self.model_name();
            self.add(Entry::Assistant { message: message.clone(), model, stop, usage }, message).await?;
        }
        let steered = self.steering.take();
        let spoken = !steered.is_empty();
        let mut said: Vec<Block> = results.into_iter().chain(steered).collect();
        if !said.is_empty() {
            said.extend(self.notices());
        }
        if !said.is_empty() {
            let message = Message::results(said);
            self.add(Entry::Results { message: message.clone() }, message).await?;
        }
        Ok(spoken)
    }

    /// What the model should know of commands that went on without it, and have ended since.
    fn notices(&self) -> Vec<Block> {
        let ended = self.session.host().processes().notices(self.session.id());
        let notices = ended.iter().filter_map(ended_job).inspect(|notice| self.watcher.event(&TurnEvent::Notice(notice)));
        notices.map(|notice| Block::text(format!("[{notice}; process with action=poll shows its output]"))).collect()
    }

    async fn add(&mut self, entry: Entry, message: Message) -> Result<(), Stopped> {
        self.ledger.keep(&entry).await.map_err(Stopped::NotKept)?;
        self.messages.push(message);
        Ok(())
    }

    /// What the model is shown of the tools that the policy offers, and what a person should know of the others.
    pub(crate) fn tools(&self) -> (Vec<ToolSpec>, Option<String>) {
        let offered = offered(&self.engine, &self.session);
        shown(&offered, self.session.dialect(), self.provider.model(), &self.revealed)
    }

    fn model_name(&self) -> String {
        let model = self.provider.model();
        format!("{}/{}", model.provider, model.name)
    }
}

/// How much of a line names its job.
const NAMED_BY: usize = 80;

fn ended_job(job: &JobStatus) -> Option<String> {
    let line = visible::shorten(&job.line, NAMED_BY);
    job.end.as_ref().map(|end| format!("job '{}' ({line}) has ended: {end}", job.id))
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

pub(crate) fn text_of(blocks: &[Block]) -> String {
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
