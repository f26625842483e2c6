//! Files that a prompt names: `@path`, and pictures whose path was pasted.

/// Characters that end a sentence, not a path.
const PUNCTUATION: [char; 8] = [',', '.', ';', ':', '?', '!', ')', ']'];
/// Endings of pictures.
const PICTURES: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// A file that a prompt names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mention {
    /// Its first byte in the text, with its sign.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// The path.
    pub path: String,
    /// Whether it has a sign; a pasted path has none.
    pub is_signed: bool,
    /// Whether there is such a file.
    pub exists: bool,
}

/// The files that a text names, in order. `exists` tells of paths whether they are there.
pub fn mentions(text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Mention> {
    words(text).into_iter().filter_map(|(start, word)| signed(start, word, exists).or_else(|| pasted(start, word, exists))).collect()
}

fn signed(start: usize, word: &str, exists: &dyn Fn(&str) -> bool) -> Option<Mention> {
    let rest = word.strip_prefix('@').filter(|rest| !rest.is_empty())?;
    let trimmed = rest.trim_end_matches(PUNCTUATION);
    let path = if exists(&unquoted(rest)) { rest } else { trimmed };
    let bare = unquoted(path);
    if bare.is_empty() {
        return None;
    }
    let exists = exists(&bare);
    Some(Mention { start, end: start + 1 + path.len(), path: bare, is_signed: true, exists })
}

/// What a terminal inserts when a picture is dropped on it: an absolute path, quoted or escaped, or a URL.
fn pasted(start: usize, word: &str, exists: &dyn Fn(&str) -> bool) -> Option<Mention> {
    let path = unquoted(word.trim_end_matches(PUNCTUATION));
    let path = path.strip_prefix("file://").map_or(path.clone(), decoded);
    let is_picture = path.starts_with('/') && PICTURES.iter().any(|ending| path.to_lowercase().ends_with(ending));
    (is_picture && exists(&path)).then(|| Mention { start, end: start + word.len(), path, is_signed: false, exists: true })
}

/// The text without the signs of files that are there.
pub fn without_sign(text: &str, mentions: &[Mention]) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    for mention in mentions.iter().filter(|mention| mention.is_signed && mention.exists) {
        plain.push_str(&text[at..mention.start]);
        at = mention.start + 1;
    }
    plain.push_str(&text[at..]);
    plain
}

/// Words and where they start; quotation marks and backslashes keep blanks.
fn words(text: &str) -> Vec<(usize, &str)> {
    let (mut words, mut start, mut quote, mut escaped) = (Vec::new(), None, None, false);
    for (at, ch) in text.char_indices() {
        let is_first = start.is_none_or(|start: usize| text[start..at] == *"@");
        if ch.is_whitespace() && quote.is_none() && !escaped {
            words.extend(start.take().map(|start| (start, &text[start..at])));
            continue;
        }
        match quote {
            Some(current) if ch == current => quote = None,
            // A quotation mark counts at the beginning of a path alone: prose has apostrophes.
            None if is_first && (ch == '"' || ch == '\'') && text[at + 1..].contains(ch) => quote = Some(ch),
            _ => {}
        }
        escaped = ch == '\\' && !escaped;
        start.get_or_insert(at);
    }
    words.extend(start.map(|start| (start, &text[start..])));
    words
}

fn unquoted(word: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.to_owned();
        }
    }
    word.replace("\\ ", " ")
}

/// A path of a `file://` URL.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%').then(|| tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())).flatten();
        let (byte, after) = match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => (byte, &tail[2..]),
            None => (*first, tail),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&str; 8] = ["README.md", "src", "src/main.rs", "my file.txt", "/p/a b.png", "/p/c.JPG", "/etc/hosts", "odd.."];

    fn found(text: &str) -> Vec<(String, bool)> {
        let all = mentions(text, &|path| FILES.contains(&path));
        all.into_iter().map(|mention| (mention.path, mention.exists)).collect()
    }

    #[test]
    fn files_are_found_by_sign_and_pictures_by_path() {
        let there = |path: &str| (path.to_owned(), true);
        for (text, expected) in [
            ("what does @README.md say?", vec![there("README.md")]),
            ("see @src/main.rs, and (@src)", vec![there("src/main.rs")]),
            ("@src/main.rs.", vec![there("src/main.rs")]),
            ("@odd..", vec![there("odd..")]),
            (
                "@\"my file.txt\" and @'my file.txt' and @my\\ file.txt",
                vec![there("my file.txt"), there("my file.txt"), there("my file.txt")],
            ),
            ("ask @ann, ann@example.org and @", vec![("ann".to_owned(), false)]),
            ("@missing.md?", vec![("missing.md".to_owned(), false)]),
            ("'/p/a b.png' what is this", vec![there("/p/a b.png")]),
            ("/p/a\\ b.png file:///p/a%20b.png /p/c.JPG.", vec![there("/p/a b.png"), there("/p/a b.png"), there("/p/c.JPG")]),
            ("look at /etc/hosts and README.md, it's what isn't", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn sign_of_a_file_that_is_there_is_removed() {
        for (text, expected) in [
            ("what does @README.md say?", "what does README.md say?"),
            ("compare @src/main.rs,\n@src.", "compare src/main.rs,\nsrc."),
            ("ask @ann, ann@example.org and @", "ask @ann, ann@example.org and @"),
        ] {
            assert_eq!(without_sign(text, &mentions(text, &|path| FILES.contains(&path))), expected);
        }
    }
}
