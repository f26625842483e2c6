//! Arguments in a text with placeholders, as commands and skills have them: `$ARGUMENTS` and `$1` to `$9`.

/// The text with its placeholders filled in. `$ARGUMENTS` is all of them, `$1` the first word; words may be quoted. Without arguments
/// `$1` stays as it is, because texts also show scripts. Arguments of a text without placeholders follow at its end.
pub fn substitute(text: &str, arguments: &str) -> String {
    let arguments = arguments.trim();
    let words = words(arguments);
    let (mut filled, mut used) = (String::with_capacity(text.len() + arguments.len()), false);
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let (value, length) = placeholder(rest, arguments, &words);
        used |= value.is_some();
        filled.push_str(value.unwrap_or(&rest[..length]));
        rest = &rest[length..];
    }
    filled.push_str(rest);
    if !used && !arguments.is_empty() {
        filled = format!("{}\n\nArguments: {arguments}\n", filled.trim_end());
    }
    filled
}

/// The value of the placeholder at the beginning, if there is one, and how many bytes it takes.
fn placeholder<'a>(rest: &str, arguments: &'a str, words: &'a [String]) -> (Option<&'a str>, usize) {
    const ALL: &str = "$ARGUMENTS";
    if rest.starts_with(ALL) && !rest[ALL.len()..].starts_with(|ch: char| ch.is_alphanumeric() || ch == '_') {
        return (Some(arguments), ALL.len());
    }
    let mut characters = rest[1..].chars();
    let digit = characters.next().and_then(|ch| ch.to_digit(10)).filter(|digit| *digit > 0);
    match digit {
        Some(digit) if !arguments.is_empty() && !characters.next().is_some_and(|ch| ch.is_ascii_digit()) => {
            (Some(words.get(digit as usize - 1).map_or("", String::as_str)), 2)
        }
        _ => (None, 1),
    }
}

/// Words, separated by blanks; quotation marks keep blanks, and an unclosed one reaches to the end.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for ch in text.chars() {
        match quote {
            Some(current) if ch == current => quote = None,
            None if ch == '"' || ch == '\'' => {
                quote = Some(ch);
                word.get_or_insert_default();
            }
            None if ch.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in() {
        for (text, arguments, expected) in [
            ("Fix $ARGUMENTS now", " a b ", "Fix a b now"),
            ("$1 then $2, not $3.", "one \"two words\"", "one then two words, not ."),
            ("$1", "'it is' x", "it is"),
            ("echo $1 $HOME $$ $10 $0", "", "echo $1 $HOME $$ $10 $0"),
            ("echo $1 $HOME $10 $0 $", "x", "echo x $HOME $10 $0 $"),
            ("$ARGUMENTS_LIST and $ARGUMENTS", "x", "$ARGUMENTS_LIST and x"),
            ("Do it.\n", "", "Do it.\n"),
            ("Do it.\n", "fast", "Do it.\n\nArguments: fast\n"),
            ("[$ARGUMENTS]", "", "[]"),
            ("$1", "$ARGUMENTS", "$ARGUMENTS"),
            ("$1 $2", "'un closed", "un closed "),
            ("", "", ""),
        ] {
            assert_eq!(substitute(text, arguments), expected, "{text:?} {arguments:?}");
        }
    }
}
