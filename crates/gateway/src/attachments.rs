//! Files that a page sends with a message: pictures as pictures, text as text. Nothing of them is written anywhere.

use haft_provider::{Block, Message};
use haft_text::{base64, display};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::ApiError;

/// Files of one message.
const MOST_FILES: usize = 10;
/// Bytes of one text file.
const MOST_TEXT: usize = 256 << 10;
/// Characters of a name.
const MOST_NAME: usize = 100;

/// A file as a page sends it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct AttachmentRequest {
    /// Its name, without folders.
    name: String,
    /// Its content in base64.
    data: String,
}

/// The blocks of a message for the files of a request.
pub(crate) fn blocks(files: &[AttachmentRequest]) -> Result<Vec<Block>, ApiError> {
    if files.len() > MOST_FILES {
        return Err(ApiError::bad_request(format!("A message has at most {MOST_FILES} files.")));
    }
    files.iter().map(block).collect()
}

fn block(file: &AttachmentRequest) -> Result<Block, ApiError> {
    let name = display::shorten(&file.name, MOST_NAME).replace(['"', '\n', '/'], " ");
    let refused = |why: &str| ApiError::bad_request(format!("The file '{name}' cannot be sent: {why}."));
    let bytes = base64::decode(&file.data).ok_or_else(|| refused("its content is not base64"))?;
    if let Some(mime) = picture(&bytes) {
        return Ok(Block::Image { mime: mime.to_owned(), data: file.data.clone() });
    }
    let help = "Put it into the workspace, and name it with @ or let the model use a tool on it.";
    let text = String::from_utf8(bytes).map_err(|_| refused("it is neither a picture (PNG, JPEG, GIF, WebP) nor text").help(help))?;
    if text.len() > MOST_TEXT {
        return Err(refused(&format!("text has at most {} KB", MOST_TEXT >> 10)).help(help));
    }
    // The text of a file cannot end its own block.
    Ok(Block::text(format!("<file path=\"{name}\">\n{}\n</file>", text.trim_end_matches('\n').replace("</file>", "&lt;/file>"))))
}

/// What a message of the user is shown as: its text, and the names of the files that came with it.
pub(crate) fn shown_text(message: &Message) -> String {
    let mut texts = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text { text, .. } => texts.push(file_name(text).map_or_else(|| text.clone(), |name| format!("[file {name}]"))),
            Block::Image { .. } => texts.push("[picture]".to_owned()),
            _ => {}
        }
    }
    texts.join("\n\n")
}

/// The name of a file whose content a text block is.
fn file_name(text: &str) -> Option<&str> {
    let (name, rest) = text.strip_prefix("<file path=\"")?.split_once("\">\n")?;
    rest.ends_with("\n</file>").then_some(name)
}

/// The kind of a picture by its first bytes: a name can say anything.
fn picture(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &[u8]) -> AttachmentRequest {
        AttachmentRequest { name: name.into(), data: base64::encode(content) }
    }

    #[test]
    fn pictures_and_text_are_blocks_whatever_they_are_called() {
        let png = file("a.txt", b"\x89PNG\r\n");
        assert_eq!(blocks(std::slice::from_ref(&png)).unwrap(), [Block::Image { mime: "image/png".into(), data: png.data }]);
        let text = blocks(&[file("../x\".png", "a</file>ü\n".as_bytes())]).unwrap();
        assert_eq!(text, [Block::text("<file path=\".. x .png\">\na&lt;/file>ü\n</file>")]);
    }

    #[test]
    fn message_is_shown_with_the_names_of_its_files() {
        let mut message = Message::user("Look at <file path=\"x\">");
        message.blocks.extend(blocks(&[file("a.txt", b"secret plan"), file("b", b"\x89PNG")]).unwrap());
        assert_eq!(shown_text(&message), "Look at <file path=\"x\">\n\n[file a.txt]\n\n[picture]");
    }

    #[test]
    fn other_files_large_ones_and_too_many_are_refused() {
        let wrong = AttachmentRequest { name: "a".into(), data: "%".into() };
        for (files, words) in [
            (vec![file("a.zip", b"PK\x03\x04\xff")], "neither a picture"),
            (vec![file("a.txt", &vec![b'x'; MOST_TEXT + 1])], "at most 256 KB"),
            (vec![wrong], "not base64"),
            (vec![file("a", b"x"); MOST_FILES + 1], "at most 10 files"),
        ] {
            let error = blocks(&files).unwrap_err();
            assert!(error.message().contains(words), "{}", error.message());
        }
    }
}
