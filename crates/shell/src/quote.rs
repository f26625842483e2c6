//! Words, written so that a shell reads them as they are.

use std::borrow::Cow;

/// Words that bash takes for syntax where a command begins.
pub(crate) const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "select", "function", "{", "}", "!",
    "[[", "]]", "coproc",
];

/// A word for a shell line. Nothing in it expands, wherever it stands.
pub fn quote(word: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) && !RESERVED.contains(&word) && word != "time" {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}
