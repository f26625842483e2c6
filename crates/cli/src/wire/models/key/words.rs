//! The words of a command that runs without a shell.

/// Signs that only a shell understands.
const OF_A_SHELL: &str = "|&;<>$`(){}*?";

/// The words of a command: quotes keep blanks together, and `~/` is the home. What needs a shell is refused, so that nobody
/// waits for something that does not happen.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == letter => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) if OF_A_SHELL.contains(letter) => return Err(of_a_shell(letter)),
            (None, '~') if word.is_none() => word = Some(home()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    if quote.is_some() { Err("has a quote that is not closed".to_owned()) } else { Ok(words) }
}

fn of_a_shell(letter: char) -> String {
    format!("holds '{letter}', and is run without a shell; quote it, or write sh -c '…'")
}

fn home() -> String {
    std::env::home_dir().map_or_else(|| "~".to_owned(), |home| home.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together_and_what_needs_a_shell_is_refused() {
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
            ("pass | head -1", Err("holds '|', and is run without a shell; quote it, or write sh -c '…'".to_owned())),
            ("echo $KEY", Err("holds '$', and is run without a shell; quote it, or write sh -c '…'".to_owned())),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(words(line), expected, "{line}");
        }
    }
}
