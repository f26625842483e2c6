//! A conversation on its way back to a provider: who speaks, and what may be sent.

use serde_json::{Map, Value, json};

use crate::{Block, Message, Model, Opaque, Role};

/// Everything that one side says before the other speaks again.
pub(crate) struct Side<'a> {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<&'a Block>,
}

/// The sides in turn, with what can be sent alone: no side is empty, and no two in a row are the same one.
pub(crate) fn sides<'a>(messages: &'a [Message], can_be_sent: impl Fn(Role, &Block) -> bool) -> Vec<Side<'a>> {
    let mut sides: Vec<Side<'a>> = Vec::new();
    for message in messages {
        let blocks: Vec<&Block> = message.blocks.iter().filter(|block| can_be_sent(message.role, block)).collect();
        match sides.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == message.role => last.blocks.extend(blocks),
            _ => sides.push(Side { role: message.role, blocks }),
        }
    }
    sides
}

/// The opaque value, if it came from this very provider in this protocol.
pub(crate) fn own<'a>(opaque: Option<&'a Opaque>, model: &Model) -> Option<&'a Value> {
    opaque.filter(|opaque| opaque.protocol == model.protocol && opaque.provider == model.provider).map(|opaque| &opaque.value)
}

/// Arguments where a protocol takes an object alone. Text that holds none is wrapped, so that the model sees what it wrote.
pub(crate) fn arguments_object(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({ "raw": text }),
    }
}
