//! Base64, as JSON carries pictures.

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

/// What [`encode`] made; nothing of anything else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.trim_end_matches('=').as_bytes().chunks(4) {
        let digit = |byte: &u8| ALPHABET.iter().position(|known| known == byte).and_then(|place| u32::try_from(place).ok());
        let group = chunk.iter().enumerate().try_fold(0_u32, |group, (place, byte)| Some(group | digit(byte)? << (18 - 6 * place)))?;
        bytes.extend_from_slice(group.to_be_bytes().get(1..chunk.len())?);
    }
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vectors_of_rfc_4648() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!((encode(plain.as_bytes()).as_str(), decode(encoded)), (encoded, Some(plain.as_bytes().to_vec())));
        }
        assert_eq!((encode(&[0xff, 0xfe, 0xfd, 0x00]).as_str(), decode("//79AA==")), ("//79AA==", Some(vec![0xff, 0xfe, 0xfd, 0x00])));
        for wrong in ["Z", "Zg", "Zg=", "Zh==", "Zm9v=", "Z m9v", "Zm9v\n", "Zm\u{e9}v", "====", "=Zg="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
