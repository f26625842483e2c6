//! The media type of a response, and whether its body can be shown as text.

use encoding_rs::{Encoding, UTF_8};

use super::binary;

/// A media type, with the encoding it names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MediaType {
    /// Type and subtype in lower case; empty if there is none.
    pub(crate) essence: String,
    /// The encoding of text, UTF-8 unless it names another.
    pub(crate) encoding: &'static Encoding,
}

impl MediaType {
    /// Reads a `Content-Type`.
    pub(crate) fn parse(content_type: &str) -> Self {
        let mut parts = content_type.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.filter_map(|part| part.split_once('=')).find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
        let named = charset.and_then(|(_, label)| Encoding::for_label_no_replacement(label.trim().trim_matches('"').as_bytes()));
        Self { essence, encoding: named.unwrap_or(UTF_8) }
    }

    /// Whether content that begins so is not shown as text.
    pub(crate) fn is_binary(&self, head: &[u8]) -> bool {
        let kind = self.essence.split('/').next().unwrap_or_default();
        let never_text = matches!(kind, "image" | "audio" | "video" | "font") && self.essence != "image/svg+xml";
        let encoding = Encoding::for_bom(head).map_or(self.encoding, |(encoding, _)| encoding);
        never_text || binary::format_of(head).is_some() || (encoding.is_ascii_compatible() && binary::has_nul(head))
    }

    /// The extension of a file that holds it.
    pub(crate) fn extension(&self) -> &'static str {
        match self.essence.as_str() {
            "application/json" => "json",
            json if json.ends_with("+json") => "json",
            "text/html" | "application/xhtml+xml" => "html",
            "image/png" => "png",
            "image/jpeg" => "jpg",
            "application/pdf" => "pdf",
            "application/zip" => "zip",
            text if text.starts_with("text/") => "txt",
            "" | "application/xml" | "application/javascript" => "txt",
            _ => "bin",
        }
    }

    /// Decodes the beginning of a text; `complete` says that nothing follows.
    pub(crate) fn decode(&self, head: &[u8], complete: bool) -> String {
        let mut decoder = self.encoding.new_decoder();
        let mut text = String::with_capacity(decoder.max_utf8_buffer_length(head.len()).unwrap_or(head.len()));
        // The buffer holds the worst case, so this takes all of it; a character cut at the end of an incomplete text is left out.
        let (_result, _read, _replaced) = decoder.decode_to_string(head, &mut text, complete);
        text
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{SHIFT_JIS, UTF_16LE, WINDOWS_1252};

    use super::*;

    #[test]
    fn types_and_encodings_are_read_in_every_spelling() {
        for (text, essence, encoding) in [
            ("", "", UTF_8),
            ("application/json", "application/json", UTF_8),
            ("Text/HTML; Charset=ISO-8859-1", "text/html", WINDOWS_1252),
            ("text/plain;format=flowed;charset=\"shift_jis\"", "text/plain", SHIFT_JIS),
            ("text/plain; charset=klingon", "text/plain", UTF_8),
            (";;;=", "", UTF_8),
        ] {
            assert_eq!(MediaType::parse(text), MediaType { essence: essence.into(), encoding }, "{text}");
        }
    }

    #[test]
    fn binary_is_told_by_type_by_format_and_by_nul() {
        let utf_16: Vec<u8> = "\u{feff}a".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (content_type, head, binary) in [
            ("image/png", &b"anything"[..], true),
            ("image/svg+xml", b"<svg/>", false),
            ("application/octet-stream", b"plain", false),
            ("application/octet-stream", b"a\0b", true),
            ("application/octet-stream", b"%PDF-1.7", true),
            ("text/plain", &utf_16, false),
            ("text/plain; charset=utf-16le", b"a\0", false),
            ("", b"", false),
        ] {
            assert_eq!(MediaType::parse(content_type).is_binary(head), binary, "{content_type}");
        }
    }

    #[test]
    fn a_cut_character_is_left_out_and_a_broken_one_shown() {
        let media = MediaType::parse("text/plain");
        assert_eq!(media.decode("né".as_bytes(), true), "né");
        assert_eq!(media.decode(b"n\xc3", false), "n");
        assert_eq!(media.decode(b"n\xc3", true), "n\u{fffd}");
        assert_eq!(media.decode("\u{feff}né".as_bytes(), true), "né");
        assert_eq!(MediaType { essence: String::new(), encoding: UTF_16LE }.decode(b"a\0b\0", true), "ab");
    }
}
