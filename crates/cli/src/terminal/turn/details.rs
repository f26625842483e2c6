//! What a call was given and what it gave back, for whoever wants to see it: bounded, and with nothing hidden in it.

use haft_contract::{ToolResult, visible};
use serde_json::Value;

use super::diff;
use crate::output::DIM;
use crate::page::{INDENT, Page};

/// How much of one line is kept.
const LINE_CHARACTERS: usize = 400;
const RESULT_LINES: usize = 40;
const DIFF_LINES: usize = 200;
const ARGUMENTS: usize = 20;

/// The beginning of a text, escaped.
#[derive(Debug)]
struct Excerpt {
    lines: Vec<String>,
    /// How many lines follow.
    more: usize,
}

impl Excerpt {
    fn of<'a>(mut lines: impl Iterator<Item = &'a str>, most: usize) -> Self {
        let kept = lines.by_ref().take(most).map(one_line).collect();
        Self { lines: kept, more: lines.count() }
    }

    fn show(&self, title: &str, styled: impl Fn(&[String]) -> Vec<String>, page: &mut Page) {
        if self.lines.is_empty() {
            return;
        }
        page.line(format_args!("{INDENT}{DIM}{title}:{DIM:#}"));
        for line in styled(&self.lines) {
            page.line(format_args!("{INDENT}{INDENT}{line}"));
        }
        if self.more > 0 {
            page.line(format_args!("{INDENT}{INDENT}{DIM}({} more lines){DIM:#}", self.more));
        }
    }
}

/// Tabs stay: what is shown is a file more often than not.
fn one_line(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARACTERS) {
        Some((end, _)) => format!("{}…", visible::lines(&line[..end])),
        None => visible::lines(line).into_owned(),
    }
}

/// A call in full, or as much of it as is kept.
#[derive(Debug)]
pub(super) struct Details {
    id: String,
    arguments: Vec<String>,
    result: Excerpt,
    diff: Option<Excerpt>,
}

impl Details {
    pub(super) fn of(id: &str, arguments: &str, result: &ToolResult, diff: Option<&str>) -> Self {
        let texts: Vec<&str> = result.outcome.as_ref().map(|output| output.texts().collect()).unwrap_or_default();
        Self {
            id: visible::shorten(id, LINE_CHARACTERS).into_owned(),
            arguments: named(arguments),
            result: Excerpt::of(texts.iter().flat_map(|text| text.trim_end().lines()), RESULT_LINES),
            diff: diff.map(|diff| Excerpt::of(diff.lines(), DIFF_LINES)),
        }
    }

    /// Beneath the line of the call. A diff says more than the sentence that a file was written.
    pub(super) fn shown(&self) -> String {
        let mut page = Page::default();
        page.line(format_args!("{INDENT}{DIM}id:{DIM:#} {} {DIM}(haft history {0} shows what was decided){DIM:#}", self.id));
        for argument in &self.arguments {
            page.line(format_args!("{INDENT}{DIM}with{DIM:#} {argument}"));
        }
        match &self.diff {
            Some(diff) => diff.show("changes", diff::coloured, &mut page),
            None => self.result.show("result", <[String]>::to_vec, &mut page),
        }
        page.finish()
    }
}

/// `name: value` for each argument, or the text that should have held them.
fn named(arguments: &str) -> Vec<String> {
    let value = match serde_json::from_str(arguments) {
        Ok(Value::Object(value)) => value,
        _ if arguments.trim().is_empty() => return Vec::new(),
        _ => return vec![visible::shorten(arguments, LINE_CHARACTERS).into_owned()],
    };
    let argument = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}: {}", visible::shorten(name, LINE_CHARACTERS), visible::shorten(&value, LINE_CHARACTERS))
    };
    let mut named: Vec<String> = value.iter().take(ARGUMENTS).map(argument).collect();
    if value.len() > ARGUMENTS {
        named.push(format!("({} more)", value.len() - ARGUMENTS));
    }
    named
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haft_contract::{ErrorKind, ToolError, ToolOutput};
    use serde_json::json;

    use super::*;

    fn shown(arguments: &str, outcome: Result<ToolOutput, ToolError>, diff: Option<&str>) -> String {
        let result = ToolResult { call_id: "call_1".into(), tool: "t".into(), outcome, elapsed: Duration::ZERO };
        anstream::adapter::strip_str(&Details::of("call_1", arguments, &result, diff).shown()).to_string()
    }

    const ID: &str = "  id: call_1 (haft history call_1 shows what was decided)\n";

    #[test]
    fn arguments_and_result_are_shown_and_nothing_hides_in_them() {
        let arguments = json!({"path": "a\u{202e}\nb", "limit": 3, "list": ["x"]}).to_string();
        let expected = format!(
            "{ID}  with path: a\\u{{202e}}\\nb\n  with limit: 3\n  with list: [\"x\"]\n  result:\n    one\\u{{1b}}[2J\n    \ttwo\n"
        );
        assert_eq!(shown(&arguments, Ok(ToolOutput::text("one\u{1b}[2J\n\ttwo\n")), None), expected);
        assert_eq!(shown("", Ok(ToolOutput::text("")), None), ID);
        assert_eq!(shown("{nonsense\n", Err(ToolError::new(ErrorKind::Timeout, "late")), None), format!("{ID}  with {{nonsense\\n\n"));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let text = shown(&json!({"content": "x".repeat(5_000)}).to_string(), Ok(ToolOutput::text("y\n".repeat(1_000))), None);
        let argument = format!("  with content: {}…\n", "x".repeat(LINE_CHARACTERS));
        let result = format!("  result:\n{}    (960 more lines)\n", "    y\n".repeat(40));
        assert_eq!(text, format!("{ID}{argument}{result}"));
        let many: serde_json::Map<String, Value> = (0..100).map(|n| (format!("a{n}"), json!(n))).collect();
        assert!(shown(&json!(many).to_string(), Ok(ToolOutput::text("")), None).ends_with("  with (80 more)\n"));
        let long = Excerpt::of(["é".repeat(10_000).as_str()].into_iter(), 1).lines[0].chars().count();
        assert_eq!(long, LINE_CHARACTERS + 1);
    }

    #[test]
    fn changes_take_the_place_of_the_sentence_that_there_were_some() {
        let text = shown("{}", Ok(ToolOutput::text("Successfully wrote")), Some("@@ -1 +1 @@\n-a\n+b\n"));
        assert_eq!(text, format!("{ID}  changes:\n    @@ -1 +1 @@\n    -a\n    +b\n"));
    }
}
