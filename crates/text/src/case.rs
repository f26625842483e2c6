//! Names in snake_case.

/// `ReadFile` → `read_file`, `HTTPGet` → `http_get`, `a1B` → `a1_b`; all other characters stay.
pub fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, ch) in chars.iter().enumerate() {
        if ch.is_uppercase() && starts_word(&chars, at) {
            snake.push('_');
        }
        snake.extend(ch.to_lowercase());
    }
    snake
}

/// Whether the capital at a position starts a word: after a lower-case character or a digit, and as the last of several
/// capitals before a lower-case one.
fn starts_word(chars: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| chars[before]) else { return false };
    let after = chars.get(at + 1);
    before.is_lowercase() || before.is_ascii_digit() || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_start_words() {
        for (name, snake) in [
            ("ReadFile", "read_file"),
            ("filePath", "file_path"),
            ("Add", "add"),
            ("GetCurrentTime", "get_current_time"),
            ("Http2Get", "http2_get"),
            ("ReadMcp2Resource", "read_mcp2_resource"),
            ("HTTPGet", "http_get"),
            ("HTTPUrl", "http_url"),
            ("REPL", "repl"),
            ("a1B", "a1_b"),
            ("ÄrgerMich", "ärger_mich"),
            ("Snake_Already", "snake_already"),
            ("max-chars", "max-chars"),
        ] {
            assert_eq!(snake_case(name), snake);
        }
    }
}
