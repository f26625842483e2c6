//! The conversation in the words of Chat Completions.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::ids::nine;
use crate::openai_shared::{joined_text, picture, replayed_arguments};
use crate::replay::own;
use crate::{Block, IdForm, Message, Model, NameMap, Piece, Role, Turn, wire_id};

/// OpenAI refuses longer ids of calls here.
pub(super) const LONGEST_ID: usize = 40;
/// Where DeepSeek, Kimi and others put what the model thinks. They want it back with the calls that it led to, and refuse the
/// whole conversation where a call has none.
pub(super) const REASONING: &str = "reasoning_content";
/// What stands for thoughts that were another model's, or were lost with an answer that broke off. Some refuse an empty text.
const NOT_KEPT: &str = "(not kept)";

pub(super) fn messages(turn: &Turn<'_>, names: &NameMap, warnings: &mut Vec<String>) -> Vec<Value> {
    let mut sent = Vec::new();
    if !turn.system.is_empty() {
        sent.push(json!({ "role": "system", "content": turn.system }));
    }
    let speaker = Speaker { model: turn.model, names, needs_reasoning: turn.model.needs_reasoning || has_reasoned(turn) };
    for message in turn.messages {
        match message.role {
            Role::Assistant => sent.extend(speaker.said(message)),
            Role::User => user(message, turn.model.id_form, &mut sent, warnings),
        }
    }
    sent
}

/// Whether this provider has said thoughts in a field that it wants back.
fn has_reasoned(turn: &Turn<'_>) -> bool {
    let said = |block| thought(block, turn.model).is_some_and(|thought| !thought.is_empty());
    turn.messages.iter().flat_map(|message| &message.blocks).any(said)
}

/// What the model thought, if this provider said it in a field that it wants back.
fn thought<'a>(block: &'a Block, model: &Model) -> Option<&'a str> {
    let Block::Thinking { text, opaque } = block else { return None };
    own(opaque.as_ref(), model).filter(|field| *field == REASONING).map(|_| text.as_str())
}

/// The model's side of the conversation.
struct Speaker<'a> {
    model: &'a Model,
    names: &'a NameMap,
    needs_reasoning: bool,
}

impl Speaker<'_> {
    /// Nothing if all that the message holds is of no use to this provider.
    fn said(&self, message: &Message) -> Option<Value> {
        let text = joined_text(&message.blocks);
        let calls: Vec<_> = message.blocks.iter().filter_map(|block| self.call(block)).collect();
        if text.is_empty() && calls.is_empty() {
            return None;
        }
        let mut said = Map::new();
        said.insert("role".into(), json!("assistant"));
        said.insert("content".into(), if text.is_empty() { Value::Null } else { text.into() });
        if !calls.is_empty() {
            said.extend(self.reasoning(&message.blocks).map(|reasoning| (REASONING.to_owned(), reasoning.into())));
            said.insert("tool_calls".into(), calls.into());
        }
        Some(Value::Object(said))
    }

    fn call(&self, block: &Block) -> Option<Value> {
        let Block::Call { id, name, arguments, .. } = block else { return None };
        let function = json!({ "name": self.names.wire(name), "arguments": replayed_arguments(arguments) });
        Some(json!({ "id": chat_id(id, self.model.id_form), "type": "function", "function": function }))
    }

    fn reasoning(&self, blocks: &[Block]) -> Option<String> {
        let thoughts: Vec<_> = blocks.iter().filter_map(|block| thought(block, self.model)).collect();
        if thoughts.is_empty() {
            return self.needs_reasoning.then(|| NOT_KEPT.to_owned());
        }
        Some(thoughts.concat())
    }
}

/// Ids stay as they are where they can: some models were trained on the shape of their own.
fn chat_id(id: &str, form: IdForm) -> Cow<'_, str> {
    let fits = (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(|letter| letter.is_ascii_graphic());
    match form {
        IdForm::Nine => nine(id),
        IdForm::Any if fits => Cow::Borrowed(id),
        // With a blank in it no id fits, so this is always its hash.
        IdForm::Any => Cow::Owned(wire_id(&format!("{id} ")).into_owned()),
    }
}

/// One message for each result, right behind the calls; pictures follow in a message of the person, where they may stand.
fn user(message: &Message, form: IdForm, sent: &mut Vec<Value>, warnings: &mut Vec<String>) {
    let mut parts = Vec::new();
    for block in &message.blocks {
        if let Block::Result { id, name, content, .. } = block {
            sent.push(json!({ "role": "tool", "tool_call_id": chat_id(id, form), "content": result_text(content) }));
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
