//! Encodes a request for Messages.

use serde_json::{Value, json};

use crate::ids::WireIds;
use crate::offer::{Offer, offer};
use crate::replay::{MergedMessage, arguments_object, merge_messages, own};
use crate::{Block, EncodedRequest, Model, ModelTurn, NameMap, Opaque, Protocol, ResultPart, Role, wire_id};

/// Default of the version header.
const VERSION: &str = "2023-06-01";
/// Image types that the API accepts; any other type fails the request.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

pub(super) fn request(turn: &ModelTurn<'_>) -> EncodedRequest {
    let names = NameMap::new(Protocol::Anthropic, turn.tools.iter().map(|tool| &tool.name));
    let Offer { tools, warnings } = offer(turn);
    let mut writer = MessagesWriter { model: turn.model, names: &names, ids: WireIds::default(), warnings };
    let mut body = json!({ "model": turn.model.name, "max_tokens": turn.model.max_output, "stream": true });
    if let Some(tokens) = turn.model.thinking_tokens().filter(|tokens| *tokens > 0) {
        body["max_tokens"] = turn.model.max_output.saturating_add(tokens).into();
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": tokens });
    }
    if !turn.system.trim().is_empty() {
        body["system"] = json!([with_cache_breakpoint(json!({ "type": "text", "text": turn.system }))]);
    }
    let mut definitions: Vec<Value> = tools
        .iter()
        .map(|(tool, schema)| json!({ "name": names.wire(&tool.name), "description": tool.description, "input_schema": schema.value }))
        .collect();
    if let Some(last) = definitions.pop() {
        definitions.push(with_cache_breakpoint(last));
        body["tools"] = Value::Array(definitions);
    }
    body["messages"] = Value::Array(writer.messages(turn));
    let version = turn.model.version.as_deref().unwrap_or(VERSION).to_owned();
    let mut encoded = EncodedRequest::new("/messages", body);
    encoded.headers.push(("anthropic-version", version));
    encoded.warnings = writer.warnings;
    encoded
}

/// Adds a breakpoint of the prompt cache. Four are allowed; we set three: after the tools, the system prompt and the last message.
fn with_cache_breakpoint(mut block: Value) -> Value {
    block["cache_control"] = json!({ "type": "ephemeral" });
    block
}

fn can_be_sent(role: Role, block: &Block, model: &Model) -> bool {
    match (role, block) {
        // The API refuses blank text.
        (_, Block::Text { text, .. }) => !text.trim().is_empty(),
        (Role::Assistant, Block::Thinking { opaque, .. }) => thinking_block(opaque.as_ref(), model).is_some(),
        (Role::Assistant, Block::Call { .. }) | (Role::User, Block::Result { .. } | Block::Image { .. }) => true,
        _ => false,
    }
}

/// A thinking block for its own provider, verbatim; none for any other.
fn thinking_block<'a>(opaque: Option<&'a Opaque>, model: &Model) -> Option<&'a Value> {
    own(opaque, model).filter(|block| block["type"] == "thinking" || block["type"] == "redacted_thinking")
}

struct MessagesWriter<'a> {
    model: &'a Model,
    names: &'a NameMap,
    ids: WireIds<'a>,
    warnings: Vec<String>,
}

impl<'a> MessagesWriter<'a> {
    fn messages(&mut self, turn: &ModelTurn<'a>) -> Vec<Value> {
        let model = self.model;
        let merged = merge_messages(turn.messages, |role, block| can_be_sent(role, block, model));
        let mut messages = Vec::with_capacity(merged.len() + 1);
        if merged.first().is_some_and(|side| side.role == Role::Assistant) {
            messages.push(json!({ "role": "user", "content": [{ "type": "text", "text": "(The conversation continues.)" }] }));
        }
        messages.extend(merged.iter().map(|side| self.message(side)));
        let last_user = messages.iter_mut().rev().find(|message| message["role"] == "user");
        if let Some(block) = last_user.and_then(|message| message["content"].as_array_mut()?.last_mut()) {
            *block = with_cache_breakpoint(block.take());
        }
        messages
    }

    fn message(&mut self, side: &MergedMessage<'a>) -> Value {
        match side.role {
            Role::Assistant => {
                self.ids.begin_message();
                let content: Vec<Value> = side.blocks.iter().filter_map(|block| self.assistant_block(block)).collect();
                json!({ "role": "assistant", "content": content })
            }
            Role::User => json!({ "role": "user", "content": self.user_content(&side.blocks) }),
        }
    }

    fn assistant_block(&mut self, block: &'a Block) -> Option<Value> {
        match block {
            Block::Text { text, .. } => Some(text_block(text)),
            Block::Thinking { opaque, .. } => thinking_block(opaque.as_ref(), self.model).cloned(),
            Block::Call { id, name, arguments, .. } => Some(json!({
                "type": "tool_use",
                "id": self.ids.call(id, |id| wire_id(id).into_owned()),
                "name": self.names.wire(name),
                "input": arguments_object(arguments),
            })),
            _ => None,
        }
    }

    /// User content; results come first, or the API refuses the request.
    fn user_content(&mut self, blocks: &[&Block]) -> Vec<Value> {
        let (mut results, mut others) = (Vec::new(), Vec::new());
        for block in blocks {
            match block {
                Block::Result { id, content, is_error, .. } => {
                    results.push(self.result(id, content, *is_error, &mut others));
                }
                Block::Text { text, .. } => others.push(text_block(text)),
                Block::Image { mime, data } => others.push(self.image(mime, data)),
                _ => {}
            }
        }
        results.append(&mut others);
        results
    }

    /// A tool result. One that failed must hold text and nothing else, so its images follow the results.
    fn result(&mut self, id: &str, parts: &[ResultPart], is_error: bool, extra: &mut Vec<Value>) -> Value {
        let mut content = Vec::new();
        for part in parts {
            match part {
                ResultPart::Text { text } if text.trim().is_empty() => {}
                ResultPart::Text { text } => content.push(text_block(text)),
                ResultPart::Image { mime, data } if is_error => extra.push(self.image(mime, data)),
                ResultPart::Image { mime, data } => content.push(self.image(mime, data)),
            }
        }
        let mut block = json!({ "type": "tool_result", "tool_use_id": self.ids.result(id).unwrap_or_else(|| wire_id(id).into_owned()) });
        if is_error && content.is_empty() {
            content.push(text_block("The tool failed without a message."));
        }
        if !content.is_empty() {
            block["content"] = Value::Array(content);
        }
        if is_error {
            block["is_error"] = true.into();
        }
        block
    }

    fn image(&mut self, mime: &str, data: &str) -> Value {
        if IMAGE_TYPES.contains(&mime) {
            return json!({ "type": "image", "source": { "type": "base64", "media_type": mime, "data": data } });
        }
        let warning = format!("image not sent: {} does not accept {mime}, only {}", self.model.name, IMAGE_TYPES.join(", "));
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
        text_block(&format!("[An image of type {mime} was left out: the model does not accept it.]"))
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
