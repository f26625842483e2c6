//! The messages of a sealed connection: a JSON head, and bytes that follow it.

use std::io;

use haft_contract::{Content, DocumentBody, EmbeddedDocument, ErrorKind, ToolError, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::claims::Claim;

/// The longest head.
const MAX_HEAD: usize = 768 << 10;

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case")]
pub(crate) enum Frame {
    /// Gateway to node: run this. Numbers of calls only grow.
    Call { id: u64, tool: String, arguments: Value, effects: Value, timeout_ms: u64 },
    /// Gateway to node: nobody waits for this any more.
    Cancel { id: u64 },
    /// Gateway to node: the user has approved it, under this name.
    Paired { name: String },
    /// Gateway to node: this connection ends; a node that is not paired any more does not come back.
    Bye { reason: String, is_final: bool },
    /// Node to gateway: what it is.
    About(About),
    /// Node to gateway: a part of the content of a result.
    Part { id: u64 },
    /// Node to gateway: the result, with the rest of its content.
    Done { id: u64, content: Vec<ContentBlock>, details: Option<Value>, effects: Vec<Claim> },
    /// Node to gateway: the refusal or failure.
    Failed { id: u64, kind: String, message: String },
}

/// What a node says of itself. It is shown, and decides nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What can be asked of it.
    pub actions: Vec<String>,
    /// Its operating system, and its version of Haft.
    pub platform: String,
    /// The folder that its relative paths start from.
    pub workspace: String,
}

/// A block of content, whose bytes are in the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    Text(usize),
    Image(String, usize),
    Audio(String, usize),
    /// Bytes with a name and a media type, such as a film.
    File(String, String, usize),
}

impl Frame {
    pub(crate) fn encode(&self, body: &[u8]) -> io::Result<Vec<u8>> {
        let head = serde_json::to_vec(self)?;
        let length = u32::try_from(head.len()).ok().filter(|_| head.len() <= MAX_HEAD);
        let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "the arguments are too long for a node"))?;
        let mut message = Vec::with_capacity(4 + head.len() + body.len() + 16);
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(&head);
        message.extend_from_slice(body);
        Ok(message)
    }

    pub(crate) fn decode(mut message: Vec<u8>) -> io::Result<(Self, Vec<u8>)> {
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "the message is cut");
        let length = message.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes)).ok_or_else(broken)?;
        let end = usize::try_from(length).ok().filter(|length| *length <= MAX_HEAD).ok_or_else(broken)? + 4;
        let frame = serde_json::from_slice(message.get(4..end).ok_or_else(broken)?)?;
        message.drain(..end);
        Ok((frame, message))
    }
}

/// The blocks and bytes of an output.
pub(crate) fn pack(output: ToolOutput) -> (Vec<ContentBlock>, Vec<u8>, Option<Value>) {
    let (mut blocks, mut bytes) = (Vec::new(), Vec::new());
    for content in output.content {
        match content {
            Content::Image { mime, data } => {
                blocks.push(ContentBlock::Image(mime, data.len()));
                bytes.extend_from_slice(&data);
            }
            Content::Audio { mime, data } => {
                blocks.push(ContentBlock::Audio(mime, data.len()));
                bytes.extend_from_slice(&data);
            }
            Content::Document(EmbeddedDocument { uri, mime, body: DocumentBody::Bytes(data) }) => {
                blocks.push(ContentBlock::File(uri, mime.unwrap_or_default(), data.len()));
                bytes.extend_from_slice(&data);
            }
            other => {
                let text = other.as_text().unwrap_or("[a document that a node cannot send]");
                blocks.push(ContentBlock::Text(text.len()));
                bytes.extend_from_slice(text.as_bytes());
            }
        }
    }
    (blocks, bytes, output.details)
}

/// The output of blocks and bytes; an error if they do not fit together.
pub(crate) fn unpack(blocks: Vec<ContentBlock>, bytes: &[u8], details: Option<Value>) -> Result<ToolOutput, &'static str> {
    let (mut output, mut rest) = (ToolOutput::default(), bytes);
    for block in blocks {
        let (ContentBlock::Text(length)
        | ContentBlock::Image(_, length)
        | ContentBlock::Audio(_, length)
        | ContentBlock::File(_, _, length)) = block;
        let (data, after) = rest.split_at_checked(length).ok_or("its result is cut")?;
        rest = after;
        output.content.push(match block {
            ContentBlock::Text(_) => Content::Text(String::from_utf8(data.to_vec()).map_err(|_| "its result is no text")?),
            ContentBlock::Image(mime, _) => Content::Image { mime, data: data.to_vec() },
            ContentBlock::Audio(mime, _) => Content::Audio { mime, data: data.to_vec() },
            ContentBlock::File(uri, mime, _) => Content::Document(EmbeddedDocument::bytes(uri, mime, data.to_vec())),
        });
    }
    output.details = details;
    if rest.is_empty() { Ok(output) } else { Err("its result has more than it names") }
}

/// An error as it travels.
pub(crate) fn failed(id: u64, error: &ToolError) -> Frame {
    Frame::Failed { id, kind: error.kind().as_str().to_owned(), message: error.message().to_owned() }
}

/// The kind of an error that arrived.
pub(crate) fn kind(name: &str) -> ErrorKind {
    name.parse().unwrap_or(ErrorKind::ExecutionError)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn frames_survive_the_way_and_every_cut_is_seen() {
        let frame = Frame::Call { id: 7, tool: "exec".into(), arguments: json!({"command": "ls"}), effects: json!([]), timeout_ms: 5 };
        let message = frame.encode(b"body").unwrap();
        assert_eq!(Frame::decode(message.clone()).unwrap(), (frame, b"body".to_vec()));
        for end in 0..message.len() - 4 {
            assert!(Frame::decode(message[..end].to_vec()).is_err(), "cut at {end}");
        }
        for wrong in [&b"\0\0\0\x02{}"[..], b"\0\0\0\x04null", b"\xff\xff\xff\xff", b"\0\0\0\x10{\"frame\":\"nope\"}"] {
            assert!(Frame::decode(wrong.to_vec()).is_err(), "{wrong:?}");
        }
        let huge = Frame::Bye { reason: "x".repeat(MAX_HEAD), is_final: false };
        assert!(huge.encode(&[]).is_err());
    }

    #[test]
    fn content_survives_the_way_and_wrong_lengths_do_not() {
        let mut output = ToolOutput::text("größe");
        output.content.push(Content::Image { mime: "image/png".into(), data: vec![1, 2, 3] });
        output.details = Some(json!({"a": 1}));
        let (blocks, bytes, details) = pack(output.clone());
        assert_eq!(unpack(blocks.clone(), &bytes, details), Ok(output));
        assert_eq!(unpack(vec![ContentBlock::Text(1)], &[0xff], None), Err("its result is no text"));
        assert_eq!(unpack(blocks, &bytes[..5], None), Err("its result is cut"));
        assert_eq!(unpack(vec![ContentBlock::Text(usize::MAX)], &bytes, None), Err("its result is cut"));
        assert_eq!(unpack(Vec::new(), b"x", None), Err("its result has more than it names"));
    }
}
