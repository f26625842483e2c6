//! UTF-16 text: made UTF-8 to work on it, and UTF-16 again to be kept.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use haft_contract::ToolError;

use super::binary;

/// Which byte of a letter comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wide {
    Little,
    Big,
}

impl Wide {
    /// What the byte order mark of a file says.
    pub(crate) fn marked(head: &[u8]) -> Option<Self> {
        Self::named(Encoding::for_bom(head)?.0)
    }

    /// The text in UTF-8, with its mark if it has one; nothing unless it is UTF-16 from end to end, so that nothing is lost.
    pub(crate) fn narrowed(bytes: &[u8]) -> Option<(Self, String)> {
        let guessed = || Encoding::for_label(binary::utf_16_order(bytes)?.as_bytes()).and_then(Self::named);
        let wide = Self::marked(bytes).or_else(guessed)?;
        let text = wide.encoding().decode_without_bom_handling_and_without_replacement(bytes)?;
        Some((wide, text.into_owned()))
    }

    /// A text in UTF-16.
    pub(crate) fn encoded(self, text: &str) -> Vec<u8> {
        let bytes = match self {
            Self::Little => u16::to_le_bytes,
            Self::Big => u16::to_be_bytes,
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    /// What became of a text that was narrowed.
    pub(crate) fn widened(self, text: &[u8]) -> Result<Vec<u8>, ToolError> {
        let torn = |error| ToolError::execution(format!("The change would tear a letter of {}: {error}.", self.encoding().name()));
        str::from_utf8(text).map(|text| self.encoded(text)).map_err(torn)
    }

    fn named(encoding: &'static Encoding) -> Option<Self> {
        [Self::Little, Self::Big].into_iter().find(|wide| wide.encoding() == encoding)
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
    fn what_is_narrowed_and_widened_is_what_it_was() {
        for wide in [Wide::Little, Wide::Big] {
            for text in ["\u{feff}a é 𝄞\r\n", "\u{feff}", "plain, without a mark\n"] {
                let bytes = wide.encoded(text);
                assert_eq!(Wide::narrowed(&bytes), Some((wide, text.to_owned())), "{text:?}");
                assert_eq!(wide.widened(text.as_bytes()).unwrap(), bytes);
            }
        }
        assert!(Wide::Little.widened(b"caf\xe9").is_err());
    }

    #[test]
    fn what_is_no_utf_16_from_end_to_end_stays_as_it_is() {
        let half_a_pair = [&b"\xff\xfe"[..], b"a\0", b"\x00\xd8"].concat();
        for bytes in [&b""[..], b"plain", "\u{feff}é".as_bytes(), b"\xff\xfea", b"\0\0\0\0", &half_a_pair] {
            assert_eq!(Wide::narrowed(bytes), None, "{bytes:?}");
        }
    }
}
