//! A conversation that fits the model: results are cut to the window's size, and the oldest give way to a line that says
//! where they are. What is kept in the ledger stays whole.

use haft_contract::ToolResult;
use haft_engine::{Engine, Session, WHOLE_IN};
use haft_provider::transcript::size;
use haft_provider::{Block, Message, Model, Piece, ToolSpec};
use serde_json::Value;

/// The newest messages are what the model works on.
const KEPT_MESSAGES: usize = 4;
/// What part of the window one result may take, in percent.
const ONE_RESULT: usize = 20;
/// What part of the window the results of one answer may take together, in percent.
const ALL_RESULTS: usize = 50;
/// How far results give way once they must, in percent of where that begins: not at every round anew.
const GIVE_WAY_TO: usize = 60;
/// However small the window, a result says something.
const LEAST_BYTES: usize = 512;
/// A result that is shorter than this gains nothing by giving way.
const STUB_TOKENS: usize = 100;
const BYTES_PER_TOKEN: usize = 4;

/// How much of a model's window there is for what, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// What stands before every conversation takes so much.
    fixed: usize,
    /// A conversation that is larger than this has to give way.
    pub(crate) trigger: usize,
}

impl Room {
    pub(crate) fn of(model: &Model, percent: u64, system: &str, tools: &[ToolSpec]) -> Self {
        let window = window(model);
        let shown = |tool: &ToolSpec| tool.name.len() + tool.description.len() + written_bytes(&tool.parameters);
        let fixed = (system.len() + tools.iter().map(shown).sum::<usize>()) / BYTES_PER_TOKEN;
        // The answer needs its place as well.
        let most = window.saturating_sub(usize::try_from(model.max_output).unwrap_or(usize::MAX).min(window / 2));
        Self { fixed, trigger: (window / 100 * usize::try_from(percent).unwrap_or(100)).min(most) }
    }

    /// About how many tokens a request has.
    pub(crate) fn taken(&self, messages: &[Message], scale: Scale) -> usize {
        self.taken_by(Weight::default().of(messages), scale)
    }

    /// The same for a conversation that was weighed.
    pub(crate) fn taken_by(&self, tokens: usize, scale: Scale) -> usize {
        scale.applied(self.fixed + tokens)
    }
}

/// What a conversation weighs that only grows at its end: each message is weighed once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weight {
    messages: usize,
    tokens: usize,
}

impl Weight {
    /// About how many tokens the messages have.
    pub(crate) fn of(&mut self, messages: &[Message]) -> usize {
        let new = messages.get(self.messages..).unwrap_or(messages);
        let before = if new.len() == messages.len() { 0 } else { self.tokens };
        *self = Self { messages: messages.len(), tokens: before + new.iter().map(size).sum::<usize>() };
        self.tokens
    }
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

/// By how much the estimate was wrong the last time, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scale(usize);

impl Default for Scale {
    fn default() -> Self {
        Self(100)
    }
}

impl Scale {
    /// From an estimate, and what the provider counted. Nonsense is not believed.
    pub(crate) fn learnt(estimated: usize, counted: u64) -> Self {
        let percent = usize::try_from(counted).unwrap_or(usize::MAX).saturating_mul(100) / estimated.max(1);
        if counted == 0 { Self::default() } else { Self(percent.clamp(50, 300)) }
    }

    fn applied(self, tokens: usize) -> usize {
        tokens.saturating_mul(self.0) / 100
    }
}

fn window(model: &Model) -> usize {
    usize::try_from(model.context_window).unwrap_or(usize::MAX)
}

/// Cuts the results of one answer, so that none of them and not all of them together fill the window.
pub(crate) async fn cut_to_window(results: &mut [ToolResult], model: &Model, engine: &Engine, session: &Session) {
    let bytes = |percent: usize| (window(model) / 100 * percent).saturating_mul(BYTES_PER_TOKEN);
    let sizes: Vec<usize> = results.iter().map(text_bytes).collect();
    let cap = bytes(ONE_RESULT).min(fair_share(&sizes, bytes(ALL_RESULTS))).max(LEAST_BYTES);
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

/// The largest size to which all can be cut so that they fit together: small ones stay whole, large ones share what is left.
fn fair_share(sizes: &[usize], total: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = total;
    for (place, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - place);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

/// Replaces the oldest results by lines that say where they are, until the request has room to grow again. Says how many.
pub(crate) async fn give_way(messages: &mut [Message], room: &Room, scale: Scale, engine: &Engine) -> usize {
    let target = room.trigger / 100 * GIVE_WAY_TO;
    let mut taken = room.taken(messages, scale);
    let old = messages.len().saturating_sub(KEPT_MESSAGES);
    let mut given = 0;
    for message in &mut messages[..old] {
        for place in 0..message.blocks.len() {
            if taken <= target {
                return given;
            }
            let before = size(message);
            let Some(stub) = stub(&message.blocks[place], engine).await else { continue };
            message.blocks[place] = stub;
            taken = taken.saturating_sub(scale.applied(before.saturating_sub(size(message))));
            given += 1;
        }
    }
    given
}

/// The line that stands for a result.
async fn stub(block: &Block, engine: &Engine) -> Option<Block> {
    let Block::Result { id, name, content, is_error } = block else { return None };
    let text: Vec<&str> =
        content.iter().filter_map(|piece| if let Piece::Text { text } = piece { Some(text.as_str()) } else { None }).collect();
    let text = text.join("\n");
    let pictures = content.len() - content.iter().filter(|piece| matches!(piece, Piece::Text { .. })).count();
    if text.len() / BYTES_PER_TOKEN <= STUB_TOKENS && pictures == 0 {
        return None;
    }
    let place = match spill_named_in(&text) {
        Some(path) => Ok(path.to_owned()),
        None => engine.spill(&text).await.map(|path| path.display().to_string()),
    };
    let line = match place {
        Ok(path) => format!("[The result of {name} was left out to save room. It is in '{path}'.]"),
        // The disk may be full; the conversation goes on all the same.
        Err(_) => format!("[The result of {name} was left out to save room. Call it again if you need it.]"),
    };
    Some(Block::Result { id: id.clone(), name: name.clone(), content: vec![Piece::Text { text: line }], is_error: *is_error })
}

/// A result that was cut when it was made says where all of it is.
fn spill_named_in(text: &str) -> Option<&str> {
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
    fn what_stands_before_the_conversation_and_the_answer_take_room_too() {
        assert_eq!(Room::of(&model(10_000, 1_000), 80, "", &[]), Room { fixed: 0, trigger: 8_000 });
        assert_eq!(Room::of(&model(10_000, 4_000), 80, &"s".repeat(400), &[]), Room { fixed: 100, trigger: 6_000 });
        assert_eq!(Room::of(&model(10_000, 900_000), 80, "", &[]).trigger, 5_000, "an answer cannot take it all");
        let messages = [Message::user("x".repeat(4_000))];
        assert_eq!(Room { fixed: 100, trigger: 0 }.taken(&messages, Scale::default()), 1_100);
        assert_eq!(Room { fixed: 100, trigger: 0 }.taken(&messages, Scale(200)), 2_200);
    }

    #[test]
    fn a_conversation_that_grows_is_weighed_once() {
        let mut messages: Vec<Message> = (0..5).map(|number| Message::user("x".repeat(number * 40))).collect();
        let all = |messages: &[Message]| messages.iter().map(size).sum::<usize>();
        let mut weight = Weight::default();
        for length in [0, 2, 2, 5, 3, 1, 4] {
            assert_eq!(weight.of(&messages[..length]), all(&messages[..length]), "{length}");
        }
        messages.clear();
        assert_eq!(weight.of(&messages), 0);
    }

    #[test]
    fn a_schema_weighs_about_what_it_is_written_as() {
        let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string", "enum": ["a", "b"], "minLength": 1}}});
        let (estimate, written) = (written_bytes(&schema), schema.to_string().len());
        assert!(estimate.abs_diff(written) < written / 4, "{estimate} {written}");
    }

    #[test]
    fn the_estimate_is_put_right_by_what_the_provider_counts() {
        for (estimated, counted, scale) in [(1_000, 1_500, 150), (1_000, 800, 80), (1_000, 9_000, 300), (1_000, 3, 50), (0, 10, 300)] {
            assert_eq!(Scale::learnt(estimated, counted), Scale(scale), "{estimated} {counted}");
        }
        assert_eq!(Scale::learnt(1_000, 0), Scale(100), "a server that counts nothing");
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
        assert_eq!(spill_named_in("abc (Output truncated. All of it is in '/s/1.txt': read on)"), Some("/s/1.txt"));
        assert_eq!(spill_named_in("abc"), None);
    }
}
