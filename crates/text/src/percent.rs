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
}
