//! Encodes a request for generateContent.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::generation::{accepts_images_in_results, wants_signatures};
use crate::ids::WireIds;
use crate::offer::{Offer, offer};
use crate::replay::{MergedMessage, arguments_object, merge_messages, own};
use crate::schema::ProjectedSchema;
use crate::{Block, EncodedRequest, Model, ModelTurn, NameMap, OfferedTool, Protocol, ResultPart, Role};

/// Replaces the signature of a call that another model made; documented by Google.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
/// Image types that the API accepts in prompts, and inside of results; any other type fails the request.
const IN_PROMPTS: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
const IN_RESULTS: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

pub(super) fn request(turn: &ModelTurn<'_>) -> EncodedRequest {
    let names = NameMap::new(Protocol::Gemini, turn.tools.iter().map(|tool| &tool.name));
    let Offer { tools, warnings } = offer(turn);
    let mut writer = ContentsWriter { model: turn.model, names: &names, ids: WireIds::default(), warnings };
    let mut body = json!({ "contents": writer.contents(turn) });
    if !turn.system.trim().is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": turn.system }] });
    }
    if !tools.is_empty() {
        let declarations: Vec<Value> = tools.iter().map(|(tool, schema)| declaration(turn.model, &names, tool, schema)).collect();
        body["tools"] = json!([{ "functionDeclarations": declarations }]);
        body["toolConfig"] = json!({ "functionCallingConfig": { "mode": "AUTO" } });
    }
    body["generationConfig"] = json!({ "maxOutputTokens": turn.model.max_output });
    if let Some(tokens) = turn.model.thinking_tokens() {
        let most = turn.model.max_output.saturating_add(tokens);
        body["generationConfig"] = json!({ "maxOutputTokens": most, "thinkingConfig": { "thinkingBudget": tokens } });
    }
    let mut encoded = EncodedRequest::new(path(&turn.model.name), body);
    encoded.warnings = writer.warnings;
    encoded
}

fn path(model: &str) -> String {
    let (folder, name) =
        model.split_once('/').filter(|(folder, _)| matches!(*folder, "models" | "tunedModels")).unwrap_or(("models", model));
    let mut path = format!("/{folder}/");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            write!(path, "%{byte:02X}").ok();
        }
    }
    path + ":streamGenerateContent?alt=sse"
}

fn declaration(model: &Model, names: &NameMap, tool: &OfferedTool, schema: &ProjectedSchema) -> Value {
    let mut declaration = json!({ "name": names.wire(&tool.name), "description": tool.description });
    if !model.legacy_schema {
        declaration["parametersJsonSchema"] = schema.value.clone();
    } else if schema.value["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        // The older form refuses an object without properties.
        declaration["parameters"] = schema.value.clone();
    }
    declaration
}

fn can_be_sent(role: Role, block: &Block, model: &Model) -> bool {
    match (role, block) {
        (Role::Assistant, Block::Text { text, opaque }) => !text.is_empty() || signature(own(opaque.as_ref(), model)).is_some(),
        (Role::Assistant, Block::Thinking { opaque, .. }) => signature(own(opaque.as_ref(), model)).is_some(),
        (Role::User, Block::Text { text, .. }) => !text.is_empty(),
        (Role::Assistant, Block::Call { .. }) | (Role::User, Block::Result { .. } | Block::Image { .. }) => true,
        _ => false,
    }
}

fn signature(own: Option<&Value>) -> Option<&Value> {
    own?.get("thoughtSignature").filter(|signature| signature.is_string())
}

struct ContentsWriter<'a> {
    model: &'a Model,
    names: &'a NameMap,
    /// Of calls whose id the provider gave; an id that we made stays with us.
    ids: WireIds<'a>,
    warnings: Vec<String>,
}

impl<'a> ContentsWriter<'a> {
    fn contents(&mut self, turn: &ModelTurn<'a>) -> Vec<Value> {
        let model = self.model;
        let messages = merge_messages(turn.messages, |role, block| can_be_sent(role, block, model));
        let mut contents = Vec::with_capacity(messages.len() + 1);
        if messages.first().is_some_and(|side| side.role == Role::Assistant) {
            contents.push(json!({ "role": "user", "parts": [{ "text": "(The conversation continues.)" }] }));
        }
        let current = messages.iter().rposition(begins_turn).unwrap_or(0);
        let mut calls: Vec<&Block> = Vec::new();
        for (at, side) in messages.iter().enumerate() {
            match side.role {
                Role::Assistant => {
                    calls = side.blocks.iter().copied().filter(|block| block.call_id().is_some()).collect();
                    contents.push(self.model_content(side, at >= current));
                }
                Role::User => self.user_contents(&calls, side, &mut contents),
            }
        }
        contents
    }

    fn model_content(&mut self, side: &MergedMessage<'a>, is_current: bool) -> Value {
        self.ids.begin_message();
        let mut parts: Vec<Value> = side.blocks.iter().filter_map(|block| self.part(block)).collect();
        let first = parts.iter_mut().find(|part| part.get("functionCall").is_some());
        if let Some(call) = first.filter(|call| is_current && call.get("thoughtSignature").is_none())
            && wants_signatures(&self.model.name)
        {
            call["thoughtSignature"] = NO_SIGNATURE.into();
        }
        json!({ "role": "model", "parts": parts })
    }

    fn part(&mut self, block: &'a Block) -> Option<Value> {
        let (mut part, opaque) = match block {
            Block::Text { text, opaque } => (json!({ "text": text }), opaque),
            Block::Thinking { text, opaque } => (json!({ "text": text, "thought": true }), opaque),
            Block::Call { id, name, arguments, opaque } => {
                let mut call = json!({ "name": self.names.wire(name), "args": arguments_object(arguments) });
                if let Some(given) = own(opaque.as_ref(), self.model).and_then(|own| own.get("id")?.as_str()) {
                    call["id"] = self.ids.call_as(id, given, str::to_owned).into();
                }
                (json!({ "functionCall": call }), opaque)
            }
            _ => return None,
        };
        if let Some(signature) = signature(own(opaque.as_ref(), self.model)) {
            part["thoughtSignature"] = signature.clone();
        }
        Some(part)
    }

    /// User contents: results get a content of their own, in the order of the calls, because the API pairs by position.
    fn user_contents(&mut self, calls: &[&Block], side: &MergedMessage<'_>, contents: &mut Vec<Value>) {
        let mut results: Vec<&Block> = side.blocks.iter().copied().filter(|block| block.result_id().is_some()).collect();
        results.sort_by_key(|result| calls.iter().position(|call| call.call_id() == result.result_id()));
        let mut others = Vec::new();
        let responses: Vec<Value> = results.iter().filter_map(|result| self.response(result, &mut others)).collect();
        if !responses.is_empty() {
            let role = if self.model.legacy_schema { "function" } else { "user" };
            contents.push(json!({ "role": role, "parts": responses }));
        }
        others.extend(side.blocks.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(json!({ "text": text })),
            Block::Image { mime, data } => Some(self.image(mime, data).unwrap_or_else(|| json!({ "text": left_out(mime) }))),
            _ => None,
        }));
        if !others.is_empty() {
            contents.push(json!({ "role": "user", "parts": others }));
        }
    }

    fn response(&mut self, result: &Block, others: &mut Vec<Value>) -> Option<Value> {
        let Block::Result { id, name, content, is_error } = result else { return None };
        let (text, notes, inside, after) = self.content(content);
        let mut response = json!({ "name": self.names.wire(name), "response": envelope(&text, &notes, *is_error) });
        if let Some(id) = self.ids.result(id) {
            response["id"] = id.into();
        }
        if !inside.is_empty() {
            response["parts"] = Value::Array(inside);
        }
        if !after.is_empty() {
            others.push(json!({ "text": format!("From the result of {name}:") }));
            others.extend(after);
        }
        Some(json!({ "functionResponse": response }))
    }

    /// The text of a result, notes on images that cannot be sent, the images that the API accepts inside of it, and those that must
    /// follow it.
    fn content(&mut self, parts: &[ResultPart]) -> (String, Vec<String>, Vec<Value>, Vec<Value>) {
        let (mut texts, mut notes, mut inside, mut after) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            match part {
                ResultPart::Text { text } => texts.push(text.as_str()),
                ResultPart::Image { mime, data } => match self.image(mime, data) {
                    Some(image) if self.goes_inside(mime) => inside.push(image),
                    Some(image) => after.push(image),
                    None => notes.push(left_out(mime)),
                },
            }
        }
        (texts.join("\n"), notes, inside, after)
    }

    /// Whether an image goes inside its result; older models accept none there.
    fn goes_inside(&mut self, mime: &str) -> bool {
        if self.model.legacy_schema || !accepts_images_in_results(&self.model.name) {
            self.warn(format!("{} accepts no images in results: they are sent after them", self.model.name));
            return false;
        }
        IN_RESULTS.contains(&mime)
    }

    fn image(&mut self, mime: &str, data: &str) -> Option<Value> {
        if IN_PROMPTS.contains(&mime) {
            return Some(json!({ "inlineData": { "mimeType": mime, "data": data } }));
        }
        self.warn(format!("image not sent: {} does not accept {mime}, only {}", self.model.name, IN_PROMPTS.join(", ")));
        None
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// The response of a tool as an object: the envelope itself, or one around a text that is none.
fn envelope(text: &str, notes: &[String], is_error: bool) -> Value {
    let mut envelope = match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(envelope) if envelope.contains_key("status") => Value::Object(envelope),
        _ if is_error && text.is_empty() => json!({ "status": "error", "message": "The tool failed without a message." }),
        _ if is_error => json!({ "status": "error", "message": text }),
        _ => json!({ "status": "success", "result": text }),
    };
    if !notes.is_empty() {
        envelope["notes"] = json!(notes);
    }
    envelope
}

/// Replaces an image that cannot be sent.
fn left_out(mime: &str) -> String {
    format!("[An image of type {mime} was left out: the model does not accept it.]")
}

/// Whether the user speaks, instead of only answering calls; calls before that need no signature.
fn begins_turn(side: &MergedMessage<'_>) -> bool {
    side.role == Role::User && side.blocks.iter().all(|block| block.result_id().is_none())
}
