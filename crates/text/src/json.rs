//! Strings of JSON, eight bytes at a time: the texts of results are most of what is written.

/// Bytes that are looked at together.
const WORD: usize = 8;
/// Bytes that are added to a line together.
const PIECE: usize = 512;

/// Adds what stands between the quotes of a JSON string.
///
/// ```
/// let mut line = Vec::new();
/// haft_text::json::push_escaped(&mut line, "a \"b\"\n");
/// assert_eq!(line, br#"a \"b\"\n"#);
/// ```
// Words are copied whole, also what is behind a byte to be escaped: that is overwritten.
pub fn push_escaped(line: &mut Vec<u8>, text: &str) {
    let mut piece = [0; PIECE];
    let (mut rest, mut filled) = (text.as_bytes(), 0);
    while !rest.is_empty() {
        // Room for a word and an escape.
        if filled > PIECE - 2 * WORD {
            line.extend_from_slice(&piece[..filled]);
            filled = 0;
        }
        let word = word_of(rest);
        put(&mut piece, filled, word);
        let plain = first_special(word).min(rest.len());
        filled += plain;
        rest = &rest[plain..];
        if plain < WORD
            && let [byte, behind @ ..] = rest
        {
            let (escape, length) = escape_of(*byte);
            put(&mut piece, filled, escape);
            filled += length;
            rest = behind;
        }
    }
    line.extend_from_slice(&piece[..filled]);
}

/// Where the first byte is that ends a plain part of a JSON string: a quote, a backslash, or one below the blank.
///
/// ```
/// assert_eq!(haft_text::json::find_special(b"a plain part\", \"rest\""), Some(12));
/// assert_eq!(haft_text::json::find_special("ä".as_bytes()), None);
/// ```
#[inline]
pub fn find_special(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        let plain = first_special(word_of(&bytes[at..]));
        if plain < WORD {
            return Some(at + plain);
        }
        at += WORD;
    }
    None
}

/// The next eight bytes; what is behind the end needs no escape.
#[inline]
fn word_of(rest: &[u8]) -> [u8; WORD] {
    rest.first_chunk().copied().unwrap_or_else(|| {
        let mut word = [b' '; WORD];
        word[..rest.len()].copy_from_slice(rest);
        word
    })
}

fn put(piece: &mut [u8; PIECE], at: usize, word: [u8; WORD]) {
    if let Some(place) = piece.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = word;
    }
}

/// Where the first of eight bytes is that must be escaped, or eight. Each mask has the highest bit of a byte set that is meant; a borrow
/// sets others only behind the first.
#[inline]
fn first_special(word: [u8; WORD]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let found = (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGH;
    found.trailing_zeros() as usize / 8
}

/// How a byte is escaped, and how long that is.
fn escape_of(byte: u8) -> ([u8; WORD], usize) {
    let short = match byte {
        b'\n' => b'n',
        b'"' | b'\\' => byte,
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            return ([b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 0xf), 0, 0], 6);
        }
    };
    ([b'\\', short, 0, 0, 0, 0, 0, 0], 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_special_byte_is_found() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut word = *b"abc\x80\xffxyz";
                word[place] = byte;
                let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(first_special(word), if is_special { place } else { WORD }, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn first_special_byte_is_found_at_any_distance() {
        for length in 0..40 {
            let mut bytes = vec![b'a'; length];
            assert_eq!(find_special(&bytes), None, "{length}");
            bytes.extend_from_slice(b"\"\\ rest");
            assert_eq!(find_special(&bytes), Some(length));
        }
    }

    #[test]
    fn everything_that_must_be_escaped_is() {
        let mut line = Vec::new();
        push_escaped(&mut line, "\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f}\"\\/é€𝄞\u{7f}");
        assert_eq!(String::from_utf8(line).unwrap(), "\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/é€𝄞\u{7f}");
        for length in 0..600 {
            let mut line = Vec::new();
            push_escaped(&mut line, &"ab\n".repeat(length));
            assert_eq!(line, "ab\\n".repeat(length).into_bytes(), "{length}");
        }
    }
}
