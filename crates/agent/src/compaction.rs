//! Compaction: the model summarizes a conversation that grows too long. The ledger keeps all of it.

mod parts;

use haft_provider::transcript::{ValidatedPrefix, size};
use haft_provider::{Block, Message, ModelTurn, OfferedTool, ProviderError, ProviderErrorKind, Role, Usage};
use tokio_util::sync::CancellationToken;

use self::parts::{dropped_note, part_length, shorten_messages};
use crate::context_budget::{BYTES_PER_TOKEN, ContextBudget, TokenCount, TokenScale, stub_old_results};
use crate::events::TurnEvent;
use crate::ledger::LedgerEntry;
use crate::runner::{Runner, text_of};
use crate::todos::describe;
use crate::tool_search::ShownTools;
use crate::turn::{TurnProgress, TurnStop};

/// The request for a summary.
pub(crate) const INSTRUCTION: &str = "The conversation has grown too long for you to be sent all of it again. Write the summary that \
    you would need to continue without it; it replaces everything above. Say in this order: what the user asked for, word for word \
    where it still matters, and what they decided or forbade; what was done and found, with file names, commands, numbers and exact \
    errors; what is unfinished, and the next step. Do not call tools. Do not add anything that was not said.";
/// Percentage of the budget that stays word for word when the rest is summarized.
const KEPT_PERCENT: usize = 25;
/// How many requests a summary takes at most.
const MOST_PARTS: usize = 64;
/// A part of fewer tokens is not halved again.
const LEAST_PART: usize = 500;
/// The heading of the to-do list below a summary.
const TODOS: &str = "[The to-do list at this point]";
/// The heading of a summary in the conversation.
const HEADING: &str = "[Summary of the conversation so far, which was left out to save space]";

impl Runner {
    fn budget(&self, tools: &ShownTools) -> ContextBudget {
        ContextBudget::new(self.provider.model(), self.compact_percent, &self.system, tools.bytes)
    }

    /// About how many tokens the next request has.
    pub fn context(&self) -> usize {
        self.budget(&self.tools()).used(&self.messages, self.scale)
    }

    /// Corrects the token estimate by the count of the provider.
    pub(crate) fn calibrate(&mut self, budget: &ContextBudget, usage: Usage, progress: &mut TurnProgress) {
        self.scale = TokenScale::from_count(budget.used_by(progress.tokens.update(&self.messages), TokenScale::default()), usage.input);
    }

    /// Makes a conversation fit before the model is asked: old results become stubs, and if that is not enough, it is
    /// summarized.
    pub(crate) async fn fit_context(
        &mut self,
        tools: &ShownTools,
        cancel: &CancellationToken,
        progress: &mut TurnProgress,
    ) -> Result<ContextBudget, TurnStop> {
        let budget = self.budget(tools);
        if budget.used_by(progress.tokens.update(&self.messages), self.scale) <= budget.compact_at {
            return Ok(budget);
        }
        progress.tokens = TokenCount::default();
        let stubbed = stub_old_results(&mut self.messages, &budget, self.scale, &self.engine).await;
        if stubbed > 0 {
            self.session.seen_files().forget_parts();
            let notice = format!("{stubbed} old results are left out of the request, so that the conversation fits");
            self.watcher.event(&TurnEvent::Notice(&notice));
        }
        if budget.used(&self.messages, self.scale) > budget.compact_at {
            self.summarize(cancel, progress).await?;
            self.shorten_to_fit(budget.message_limit(self.scale), progress);
        }
        Ok(budget)
    }

    /// Summarizes the conversation now, whatever its length. Returns whether there was something to summarize.
    pub async fn compact(&mut self, cancel: &CancellationToken) -> Result<bool, String> {
        let mut progress = TurnProgress::begin();
        self.repair_messages(&mut progress);
        let summarized = self.summarize(cancel, &mut progress).await;
        summarized.map_err(|stopped| stopped.into_end().1.unwrap_or_else(|| "it was cancelled".into()))
    }

    /// The current to-do list, which the summary need not repeat.
    async fn open_todos(&self) -> String {
        let Some(todos) = &self.session.host().services().todos else { return String::new() };
        match todos.list(self.session.id()).await {
            Ok(todos) if !todos.is_empty() => format!("\n\n{TODOS}{}", describe(&todos)),
            _ => String::new(),
        }
    }

    /// A summary of the first messages: in parts, where they do not fit into the window at once. `None` if the model gives none.
    async fn summary_of(
        &self,
        count: usize,
        tools: &ShownTools,
        cancel: &CancellationToken,
        progress: &mut TurnProgress,
    ) -> Result<Option<String>, TurnStop> {
        let mut limit = self.budget(tools).message_limit(self.scale).saturating_sub(INSTRUCTION.len() / BYTES_PER_TOKEN);
        let mut rest = self.messages[..count].to_vec();
        for number in 1..=MOST_PARTS {
            let length = part_length(&rest, limit);
            if number == 1 && length < rest.len() {
                self.watcher
                    .event(&TurnEvent::Notice("the conversation is larger than the window of the model: it is summarized in parts"));
            }
            let mut part = rest[..length].to_vec();
            shorten_messages(&mut part, limit);
            match self.ask_for_summary(&summary_request(&part), &tools.tools, cancel, progress).await? {
                Ok(summary) if length == rest.len() => return Ok(Some(summary)),
                Ok(summary) => {
                    let (first, kept) = compacted_start(&rest, length, &summary);
                    rest.splice(..rest.len() - kept, [first]);
                }
                // The window is smaller than the configuration says, or the estimate was too low.
                Err(error) if error.kind == ProviderErrorKind::TooLong && limit > LEAST_PART => {
                    limit = limit.min(part.iter().map(size).sum()) / 2;
                }
                Err(error) if error.kind == ProviderErrorKind::TooLong => break,
                Err(error) => {
                    self.watcher.event(&TurnEvent::Notice(&format!("the conversation could not be summarized: {error}")));
                    return Ok(None);
                }
            }
        }
        self.watcher.event(&TurnEvent::Notice(&format!("{count} old messages are dropped: they could not be summarized")));
        Ok(Some(dropped_note(&self.messages[..count])))
    }

    /// The answer to a request for a summary.
    async fn ask_for_summary(
        &self,
        request: &[Message],
        tools: &[OfferedTool],
        cancel: &CancellationToken,
        progress: &mut TurnProgress,
    ) -> Result<Result<String, ProviderError>, TurnStop> {
        let turn = ModelTurn { model: self.provider.model(), system: &self.system, messages: request, tools };
        match self.provider.answer(turn, cancel, &mut |_| {}).await {
            Ok(answer) => {
                self.count(answer.reply.usage, progress).await?;
                let summary = text_of(&answer.reply.blocks).trim().to_owned();
                let nothing = || ProviderError::new(ProviderErrorKind::Garbled, "the model said nothing");
                Ok(if summary.is_empty() { Err(nothing()) } else { Ok(summary) })
            }
            Err(error) if error.kind == ProviderErrorKind::Cancelled => Err(TurnStop::Provider(error)),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Shortens long messages where the conversation still does not fit. The session keeps them whole.
    pub(crate) fn shorten_to_fit(&mut self, limit: usize, progress: &mut TurnProgress) -> bool {
        let shortened = shorten_messages(&mut self.messages, limit);
        if shortened > 0 {
            progress.tokens = TokenCount::default();
            self.session.seen_files().forget_parts();
            let notice = format!("{} shortened in the request, so that the conversation fits", were(shortened));
            self.watcher.event(&TurnEvent::Notice(&notice));
        }
        shortened > 0
    }

    /// After the model has refused a conversation as too long: summarizes it, or shortens long messages. Returns whether it is shorter.
    /// Where a summary was not enough, the window is smaller than the configuration says, and the last messages are too long for it.
    pub(crate) async fn make_shorter(&mut self, cancel: &CancellationToken, progress: &mut TurnProgress) -> Result<bool, TurnStop> {
        let is_first = progress.shortenings <= 1;
        if is_first && self.summarize(cancel, progress).await? {
            return Ok(true);
        }
        let used: usize = self.messages.iter().map(size).sum();
        Ok((!is_first || cut(&self.messages, 0).is_none()) && self.shorten_to_fit(used / 2, progress))
    }

    /// Replaces the older part of the conversation by a summary of the model. Without one the conversation stays as it is.
    pub(crate) async fn summarize(&mut self, cancel: &CancellationToken, progress: &mut TurnProgress) -> Result<bool, TurnStop> {
        let tools = self.tools();
        let used: usize = self.messages.iter().map(size).sum();
        let keep = (self.budget(&tools).compact_at / 100 * KEPT_PERCENT).min(used / 2);
        let Some(index) = cut(&self.messages, keep) else { return Ok(false) };
        self.watcher.event(&TurnEvent::Notice(&format!("the conversation is long: {index} messages are summarized")));
        let mut earlier = self.messages[..index].to_vec();
        shorten_messages(&mut earlier, self.budget(&tools).message_limit(self.scale));
        // On the heap: it is rare, and every turn would carry its size.
        Box::pin(self.save_memory(&earlier, cancel, progress)).await?;
        let Some(summary) = self.summary_of(index, &tools, cancel, progress).await? else { return Ok(false) };
        let summary = summary.trim().to_owned() + &self.open_todos().await + &self.disclosed.remember();
        let (message, kept) = compacted_start(&self.messages, index, &summary);
        self.ledger.keep(&LedgerEntry::Summary { message: message.clone(), kept }).await.map_err(TurnStop::NotKept)?;
        self.messages.splice(..self.messages.len() - kept, [message]);
        self.session.seen_files().forget_parts();
        (progress.tokens, progress.checked) = (TokenCount::default(), ValidatedPrefix::default());
        Ok(true)
    }
}

/// `1 long message is`, `3 long messages are`.
fn were(messages: usize) -> String {
    if messages == 1 { "1 long message is".to_owned() } else { format!("{messages} long messages are") }
}

/// Where a conversation can be cut so that the rest has at most so many tokens: never between a call and its result, and as
/// early as possible. If no rest is that small, as late as possible.
pub(crate) fn cut(messages: &[Message], keep_tokens: usize) -> Option<usize> {
    let mut rest = 0;
    let mut best = None;
    for (index, message) in messages.iter().enumerate().skip(1).rev() {
        rest += size(message);
        if best.is_some() && rest > keep_tokens {
            break;
        }
        if is_cut_point(message) {
            best = Some(index);
        }
    }
    best
}

/// Results belong to the calls before them.
fn is_cut_point(message: &Message) -> bool {
    message.role == Role::Assistant || message.blocks.iter().all(|block| block.result_id().is_none())
}

/// The request for a summary of these messages.
pub(crate) fn summary_request(part: &[Message]) -> Vec<Message> {
    let mut messages = part.to_vec();
    match messages.last_mut() {
        Some(message) if message.role == Role::User => message.blocks.push(Block::text(INSTRUCTION)),
        _ => messages.push(Message::user(INSTRUCTION)),
    }
    messages
}

/// The first message of a compacted conversation, and how many of the last ones follow it.
pub(crate) fn compacted_start(messages: &[Message], cut: usize, summary: &str) -> (Message, usize) {
    let summary = Block::text(format!("{HEADING}\n{}", summary.trim()));
    match messages.get(cut) {
        Some(Message { role: Role::User, blocks }) => {
            let blocks = std::iter::once(summary).chain(blocks.iter().cloned()).collect();
            (Message { role: Role::User, blocks }, messages.len() - cut - 1)
        }
        _ => (Message { role: Role::User, blocks: vec![summary] }, messages.len() - cut),
    }
}

#[cfg(test)]
mod tests {
    use haft_provider::ResultPart;
    use haft_provider::transcript::validate;

    use super::*;

    fn round(number: usize) -> [Message; 2] {
        let (id, name) = (format!("call_{number}"), "read_file".to_owned());
        let call = Block::Call { id: id.clone(), name: name.clone(), arguments: "{}".into(), opaque: None };
        let content = vec![ResultPart::Text { text: "x".repeat(400) }];
        [Message::assistant(vec![call]), Message::results(vec![Block::Result { id, name, content, is_error: false }])]
    }

    /// Two turns, the first of three rounds and the second of two.
    fn conversation() -> Vec<Message> {
        let done = || Message::assistant(vec![Block::text("done")]);
        let first = std::iter::once(Message::user("first")).chain((0..3).flat_map(round)).chain([done()]);
        first.chain([Message::user("second")]).chain((3..5).flat_map(round)).collect()
    }

    #[test]
    fn every_cut_leaves_a_conversation_that_may_be_sent() {
        let messages = conversation();
        let mut cuts = Vec::new();
        for keep in 0..700 {
            let Some(index) = cut(&messages, keep) else { panic!("it can be cut") };
            let (first, kept) = compacted_start(&messages, index, "so it was");
            let shorter: Vec<Message> = std::iter::once(first).chain(messages[messages.len() - kept..].iter().cloned()).collect();
            assert_eq!(validate(&shorter), [], "{keep}: {shorter:?}");
            assert_eq!(validate(&summary_request(&messages[..index])), [], "{keep}");
            assert!(matches!(&shorter[0].blocks[0], Block::Text { text, .. } if text.ends_with("]\nso it was")), "{shorter:?}");
            cuts.push(index);
        }
        cuts.dedup();
        assert_eq!(cuts, [11, 9, 8, 7, 5, 3, 1], "the more may stay the earlier it is cut");
    }

    #[test]
    fn a_conversation_of_one_message_cannot_be_cut() {
        assert_eq!(cut(&[Message::user("x".repeat(10_000))], 10), None);
        assert_eq!(cut(&[], 10), None);
    }
}
