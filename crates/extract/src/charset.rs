//! The encoding of a page: from its byte order mark, the server, the page itself, or its bytes.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memmem;

/// Where browsers look for the name of the encoding.
const PRESCAN: usize = 1024;
/// More bytes do not change the guess.
const SAMPLE: usize = 64 * 1024;

/// Decodes a page. `declared` is the charset that the server named, if any.
pub fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> (Cow<'a, str>, &'static Encoding) {
    let encoding = encoding_of(bytes, declared);
    let (text, used, _) = encoding.decode(bytes);
    (text, used)
}

fn encoding_of(bytes: &[u8], declared: Option<&str>) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    let named = declared.and_then(|label| Encoding::for_label_no_replacement(label.trim().as_bytes()));
    named.or_else(|| in_page(&bytes[..bytes.len().min(PRESCAN)])).unwrap_or_else(|| guess(&bytes[..bytes.len().min(SAMPLE)]))
}

/// `<meta charset=…>`, `<meta http-equiv content="…charset=…">` or `<?xml encoding="…">`.
fn in_page(head: &[u8]) -> Option<&'static Encoding> {
    let lower = head.to_ascii_lowercase();
    let xml = lower.starts_with(b"<?xml").then(|| label_after(&lower, b"encoding")).flatten();
    let named = xml.or_else(|| {
        let metas = memmem::find_iter(&lower, b"<meta");
        metas.filter_map(|at| lower[at..].split(|byte| *byte == b'>').next()).find_map(|tag| label_after(tag, b"charset"))
    })?;
    // A page whose tags can be read as ASCII is not UTF-16, whatever it claims.
    let encoding = Encoding::for_label_no_replacement(&named)?;
    Some(if encoding == UTF_16BE || encoding == UTF_16LE { UTF_8 } else { encoding })
}

fn label_after(tag: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let rest = &tag[memmem::find(tag, name)? + name.len()..];
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?;
    let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    let label: Vec<u8> = rest.iter().skip_while(|byte| !is_label(byte)).take_while(|byte| is_label(byte)).copied().collect();
    (!label.is_empty()).then_some(label)
}

fn guess(sample: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, true);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_taken_from_mark_server_page_and_bytes_in_this_order() {
        let (russian, _, _) = encoding_rs::WINDOWS_1251.encode("Русский текст, который легко узнать по буквам");
        let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("日本語の文章です。文字コードを推測します。");
        for (bytes, declared, text, encoding) in [
            (&b"\xef\xbb\xbfcaf\xc3\xa9"[..], Some("windows-1252"), "café", "UTF-8"),
            (b"\xff\xfec\0", None, "c", "UTF-16LE"),
            (b"caf\xe9", Some(" iso-8859-1"), "café", "windows-1252"),
            (b"<meta charset=\"utf-8\">caf\xe9", Some("latin1"), "<meta charset=\"utf-8\">café", "windows-1252"),
            (b"<META CharSet = latin1>\xe9", None, "<META CharSet = latin1>é", "windows-1252"),
            (
                b"<meta http-equiv=x content='text/html; charset=koi8-r'>\xc1",
                Some("klingon"),
                "<meta http-equiv=x content='text/html; charset=koi8-r'>а",
                "KOI8-R",
            ),
            (b"<?xml version='1.0' encoding='iso-8859-15'?>\xa4", None, "<?xml version='1.0' encoding='iso-8859-15'?>€", "ISO-8859-15"),
            (b"<meta charset=utf-16>x", None, "<meta charset=utf-16>x", "UTF-8"),
            ("caf\u{e9} — ok".as_bytes(), None, "café — ok", "UTF-8"),
            (&russian, None, "Русский текст, который легко узнать по буквам", "windows-1251"),
            (&japanese, None, "日本語の文章です。文字コードを推測します。", "Shift_JIS"),
            (b"", None, "", "UTF-8"),
        ] {
            let (decoded, used) = decode(bytes, declared);
            if bytes.is_empty() {
                assert_eq!(decoded, "");
            } else {
                assert_eq!((&*decoded, used.name()), (text, encoding));
            }
        }
    }
}
