//! Base64 of RFC 4648.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The standard encoding, padded.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().enumerate().fold(0_u32, |group, (place, byte)| group | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let digit = ALPHABET[(group >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The bytes of the standard encoding; `None` for every other text.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    decode_lenient(text).filter(|bytes| encode(bytes) == text)
}

/// The bytes of any encoding: also the URL-safe one, without padding, or with white space in it.
pub fn decode_lenient(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut digits) = (0_u32, 0);
    for ch in text.bytes().filter(|ch| !ch.is_ascii_whitespace() && *ch != b'=') {
        group = group << 6 | u32::from(digit(ch)?);
        digits += 1;
        if digits == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..]);
            (group, digits) = (0, 0);
        }
    }
    match digits {
        0 => {}
        2 => bytes.extend_from_slice(&(group << 12).to_be_bytes()[1..2]),
        3 => bytes.extend_from_slice(&(group << 6).to_be_bytes()[1..3]),
        _ => return None,
    }
    Some(bytes)
}

fn digit(ch: u8) -> Option<u8> {
    match ch {
        b'A'..=b'Z' => Some(ch - b'A'),
        b'a'..=b'z' => Some(ch - b'a' + 26),
        b'0'..=b'9' => Some(ch - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_vectors_of_rfc_4648_are_encoded_and_decoded() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!((encode(plain.as_bytes()).as_str(), decode(encoded)), (encoded, Some(plain.as_bytes().to_vec())));
        }
        assert_eq!((encode(&[0xff, 0xfe, 0xfd, 0x00]).as_str(), decode("//79AA==")), ("//79AA==", Some(vec![0xff, 0xfe, 0xfd, 0x00])));
        for wrong in ["Z", "Zg", "Zg=", "Zh==", "Zm9v=", "Z m9v", "Zm9v\n", "Zm\u{e9}v", "====", "=Zg=", "__79AA=="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lenient_decoding_takes_line_ends_and_missing_padding() {
        for (encoded, plain) in
            [("Zm8", Some("fo")), ("Zm\n9v", Some("foo")), ("Zm9vYg==\n", Some("foob")), ("Z", None), ("Zm9v?", None), ("", Some(""))]
        {
            assert_eq!(decode_lenient(encoded).as_deref(), plain.map(str::as_bytes), "{encoded}");
        }
        assert_eq!(decode_lenient("__79AA"), Some(vec![0xff, 0xfe, 0xfd, 0x00]));
    }
}
