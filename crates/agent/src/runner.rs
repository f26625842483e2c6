//! The agent loop: ask the model, run its calls while the answer still arrives, send it the results, until it calls nothing.

mod agents;

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;

use futures_util::Stream;
use futures_util::stream::unfold;
use haft_contract::{JobStatus, ToolCall, ToolResult};
use haft_engine::{Engine, Session};
use haft_provider::transcript::{ValidatedPrefix, repair};
use haft_provider::{
    Block, Completion, Delta, Message, ModelReply, ModelTurn, OfferedTool, ProviderError, ProviderErrorKind, ResultPart, StopReason, Usage,
};
use haft_store::StoreError;
use haft_text::display;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::carried::{CarriedState, CarryMoment};
use crate::context_budget::{ContextBudget, TokenCount, TokenScale, cut_to_window};
use crate::context_parts::SystemPart;
use crate::events::{EndReason, NullWatcher, TurnEnd, TurnEvent, TurnWatcher};
use crate::ledger::{Ledger, LedgerEntry};
use crate::memory_saving::MemorySaving;
use crate::meter::{Meter, NullMeter};
use crate::notice::{NoticeMoment, NoticeSource};
use crate::partial_answer::PartialAnswer;
use crate::provider::Provider;
use crate::structured_output::{self, OutputSchema};
use crate::sub_agents::ResumedAgent;
use crate::tool_search::{DisclosedTools, ShownTools, ToolFacts, offered_tools};
use crate::turn::{RoundOutcome, Steering, TurnProgress, TurnStop};

/// How often an interrupted answer is requested again within one turn.
const MAX_BREAKS: u32 = 3;
/// How often a conversation that the model finds too long is made shorter within one turn.
const MAX_SHORTENINGS: u32 = 4;
/// How often a model may pause without a call before that counts as its end.
const MAX_PAUSES: u32 = 16;

/// The default of [`Runner::compact_percent`].
const COMPACT_PERCENT: u64 = 80;
/// A conversation, and everything that its turns need.
#[non_exhaustive]
pub struct Runner {
    /// Answers calls.
    pub engine: Engine,
    /// The session of the calls.
    pub session: Session,
    /// The source of answers.
    pub provider: Arc<dyn Provider>,
    /// The durable record of the conversation.
    pub ledger: Arc<dyn Ledger>,
    /// The receiver of events.
    pub watcher: Arc<dyn TurnWatcher>,
    /// Counts the cost, and enforces the budget.
    pub meter: Arc<dyn Meter>,
    /// The system prompt.
    pub system: String,
    /// Parts of the system prompt that are counted apart.
    pub system_parts: Vec<SystemPart>,
    /// News for the model.
    pub notice_source: Option<Arc<dyn NoticeSource>>,
    /// More rounds than this end a turn; `None` leaves it to the guards.
    pub max_rounds: Option<u32>,
    /// Percentage of the model's context window at which the conversation is compacted.
    pub compact_percent: u64,
    /// The conversation so far; it was repaired when it was loaded.
    pub messages: Vec<Message>,
    /// Messages of the user that arrive during a turn.
    pub steering: Steering,
    /// Whether a turn that is done waits for sub-agents in the background and continues with their answers. In a chat it does not:
    /// the user may write meanwhile, and the answers come with the next message.
    pub waits_for_agents: bool,
    /// Its state as a sub-agent, where the user continues the conversation of one.
    pub resumed: Option<ResumedAgent>,
    /// The tools that `tool_search` has found.
    pub disclosed: DisclosedTools,
    /// Tokens of the last request and its answer, as the provider counted them.
    pub(crate) last_tokens: Arc<AtomicU64>,
    /// The schema of the output that the caller wants of a turn; then its tool must be a service of the session too.
    pub output: Option<Arc<OutputSchema>>,
    /// Lets the model save to memory before a conversation is summarized.
    pub memory_saving: Option<MemorySaving>,
    /// What the store knows that the session carries over to another process.
    pub(crate) carried: CarriedState,
    /// Correction of the token estimate for this conversation.
    pub(crate) scale: TokenScale,
    /// The tools of the last request.
    shown: Mutex<Option<Arc<ShownTools>>>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("session", &self.session).field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}

impl Runner {
    /// A new conversation, without messages, watcher and meter.
    pub fn new(engine: Engine, session: Session, provider: Arc<dyn Provider>, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            engine,
            session,
            provider,
            ledger,
            watcher: Arc::new(NullWatcher),
            meter: Arc::new(NullMeter),
            system: String::new(),
            system_parts: Vec::new(),
            notice_source: None,
            max_rounds: None,
            compact_percent: COMPACT_PERCENT,
            messages: Vec::new(),
            steering: Steering::default(),
            waits_for_agents: false,
            resumed: None,
            disclosed: DisclosedTools::default(),
            last_tokens: Arc::default(),
            output: None,
            memory_saving: None,
            carried: CarriedState::default(),
            scale: TokenScale::default(),
            shown: Mutex::default(),
        }
    }

    /// One turn: from the user's message to the last answer of the model. It always has an end, and every call has a result.
    pub async fn turn(&mut self, input: Message, cancel: &CancellationToken) -> TurnEnd {
        let model = self.model_name();
        self.watcher.event(&TurnEvent::Start { session: self.session.id(), model: &model });
        self.meter.begin();
        self.session.begin_turn();
        if let Some(resumed) = &self.resumed {
            self.note_unstored(resumed.begin().await);
        }
        let mut progress = TurnProgress::begin();
        let ended = self.rounds(input, cancel, &mut progress).await;
        let (reason, error) = ended.map_or_else(TurnStop::into_end, |reason| (reason, None));
        if reason == EndReason::Cancelled {
            self.end_agents().await;
        }
        if let Err(why) = self.carry(CarryMoment::AfterTurn).await {
            self.watcher.event(&TurnEvent::Notice(&why));
        }
        let mut end = progress.end(reason, error, self.context());
        end.output = self.output.as_ref().and_then(|output| output.accepted());
        if let Some(resumed) = &self.resumed {
            self.note_unstored(resumed.end(&end).await);
        }
        self.watcher.event(&TurnEvent::End(&end));
        end
    }

    async fn rounds(&mut self, mut input: Message, cancel: &CancellationToken, progress: &mut TurnProgress) -> Result<EndReason, TurnStop> {
        input.blocks.extend(self.notices(NoticeMoment::TurnStart).await);
        self.add(LedgerEntry::User { message: input.clone() }, input).await?;
        loop {
            if self.max_rounds.is_some_and(|most| progress.rounds >= most) {
                return Ok(EndReason::MaxRounds);
            }
            progress.rounds += 1;
            tokio::select! {
                biased;
                permitted = self.meter.permit() => permitted.map_err(TurnStop::Budget)?,
                () = cancel.cancelled() => return Ok(EndReason::Cancelled),
            }
            self.repair_messages(progress);
            let shown = self.tools();
            if let Some(notice) = shown.warning.as_ref().filter(|_| progress.rounds == 1) {
                self.watcher.event(&TurnEvent::Notice(notice));
            }
            let budget = self.fit_context(&shown, cancel, progress).await?;
            let outcome = self.round(&shown.tools, &budget, cancel, progress).await?;
            if let RoundOutcome::End(reason) = self.after_output(outcome, progress).await?
                && (reason != EndReason::Done || self.has_output() || !self.add_answers_of_agents(cancel).await?)
            {
                return Ok(if cancel.is_cancelled() { EndReason::Cancelled } else { reason });
            }
            if cancel.is_cancelled() {
                return Ok(EndReason::Cancelled);
            }
            if self.session.should_stop() {
                return Ok(EndReason::Loop);
            }
        }
    }

    /// Repairs a conversation that no provider takes, such as two user messages in a row after a failed turn. The ledger is
    /// repaired when the session is opened again.
    pub(crate) fn repair_messages(&mut self, progress: &mut TurnProgress) {
        if !progress.checked.is_valid(&self.messages) {
            self.messages = repair(std::mem::take(&mut self.messages)).0;
            (progress.tokens, progress.checked) = (TokenCount::default(), ValidatedPrefix::default());
        }
    }

    /// One question to the model, and the calls of its answer.
    async fn round(
        &mut self,
        tools: &[OfferedTool],
        budget: &ContextBudget,
        cancel: &CancellationToken,
        progress: &mut TurnProgress,
    ) -> Result<RoundOutcome, TurnStop> {
        let (partial, answered, mut results) = self.ask_and_run(tools, cancel).await;
        progress.calls += u32::try_from(results.len()).unwrap_or(u32::MAX);
        if let Some(why) = partial.not_kept {
            return Err(TurnStop::NotKept(why));
        }
        let (reply, broke) = match answered {
            Ok(Completion { reply, warnings, .. }) => {
                for warning in &warnings {
                    self.watcher.event(&TurnEvent::Notice(warning));
                }
                self.calibrate(budget, reply.usage, progress);
                (reply, None)
            }
            // Calls that were begun may have had effects, so the model is told of them although its answer was interrupted.
            Err(error) => {
                let usage = partial.usage;
                (ModelReply::new(partial.blocks(), StopReason::Other("broken off".into()), usage), Some(error))
            }
        };
        if broke.is_none() || reply.usage != Usage::default() {
            self.count(reply.usage, progress).await?;
        }
        progress.text = text_of(&reply.blocks);
        let (stop, called) = (reply.stop.clone(), reply.blocks.iter().any(|block| block.call_id().is_some()));
        cut_to_window(&mut results, self.provider.model(), &self.engine, &self.session).await;
        let is_steered = self.add_answer(reply, &results).await?;
        match broke {
            Some(error) => self.after_break(error, cancel, progress).await,
            // Messages of the user want an answer as results do.
            None => Ok(after_answer(&stop, called || is_steered, progress)),
        }
    }

    /// Records the usage of an answer before the next one is requested.
    pub(crate) async fn count(&self, usage: Usage, progress: &mut TurnProgress) -> Result<(), TurnStop> {
        // Without a count there is nothing to record.
        let cost =
            if usage == Usage::default() { None } else { self.meter.count(&self.model_name(), usage).await.map_err(TurnStop::NotKept)? };
        progress.usage += usage;
        self.last_tokens.store(usage.input.saturating_add(usage.output), Ordering::Relaxed);
        progress.cost = progress.cost.zip(cost).map(|(sum, cost)| sum.plus(cost));
        self.watcher.event(&TurnEvent::Usage(usage, cost));
        Ok(())
    }

    /// Requests an interrupted answer again, unless that cannot help. A conversation that is too long for the model is
    /// summarized first.
    async fn after_break(
        &mut self,
        error: ProviderError,
        cancel: &CancellationToken,
        progress: &mut TurnProgress,
    ) -> Result<RoundOutcome, TurnStop> {
        progress.breaks += 1;
        if error.kind == ProviderErrorKind::TooLong && progress.shortenings < MAX_SHORTENINGS {
            progress.shortenings += 1;
            if self.make_shorter(cancel, progress).await? {
                return Ok(RoundOutcome::Continue);
            }
        }
        // The client has retried requests without an answer often enough.
        let worth_asking = error.is_retryable() && (error.partial || error.kind == ProviderErrorKind::Garbled);
        if !worth_asking || progress.breaks > MAX_BREAKS {
            return Err(TurnStop::Provider(error));
        }
        let (reason, number) = (error.message.trim_end_matches("Try again.").trim_end(), progress.breaks);
        self.watcher.event(&TurnEvent::Notice(&format!("{reason} Retry {number} of {MAX_BREAKS} now; Ctrl-C stops it.")));
        Ok(RoundOutcome::Continue)
    }

    /// Asks the model; every call runs as soon as it is complete, and is on disk before that.
    async fn ask_and_run(
        &self,
        tools: &[OfferedTool],
        cancel: &CancellationToken,
    ) -> (PartialAnswer, Result<Completion, ProviderError>, Vec<ToolResult>) {
        let turn = ModelTurn { model: self.provider.model(), system: &self.system, messages: &self.messages, tools };
        let partial = Mutex::new(PartialAnswer::default());
        let (sender, receiver) = mpsc::unbounded_channel();
        let asking = async {
            let mut each = |delta: Delta| self.on_delta(delta, &partial, &sender);
            let answered = self.provider.answer(turn, cancel, &mut each).await;
            drop(sender);
            answered
        };
        let (answered, results) = {
            let mut calls = pin!(self.recorded_calls(receiver, &partial));
            let next = |cx: &mut Context<'_>| calls.as_mut().poll_next(cx);
            let running = self.engine.run_arriving(next, &self.session, cancel, |result| self.watcher.event(&TurnEvent::ToolEnd(result)));
            tokio::join!(asking, running)
        };
        (partial.into_inner().unwrap_or_else(PoisonError::into_inner), answered, results)
    }

    fn on_delta(&self, delta: Delta, partial: &Mutex<PartialAnswer>, calls: &mpsc::UnboundedSender<Block>) {
        partial.lock().unwrap_or_else(PoisonError::into_inner).take(&delta);
        match delta {
            Delta::Text(text) => self.watcher.event(&TurnEvent::Text(&text)),
            Delta::Thinking(text) => self.watcher.event(&TurnEvent::Thinking(&text)),
            // Without a receiver the turn was cut short, and the call does not run.
            Delta::CallReady { call, .. } => drop(calls.send(call)),
            Delta::Retry(retry) => self.watcher.event(&TurnEvent::Notice(&retry.to_string())),
            _ => {}
        }
    }

    /// The calls for the engine: each is written to the ledger first, and not made if that fails.
    fn recorded_calls<'a>(
        &'a self,
        receiver: mpsc::UnboundedReceiver<Block>,
        partial: &'a Mutex<PartialAnswer>,
    ) -> impl Stream<Item = ToolCall> + 'a {
        unfold(receiver, move |mut receiver| async move {
            let call = receiver.recv().await?;
            if let Err(why) = self.ledger.keep(&LedgerEntry::Begun { call: call.clone() }).await {
                partial.lock().unwrap_or_else(PoisonError::into_inner).not_kept = Some(why);
                return None;
            }
            let Block::Call { id, name, arguments, .. } = call else { return None };
            self.watcher.event(&TurnEvent::ToolStart { call_id: &id, tool: &name, arguments: &arguments });
            Some((ToolCall::new(id, name, arguments), receiver))
        })
    }

    /// Adds an answer and the results of its calls, in this order and with one wait for the disk: the calls were stored before they ran.
    /// Returns whether the user has sent a message meanwhile.
    async fn add_answer(&mut self, reply: ModelReply, results: &[ToolResult]) -> Result<bool, TurnStop> {
        let ModelReply { blocks, stop, usage, .. } = reply;
        let stored: Vec<Block> = blocks.iter().filter_map(|block| stored_block(block, results)).collect();
        let results: Vec<Block> = blocks.iter().filter_map(|block| result_block(block, results)).collect();
        let (mut entries, mut messages) = (Vec::with_capacity(2), Vec::with_capacity(2));
        if !blocks.is_empty() {
            let message = Message::assistant(blocks);
            let model = self.model_name();
            entries.push(LedgerEntry::Assistant { message: message.clone(), model, stop, usage });
            messages.push(message);
        }
        let steered = self.steering.take();
        let is_steered = !steered.is_empty();
        let mut rest: Vec<Block> = steered.into_iter().collect();
        if !results.is_empty() || !rest.is_empty() {
            rest.extend(self.notices(NoticeMoment::Round).await);
            let message = |results: Vec<Block>| Message::results(results.into_iter().chain(rest.iter().cloned()).collect());
            entries.extend(self.steering.heard_entry());
            entries.push(LedgerEntry::Results { message: message(stored) });
            messages.push(message(results));
        }
        if !entries.is_empty() {
            self.carry(CarryMoment::InTurn).await.map_err(TurnStop::NotKept)?;
            self.ledger.keep_all(&entries).await.map_err(TurnStop::NotKept)?;
            self.steering.mark_heard();
            self.messages.append(&mut messages);
        }
        Ok(is_steered)
    }

    /// Notices for the model: background jobs and sub-agents that have ended, and news.
    async fn notices(&self, moment: NoticeMoment) -> Vec<Block> {
        let ended = self.session.host().processes().end_notices(self.session.id());
        let notices = ended.iter().filter_map(ended_job).inspect(|notice| self.watcher.event(&TurnEvent::Notice(notice)));
        let mut blocks: Vec<Block> =
            notices.map(|notice| Block::text(format!("[{notice}; process with action=poll shows its output]"))).collect();
        blocks.extend(self.agent_notices());
        if let Some(source) = &self.notice_source {
            for notice in source.notices(moment).await {
                self.watcher.event(&TurnEvent::Notice(&notice.summary));
                blocks.push(Block::text(notice.text));
            }
        }
        blocks
    }

    async fn add(&mut self, entry: LedgerEntry, message: Message) -> Result<(), TurnStop> {
        self.carry(CarryMoment::InTurn).await.map_err(TurnStop::NotKept)?;
        let kept = match self.steering.heard_entry() {
            None => self.ledger.keep(&entry).await,
            Some(heard) => self.ledger.keep_all(&[heard, entry]).await,
        };
        kept.map_err(TurnStop::NotKept)?;
        self.steering.mark_heard();
        self.messages.push(message);
        Ok(())
    }

    fn note_unstored(&self, stored: Result<(), StoreError>) {
        if let Err(error) = stored {
            self.watcher.event(&TurnEvent::Notice(&format!("the state of this sub-agent is not stored: {error}")));
        }
    }

    fn has_output(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.is_accepted())
    }

    /// Ends the turn with structured output. A model that is done without it is asked again, some times.
    async fn after_output(&mut self, outcome: RoundOutcome, progress: &mut TurnProgress) -> Result<RoundOutcome, TurnStop> {
        let Some(output) = &self.output else { return Ok(outcome) };
        if output.is_accepted() {
            return Ok(RoundOutcome::End(EndReason::Done));
        }
        let (invalid, fault) = output.faults();
        if invalid >= structured_output::MAX_INVALID {
            let fault = fault.unwrap_or_default();
            return Err(TurnStop::NoOutput(format!("{invalid} outputs of the model did not fit the schema. {fault}")));
        }
        match outcome {
            RoundOutcome::End(EndReason::Done) if progress.reminders < structured_output::MAX_REMINDERS => {
                progress.reminders += 1;
                let reminder = Message::user(structured_output::REMINDER);
                self.add(LedgerEntry::User { message: reminder.clone() }, reminder).await?;
                Ok(RoundOutcome::Continue)
            }
            RoundOutcome::End(EndReason::Done) => {
                let why = "The model answered in text and gave no structured output. Use another model, or say in the prompt what to give.";
                Err(TurnStop::NoOutput(why.into()))
            }
            other => Ok(other),
        }
    }

    /// The tools that the model is shown, and a warning to the user about the others.
    pub(crate) fn tools(&self) -> Arc<ShownTools> {
        let facts = ToolFacts {
            offered: offered_tools(&self.engine, &self.session),
            dialect: self.session.dialect(),
            provider: &self.provider,
            disclosed: &self.disclosed,
            output: self.output.as_ref(),
        };
        let mut last = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_ref().filter(|shown| shown.is_of(&facts)) {
            Some(shown) => Arc::clone(shown),
            None => Arc::clone(last.insert(Arc::new(ShownTools::new(facts)))),
        }
    }

    fn model_name(&self) -> String {
        let model = self.provider.model();
        format!("{}/{}", model.provider, model.name)
    }
}

/// How many characters of a command a notice shows.
const COMMAND_CHARS: usize = 80;

fn ended_job(job: &JobStatus) -> Option<String> {
    let command = display::shorten(&job.command, COMMAND_CHARS);
    job.end.as_ref().map(|end| format!("job '{}' ({command}) has ended: {end}", job.id))
}

/// What follows a complete answer.
fn after_answer(stop: &StopReason, called: bool, progress: &mut TurnProgress) -> RoundOutcome {
    match stop {
        _ if called => RoundOutcome::Continue,
        StopReason::MaxTokens => RoundOutcome::End(EndReason::MaxTokens),
        StopReason::Refused => RoundOutcome::End(EndReason::Refused),
        StopReason::Paused if progress.pauses < MAX_PAUSES => {
            progress.pauses += 1;
            RoundOutcome::Continue
        }
        _ => RoundOutcome::End(EndReason::Done),
    }
}

pub(crate) fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// The result of a call, as the transcript stores it: a hook may have rewritten it.
fn stored_block(block: &Block, results: &[ToolResult]) -> Option<Block> {
    let whole = result_block(block, results)?;
    let Block::Result { id, name, is_error, .. } = &whole else { return Some(whole) };
    let result = results.iter().find(|result| result.call_id == *id).filter(|result| result.stored.is_some());
    let rewritten = |result: &ToolResult| Block::Result {
        id: id.clone(),
        name: name.clone(),
        content: vec![ResultPart::Text { text: result.stored_json() }],
        is_error: *is_error,
    };
    Some(result.map_or_else(|| whole.clone(), rewritten))
}

/// The result of a call, as the model gets it.
pub(crate) fn result_block(block: &Block, results: &[ToolResult]) -> Option<Block> {
    let Block::Call { id, name, .. } = block else { return None };
    let result = results.iter().find(|result| result.call_id == *id)?;
    Some(Block::result(name.as_str(), result))
}
