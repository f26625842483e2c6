//! The conversation in the words of Responses: a list of items.

use serde_json::{Map, Value, json};

use crate::openai_shared::{never_reasons, picture, replayed_arguments};
use crate::replay::own;
use crate::{Block, Message, Model, NameMap, Opaque, Piece, Role, Turn, wire_id};

pub(super) fn input(turn: &Turn<'_>, names: &NameMap, warnings: &mut Vec<String>) -> Vec<Value> {
    let mut items = Vec::new();
    for message in turn.messages {
        match message.role {
            Role::Assistant => assistant(message, turn.model, names, &mut items),
            Role::User => user(message, &mut items, warnings),
        }
    }
    items
}

/// Items in their order. Thoughts that led to nothing are refused, so those behind the last text or call are left out.
fn assistant(message: &Message, model: &Model, names: &NameMap, items: &mut Vec<Value>) {
    let before = items.len();
    let mut end = before;
    for block in &message.blocks {
        let item = match block {
            Block::Thinking { opaque, .. } => thought(opaque.as_ref(), model),
            Block::Text { text, opaque } => text_item(text, opaque.as_ref(), model),
            Block::Call { id, name, arguments, .. } => Some(json!({
                "type": "function_call",
                "call_id": wire_id(id),
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

fn thought(opaque: Option<&Opaque>, model: &Model) -> Option<Value> {
    let item = own(opaque, model).filter(|item| item["type"] == "reasoning")?;
    (!never_reasons(&model.name)).then(|| item.clone())
}

fn text_item(text: &str, opaque: Option<&Opaque>, model: &Model) -> Option<Value> {
    if text.is_empty() {
        return None;
    }
    let mut item = Map::new();
    item.insert("type".into(), json!("message"));
    item.insert("role".into(), json!("assistant"));
    item.insert("content".into(), json!(text));
    if let Some(phase) = own(opaque, model).and_then(|value| value.get("phase")) {
        item.insert("phase".into(), phase.clone());
    }
    Some(Value::Object(item))
}

fn user(message: &Message, items: &mut Vec<Value>, warnings: &mut Vec<String>) {
    let mut parts = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Result { id, content, .. } => items.push(json!({
                "type": "function_call_output",
                "call_id": wire_id(id),
                "output": output(content, warnings),
            })),
            Block::Text { text, .. } if !text.is_empty() => parts.push(text_part(text)),
            Block::Image { mime, data } => parts.push(picture_part(mime, data, warnings)),
            Block::Text { .. } | Block::Thinking { .. } | Block::Call { .. } => {}
        }
    }
    if !parts.is_empty() {
        items.push(json!({ "type": "message", "role": "user", "content": parts }));
    }
}

/// Text alone is sent as text: not every server takes parts.
fn output(content: &[Piece], warnings: &mut Vec<String>) -> Value {
    let texts: Option<Vec<_>> =
        content.iter().map(|piece| if let Piece::Text { text } = piece { Some(text.as_str()) } else { None }).collect();
    if let Some(texts) = texts {
        return texts.join("\n").into();
    }
    let part = |piece: &Piece| match piece {
        Piece::Text { text } => text_part(text),
        Piece::Image { mime, data } => picture_part(mime, data, warnings),
    };
    content.iter().map(part).collect()
}

fn text_part(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn picture_part(mime: &str, data: &str, warnings: &mut Vec<String>) -> Value {
    match picture(mime, data) {
        Ok(url) => json!({ "type": "input_image", "image_url": url, "detail": "auto" }),
        Err(why) => {
            let part = text_part(&format!("[{why}]"));
            warnings.push(why);
            part
        }
    }
}
