//! Advice in messages: sentences that are for a model and not for the user.

use std::borrow::Cow;

/// A message without the sentences that tell the model what to do: the user is the one whom it may ask.
pub fn for_user(message: &str) -> Cow<'_, str> {
    const ADDRESSED: &[&str] = &[
        "ask the user",
        "tell the user",
        "only the user can",
        "use another tool",
        "do without it",
        "look with glob_search",
        "*** add file:",
    ];
    let is_addressed = |sentence: &str| ADDRESSED.iter().any(|words| sentence.to_lowercase().contains(words));
    if !is_addressed(message) {
        return Cow::Borrowed(message);
    }
    let kept: Vec<&str> = sentences(message).into_iter().filter(|sentence| !is_addressed(sentence)).collect();
    match kept.concat().trim_end() {
        // A message that is all advice is better than none.
        "" => Cow::Borrowed(message),
        kept => Cow::Owned(kept.to_owned()),
    }
}

/// The sentences of a text, each with the blanks after it.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('.').filter(|(at, _)| text[at + 1..].starts_with([' ', '\n'])) {
        let begins = text[at + 2..].chars().next().is_some_and(|ch| ch.is_uppercase() || ch == '\'');
        if begins && at + 2 > start {
            sentences.push(&text[start..at + 2]);
            start = at + 2;
        }
    }
    sentences.push(&text[start..]);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_for_the_model_are_not_for_the_user() {
        for (message, shown) in [
            (
                "Access denied: path is outside the workspace: '/a/b.txt'. Use a path inside it; only the user can grant full-access.",
                "Access denied: path is outside the workspace: '/a/b.txt'.",
            ),
            ("'a.key' may not be read: it is private. Ask the user for what you need of it.", "'a.key' may not be read: it is private."),
            (
                "No answer came within 5 s, so the call was not made. Continue without it, or ask the user.",
                "No answer came within 5 s, so the call was not made.",
            ),
            (
                "a.txt: there is no such file. Make it with `*** Add File:`, or correct the path.\nNothing was changed.",
                "a.txt: there is no such file. Nothing was changed.",
            ),
            ("File not found: v1.2 of it. See a.b.", "File not found: v1.2 of it. See a.b."),
            ("Ask the user to install it.", "Ask the user to install it."),
            ("One. Tell the user. Three.", "One. Three."),
            ("", ""),
        ] {
            assert_eq!(for_user(message), shown);
        }
    }
}
