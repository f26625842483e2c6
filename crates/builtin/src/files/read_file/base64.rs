//! Base64, as notebooks keep pictures: with line ends in it.

/// The bytes, or nothing if it is not base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut digits) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| !letter.is_ascii_whitespace() && *letter != b'=') {
        group = group << 6 | u32::from(digit(letter)?);
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

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vectors_of_rfc_4648() {
        for (encoded, plain) in [
            ("", Some("")),
            ("Zg==", Some("f")),
            ("Zm8", Some("fo")),
            ("Zm\n9v", Some("foo")),
            ("Zm9vYg==\n", Some("foob")),
            ("Zm9vYmFy", Some("foobar")),
            ("Z", None),
            ("Zm9v?", None),
        ] {
            assert_eq!(decode(encoded).as_deref(), plain.map(str::as_bytes), "{encoded}");
        }
        assert_eq!(decode("//79AA=="), Some(vec![0xff, 0xfe, 0xfd, 0x00]));
    }
}
