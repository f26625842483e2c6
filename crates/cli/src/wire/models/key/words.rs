//! Splits a command that runs without a shell.

/// Characters with a meaning in a shell.
const SHELL_CHARS: &str = "|&;<>$`(){}*?";

/// Splits a command: quotes keep blanks together, and `~/` is the home folder. Shell syntax is refused.
pub(crate) fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(ch) = chars.next() {
        match (quote, ch) {
            (None, '\'' | '"') => {
                quote = Some(ch);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == ch => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, _) if ch.is_whitespace() => words.extend(word.take()),
            (None, _) if SHELL_CHARS.contains(ch) => return Err(shell_syntax(ch)),
            (None, '~') if word.is_none() => word = Some(home()),
            _ => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    if quote.is_some() { Err("has a quote that is not closed".to_owned()) } else { Ok(words) }
}

fn shell_syntax(ch: char) -> String {
    format!("has '{ch}', but is run without a shell; quote it, or write sh -c '…'")
}

fn home() -> String {
    std::env::home_dir().map_or_else(|| "~".to_owned(), |home| home.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_words_are_split_and_shell_syntax_is_refused() {
        let home = home();
        let key = format!("{home}/key");
        for (line, expected) in [
            ("pass show work", Ok(vec!["pass", "show", "work"])),
            ("  op  read 'op://a b/c' ", Ok(vec!["op", "read", "op://a b/c"])),
            (r#"sh -c "echo \"a b\" | cat" '' x\ y"#, Ok(vec!["sh", "-c", "echo \"a b\" | cat", "", "x y"])),
            (r"echo '\n' a~b", Ok(vec!["echo", r"\n", "a~b"])),
            ("cat ~/key", Ok(vec!["cat", key.as_str()])),
            ("", Ok(vec![])),
            ("pass show 'work", Err("has a quote that is not closed".to_owned())),
            ("pass | head -1", Err("has '|', but is run without a shell; quote it, or write sh -c '…'".to_owned())),
            ("echo $KEY", Err("has '$', but is run without a shell; quote it, or write sh -c '…'".to_owned())),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(words(line), expected, "{line}");
        }
    }
}
