//! The context budget of a conversation: results are cut to a share of the context window, and the oldest become stubs that name
//! their spill. The ledger keeps them whole.
//!
//! The size is that of the next request, corrected by the provider's last token count. If stubs are not enough, `compaction` lets
//! the model write a summary. No cut separates a call from its result.

use haft_contract::ToolResult;
use haft_engine::{Engine, Session, WHOLE_IN};
use haft_provider::transcript::size;
use haft_provider::{Block, Message, Model, OfferedTool, ResultPart};
use serde_json::Value;

/// The newest messages stay as they are.
const KEPT_MESSAGES: usize = 4;
/// Percentage of the window for one result.
const ONE_RESULT: usize = 20;
/// Percentage of the window for all results of one answer.
const ALL_RESULTS: usize = 50;
/// Percentage of the compaction threshold to which old results are stubbed, so that it does not happen in every round.
const STUB_TARGET: usize = 60;
/// The least that a result keeps, however small the window.
const MIN_RESULT_BYTES: usize = 512;
/// A shorter result is not worth a stub.
const STUB_TOKENS: usize = 100;
pub(crate) const BYTES_PER_TOKEN: usize = 4;

/// The budget of a model's context window, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContextBudget {
    /// Tokens of the system prompt and the tools.
    fixed: usize,
    /// A larger conversation is compacted.
    pub(crate) compact_at: usize,
    /// A larger request is refused.
    most: usize,
}

impl ContextBudget {
    pub(crate) fn new(model: &Model, percent: u64, system: &str, tool_bytes: usize) -> Self {
        let window = window(model);
        let fixed = (system.len() + tool_bytes) / BYTES_PER_TOKEN;
        // The answer needs space as well.
        let most = window.saturating_sub(usize::try_from(model.max_output).unwrap_or(usize::MAX).min(window / 2));
        Self { fixed, compact_at: (window / 100 * usize::try_from(percent).unwrap_or(100)).min(most), most }
    }

    /// How many tokens of messages fit into a request, by our estimate. Tools that fill the window leave messages a quarter of it: they
    /// are no reason to send none.
    pub(crate) fn message_limit(&self, scale: TokenScale) -> usize {
        let most = scale.invert(self.most);
        most.saturating_sub(self.fixed).max(most / 4)
    }

    /// About how many tokens a request has.
    pub(crate) fn used(&self, messages: &[Message], scale: TokenScale) -> usize {
        self.used_by(TokenCount::default().update(messages), scale)
    }

    /// The same for a conversation of so many tokens.
    pub(crate) fn used_by(&self, tokens: usize, scale: TokenScale) -> usize {
        scale.apply(self.fixed + tokens)
    }
}

/// The estimated tokens of a conversation that grows only at its end: each message is counted once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TokenCount {
    messages: usize,
    tokens: usize,
}

impl TokenCount {
    /// About how many tokens the messages have.
    pub(crate) fn update(&mut self, messages: &[Message]) -> usize {
        let new = messages.get(self.messages..).unwrap_or(messages);
        let before = if new.len() == messages.len() { 0 } else { self.tokens };
        *self = Self { messages: messages.len(), tokens: before + new.iter().map(size).sum::<usize>() };
        self.tokens
    }
}

/// About how many bytes a tool takes in a request.
pub(crate) fn shown_bytes(tool: &OfferedTool) -> usize {
    tool.name.len() + tool.description.len() + written_bytes(&tool.parameters)
}

/// About how many bytes a value takes when it is written, without writing it.
fn written_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| written_bytes(item) + 1).sum::<usize>(),
        Value::Object(members) => 2 + members.iter().map(|(name, member)| name.len() + 4 + written_bytes(member)).sum::<usize>(),
    }
}

/// Correction of the token estimate, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenScale(usize);

impl Default for TokenScale {
    fn default() -> Self {
        Self(100)
    }
}

impl TokenScale {
    /// From an estimate and the count of the provider; implausible counts are clamped.
    pub(crate) fn from_count(estimated: usize, counted: u64) -> Self {
        let percent = usize::try_from(counted).unwrap_or(usize::MAX).saturating_mul(100) / estimated.max(1);
        if counted == 0 { Self::default() } else { Self(percent.clamp(50, 300)) }
    }

    pub(crate) fn apply(self, tokens: usize) -> usize {
        tokens.saturating_mul(self.0) / 100
    }

    /// How many tokens of the estimate so many counted ones are.
    fn invert(self, tokens: usize) -> usize {
        tokens.saturating_mul(100) / self.0.max(1)
    }
}

fn window(model: &Model) -> usize {
    usize::try_from(model.context_window).unwrap_or(usize::MAX)
}

/// Cuts the results of one answer, so that neither one of them nor all together fill the window.
pub(crate) async fn cut_to_window(results: &mut [ToolResult], model: &Model, engine: &Engine, session: &Session) {
    let bytes = |percent: usize| (window(model) / 100 * percent).saturating_mul(BYTES_PER_TOKEN);
    let sizes: Vec<usize> = results.iter().map(text_bytes).collect();
    let cap = bytes(ONE_RESULT).min(fair_share(&sizes, bytes(ALL_RESULTS))).max(MIN_RESULT_BYTES);
    for result in results.iter_mut().filter(|result| text_bytes(result) > cap) {
        engine.shorten(result, cap, session).await;
    }
}

fn text_bytes(result: &ToolResult) -> usize {
    match &result.outcome {
        Ok(output) => output.texts().map(str::len).sum(),
        Err(error) => error.message().len(),
    }
}

/// The largest size to which all can be cut so that they fit together: small ones stay whole, large ones share the rest.
fn fair_share(sizes: &[usize], total: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = total;
    for (index, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

/// Replaces the oldest results by stubs that name their spill, until the request can grow again. Returns how many.
pub(crate) async fn stub_old_results(messages: &mut [Message], budget: &ContextBudget, scale: TokenScale, engine: &Engine) -> usize {
    let target = budget.compact_at / 100 * STUB_TARGET;
    let mut used = budget.used(messages, scale);
    let old = messages.len().saturating_sub(KEPT_MESSAGES);
    let mut stubbed = 0;
    for message in &mut messages[..old] {
        for index in 0..message.blocks.len() {
            if used <= target {
                return stubbed;
            }
            let before = size(message);
            let Some(stub) = stub(&message.blocks[index], engine).await else { continue };
            message.blocks[index] = stub;
            used = used.saturating_sub(scale.apply(before.saturating_sub(size(message))));
            stubbed += 1;
        }
    }
    stubbed
}

/// The stub of a result.
async fn stub(block: &Block, engine: &Engine) -> Option<Block> {
    let Block::Result { id, name, content, is_error } = block else { return None };
    let text: Vec<&str> =
        content.iter().filter_map(|piece| if let ResultPart::Text { text } = piece { Some(text.as_str()) } else { None }).collect();
    let text = text.join("\n");
    let pictures = content.len() - content.iter().filter(|piece| matches!(piece, ResultPart::Text { .. })).count();
    if text.len() / BYTES_PER_TOKEN <= STUB_TOKENS && pictures == 0 {
        return None;
    }
    let spill = match find_spill_path(&text) {
        Some(path) => Ok(path.to_owned()),
        None => engine.spill(&text).await.map(|path| path.display().to_string()),
    };
    let line = match spill {
        Ok(path) => format!("[The result of {name} was left out to save space. It is in '{path}'.]"),
        // The disk may be full; the conversation continues.
        Err(_) => format!("[The result of {name} was left out to save space. Call it again if you need it.]"),
    };
    Some(Block::Result { id: id.clone(), name: name.clone(), content: vec![ResultPart::Text { text: line }], is_error: *is_error })
}

/// The path of the spill that a cut result names.
fn find_spill_path(text: &str) -> Option<&str> {
    let (_, path) = text.rsplit_once(WHOLE_IN)?;
    path.split_once('\'').map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use haft_provider::Protocol;

    use super::*;

    fn model(window: u64, max_output: u32) -> Model {
        let mut model = Model::new("a", Protocol::OpenAi, "m");
        (model.context_window, model.max_output) = (window, max_output);
        model
    }

    #[test]
    fn system_prompt_and_answer_count_against_the_budget() {
        assert_eq!(ContextBudget::new(&model(10_000, 1_000), 80, "", 0), ContextBudget { fixed: 0, compact_at: 8_000, most: 9_000 });
        assert_eq!(
            ContextBudget::new(&model(10_000, 4_000), 80, &"s".repeat(400), 0),
            ContextBudget { fixed: 100, compact_at: 6_000, most: 6_000 }
        );
        assert_eq!(ContextBudget::new(&model(10_000, 900_000), 80, "", 0).compact_at, 5_000, "an answer cannot take it all");
        let messages = [Message::user("x".repeat(4_000))];
        assert_eq!(ContextBudget { fixed: 100, compact_at: 0, most: 0 }.used(&messages, TokenScale::default()), 1_100);
        assert_eq!(ContextBudget { fixed: 100, compact_at: 0, most: 0 }.used(&messages, TokenScale(200)), 2_200);
    }

    #[test]
    fn messages_keep_a_quarter_of_a_window_that_tools_fill() {
        let limit = |fixed, scale| ContextBudget { fixed, compact_at: 0, most: 8_000 }.message_limit(TokenScale(scale));
        assert_eq!([limit(1_000, 100), limit(7_900, 100), limit(20_000, 100), limit(1_000, 200)], [7_000, 2_000, 2_000, 3_000]);
    }

    #[test]
    fn a_growing_conversation_is_counted_once() {
        let mut messages: Vec<Message> = (0..5).map(|number| Message::user("x".repeat(number * 40))).collect();
        let all = |messages: &[Message]| messages.iter().map(size).sum::<usize>();
        let mut count = TokenCount::default();
        for length in [0, 2, 2, 5, 3, 1, 4] {
            assert_eq!(count.update(&messages[..length]), all(&messages[..length]), "{length}");
        }
        messages.clear();
        assert_eq!(count.update(&messages), 0);
    }

    #[test]
    fn the_estimate_of_a_schema_is_near_its_written_size() {
        let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string", "enum": ["a", "b"], "minLength": 1}}});
        let (estimate, written) = (written_bytes(&schema), schema.to_string().len());
        assert!(estimate.abs_diff(written) < written / 4, "{estimate} {written}");
    }

    #[test]
    fn the_estimate_is_corrected_by_the_count_of_the_provider() {
        for (estimated, counted, scale) in [(1_000, 1_500, 150), (1_000, 800, 80), (1_000, 9_000, 300), (1_000, 3, 50), (0, 10, 300)] {
            assert_eq!(TokenScale::from_count(estimated, counted), TokenScale(scale), "{estimated} {counted}");
        }
        assert_eq!(TokenScale::from_count(1_000, 0), TokenScale(100), "a server that counts nothing");
    }

    #[test]
    fn small_results_stay_whole_and_large_ones_share_the_rest() {
        for (sizes, total, share) in [
            (&[10, 20, 30][..], 100, usize::MAX),
            (&[10, 20, 1_000], 100, 70),
            (&[500, 10, 500, 10], 100, 40),
            (&[100, 100, 100], 99, 33),
            (&[], 0, usize::MAX),
        ] {
            assert_eq!(fair_share(sizes, total), share, "{sizes:?}");
        }
    }

    #[test]
    fn the_spill_of_a_cut_result_is_found() {
        assert_eq!(find_spill_path("abc (Output truncated. All of it is in '/s/1.txt': read on)"), Some("/s/1.txt"));
        assert_eq!(find_spill_path("abc"), None);
    }
}
