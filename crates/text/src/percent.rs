//! Percent encoding, as in addresses and references.

/// Decodes `%3C` to `<`. A percent sign without two digits stands for itself.
pub fn decode(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|digits| *first == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let byte = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Encodes everything but letters, digits, `/` and `-._~`.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => {
                encoded.push('%');
                encoded.push_str(&crate::hex::encode([byte]).to_ascii_uppercase());
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_decoded_and_all_else_stays() {
        for (text, expected) in [("/List%3CText%3e", "/List<Text>"), ("100%", "100%"), ("%+1%zz%4", "%+1%zz%4"), ("%C3%A4", "ä"), ("", "")]
        {
            assert_eq!(decode(text), expected);
        }
    }

    #[test]
    fn encoded_text_decodes_to_itself() {
        for (text, encoded) in [("src/a-b_c.rs", "src/a-b_c.rs"), ("a b?#%ä", "a%20b%3F%23%25%C3%A4"), ("", "")] {
            assert_eq!((encode(text).as_str(), decode(encoded).as_str()), (encoded, text));
        }
    }
}
