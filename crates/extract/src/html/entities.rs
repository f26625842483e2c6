//! Character references: `&amp;`, `&#x27;`, and the 2,125 names of HTML.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memchr;

/// One name a line: the name, `*` if it also counts without a semicolon, and its code points.
const TABLE: &str = include_str!("entities.txt");
const LONGEST_NAME: usize = 31;

struct NamedCharacter {
    text: String,
    without_semicolon: bool,
}

static NAMES: LazyLock<HashMap<&'static str, NamedCharacter>> = LazyLock::new(|| TABLE.lines().filter_map(table_row).collect());

fn table_row(line: &'static str) -> Option<(&'static str, NamedCharacter)> {
    let (name, points) = line.split_once(' ')?;
    let text = points.split(' ').filter_map(|point| char::from_u32(u32::from_str_radix(point, 16).ok()?)).collect();
    let plain = name.strip_suffix('*');
    Some((plain.unwrap_or(name), NamedCharacter { text, without_semicolon: plain.is_some() }))
}

/// Replaces character references by what they mean.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    let Some(first) = memchr(b'&', text.as_bytes()) else { return Cow::Borrowed(text) };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(&text[..first]);
    let mut rest = &text[first..];
    while !rest.is_empty() {
        let length = reference(rest, &mut decoded).unwrap_or_else(|| {
            decoded.push('&');
            1
        });
        rest = &rest[length..];
        let plain = memchr(b'&', rest.as_bytes()).unwrap_or(rest.len());
        decoded.push_str(&rest[..plain]);
        rest = &rest[plain..];
    }
    Cow::Owned(decoded)
}

/// Writes the character of the reference that the text begins with, and returns the length of the reference.
fn reference(text: &str, out: &mut String) -> Option<usize> {
    match text.as_bytes().get(1)? {
        b'#' => numeric(text, out),
        byte if byte.is_ascii_alphabetic() => decode_named(text, out),
        _ => None,
    }
}

fn numeric(text: &str, out: &mut String) -> Option<usize> {
    let hexadecimal = matches!(text.as_bytes().get(2), Some(b'x' | b'X'));
    let (start, radix) = if hexadecimal { (3, 16) } else { (2, 10) };
    let digits = text[start..].bytes().take_while(|byte| (*byte as char).is_digit(radix)).count();
    if digits == 0 {
        return None;
    }
    let number = u32::from_str_radix(&text[start..start + digits], radix).unwrap_or(u32::MAX);
    out.push(character(number));
    let end = start + digits;
    Some(end + usize::from(text[end..].starts_with(';')))
}

/// Numbers from 128 to 159 mean what windows-1252 has there, as in every browser.
fn character(number: u32) -> char {
    match number {
        0x80..=0x9f => {
            let byte = [u8::try_from(number).unwrap_or(b'?')];
            encoding_rs::WINDOWS_1252.decode_without_bom_handling(&byte).0.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        0 => char::REPLACEMENT_CHARACTER,
        _ => char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn decode_named(text: &str, out: &mut String) -> Option<usize> {
    let length = text[1..].bytes().take(LONGEST_NAME).take_while(u8::is_ascii_alphanumeric).count();
    let name = &text[1..=length];
    if text[1 + length..].starts_with(';')
        && let Some(character) = NAMES.get(name)
    {
        out.push_str(&character.text);
        return Some(length + 2);
    }
    // `&ampx` and `&copy 2026`: the longest name that counts without a semicolon.
    let legacy = (2..=length.min(6)).rev().find_map(|end| {
        let character = NAMES.get(&name[..end]).filter(|character| character.without_semicolon)?;
        Some((character, end + 1))
    });
    let (character, used) = legacy?;
    out.push_str(&character.text);
    Some(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_as_browsers_do() {
        for (text, decoded) in [
            ("plain", "plain"),
            ("a &amp; b &lt;c&gt; &quot;d&quot; &#39;e&#x27;", "a & b <c> \"d\" 'e'"),
            ("caf&eacute; &nbsp;&copy 2026 &hellip;", "café \u{a0}© 2026 …"),
            ("&ampx &amp;amp;", "&x &amp;"),
            ("&NotEqualTilde;", "≂̸"),
            ("&#128; &#150; &#0; &#xD800; &#x110000; &#99999999999;", "€ – \u{fffd} \u{fffd} \u{fffd} \u{fffd}"),
            ("& &; &# &#x; &unknown; &é &", "& &; &# &#x; &unknown; &é &"),
            ("&#65&#66;", "AB"),
        ] {
            assert_eq!(decode(text), decoded, "{text}");
        }
        assert_eq!(NAMES.len(), TABLE.lines().count());
    }
}
