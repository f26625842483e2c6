//! Bytes as hexadecimal digits.

/// Two lower-case digits for each byte.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// The bytes of pairs of digits; `None` for every other text.
pub fn decode(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits.chars().map(|ch| ch.to_digit(16).and_then(|digit| digit.try_into().ok())).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_digits_and_bytes_again() {
        assert_eq!(encode([0x00, 0x1b, 0xff]), "001bff");
        for (digits, bytes) in [("", Some(vec![])), ("001BfF", Some(vec![0, 0x1b, 0xff])), ("1", None), ("+1", None), ("éé", None)] {
            assert_eq!(decode(digits), bytes, "{digits}");
        }
    }
}
