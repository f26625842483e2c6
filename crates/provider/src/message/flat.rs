//! Blocks as they are read from JSON: all fields of all kinds at once. Serde reads a tagged enum by keeping a copy of
//! everything first, which takes longer than all the rest of opening a long session.

use std::fmt;

use serde::Deserialize;

use super::{Block, Opaque, Piece};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Thinking,
    Image,
    Call,
    Result,
}

#[derive(Deserialize)]
pub(super) struct FlatBlock {
    #[serde(rename = "type")]
    kind: Kind,
    text: Option<String>,
    mime: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    content: Option<Vec<Piece>>,
    is_error: Option<bool>,
    opaque: Option<Opaque>,
}

#[derive(Deserialize)]
pub(super) struct FlatPiece {
    #[serde(rename = "type")]
    kind: Kind,
    text: Option<String>,
    mime: Option<String>,
    data: Option<String>,
}

/// Why it is none.
#[derive(Debug)]
pub(super) enum Unfit {
    /// Its kind must have this field.
    Missing(&'static str),
    /// A result has texts and pictures only.
    NoPiece,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "missing field `{name}`"),
            Self::NoPiece => f.write_str("a piece of a result is of type `text` or `image`"),
        }
    }
}

fn required<T>(field: Option<T>, name: &'static str) -> Result<T, Unfit> {
    field.ok_or(Unfit::Missing(name))
}

impl TryFrom<FlatBlock> for Block {
    type Error = Unfit;

    fn try_from(flat: FlatBlock) -> Result<Self, Unfit> {
        let FlatBlock { kind, text, mime, data, id, name, arguments, content, is_error, opaque } = flat;
        Ok(match kind {
            Kind::Text => Self::Text { text: required(text, "text")?, opaque },
            Kind::Thinking => Self::Thinking { text: required(text, "text")?, opaque },
            Kind::Image => Self::Image { mime: required(mime, "mime")?, data: required(data, "data")? },
            Kind::Call => {
                Self::Call { id: required(id, "id")?, name: required(name, "name")?, arguments: required(arguments, "arguments")?, opaque }
            }
            Kind::Result => Self::Result {
                id: required(id, "id")?,
                name: required(name, "name")?,
                content: required(content, "content")?,
                is_error: required(is_error, "is_error")?,
            },
        })
    }
}

impl TryFrom<FlatPiece> for Piece {
    type Error = Unfit;

    fn try_from(flat: FlatPiece) -> Result<Self, Unfit> {
        let FlatPiece { kind, text, mime, data } = flat;
        match kind {
            Kind::Text => Ok(Self::Text { text: required(text, "text")? }),
            Kind::Image => Ok(Self::Image { mime: required(mime, "mime")?, data: required(data, "data")? }),
            _ => Err(Unfit::NoPiece),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Protocol;

    fn blocks() -> Vec<(Block, Value)> {
        let opaque = Opaque { protocol: Protocol::Gemini, provider: "p".into(), value: json!({"id": null}) };
        let written = json!({"protocol": "gemini", "provider": "p", "value": {"id": null}});
        let [text, picture] = [Piece::Text { text: "t".into() }, Piece::Image { mime: "m".into(), data: "d".into() }];
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
    fn blocks_are_read_as_they_were_written_and_not_without_a_field() {
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
    fn what_a_later_version_has_is_no_block_of_ours() {
        for unknown in [json!({"type": "audio", "text": "t"}), json!({"type": 3}), json!("text"), json!({"type": "text", "text": 5})] {
            assert!(serde_json::from_value::<Block>(unknown.clone()).is_err(), "{unknown}");
            assert!(serde_json::from_value::<Piece>(unknown.clone()).is_err(), "{unknown}");
        }
        assert!(serde_json::from_value::<Piece>(json!({"type": "call", "text": "t"})).is_err());
        let more = json!({"type": "text", "text": "t", "later": 1});
        assert_eq!(serde_json::from_value::<Block>(more).unwrap(), Block::text("t"), "a field more does no harm");
    }
}
