//! UTF-16 text, converted to UTF-8 for edits and back.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use haft_contract::ToolError;

use super::binary;

/// The byte order of UTF-16 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Utf16 {
    Little,
    Big,
}

impl Utf16 {
    /// The byte order mark of a file.
    pub(crate) fn from_bom(head: &[u8]) -> Option<Self> {
        Self::from_encoding(Encoding::for_bom(head)?.0)
    }

    /// The text in UTF-8, with its byte order mark; `None` unless all of it is UTF-16, so that nothing is lost.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, String)> {
        let guessed = || Encoding::for_label(binary::utf_16_order(bytes)?.as_bytes()).and_then(Self::from_encoding);
        let utf16 = Self::from_bom(bytes).or_else(guessed)?;
        let text = utf16.encoding().decode_without_bom_handling_and_without_replacement(bytes)?;
        Some((utf16, text.into_owned()))
    }

    /// Encodes text as UTF-16.
    pub(crate) fn encode(self, text: &str) -> Vec<u8> {
        let bytes = match self {
            Self::Little => u16::to_le_bytes,
            Self::Big => u16::to_be_bytes,
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    /// Encodes UTF-8 bytes as UTF-16.
    pub(crate) fn encode_bytes(self, text: &[u8]) -> Result<Vec<u8>, ToolError> {
        let torn = |error| ToolError::execution(format!("The change would split a character of {}: {error}.", self.encoding().name()));
        str::from_utf8(text).map(|text| self.encode(text)).map_err(torn)
    }

    fn from_encoding(encoding: &'static Encoding) -> Option<Self> {
        [Self::Little, Self::Big].into_iter().find(|utf16| utf16.encoding() == encoding)
    }

    fn encoding(self) -> &'static Encoding {
        match self {
            Self::Little => UTF_16LE,
            Self::Big => UTF_16BE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_and_encoding_restores_the_bytes() {
        for utf16 in [Utf16::Little, Utf16::Big] {
            for text in ["\u{feff}a é 𝄞\r\n", "\u{feff}", "plain, without a mark\n"] {
                let bytes = utf16.encode(text);
                assert_eq!(Utf16::decode(&bytes), Some((utf16, text.to_owned())), "{text:?}");
                assert_eq!(utf16.encode_bytes(text.as_bytes()).unwrap(), bytes);
            }
        }
        assert!(Utf16::Little.encode_bytes(b"caf\xe9").is_err());
    }

    #[test]
    fn text_that_is_not_all_utf_16_is_not_decoded() {
        let half_a_pair = [&b"\xff\xfe"[..], b"a\0", b"\x00\xd8"].concat();
        for bytes in [&b""[..], b"plain", "\u{feff}é".as_bytes(), b"\xff\xfea", b"\0\0\0\0", &half_a_pair] {
            assert_eq!(Utf16::decode(bytes), None, "{bytes:?}");
        }
    }
}
