//! A message as the line that is written.
//!
//! Most of what is written are the texts of results. Escaping them a byte at a time is half of what a small server does for a call, so a
//! long text is left out of what the SDK makes, escaped eight bytes at a time, and put in its place.

use std::io;

use rmcp::model::{ContentBlock, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};

/// Bytes that are looked at together.
const WORD: usize = 8;
/// Bytes that are added to a line together.
const PIECE: usize = 512;
/// The memory that a message of ours begins with.
const USUAL_LINE: usize = 1024;
/// Shorter texts are not worth the detour.
const LONG_TEXT: usize = 256;
/// What stands where a text was left out. No string has it in it: its quotes are escaped there.
const LEFT_OUT: &[u8] = b"\"text\":\"\"";

/// A message with its line feed.
pub(super) fn line_of(message: &mut ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let Some(place) = long_text(message) else { return plain(message) };
    let text = std::mem::take(place);
    let frame = plain(message)?;
    let mut places = frame.windows(LEFT_OUT.len()).enumerate().filter(|(_, window)| *window == LEFT_OUT).map(|(at, _)| at);
    if let (Some(at), None) = (places.next(), places.next()) {
        let (before, after) = frame.split_at(at + LEFT_OUT.len() - 1);
        let mut line = Vec::with_capacity(frame.len() + text.len() + text.len() / 8);
        line.extend_from_slice(before);
        push_escaped(&mut line, &text);
        line.extend_from_slice(after);
        return Ok(line);
    }
    // Another text is empty as well.
    if let Some(place) = first_text(message) {
        *place = text;
    }
    plain(message)
}

fn plain(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(USUAL_LINE);
    serde_json::to_writer(&mut line, message)?;
    line.push(b'\n');
    Ok(line)
}

fn long_text(message: &mut ServerJsonRpcMessage) -> Option<&mut String> {
    first_text(message).filter(|text| text.len() >= LONG_TEXT)
}

/// The text that the result of a call begins with.
fn first_text(message: &mut ServerJsonRpcMessage) -> Option<&mut String> {
    let JsonRpcMessage::Response(response) = message else { return None };
    let ServerResult::CallToolResult(result) = &mut response.result else { return None };
    match result.content.first_mut() {
        // Structured content may be long as well, and is not searched.
        Some(ContentBlock::Text(content)) if result.structured_content.is_none() => Some(&mut content.text),
        _ => None,
    }
}

/// Adds what stands between the quotes of a JSON string. Words are copied whole, also what is behind a byte to be escaped: that is
/// overwritten.
fn push_escaped(line: &mut Vec<u8>, text: &str) {
    let mut piece = [0; PIECE];
    let (mut rest, mut filled) = (text.as_bytes(), 0);
    while !rest.is_empty() {
        // Room for a word and an escape.
        if filled > PIECE - 2 * WORD {
            line.extend_from_slice(&piece[..filled]);
            filled = 0;
        }
        let word = word_of(rest);
        put(&mut piece, filled, word);
        let plain = first_special(word).min(rest.len());
        filled += plain;
        rest = &rest[plain..];
        if plain < WORD
            && let [byte, behind @ ..] = rest
        {
            let (escape, length) = escape_of(*byte);
            put(&mut piece, filled, escape);
            filled += length;
            rest = behind;
        }
    }
    line.extend_from_slice(&piece[..filled]);
}

/// The next eight bytes; what is behind the end needs no escape.
fn word_of(rest: &[u8]) -> [u8; WORD] {
    rest.first_chunk().copied().unwrap_or_else(|| {
        let mut word = [b' '; WORD];
        word[..rest.len()].copy_from_slice(rest);
        word
    })
}

fn put(piece: &mut [u8; PIECE], at: usize, word: [u8; WORD]) {
    if let Some(place) = piece.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = word;
    }
}

/// Where the first of eight bytes is that must be escaped, or eight. Each mask has the highest bit of a byte set that is meant; a borrow
/// sets others only behind the first.
fn first_special(word: [u8; WORD]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let found = (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGH;
    found.trailing_zeros() as usize / 8
}

/// How a byte is escaped, and how long that is.
fn escape_of(byte: u8) -> ([u8; WORD], usize) {
    let short = match byte {
        b'\n' => b'n',
        b'"' | b'\\' => byte,
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            return ([b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 0xf), 0, 0], 6);
        }
    };
    ([b'\\', short, 0, 0, 0, 0, 0, 0], 2)
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, RequestId};
    use serde_json::{Value, json};

    use super::*;

    fn response(id: &str, texts: &[&str], structured: Option<Value>) -> ServerJsonRpcMessage {
        let mut result = CallToolResult::success(texts.iter().map(|text| ContentBlock::text(*text)).collect());
        result.structured_content = structured;
        JsonRpcMessage::response(ServerResult::CallToolResult(result), RequestId::String(id.into()))
    }

    #[test]
    fn line_is_what_the_sdk_writes() {
        let every: String = (0..0x300).filter_map(char::from_u32).collect();
        let long = ["0123456789abcde\n".repeat(30), every.repeat(3), "\"".repeat(300), "é€𝄞\u{7f}\u{80}\\".repeat(60), "\u{1}".repeat(999)];
        for id in ["1", "\"text\":\"\"", "a\nb"] {
            for text in &long {
                for texts in [&[text.as_str()][..], &[text, "short"], &["short", text], &[text, ""], &[text, "\"text\":\"\""]] {
                    for structured in [None, Some(json!({"text": ""}))] {
                        let mut message = response(id, texts, structured);
                        let mut expected = serde_json::to_vec(&message).unwrap();
                        expected.push(b'\n');
                        assert!(line_of(&mut message).unwrap() == expected, "{id} {texts:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_place_of_a_special_byte_is_found() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut word = *b"abc\x80\xffxyz";
                word[place] = byte;
                let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(first_special(word), if is_special { place } else { WORD }, "{byte} at {place}");
            }
        }
    }
}
