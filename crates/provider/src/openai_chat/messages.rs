//! Encodes the conversation for Chat Completions.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::ids::nine_char_id;
use crate::openai_shared::{image_part, joined_text, replayed_arguments};
use crate::replay::own;
use crate::{Block, IdForm, Message, Model, ModelTurn, NameMap, ResultPart, Role, wire_id};

/// OpenAI refuses longer ids of calls here.
const LONGEST_ID: usize = 40;
/// Field in which DeepSeek, Kimi and others send reasoning. They want it back with its calls, and refuse the conversation if a
/// call has none.
pub(super) const REASONING: &str = "reasoning_content";
/// Replaces reasoning of another model, or of a truncated answer. Some servers refuse an empty text.
const NOT_KEPT: &str = "(not kept)";

pub(super) fn messages(turn: &ModelTurn<'_>, names: &NameMap, warnings: &mut Vec<String>) -> Vec<Value> {
    let mut sent = Vec::new();
    if !turn.system.is_empty() {
        sent.push(json!({ "role": "system", "content": turn.system }));
    }
    let encoder = AssistantEncoder { model: turn.model, names, needs_reasoning: turn.model.needs_reasoning || has_reasoned(turn) };
    for message in turn.messages {
        match message.role {
            Role::Assistant => sent.extend(encoder.message(message)),
            Role::User => user(message, turn.model.id_form, &mut sent, warnings),
        }
    }
    sent
}

/// Whether this provider has sent reasoning in a field that it wants back.
fn has_reasoned(turn: &ModelTurn<'_>) -> bool {
    let has_reasoning = |block| reasoning(block, turn.model).is_some_and(|text| !text.is_empty());
    turn.messages.iter().flat_map(|message| &message.blocks).any(has_reasoning)
}

/// The reasoning of a block, if this provider wants it back.
fn reasoning<'a>(block: &'a Block, model: &Model) -> Option<&'a str> {
    let Block::Thinking { text, opaque } = block else { return None };
    own(opaque.as_ref(), model).filter(|field| *field == REASONING).map(|_| text.as_str())
}

/// Encodes messages of the model.
struct AssistantEncoder<'a> {
    model: &'a Model,
    names: &'a NameMap,
    needs_reasoning: bool,
}

impl AssistantEncoder<'_> {
    /// A message; none if this provider can use nothing of it.
    fn message(&self, message: &Message) -> Option<Value> {
        let text = joined_text(&message.blocks);
        let calls: Vec<_> = message.blocks.iter().filter_map(|block| self.call(block)).collect();
        if text.is_empty() && calls.is_empty() {
            return None;
        }
        let content = if text.is_empty() { Value::Null } else { text.into() };
        let mut encoded = json!({ "role": "assistant", "content": content });
        if !calls.is_empty() {
            if let Some(reasoning) = self.reasoning(&message.blocks) {
                encoded[REASONING] = reasoning.into();
            }
            encoded["tool_calls"] = calls.into();
        }
        Some(encoded)
    }

    fn call(&self, block: &Block) -> Option<Value> {
        let Block::Call { id, name, arguments, .. } = block else { return None };
        let function = json!({ "name": self.names.wire(name), "arguments": replayed_arguments(arguments) });
        Some(json!({ "id": chat_id(id, self.model.id_form), "type": "function", "function": function }))
    }

    fn reasoning(&self, blocks: &[Block]) -> Option<String> {
        let texts: Vec<_> = blocks.iter().filter_map(|block| reasoning(block, self.model)).collect();
        if texts.is_empty() {
            return self.needs_reasoning.then(|| NOT_KEPT.to_owned());
        }
        Some(texts.concat())
    }
}

/// Ids stay where possible: some models were trained on the format of their own.
fn chat_id(id: &str, form: IdForm) -> Cow<'_, str> {
    let fits = (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(|ch| ch.is_ascii_graphic());
    match form {
        IdForm::Nine => nine_char_id(id),
        IdForm::Any if fits => Cow::Borrowed(id),
        // An id with a blank never fits, so this is always a hash.
        IdForm::Any => Cow::Owned(wire_id(&format!("{id} ")).into_owned()),
    }
}

/// One message for each result; images follow in a message of the user, because results accept none.
fn user(message: &Message, form: IdForm, sent: &mut Vec<Value>, warnings: &mut Vec<String>) {
    let mut parts = Vec::new();
    for block in &message.blocks {
        if let Block::Result { id, name, content, .. } = block {
            sent.push(json!({ "role": "tool", "tool_call_id": chat_id(id, form), "content": result_text(content) }));
            result_images(name, content, &mut parts, warnings);
        }
    }
    for block in &message.blocks {
        match block {
            Block::Text { text, .. } if !text.is_empty() => parts.push(text_part(text)),
            Block::Image { mime, data } => parts.push(image(mime, data, warnings)),
            _ => {}
        }
    }
    if !parts.is_empty() {
        sent.push(json!({ "role": "user", "content": plain_if_possible(parts) }));
    }
}

fn result_text(content: &[ResultPart]) -> String {
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut images = 0;
    for part in content {
        match part {
            ResultPart::Text { text } => texts.push(text.into()),
            ResultPart::Image { .. } => images += 1,
        }
    }
    if images > 0 {
        texts.push(format!("[images in the next message: {images}]").into());
    }
    texts.join("\n")
}

fn result_images(tool: &str, content: &[ResultPart], parts: &mut Vec<Value>, warnings: &mut Vec<String>) {
    for part in content {
        if let ResultPart::Image { mime, data } = part {
            parts.push(text_part(&format!("[an image that the tool '{tool}' returned]")));
            parts.push(image(mime, data, warnings));
        }
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image(mime: &str, data: &str, warnings: &mut Vec<String>) -> Value {
    image_part((mime, data), |url| json!({ "type": "image_url", "image_url": { "url": url } }), text_part, warnings)
}

/// Text without images is sent as a string: not every server accepts parts.
fn plain_if_possible(parts: Vec<Value>) -> Value {
    let texts: Option<Vec<_>> = parts.iter().map(|part| part["text"].as_str()).collect();
    match texts {
        Some(texts) => texts.join("\n\n").into(),
        None => parts.into(),
    }
}
