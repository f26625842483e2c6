//! Encodes the conversation for Responses: a list of items.

use serde_json::{Value, json};

use crate::ids::WireIds;
use crate::openai_shared::{image_part, never_reasons, replayed_arguments};
use crate::replay::own;
use crate::{Block, Message, Model, ModelTurn, NameMap, Opaque, ResultPart, Role, wire_id};

pub(super) fn input(turn: &ModelTurn<'_>, names: &NameMap, warnings: &mut Vec<String>) -> Vec<Value> {
    let (mut items, mut ids) = (Vec::new(), WireIds::default());
    for message in turn.messages {
        match message.role {
            Role::Assistant => assistant(message, turn, names, (&mut items, &mut ids)),
            Role::User => user(message, (&mut items, &mut ids), warnings),
        }
    }
    items
}

/// Items of the model in order. The API refuses reasoning without a following item, so trailing reasoning is left out.
fn assistant<'m>(message: &'m Message, turn: &ModelTurn<'_>, names: &NameMap, (items, ids): (&mut Vec<Value>, &mut WireIds<'m>)) {
    let model = turn.model;
    ids.begin_message();
    let before = items.len();
    let mut end = before;
    for block in &message.blocks {
        let item = match block {
            Block::Thinking { opaque, .. } => reasoning_item(opaque.as_ref(), model),
            Block::Text { text, opaque } => text_item(text, opaque.as_ref(), model),
            Block::Call { id, name, arguments, .. } => Some(json!({
                "type": "function_call",
                "call_id": ids.call(id, |id| wire_id(id).into_owned()),
                "name": names.wire(name),
                "arguments": replayed_arguments(arguments),
            })),
            Block::Image { .. } | Block::Result { .. } => None,
        };
        items.extend(item);
        if !matches!(block, Block::Thinking { .. }) {
            end = items.len();
        }
    }
    items.truncate(end);
}

fn reasoning_item(opaque: Option<&Opaque>, model: &Model) -> Option<Value> {
    let item = own(opaque, model).filter(|item| item["type"] == "reasoning")?;
    (!never_reasons(&model.name)).then(|| item.clone())
}

fn text_item(text: &str, opaque: Option<&Opaque>, model: &Model) -> Option<Value> {
    if text.is_empty() {
        return None;
    }
    let mut item = json!({ "type": "message", "role": "assistant", "content": text });
    if let Some(phase) = own(opaque, model).and_then(|value| value.get("phase")) {
        item["phase"] = phase.clone();
    }
    Some(item)
}

fn user(message: &Message, (items, ids): (&mut Vec<Value>, &mut WireIds<'_>), warnings: &mut Vec<String>) {
    let mut parts = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Result { id, content, .. } => items.push(json!({
                "type": "function_call_output",
                "call_id": ids.result(id).unwrap_or_else(|| wire_id(id).into_owned()),
                "output": output(content, warnings),
            })),
            Block::Text { text, .. } if !text.is_empty() => parts.push(text_part(text)),
            Block::Image { mime, data } => parts.push(image(mime, data, warnings)),
            Block::Text { .. } | Block::Thinking { .. } | Block::Call { .. } => {}
        }
    }
    if !parts.is_empty() {
        items.push(json!({ "type": "message", "role": "user", "content": parts }));
    }
}

/// Text without images is sent as a string: not every server accepts parts.
fn output(content: &[ResultPart], warnings: &mut Vec<String>) -> Value {
    let texts: Option<Vec<_>> =
        content.iter().map(|part| if let ResultPart::Text { text } = part { Some(text.as_str()) } else { None }).collect();
    if let Some(texts) = texts {
        return texts.join("\n").into();
    }
    let part = |part: &ResultPart| match part {
        ResultPart::Text { text } => text_part(text),
        ResultPart::Image { mime, data } => image(mime, data, warnings),
    };
    content.iter().map(part).collect()
}

fn text_part(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn image(mime: &str, data: &str, warnings: &mut Vec<String>) -> Value {
    image_part((mime, data), |url| json!({ "type": "input_image", "image_url": url, "detail": "auto" }), text_part, warnings)
}
