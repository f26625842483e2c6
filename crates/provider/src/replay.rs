//! Replaying a conversation to a provider: merged messages, opaque values, arguments.

use serde_json::{Map, Value, json};

use crate::{Block, Message, Model, Opaque, Role};

/// Neighbouring messages of one role, merged.
pub(crate) struct MergedMessage<'a> {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<&'a Block>,
}

/// Merges neighbouring messages of one role and drops blocks that cannot be sent; none of the results is empty.
pub(crate) fn merge_messages<'a>(messages: &'a [Message], can_be_sent: impl Fn(Role, &Block) -> bool) -> Vec<MergedMessage<'a>> {
    let mut merged: Vec<MergedMessage<'a>> = Vec::new();
    for message in messages {
        let blocks: Vec<&Block> = message.blocks.iter().filter(|block| can_be_sent(message.role, block)).collect();
        match merged.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == message.role => last.blocks.extend(blocks),
            _ => merged.push(MergedMessage { role: message.role, blocks }),
        }
    }
    merged
}

/// The opaque value, if it came from this provider in this protocol.
pub(crate) fn own<'a>(opaque: Option<&'a Opaque>, model: &Model) -> Option<&'a Value> {
    opaque.filter(|opaque| opaque.protocol == model.protocol && opaque.provider == model.provider).map(|opaque| &opaque.value)
}

/// Arguments for a protocol that accepts only an object. Other text is wrapped, so that the model sees what it wrote.
pub(crate) fn arguments_object(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({ "raw": text }),
    }
}
