//! A turn as a Messages request.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::offer::{Offer, offer};
use crate::replay::{Side, arguments_object, own, sides};
use crate::{Block, Encoded, Model, NameMap, Opaque, Piece, Protocol, Role, Turn, wire_id};

/// The version that is sent where the configuration names none.
const VERSION: &str = "2023-06-01";
/// The pictures that are taken; any other type is a refused request.
const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

pub(super) fn request(turn: &Turn<'_>) -> Encoded {
    let names = NameMap::new(Protocol::Anthropic, turn.tools.iter().map(|tool| &tool.name));
    let Offer { tools, warnings } = offer(turn);
    let mut writer = Writer { model: turn.model, names: &names, ids: CallNames::default(), warnings };
    let mut body = json!({ "model": turn.model.name, "max_tokens": turn.model.max_output, "stream": true });
    if !turn.system.trim().is_empty() {
        body["system"] = json!([cached(json!({ "type": "text", "text": turn.system }))]);
    }
    let mut definitions: Vec<Value> = tools
        .iter()
        .map(|(tool, schema)| json!({ "name": names.wire(&tool.name), "description": tool.description, "input_schema": schema.value }))
        .collect();
    if let Some(last) = definitions.pop() {
        definitions.push(cached(last));
        body["tools"] = Value::Array(definitions);
    }
    body["messages"] = Value::Array(writer.messages(turn));
    let version = turn.model.version.as_deref().unwrap_or(VERSION).to_owned();
    let mut encoded = Encoded::new("/messages", body);
    encoded.headers.push(("anthropic-version", version));
    encoded.warnings = writer.warnings;
    encoded
}

/// A breakpoint of the prompt cache. There may be four; we set three: behind the tools, the system prompt and the last message.
fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({ "type": "ephemeral" });
    block
}

fn can_be_sent(role: Role, block: &Block, model: &Model) -> bool {
    match (role, block) {
        // Blank text is refused.
        (_, Block::Text { text, .. }) => !text.trim().is_empty(),
        (Role::Assistant, Block::Thinking { opaque, .. }) => thought(opaque.as_ref(), model).is_some(),
        (Role::Assistant, Block::Call { .. }) | (Role::User, Block::Result { .. } | Block::Image { .. }) => true,
        _ => false,
    }
}

/// A thought goes back to where it came from, verbatim or not at all.
fn thought<'a>(opaque: Option<&'a Opaque>, model: &Model) -> Option<&'a Value> {
    own(opaque, model).filter(|block| block["type"] == "thinking" || block["type"] == "redacted_thinking")
}

/// How the calls of the conversation are called on the wire, where an id must fit and may stand once only.
#[derive(Default)]
struct CallNames<'a> {
    taken: HashSet<String>,
    /// Of the last assistant message: an id that a provider repeats means the newest call.
    latest: HashMap<&'a str, String>,
}

impl<'a> CallNames<'a> {
    fn call(&mut self, id: &'a str) -> String {
        let mut name = wire_id(id).into_owned();
        for again in 2.. {
            if self.taken.insert(name.clone()) {
                break;
            }
            name = wire_id(&format!("{id}_{again}")).into_owned();
        }
        self.latest.insert(id, name.clone());
        name
    }

    fn result(&self, id: &str) -> String {
        self.latest.get(id).cloned().unwrap_or_else(|| wire_id(id).into_owned())
    }
}

struct Writer<'a> {
    model: &'a Model,
    names: &'a NameMap,
    ids: CallNames<'a>,
    warnings: Vec<String>,
}

impl<'a> Writer<'a> {
    fn messages(&mut self, turn: &Turn<'a>) -> Vec<Value> {
        let model = self.model;
        let sides = sides(turn.messages, |role, block| can_be_sent(role, block, model));
        let mut messages = Vec::with_capacity(sides.len() + 1);
        if sides.first().is_some_and(|side| side.role == Role::Assistant) {
            messages.push(json!({ "role": "user", "content": [{ "type": "text", "text": "(The conversation goes on.)" }] }));
        }
        messages.extend(sides.iter().map(|side| self.message(side)));
        let last_said = messages.iter_mut().rev().find(|message| message["role"] == "user");
        if let Some(block) = last_said.and_then(|message| message["content"].as_array_mut()?.last_mut()) {
            *block = cached(block.take());
        }
        messages
    }

    fn message(&mut self, side: &Side<'a>) -> Value {
        match side.role {
            Role::Assistant => {
                let content: Vec<Value> = side.blocks.iter().filter_map(|block| self.said(block)).collect();
                json!({ "role": "assistant", "content": content })
            }
            Role::User => json!({ "role": "user", "content": self.user_content(&side.blocks) }),
        }
    }

    fn said(&mut self, block: &'a Block) -> Option<Value> {
        match block {
            Block::Text { text, .. } => Some(text_block(text)),
            Block::Thinking { opaque, .. } => thought(opaque.as_ref(), self.model).cloned(),
            Block::Call { id, name, arguments, .. } => Some(json!({
                "type": "tool_use",
                "id": self.ids.call(id),
                "name": self.names.wire(name),
                "input": arguments_object(arguments),
            })),
            _ => None,
        }
    }

    /// Every result comes before anything else, or the request is refused.
    fn user_content(&mut self, blocks: &[&Block]) -> Vec<Value> {
        let (mut results, mut others) = (Vec::new(), Vec::new());
        for block in blocks {
            match block {
                Block::Result { id, content, is_error, .. } => {
                    results.push(self.result(id, content, *is_error, &mut others));
                }
                Block::Text { text, .. } => others.push(text_block(text)),
                Block::Image { mime, data } => others.push(self.picture(mime, data)),
                _ => {}
            }
        }
        results.append(&mut others);
        results
    }

    /// A result that failed holds text alone, and some: its pictures stand behind the results.
    fn result(&mut self, id: &str, pieces: &[Piece], is_error: bool, beside: &mut Vec<Value>) -> Value {
        let mut content = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text { text } if text.trim().is_empty() => {}
                Piece::Text { text } => content.push(text_block(text)),
                Piece::Image { mime, data } if is_error => beside.push(self.picture(mime, data)),
                Piece::Image { mime, data } => content.push(self.picture(mime, data)),
            }
        }
        let mut block = json!({ "type": "tool_result", "tool_use_id": self.ids.result(id) });
        if is_error && content.is_empty() {
            content.push(text_block("The tool failed and said nothing."));
        }
        if !content.is_empty() {
            block["content"] = Value::Array(content);
        }
        if is_error {
            block["is_error"] = true.into();
        }
        block
    }

    fn picture(&mut self, mime: &str, data: &str) -> Value {
        if PICTURES.contains(&mime) {
            return json!({ "type": "image", "source": { "type": "base64", "media_type": mime, "data": data } });
        }
        let warning = format!("a picture is not sent: {} takes no {mime}, only {}", self.model.name, PICTURES.join(", "));
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
        text_block(&format!("[A picture of the type {mime} stood here; it could not be shown.]"))
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
