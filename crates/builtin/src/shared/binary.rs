//! Telling text from everything else.

/// How much of a file is looked at.
pub(crate) const SNIFFED: usize = 8 * 1024;

const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document stored as one"),
    (b"\x7fELF", "an ELF program"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"SQLite format 3\0", "an SQLite database"),
];

/// The format by the first bytes, if it is well known.
pub(crate) fn format_of(head: &[u8]) -> Option<&'static str> {
    SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)).map(|(_, name)| *name)
}

/// Text in an ASCII-compatible encoding has no NUL bytes.
pub(crate) fn has_nul(head: &[u8]) -> bool {
    memchr::memchr(0, &head[..head.len().min(SNIFFED)]).is_some()
}

/// The byte order of UTF-16 text without a byte order mark: mostly ASCII, it is NUL at every second byte.
pub(crate) fn utf_16_order(head: &[u8]) -> Option<&'static str> {
    let (pairs, _) = head[..head.len().min(SNIFFED)].as_chunks::<2>();
    let mostly = |count: usize| !pairs.is_empty() && count * 10 >= pairs.len() * 9;
    let little = pairs.iter().filter(|[low, high]| *low != 0 && *high == 0).count();
    let big = pairs.iter().filter(|[high, low]| *high == 0 && *low != 0).count();
    match (mostly(little), mostly(big)) {
        (true, _) => Some("UTF-16LE"),
        (_, true) => Some("UTF-16BE"),
        _ => None,
    }
}

/// Whether a change adds the first non-ASCII UTF-8 to a text of another encoding.
pub(crate) fn mixes_encodings(before: &[u8], after: &[u8]) -> bool {
    let has_non_ascii = |bytes: &[u8]| bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii());
    str::from_utf8(before).is_err() && !has_non_ascii(before) && has_non_ascii(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_not_mixed() {
        for (before, after, expected) in [
            (&b"caf\xe9"[..], &b"caf\xe9 \xc3\xa9"[..], true),
            (b"caf\xe9", b"caf\xe9 au lait", false),
            (b"caf\xe9", b"cafe", false),
            (b"cafe", b"caf\xc3\xa9", false),
            // UTF-8 with a bad byte in it.
            (b"\xc3\xa9 \xe9", b"\xc3\xa9 \xe9 \xc3\xa9", false),
        ] {
            assert_eq!(mixes_encodings(before, after), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn well_known_formats_are_named() {
        assert_eq!(format_of(b"\x89PNG\r\n\x1a\n\0\0"), Some("a PNG image"));
        assert_eq!(format_of(b"%PDF-1.7"), Some("a PDF document"));
        assert_eq!(format_of(b"PNG"), None);
        assert_eq!(format_of(b""), None);
    }

    #[test]
    fn only_the_beginning_is_looked_at() {
        let mut bytes = vec![b'a'; SNIFFED + 1];
        bytes[SNIFFED] = 0;
        assert!(!has_nul(&bytes));
        bytes[SNIFFED - 1] = 0;
        assert!(has_nul(&bytes));
    }

    #[test]
    fn utf_16_is_recognised_by_its_pattern() {
        let little: Vec<u8> = "plain text".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "plain text".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(utf_16_order(&little), Some("UTF-16LE"));
        assert_eq!(utf_16_order(&big), Some("UTF-16BE"));
        assert_eq!(utf_16_order(b"plain text"), None);
        assert_eq!(utf_16_order(&[0; 64]), None);
        assert_eq!(utf_16_order(b""), None);
    }
}
