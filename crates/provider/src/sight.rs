//! Pictures for models that do not see: a sentence takes the place of each.

use crate::{Block, Message, Model, ResultPart};

/// The conversation without its pictures; `None` if the model sees them, or there are none.
pub(crate) fn without_pictures(model: &Model, messages: &[Message]) -> Option<Vec<Message>> {
    if model.accepts_pictures || !messages.iter().any(|message| message.blocks.iter().any(has_picture)) {
        return None;
    }
    Some(messages.iter().map(|message| Message { blocks: message.blocks.iter().map(blind).collect(), ..message.clone() }).collect())
}

/// What the user is told.
pub(crate) fn warning(model: &Model) -> String {
    let Model { provider, name, .. } = model;
    format!("pictures are not sent: {provider}/{name} does not see them (models.\"{provider}/{name}\".no_pictures)")
}

fn has_picture(block: &Block) -> bool {
    match block {
        Block::Image { .. } => true,
        Block::Result { content, .. } => content.iter().any(|part| matches!(part, ResultPart::Image { .. })),
        _ => false,
    }
}

fn blind(block: &Block) -> Block {
    match block {
        Block::Image { mime, data } => Block::text(sentence(mime, data)),
        Block::Result { id, name, content, is_error } => {
            let part = |part: &ResultPart| match part {
                ResultPart::Image { mime, data } => ResultPart::Text { text: sentence(mime, data) },
                text @ ResultPart::Text { .. } => text.clone(),
            };
            Block::Result { id: id.clone(), name: name.clone(), content: content.iter().map(part).collect(), is_error: *is_error }
        }
        other => other.clone(),
    }
}

fn sentence(mime: &str, data: &str) -> String {
    let size = haft_text::numbers::size(data.len() as u64 / 4 * 3);
    format!(
        "[A picture ({mime}, {size}) is not shown: this model does not see pictures. The tool image describes one, where it is offered.]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    #[test]
    fn sentence_takes_the_place_of_each_picture() {
        let mut model = Model::new("acme", Protocol::OpenAi, "m");
        let data = "A".repeat(4_000);
        let said = "[A picture (image/png, 2.9 KB) is not shown: this model does not see pictures. The tool image describes one, where it is \
                    offered.]";
        let result = |part: ResultPart| Block::Result {
            id: "1".into(),
            name: "read_file".into(),
            content: vec![ResultPart::Text { text: "{}".into() }, part],
            is_error: false,
        };
        let message = |blocks: Vec<Block>| Message { blocks, ..Message::user("") };
        let picture = || Block::Image { mime: "image/png".into(), data: data.clone() };
        let shown =
            [message(vec![Block::text("look"), picture(), result(ResultPart::Image { mime: "image/png".into(), data: data.clone() })])];
        assert_eq!(without_pictures(&model, &shown), None);
        model.accepts_pictures = false;
        let expected = message(vec![Block::text("look"), Block::text(said), result(ResultPart::Text { text: said.into() })]);
        assert_eq!(without_pictures(&model, &shown), Some(vec![expected.clone()]));
        assert_eq!(without_pictures(&model, &[expected]), None, "nothing is copied where nothing changes");
    }
}
