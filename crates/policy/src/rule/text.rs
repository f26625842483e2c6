//! How a rule is written: `NAME` or `NAME(CONTENT)`, with `\` before a mark that means itself.

use haft_pattern::PatternChar;
use haft_text::display;

use super::problem::RuleProblem;

/// The longest rule, in characters.
pub(super) const LONGEST: usize = 1000;
const FORM: &str = "write NAME or NAME(CONTENT), such as 'web_fetch' or 'exec(git push *)'";

/// A rule in its two parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuleText<'a> {
    pub(super) name: &'a str,
    /// The text in the parentheses; nothing and `*` are none.
    pub(super) content: Option<Vec<PatternChar>>,
}

/// Takes a rule apart.
pub(super) fn read(text: &str) -> Result<RuleText<'_>, RuleProblem> {
    let text = text.trim();
    check(text)?;
    let Some((name, rest)) = text.split_once('(') else { return bare(text) };
    if name.trim().is_empty() {
        return Err(RuleProblem::new("nothing stands before '('", FORM));
    }
    Ok(RuleText { name: name.trim(), content: meaningful(&content(rest)?) })
}

fn check(text: &str) -> Result<(), RuleProblem> {
    if text.is_empty() {
        return Err(RuleProblem::new("the rule is empty", FORM));
    }
    if text.chars().count() > LONGEST {
        return Err(RuleProblem::new(format!("the rule is longer than {LONGEST} characters"), "write several short ones"));
    }
    match text.chars().find(|ch| display::is_hidden(*ch)) {
        Some(ch) => {
            let message = format!("the rule holds U+{:04X}, which nobody can see", u32::from(ch));
            Err(RuleProblem::new(message, "remove it; '*' can stand for it in a pattern"))
        }
        None => Ok(()),
    }
}

fn bare(text: &str) -> Result<RuleText<'_>, RuleProblem> {
    if text.contains(')') {
        return Err(RuleProblem::new("there is a ')' without a '('", FORM));
    }
    Ok(RuleText { name: text, content: None })
}

/// Reads up to the closing parenthesis, which must be the end.
fn content(rest: &str) -> Result<Vec<PatternChar>, RuleProblem> {
    let (mut chars, mut marks) = (Vec::new(), rest.char_indices());
    while let Some((at, c)) = marks.next() {
        match c {
            ')' if at + 1 == rest.len() => return Ok(chars),
            ')' => {
                return Err(RuleProblem::new(
                    format!("'{}' stands behind the ')'", &rest[at + 1..]),
                    "end the rule with ')'; one inside is '\\)'",
                ));
            }
            '(' => return Err(RuleProblem::new("there is a '(' inside the parentheses", "write '\\(' for one that means itself")),
            '\\' => chars.push(escaped(marks.next().map(|(_, c)| c))?),
            _ => chars.push(PatternChar { ch: c, literal: false }),
        }
    }
    Err(RuleProblem::new("the ')' is missing", "end the rule with ')'"))
}

fn escaped(behind: Option<char>) -> Result<PatternChar, RuleProblem> {
    match behind {
        Some(c) if c.is_ascii_punctuation() || c == ' ' => Ok(PatternChar { ch: c, literal: true }),
        _ => Err(RuleProblem::new(
            "a '\\' stands before a ch",
            "write '/' between the names of a path, and '\\\\' for a '\\' that means itself",
        )),
    }
}

fn meaningful(chars: &[PatternChar]) -> Option<Vec<PatternChar>> {
    let chars = trimmed(chars);
    let everything = matches!(chars, [only] if only.is('*'));
    (!chars.is_empty() && !everything).then(|| chars.to_vec())
}

fn trimmed(mut chars: &[PatternChar]) -> &[PatternChar] {
    while let [first, rest @ ..] = chars
        && first.is(' ')
    {
        chars = rest;
    }
    while let [rest @ .., last] = chars
        && last.is(' ')
    {
        chars = rest;
    }
    chars
}

/// The characters as text, without the marks that made some of them literal.
pub(super) fn plain(chars: &[PatternChar]) -> String {
    chars.iter().map(|ch| ch.ch).collect()
}

/// What stands behind a prefix, if no ch of it is literal.
pub(super) fn behind<'a>(chars: &'a [PatternChar], prefix: &str) -> Option<&'a [PatternChar]> {
    let length = prefix.chars().count();
    let (start, rest) = chars.split_at_checked(length)?;
    start.iter().zip(prefix.chars()).all(|(ch, c)| ch.is(c)).then_some(rest)
}

/// Writes text so that none of its characters has a meaning.
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
        let RuleText { name, content } = read(text).unwrap();
        (name.to_owned(), content.map(|chars| plain(&chars)))
    }

    #[test]
    fn rule_is_a_name_and_text_in_parentheses() {
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
            ("read(C:\\Users)", "a '\\' stands before a ch"),
            ("read(a\\", "a '\\' stands before a ch"),
            ("exec(git\u{7}x)", "the rule holds U+0007, which nobody can see"),
            ("exec(gi\u{200b}t)", "the rule holds U+200B, which nobody can see"),
            (long.as_str(), "the rule is longer than 1000 characters"),
        ] {
            assert_eq!(read(text).unwrap_err().message, message, "{text}");
        }
    }

    #[test]
    fn a_prefix_counts_only_with_its_meaning() {
        let chars = |text: &str| read(&format!("x({text})")).unwrap().content.unwrap();
        assert_eq!(behind(&chars("domain:a"), "domain:").map(plain), Some("a".into()));
        assert_eq!(behind(&chars("domain\\:a"), "domain:"), None);
        assert_eq!(behind(&chars("dom"), "domain:"), None);
    }
}
