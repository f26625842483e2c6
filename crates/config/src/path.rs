//! Paths of keys as people write them.

use crate::key::EACH;

/// The path as TOML would write it: a chosen name that is no plain word is quoted.
pub(crate) fn written(path: &[String]) -> String {
    let mut text = String::new();
    for part in path {
        if !text.is_empty() && part != EACH {
            text.push('.');
        }
        text.push_str(&segment(part));
    }
    text
}

fn segment(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if part == EACH || (!part.is_empty() && part.bytes().all(plain)) {
        return part.to_owned();
    }
    format!("\"{}\"", part.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_plain_words_are_quoted() {
        for (path, expected) in [
            (&["tools", "deny"][..], "tools.deny"),
            (&["agents", "a.b", "tools", "deny"], "agents.\"a.b\".tools.deny"),
            (&["tools", "by_provider", "openai/gpt-4.1", "allow"], "tools.by_provider.\"openai/gpt-4.1\".allow"),
            (&["agents", "say \"\\\"", "access"], "agents.\"say \\\"\\\\\\\"\".access"),
            (&["agents", "", "access"], "agents.\"\".access"),
            (&["hooks", "[]", "event"], "hooks[].event"),
        ] {
            let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
            assert_eq!(written(&path), expected);
        }
    }
}
