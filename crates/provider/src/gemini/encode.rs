//! A turn as a generateContent request.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::generation::{takes_pictures_in_results, wants_signatures};
use super::picture::{self, IN_PROMPTS, IN_RESULTS, missing};
use crate::offer::{Offer, offer};
use crate::replay::{Side, arguments_object, own, sides};
use crate::schema::Projected;
use crate::{Block, Encoded, Model, NameMap, Piece, Protocol, Role, ToolSpec, Turn};

/// What stands for a signature at a call that another model has made, as the documentation says.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn request(turn: &Turn<'_>) -> Encoded {
    let names = NameMap::new(Protocol::Gemini, turn.tools.iter().map(|tool| &tool.name));
    let Offer { tools, warnings } = offer(turn);
    let mut writer = Writer { model: turn.model, names: &names, warnings };
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
    let mut encoded = Encoded::new(path(&turn.model.name), body);
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

fn declaration(model: &Model, names: &NameMap, tool: &ToolSpec, schema: &Projected) -> Value {
    let mut declaration = json!({ "name": names.wire(&tool.name), "description": tool.description });
    if !model.legacy_schema {
        declaration["parametersJsonSchema"] = schema.value.clone();
    } else if schema.value["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        // The older form refuses an object without properties: a tool without parameters has no schema.
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

struct Writer<'a> {
    model: &'a Model,
    names: &'a NameMap,
    warnings: Vec<String>,
}

impl Writer<'_> {
    fn contents(&mut self, turn: &Turn<'_>) -> Vec<Value> {
        let model = self.model;
        let sides = sides(turn.messages, |role, block| can_be_sent(role, block, model));
        let mut contents = Vec::with_capacity(sides.len() + 1);
        if sides.first().is_some_and(|side| side.role == Role::Assistant) {
            contents.push(json!({ "role": "user", "parts": [{ "text": "(The conversation goes on.)" }] }));
        }
        let current = sides.iter().rposition(begins_a_turn).unwrap_or(0);
        let mut calls: Vec<&Block> = Vec::new();
        for (at, side) in sides.iter().enumerate() {
            match side.role {
                Role::Assistant => {
                    calls = side.blocks.iter().copied().filter(|block| block.call_id().is_some()).collect();
                    contents.push(self.said(side, at >= current));
                }
                Role::User => self.heard(&calls, side, &mut contents),
            }
        }
        contents
    }

    fn said(&self, side: &Side<'_>, is_current: bool) -> Value {
        let mut parts: Vec<Value> = side.blocks.iter().filter_map(|block| self.part(block)).collect();
        let first = parts.iter_mut().find(|part| part.get("functionCall").is_some());
        if let Some(call) = first.filter(|call| is_current && call.get("thoughtSignature").is_none())
            && wants_signatures(&self.model.name)
        {
            call["thoughtSignature"] = NO_SIGNATURE.into();
        }
        json!({ "role": "model", "parts": parts })
    }

    fn part(&self, block: &Block) -> Option<Value> {
        let (mut part, opaque) = match block {
            Block::Text { text, opaque } => (json!({ "text": text }), opaque),
            Block::Thinking { text, opaque } => (json!({ "text": text, "thought": true }), opaque),
            Block::Call { name, arguments, opaque, .. } => {
                let mut call = json!({ "name": self.names.wire(name), "args": arguments_object(arguments) });
                self.put_id(&mut call, block);
                (json!({ "functionCall": call }), opaque)
            }
            _ => return None,
        };
        if let Some(signature) = signature(own(opaque.as_ref(), self.model)) {
            part["thoughtSignature"] = signature.clone();
        }
        Some(part)
    }

    /// An id is sent if it came from the provider; one that we made is ours alone.
    fn put_id(&self, target: &mut Value, call: &Block) {
        let Block::Call { opaque, .. } = call else { return };
        if let Some(id) = own(opaque.as_ref(), self.model).and_then(|own| own.get("id")).filter(|id| id.is_string()) {
            target["id"] = id.clone();
        }
    }

    /// Results stand in a content of their own, in the order of the calls: anything beside them is counted against them.
    fn heard(&mut self, calls: &[&Block], side: &Side<'_>, contents: &mut Vec<Value>) {
        let mut results: Vec<&Block> = side.blocks.iter().copied().filter(|block| block.result_id().is_some()).collect();
        results.sort_by_key(|result| calls.iter().position(|call| call.call_id() == result.result_id()));
        let mut beside = Vec::new();
        let responses: Vec<Value> = results.iter().filter_map(|result| self.response(calls, result, &mut beside)).collect();
        if !responses.is_empty() {
            let role = if self.model.legacy_schema { "function" } else { "user" };
            contents.push(json!({ "role": role, "parts": responses }));
        }
        beside.extend(side.blocks.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(json!({ "text": text })),
            Block::Image { mime, data } => Some(self.picture(mime, data).unwrap_or_else(|| json!({ "text": missing(mime) }))),
            _ => None,
        }));
        if !beside.is_empty() {
            contents.push(json!({ "role": "user", "parts": beside }));
        }
    }

    fn response(&mut self, calls: &[&Block], result: &Block, beside: &mut Vec<Value>) -> Option<Value> {
        let Block::Result { id, name, content, is_error } = result else { return None };
        let (said, inside, behind) = self.content(content);
        let outcome = match (*is_error, said.as_str()) {
            (true, "") => json!({ "error": "The tool failed and said nothing." }),
            (true, error) => json!({ "error": error }),
            (false, output) => json!({ "output": output }),
        };
        let mut response = json!({ "name": self.names.wire(name), "response": outcome });
        if let Some(call) = calls.iter().find(|call| call.call_id() == Some(id)) {
            self.put_id(&mut response, call);
        }
        if !inside.is_empty() {
            response["parts"] = Value::Array(inside);
        }
        if !behind.is_empty() {
            beside.push(json!({ "text": format!("From the result of {name}:") }));
            beside.extend(behind);
        }
        Some(json!({ "functionResponse": response }))
    }

    /// The text of a result, the pictures that may stand inside of it, and those that must stand behind it; one that cannot
    /// be sent is a note in the text.
    fn content(&mut self, pieces: &[Piece]) -> (String, Vec<Value>, Vec<Value>) {
        let (mut texts, mut inside, mut behind) = (Vec::new(), Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Text { text } => texts.push(text.clone()),
                Piece::Image { mime, data } => match self.picture(mime, data) {
                    Some(picture) if self.goes_inside(mime) => inside.push(picture),
                    Some(picture) => behind.push(picture),
                    None => texts.push(missing(mime)),
                },
            }
        }
        (texts.join("\n"), inside, behind)
    }

    /// Whether a picture may stand inside of a result; older models take none there.
    fn goes_inside(&mut self, mime: &str) -> bool {
        if self.model.legacy_schema || !takes_pictures_in_results(&self.model.name) {
            self.warn(format!("{} takes no pictures in results: they are sent behind them", self.model.name));
            return false;
        }
        IN_RESULTS.contains(&mime)
    }

    fn picture(&mut self, mime: &str, data: &str) -> Option<Value> {
        if IN_PROMPTS.contains(&mime) {
            return Some(picture::part(mime, data));
        }
        self.warn(format!("a picture is not sent: {} takes no {mime}, only {}", self.model.name, IN_PROMPTS.join(", ")));
        None
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// The person speaks, and does not only answer calls: signatures of calls before this are not asked for.
fn begins_a_turn(side: &Side<'_>) -> bool {
    side.role == Role::User && side.blocks.iter().all(|block| block.result_id().is_none())
}
