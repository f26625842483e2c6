//! The regular expression.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use haft_contract::ToolError;

use crate::shared::brief;

/// Larger automata are refused: they are slow to build and to run.
const AUTOMATON: usize = 10 << 20;
/// Cache of a lazy DFA, for each thread.
const MEMORY: usize = 16 << 20;
/// Longer expressions are refused before they are read.
const LONGEST: usize = 64 << 10;

/// Compiles the expression as ripgrep would.
pub(super) fn compile(text: &str, case_insensitive: bool, multiline: bool) -> Result<RegexMatcher, ToolError> {
    if text.is_empty() {
        return Err(ToolError::validation("Parameter 'pattern' is empty: give a regular expression. To list files, use glob_search."));
    }
    if text.len() > LONGEST {
        let length = text.len();
        return Err(ToolError::validation(format!(
            "Parameter 'pattern' is {length} bytes long, and {LONGEST} is the most: give a shorter one."
        )));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(case_insensitive).multi_line(true).size_limit(AUTOMATON).dfa_size_limit(MEMORY).ban_byte(Some(0));
    // An end of line is before its carriage return; without one in the pattern, the plain terminator is searched faster.
    builder.crlf(text.contains('$'));
    if multiline {
        builder.dot_matches_new_line(true).line_terminator(None);
    } else if !text.contains('$') {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(text).map_err(|error| refused(text, &error))
}

/// The library's own diagnosis, and what to do about it.
fn refused(text: &str, error: &grep_regex::Error) -> ToolError {
    let advice = match error.kind() {
        ErrorKind::NotAllowed(_) => "To match across lines, set multiline=true.",
        ErrorKind::Banned(_) => "Binary files are not searched.",
        ErrorKind::Regex(why) if why.contains("exceeds size limit") => "Write smaller repetitions, or several searches.",
        _ => "To search literal text, put '\\' before characters such as ( [ { . * + ?.",
    };
    // The library quotes the pattern in a group of its own; the plain parser quotes it as it was given.
    let diagnosis = regex::Regex::new(text).err().map_or_else(|| error.to_string(), |error| error.to_string());
    let text = brief(text);
    ToolError::validation(format!("Parameter 'pattern' is not a regular expression: '{text}'.\n{diagnosis}\n{advice}"))
        .with_source(error.clone())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn refusal(text: &str) -> String {
        compile(text, false, false).unwrap_err().message().to_owned()
    }

    #[test]
    fn the_librarys_diagnosis_is_passed_on() {
        let literal = "To search literal text, put '\\' before characters such as ( [ { . * + ?.";
        assert_eq!(
            refusal("a("),
            format!(
                "Parameter 'pattern' is not a regular expression: 'a('.\nregex parse error:\n    a(\n     ^\nerror: unclosed group\n{literal}"
            )
        );
        let ahead = refusal("(?=a)");
        assert!(ahead.contains("error: look-around, including look-ahead and look-behind, is not supported"), "{ahead}");
        assert_eq!(
            refusal("a\\nb"),
            "Parameter 'pattern' is not a regular expression: 'a\\nb'.\nthe literal \"\\n\" is not allowed in a regex\n\
             To match across lines, set multiline=true."
        );
        assert!(refusal("\\x00").ends_with("it is impossible to match\nBinary files are not searched."), "{}", refusal("\\x00"));
        assert_eq!(refusal(""), "Parameter 'pattern' is empty: give a regular expression. To list files, use glob_search.");
        assert_eq!(refusal(&"a".repeat(65_537)), "Parameter 'pattern' is 65537 bytes long, and 65536 is the most: give a shorter one.");
    }

    #[test]
    fn an_expression_that_is_too_large_is_refused_at_once() {
        let started = Instant::now();
        for text in ["(((a{100}){100}){100}){100}", "\\pL{1000}{1000}", "(?:[\\w--a]{50}){1000}"] {
            let message = refusal(text);
            assert!(message.contains("exceeds size limit") || message.contains("exceeds the size limit"), "{message}");
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}
