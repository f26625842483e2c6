//! Deserialization of blocks: all fields of all kinds in one struct. Serde buffers a tagged enum before it decodes it, which
//! takes longer than the rest of opening a long session.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Block, Opaque, ResultPart};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockKind {
    Text,
    Thinking,
    Image,
    Call,
    Result,
}

#[derive(Deserialize)]
pub(super) struct FlatBlock {
    #[serde(rename = "type")]
    kind: BlockKind,
    text: Option<String>,
    mime: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    content: Option<ShortList<ResultPart>>,
    is_error: Option<bool>,
    opaque: Option<Opaque>,
}

#[derive(Deserialize)]
pub(super) struct FlatPart {
    #[serde(rename = "type")]
    kind: BlockKind,
    text: Option<String>,
    mime: Option<String>,
    data: Option<String>,
}

/// A list that nearly always has one or two items: with space for these, where one that grows by itself has it for four. A long
/// conversation has ten thousand such lists, and half of its memory would be empty.
struct ShortList<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ShortList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ShortListVisitor(PhantomData)).map(Self)
    }
}

/// For a field that is a [`ShortList`].
pub(super) fn short_list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    ShortList::deserialize(deserializer).map(|ShortList(items)| items)
}

struct ShortListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ShortListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            if items.len() == items.capacity() {
                items.reserve_exact(items.len().max(1));
            }
            items.push(item);
        }
        Ok(items)
    }
}

/// Why a value is no block.
#[derive(Debug)]
pub(super) enum InvalidBlock {
    /// Its type requires this field.
    Missing(&'static str),
    /// A result has only text and images.
    NoResultPart,
}

impl fmt::Display for InvalidBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "missing field `{name}`"),
            Self::NoResultPart => f.write_str("a part of a result has the type `text` or `image`"),
        }
    }
}

fn required<T>(field: Option<T>, name: &'static str) -> Result<T, InvalidBlock> {
    field.ok_or(InvalidBlock::Missing(name))
}

impl TryFrom<FlatBlock> for Block {
    type Error = InvalidBlock;

    fn try_from(flat: FlatBlock) -> Result<Self, InvalidBlock> {
        let FlatBlock { kind, text, mime, data, id, name, arguments, content, is_error, opaque } = flat;
        Ok(match kind {
            BlockKind::Text => Self::Text { text: required(text, "text")?, opaque },
            BlockKind::Thinking => Self::Thinking { text: required(text, "text")?, opaque },
            BlockKind::Image => Self::Image { mime: required(mime, "mime")?, data: required(data, "data")? },
            BlockKind::Call => {
                Self::Call { id: required(id, "id")?, name: required(name, "name")?, arguments: required(arguments, "arguments")?, opaque }
            }
            BlockKind::Result => Self::Result {
                id: required(id, "id")?,
                name: required(name, "name")?,
                content: required(content, "content")?.0,
                is_error: required(is_error, "is_error")?,
            },
        })
    }
}

impl TryFrom<FlatPart> for ResultPart {
    type Error = InvalidBlock;

    fn try_from(flat: FlatPart) -> Result<Self, InvalidBlock> {
        let FlatPart { kind, text, mime, data } = flat;
        match kind {
            BlockKind::Text => Ok(Self::Text { text: required(text, "text")? }),
            BlockKind::Image => Ok(Self::Image { mime: required(mime, "mime")?, data: required(data, "data")? }),
            _ => Err(InvalidBlock::NoResultPart),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Message, Protocol};

    fn blocks() -> Vec<(Block, Value)> {
        let opaque = Opaque { protocol: Protocol::Gemini, provider: "p".into(), value: json!({"id": null}) };
        let written = json!({"protocol": "gemini", "provider": "p", "value": {"id": null}});
        let [text, picture] = [ResultPart::Text { text: "t".into() }, ResultPart::Image { mime: "m".into(), data: "d".into() }];
        vec![
            (Block::text("t"), json!({"type": "text", "text": "t"})),
            (
                Block::Thinking { text: "t".into(), opaque: Some(opaque.clone()) },
                json!({"type": "thinking", "text": "t", "opaque": written}),
            ),
            (Block::Image { mime: "m".into(), data: "d".into() }, json!({"type": "image", "mime": "m", "data": "d"})),
            (
                Block::Call { id: "i".into(), name: "n".into(), arguments: "{}".into(), opaque: Some(opaque) },
                json!({"type": "call", "id": "i", "name": "n", "arguments": "{}", "opaque": written}),
            ),
            (
                Block::Result { id: "i".into(), name: "n".into(), content: vec![text, picture], is_error: true },
                json!({"type": "result", "id": "i", "name": "n", "is_error": true, "content": [
                    {"type": "text", "text": "t"}, {"type": "image", "mime": "m", "data": "d"},
                ]}),
            ),
        ]
    }

    #[test]
    fn blocks_round_trip_and_missing_fields_are_errors() {
        for (block, written) in blocks() {
            assert_eq!(serde_json::to_value(&block).unwrap(), written);
            assert_eq!(serde_json::from_value::<Block>(written.clone()).unwrap(), block);
            for field in written.as_object().unwrap().keys().filter(|field| *field != "opaque") {
                let mut less = written.clone();
                less.as_object_mut().unwrap().remove(field);
                let error = serde_json::from_str::<Block>(&less.to_string()).unwrap_err().to_string();
                assert!(error.contains(&format!("missing field `{field}`")), "{error}");
            }
        }
    }

    #[test]
    fn lists_have_space_for_what_is_in_them_alone() {
        for (count, space) in [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8)] {
            let text = json!({"role": "user", "blocks": vec![json!({"type": "text", "text": "t"}); count]}).to_string();
            let blocks = serde_json::from_str::<Message>(&text).unwrap().blocks;
            assert_eq!((blocks.len(), blocks.capacity()), (count, space));
        }
    }

    #[test]
    fn unknown_block_types_are_errors_and_unknown_fields_are_ignored() {
        for unknown in [json!({"type": "audio", "text": "t"}), json!({"type": 3}), json!("text"), json!({"type": "text", "text": 5})] {
            assert!(serde_json::from_value::<Block>(unknown.clone()).is_err(), "{unknown}");
            assert!(serde_json::from_value::<ResultPart>(unknown.clone()).is_err(), "{unknown}");
        }
        assert!(serde_json::from_value::<ResultPart>(json!({"type": "call", "text": "t"})).is_err());
        let more = json!({"type": "text", "text": "t", "later": 1});
        assert_eq!(serde_json::from_value::<Block>(more).unwrap(), Block::text("t"), "a field more does no harm");
    }
}
