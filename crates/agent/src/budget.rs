//! A conversation that fits the model: the oldest results give way in what is sent, never in what is kept.

use std::borrow::Cow;

use haft_provider::transcript::{Shrunk, shrink, size};
use haft_provider::{Block, Message, Model, ToolSpec};

/// The newest messages are what the model works on.
const KEPT_MESSAGES: usize = 4;
/// Estimates are rough: this part of the window stays free, in percent.
const RESERVE: usize = 10;
const BYTES_PER_TOKEN: usize = 4;

/// What is sent, and how many results were left out of it.
pub(crate) fn fitted<'m>(messages: &'m [Message], model: &Model, system: &str, tools: &[ToolSpec]) -> (Cow<'m, [Message]>, usize) {
    let budget = budget(model, system, tools);
    // Nearly always it fits, and then nothing is copied.
    if messages.iter().map(size).sum::<usize>() <= budget {
        return (Cow::Borrowed(messages), 0);
    }
    let Shrunk { messages, removed, .. } = shrink(messages.to_vec(), budget, KEPT_MESSAGES, &stub);
    (Cow::Owned(messages), removed.len())
}

/// What is left of the window for the conversation, in tokens.
fn budget(model: &Model, system: &str, tools: &[ToolSpec]) -> usize {
    let window = usize::try_from(model.context_window).unwrap_or(usize::MAX);
    let shown = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.parameters.to_string().len();
    let fixed = (system.len() + tools.iter().map(shown).sum::<usize>()) / BYTES_PER_TOKEN;
    let usable = window / 100 * (100 - RESERVE);
    usable.saturating_sub(fixed).saturating_sub(usize::try_from(model.max_output).unwrap_or(usize::MAX))
}

fn stub(block: &Block) -> Option<String> {
    let Block::Result { name, .. } = block else { return None };
    Some(format!("[the result of {name} was left out to save room; call it again if you need it]"))
}

#[cfg(test)]
mod tests {
    use haft_provider::{Piece, Protocol};

    use super::*;

    fn round(number: usize, result: &str) -> [Message; 2] {
        let (id, name) = (format!("call_{number}"), "read_file".to_owned());
        let call = Block::Call { id: id.clone(), name: name.clone(), arguments: "{}".into(), opaque: None };
        let content = vec![Piece::Text { text: result.into() }];
        [Message::assistant(vec![call]), Message::results(vec![Block::Result { id, name, content, is_error: false }])]
    }

    fn conversation(rounds: usize, bytes: usize) -> Vec<Message> {
        let text = "x".repeat(bytes);
        std::iter::once(Message::user("go")).chain((0..rounds).flat_map(|number| round(number, &text))).collect()
    }

    fn model(window: u64) -> Model {
        let mut model = Model::new("a", Protocol::OpenAi, "m");
        (model.context_window, model.max_output) = (window, 1000);
        model
    }

    #[test]
    fn what_fits_is_sent_as_it_is() {
        let messages = conversation(3, 400);
        let (sent, left_out) = fitted(&messages, &model(10_000), "", &[]);
        assert!(matches!(sent, Cow::Borrowed(_)) && left_out == 0);
    }

    #[test]
    fn the_oldest_results_give_way_and_the_newest_stay() {
        let messages = conversation(10, 4000);
        let (sent, left_out) = fitted(&messages, &model(9_000), "", &[]);
        assert_eq!((sent.len(), left_out), (messages.len(), 4), "every call keeps a result");
        let text = |message: &Message| match &message.blocks[0] {
            Block::Result { content, .. } => format!("{content:?}"),
            other => panic!("{other:?}"),
        };
        assert!(text(&sent[2]).contains("the result of read_file was left out"), "{}", text(&sent[2]));
        assert_eq!(sent[17..], messages[17..]);
        assert!(sent.iter().map(size).sum::<usize>() <= 9_000 * 9 / 10 - 1000);
    }

    #[test]
    fn what_stands_before_the_conversation_takes_room_too() {
        let messages = conversation(3, 4000);
        let alone = fitted(&messages, &model(6_000), "", &[]).1;
        let crowded = fitted(&messages, &model(6_000), &"s".repeat(10_000), &[]).1;
        assert!(alone < crowded, "{alone} {crowded}");
    }
}
