//! How a rule is written: `NAME` or `NAME(CONTENT)`, with `\` before a mark that means itself.

use haft_contract::visible;

use super::fault::Fault;

/// The longest rule, in characters.
pub(super) const LONGEST: usize = 1000;
const FORM: &str = "write NAME or NAME(CONTENT), such as 'web_fetch' or 'exec(git push *)'";

/// A letter of the content, and whether it means itself whatever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) c: char,
    pub(super) literal: bool,
}

impl Letter {
    /// Whether it is this mark, with its meaning.
    pub(super) fn is(self, mark: char) -> bool {
        self.c == mark && !self.literal
    }
}

/// A rule in its two parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written<'a> {
    pub(super) name: &'a str,
    /// What stands in the parentheses; nothing and `*` are none.
    pub(super) content: Option<Vec<Letter>>,
}

/// Takes a rule apart.
pub(super) fn read(text: &str) -> Result<Written<'_>, Fault> {
    let text = text.trim();
    check(text)?;
    let Some((name, rest)) = text.split_once('(') else { return bare(text) };
    if name.trim().is_empty() {
        return Err(Fault::new("nothing stands before '('", FORM));
    }
    Ok(Written { name: name.trim(), content: meaningful(&content(rest)?) })
}

fn check(text: &str) -> Result<(), Fault> {
    if text.is_empty() {
        return Err(Fault::new("the rule is empty", FORM));
    }
    if text.chars().count() > LONGEST {
        return Err(Fault::new(format!("the rule is longer than {LONGEST} characters"), "write several short ones"));
    }
    match text.chars().find(|letter| visible::is_hidden(*letter)) {
        Some(letter) => {
            let message = format!("the rule holds U+{:04X}, which nobody can see", u32::from(letter));
            Err(Fault::new(message, "remove it; '*' can stand for it in a pattern"))
        }
        None => Ok(()),
    }
}

fn bare(text: &str) -> Result<Written<'_>, Fault> {
    if text.contains(')') {
        return Err(Fault::new("there is a ')' without a '('", FORM));
    }
    Ok(Written { name: text, content: None })
}

/// Reads up to the closing parenthesis, which must be the end.
fn content(rest: &str) -> Result<Vec<Letter>, Fault> {
    let (mut letters, mut marks) = (Vec::new(), rest.char_indices());
    while let Some((at, c)) = marks.next() {
        match c {
            ')' if at + 1 == rest.len() => return Ok(letters),
            ')' => {
                return Err(Fault::new(
                    format!("'{}' stands behind the ')'", &rest[at + 1..]),
                    "end the rule with ')'; one inside is '\\)'",
                ));
            }
            '(' => return Err(Fault::new("there is a '(' inside the parentheses", "write '\\(' for one that means itself")),
            '\\' => letters.push(escaped(marks.next().map(|(_, c)| c))?),
            _ => letters.push(Letter { c, literal: false }),
        }
    }
    Err(Fault::new("the ')' is missing", "end the rule with ')'"))
}

fn escaped(behind: Option<char>) -> Result<Letter, Fault> {
    match behind {
        Some(c) if c.is_ascii_punctuation() || c == ' ' => Ok(Letter { c, literal: true }),
        _ => Err(Fault::new(
            "a '\\' stands before a letter",
            "write '/' between the names of a path, and '\\\\' for a '\\' that means itself",
        )),
    }
}

fn meaningful(letters: &[Letter]) -> Option<Vec<Letter>> {
    let letters = trimmed(letters);
    let everything = matches!(letters, [only] if only.is('*'));
    (!letters.is_empty() && !everything).then(|| letters.to_vec())
}

fn trimmed(mut letters: &[Letter]) -> &[Letter] {
    while let [first, rest @ ..] = letters
        && first.is(' ')
    {
        letters = rest;
    }
    while let [rest @ .., last] = letters
        && last.is(' ')
    {
        letters = rest;
    }
    letters
}

/// The letters as text, without the marks that made some of them literal.
pub(super) fn plain(letters: &[Letter]) -> String {
    letters.iter().map(|letter| letter.c).collect()
}

/// What stands behind a prefix, if no letter of it is literal.
pub(super) fn behind<'a>(letters: &'a [Letter], prefix: &str) -> Option<&'a [Letter]> {
    let length = prefix.chars().count();
    let (start, rest) = letters.split_at_checked(length)?;
    start.iter().zip(prefix.chars()).all(|(letter, c)| letter.is(c)).then_some(rest)
}

/// Writes text so that none of its letters has a meaning.
pub(super) fn literal(text: &str, marks: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    for c in text.chars() {
        if matches!(c, '(' | ')' | '\\' | '*') || marks.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, Option<String>) {
        let Written { name, content } = read(text).unwrap();
        (name.to_owned(), content.map(|letters| plain(&letters)))
    }

    #[test]
    fn a_rule_is_a_name_and_what_stands_in_parentheses() {
        for (text, name, content) in [
            ("exec", "exec", None),
            ("  exec  ", "exec", None),
            ("exec()", "exec", None),
            ("exec( * )", "exec", None),
            ("exec(\\*)", "exec", Some("*")),
            (" exec ( git push * ) ", "exec", Some("git push *")),
            ("read(a\\(b\\)\\\\c)", "read", Some("a(b)\\c")),
            ("read(\\ a\\ )", "read", Some(" a ")),
        ] {
            assert_eq!(parts(text), (name.to_owned(), content.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn what_is_malformed_is_said() {
        let long = "a".repeat(LONGEST + 1);
        for (text, message) in [
            ("", "the rule is empty"),
            ("  ", "the rule is empty"),
            ("(x)", "nothing stands before '('"),
            ("exec(git", "the ')' is missing"),
            ("exec(git\\)", "the ')' is missing"),
            ("exec)", "there is a ')' without a '('"),
            ("exec(git) push", "' push' stands behind the ')'"),
            ("exec(git (x))", "there is a '(' inside the parentheses"),
            ("read(C:\\Users)", "a '\\' stands before a letter"),
            ("read(a\\", "a '\\' stands before a letter"),
            ("exec(git\u{7}x)", "the rule holds U+0007, which nobody can see"),
            ("exec(gi\u{200b}t)", "the rule holds U+200B, which nobody can see"),
            (long.as_str(), "the rule is longer than 1000 characters"),
        ] {
            assert_eq!(read(text).unwrap_err().message, message, "{text}");
        }
    }

    #[test]
    fn a_prefix_counts_only_with_its_meaning() {
        let letters = |text: &str| read(&format!("x({text})")).unwrap().content.unwrap();
        assert_eq!(behind(&letters("domain:a"), "domain:").map(plain), Some("a".into()));
        assert_eq!(behind(&letters("domain\\:a"), "domain:"), None);
        assert_eq!(behind(&letters("dom"), "domain:"), None);
    }
}
