//! The conversation in the words of Chat Completions.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::openai_shared::{joined_text, picture, replayed_arguments};
use crate::replay::own;
use crate::{Block, Message, Model, NameMap, Piece, Role, Turn, wire_id};

/// OpenAI refuses longer ids of calls here.
pub(super) const LONGEST_ID: usize = 40;
/// Where DeepSeek, Kimi and others put what the model thinks. They want it back with the calls that it led to.
pub(super) const REASONING: &str = "reasoning_content";

pub(super) fn messages(turn: &Turn<'_>, names: &NameMap, warnings: &mut Vec<String>) -> Vec<Value> {
    let mut sent = Vec::new();
    if !turn.system.is_empty() {
        sent.push(json!({ "role": "system", "content": turn.system }));
    }
    for message in turn.messages {
        match message.role {
            Role::Assistant => sent.extend(assistant(message, turn.model, names)),
            Role::User => user(message, &mut sent, warnings),
        }
    }
    sent
}

/// Nothing if all that it holds is of no use to this provider.
fn assistant(message: &Message, model: &Model, names: &NameMap) -> Option<Value> {
    let text = joined_text(&message.blocks);
    let calls: Vec<_> = message.blocks.iter().filter_map(|block| call(block, names)).collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut said = Map::new();
    said.insert("role".into(), json!("assistant"));
    said.insert("content".into(), if text.is_empty() { Value::Null } else { text.into() });
    if !calls.is_empty() {
        if let Some(reasoning) = reasoning(&message.blocks, model) {
            said.insert(REASONING.into(), reasoning.into());
        }
        said.insert("tool_calls".into(), calls.into());
    }
    Some(Value::Object(said))
}

fn call(block: &Block, names: &NameMap) -> Option<Value> {
    let Block::Call { id, name, arguments, .. } = block else { return None };
    let function = json!({ "name": names.wire(name), "arguments": replayed_arguments(arguments) });
    Some(json!({ "id": chat_id(id), "type": "function", "function": function }))
}

/// Ids stay as they are where they can: some models were trained on the shape of their own.
fn chat_id(id: &str) -> Cow<'_, str> {
    let fits = (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(|letter| letter.is_ascii_graphic());
    // With a blank in it no id fits, so this is always its hash.
    if fits { Cow::Borrowed(id) } else { Cow::Owned(wire_id(&format!("{id} ")).into_owned()) }
}

/// What the model thought, if this provider said it in a field that it wants back.
fn reasoning(blocks: &[Block], model: &Model) -> Option<String> {
    let thoughts = blocks.iter().filter_map(|block| match block {
        Block::Thinking { text, opaque } => own(opaque.as_ref(), model).filter(|field| *field == REASONING).map(|_| text.as_str()),
        _ => None,
    });
    let thoughts: Vec<_> = thoughts.collect();
    (!thoughts.is_empty()).then(|| thoughts.concat())
}

/// One message for each result, right behind the calls; pictures follow in a message of the person, where they may stand.
fn user(message: &Message, sent: &mut Vec<Value>, warnings: &mut Vec<String>) {
    let mut parts = Vec::new();
    for block in &message.blocks {
        if let Block::Result { id, name, content, .. } = block {
            sent.push(json!({ "role": "tool", "tool_call_id": chat_id(id), "content": result_text(content) }));
            result_pictures(name, content, &mut parts, warnings);
        }
    }
    for block in &message.blocks {
        match block {
            Block::Text { text, .. } if !text.is_empty() => parts.push(text_part(text)),
            Block::Image { mime, data } => parts.push(picture_part(mime, data, warnings)),
            _ => {}
        }
    }
    if !parts.is_empty() {
        sent.push(json!({ "role": "user", "content": plain_if_possible(parts) }));
    }
}

fn result_text(content: &[Piece]) -> String {
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut pictures = 0;
    for piece in content {
        match piece {
            Piece::Text { text } => texts.push(text.into()),
            Piece::Image { .. } => pictures += 1,
        }
    }
    if pictures > 0 {
        texts.push(format!("[pictures in the next message: {pictures}]").into());
    }
    texts.join("\n")
}

fn result_pictures(tool: &str, content: &[Piece], parts: &mut Vec<Value>, warnings: &mut Vec<String>) {
    for piece in content {
        if let Piece::Image { mime, data } = piece {
            parts.push(text_part(&format!("[a picture that the tool '{tool}' returned]")));
            parts.push(picture_part(mime, data, warnings));
        }
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn picture_part(mime: &str, data: &str, warnings: &mut Vec<String>) -> Value {
    match picture(mime, data) {
        Ok(url) => json!({ "type": "image_url", "image_url": { "url": url } }),
        Err(why) => {
            let part = text_part(&format!("[{why}]"));
            warnings.push(why);
            part
        }
    }
}

/// Text alone is sent as text: not every server takes parts.
fn plain_if_possible(parts: Vec<Value>) -> Value {
    let texts: Option<Vec<_>> = parts.iter().map(|part| part["text"].as_str()).collect();
    match texts {
        Some(texts) => texts.join("\n\n").into(),
        None => parts.into(),
    }
}
