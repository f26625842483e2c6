//! Encodes the conversation for Chat Completions.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::ids::{WireIds, nine_char_id};
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
    let ids = WireIds::default();
    let mut encoder = ChatEncoder { model: turn.model, names, ids, needs_reasoning: turn.model.needs_reasoning || has_reasoned(turn) };
    for message in turn.messages {
        match message.role {
            Role::Assistant => sent.extend(encoder.message(message)),
            Role::User => encoder.user(message, &mut sent, warnings),
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

/// Encodes messages.
struct ChatEncoder<'a> {
    model: &'a Model,
    names: &'a NameMap,
    ids: WireIds<'a>,
    needs_reasoning: bool,
}

impl<'a> ChatEncoder<'a> {
    /// A message; none if this provider can use nothing of it.
    fn message(&mut self, message: &'a Message) -> Option<Value> {
        self.ids.begin_message();
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

    fn call(&mut self, block: &'a Block) -> Option<Value> {
        let Block::Call { id, name, arguments, .. } = block else { return None };
        let function = json!({ "name": self.names.wire(name), "arguments": replayed_arguments(arguments) });
        let id = self.ids.call(id, |id| chat_id(id, self.model.id_form).into_owned());
        Some(json!({ "id": id, "type": "function", "function": function }))
    }

    fn reasoning(&self, blocks: &[Block]) -> Option<String> {
        let texts: Vec<_> = blocks.iter().filter_map(|block| reasoning(block, self.model)).collect();
        if texts.is_empty() {
            return self.needs_reasoning.then(|| NOT_KEPT.to_owned());
        }
        Some(texts.concat())
    }

    /// One message for each result; images follow in a message of the user, because results accept none.
    fn user(&mut self, message: &Message, sent: &mut Vec<Value>, warnings: &mut Vec<String>) {
        let mut parts = Vec::new();
        for block in &message.blocks {
            if let Block::Result { id, name, content, .. } = block {
                let id = self.ids.result(id).unwrap_or_else(|| chat_id(id, self.model.id_form).into_owned());
                sent.push(json!({ "role": "tool", "tool_call_id": id, "content": result_text(content) }));
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

/// The text of a result. A note on its images goes into the envelope, so that it stays JSON.
fn result_text(content: &[ResultPart]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    let mut images = 0;
    for part in content {
        match part {
            ResultPart::Text { text } => texts.push(text),
            ResultPart::Image { .. } => images += 1,
        }
    }
    let text = texts.join("\n");
    if images == 0 {
        return text;
    }
    let note = format!("{images} in the next message");
    match serde_json::from_str::<Map<String, Value>>(&text) {
        Ok(envelope) => {
            let (inner, comma) = (text.trim_end().strip_suffix('}').unwrap_or(&text), if envelope.is_empty() { "" } else { "," });
            format!("{inner}{comma}\"images\":{}}}", Value::from(note))
        }
        Err(_) => format!("{text}\n[images: {note}]").trim_start().to_owned(),
    }
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
