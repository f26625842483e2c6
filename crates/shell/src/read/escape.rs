//! `$'…'`: the escapes that bash reads in it.

/// The text of `$'…'`, given what stands between the quotes, and how many characters of it are spelled as numbers.
/// Nothing where the text is not one that a program can be given.
pub(super) fn decode(inside: &str) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut spelled = 0;
    let mut chars = inside.chars().peekable();
    while let Some(ch) = chars.next() {
        if ch != '\\' {
            text.push(ch);
            continue;
        }
        let kind = chars.next()?;
        let mut number = |radix: u32, most: usize, start: Option<u32>| {
            let mut value = start;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|ch| ch.to_digit(radix)) else { break };
                value = Some(value.unwrap_or(0) * radix + digit);
                chars.next();
            }
            spelled += 1;
            value
        };
        let value = match kind {
            'x' => number(16, 2, None)?,
            'u' => number(16, 4, None)?,
            'U' => number(16, 8, None)?,
            '0'..='7' => number(8, 2, kind.to_digit(8))?,
            other => u32::from(plain(other)?),
        };
        // A byte beyond ASCII is not a letter by itself, and programs stop reading at a NUL.
        let is_byte = matches!(kind, 'x' | '0'..='7');
        text.push(char::from_u32(value).filter(|_| value != 0 && (!is_byte || value < 0x80))?);
    }
    Some((text, spelled))
}

fn plain(kind: char) -> Option<char> {
    Some(match kind {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '?' => kind,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_become_what_bash_makes_of_them() {
        let table = [
            ("ab", Some(("ab", 0))),
            (r"a\nb\t\\\'", Some(("a\nb\t\\'", 0))),
            (r"\x72\155", Some(("rm", 2))),
            (r"\u00e9", Some(("é", 1))),
            (r"\x41g", Some(("Ag", 1))),
            (r"\xff", None),
            (r"\0", None),
            (r"\ca", None),
            (r"\q", None),
            (r"\", None),
        ];
        for (inside, wanted) in table {
            let wanted = wanted.map(|(text, spelled)| (text.to_owned(), spelled));
            assert_eq!(decode(inside), wanted, "{inside}");
        }
    }
}
