//! Arguments and result of a call: bounded, with hidden characters escaped.

use haft_contract::ToolResult;
use haft_text::display;
use haft_text::truncate::ellipsize;
use serde_json::Value;

use super::style::SymbolSet;
use crate::diff;
use crate::output::DIM;
use crate::text_builder::{INDENT, TextBuilder};

/// Characters of one line.
const LINE_CHARACTERS: usize = 400;
const RESULT_LINES: usize = 40;
const DIFF_LINES: usize = 200;
const ARGUMENTS: usize = 20;

/// The beginning of a text, escaped.
#[derive(Debug)]
struct TextExcerpt {
    lines: Vec<String>,
    /// Number of lines left out.
    more: usize,
}

impl TextExcerpt {
    fn new<'a>(mut lines: impl Iterator<Item = &'a str>, most: usize) -> Self {
        let first = lines.by_ref().take(most).map(one_line).collect();
        Self { lines: first, more: lines.count() }
    }

    fn show(&self, title: &str, styled: impl Fn(&[String]) -> Vec<String>, page: &mut TextBuilder) {
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

/// Escapes a line; tabs stay, because it is often part of a file.
fn one_line(line: &str) -> String {
    display::escape_lines(&ellipsize(line, LINE_CHARACTERS)).into_owned()
}

/// Arguments and result of a call.
#[derive(Debug)]
pub(super) struct CallDetails {
    id: String,
    arguments: Vec<String>,
    result: TextExcerpt,
    diff: Option<TextExcerpt>,
}

impl CallDetails {
    pub(super) fn new(id: &str, arguments: &str, result: &ToolResult, diff: Option<&str>) -> Self {
        let texts: Vec<&str> = result.outcome.as_ref().map(|output| output.texts().collect()).unwrap_or_default();
        Self {
            id: display::shorten(id, LINE_CHARACTERS).into_owned(),
            arguments: argument_lines(arguments),
            result: TextExcerpt::new(texts.iter().flat_map(|text| text.trim_end().lines()), RESULT_LINES),
            diff: diff.map(|diff| TextExcerpt::new(diff.lines(), DIFF_LINES)),
        }
    }

    /// The beginning of the diff, without the names of files that the line of the call has.
    pub(super) fn folded_diff(&self, most: usize, symbols: SymbolSet) -> String {
        let Some(diff) = &self.diff else { return String::new() };
        let headers = diff.lines.iter().filter(|line| line.starts_with("+++ ")).count();
        let is_header = |line: &&String| headers == 1 && (line.starts_with("--- ") || line.starts_with("+++ "));
        let lines: Vec<String> =
            diff.lines.iter().enumerate().filter(|(at, line)| *at > 1 || !is_header(line)).map(|(_, line)| line.clone()).collect();
        let mut page = TextBuilder::default();
        for line in diff::style_lines(&lines).iter().take(most) {
            page.line(format_args!("{INDENT}{line}"));
        }
        let more = diff.more + lines.len().saturating_sub(most);
        if more > 0 {
            let all = if symbols == SymbolSet::Symbols { "Ctrl-O shows them" } else { "/details shows them" };
            page.line(format_args!("{INDENT}{DIM}({more} more lines; {all}){DIM:#}"));
        }
        page.finish()
    }

    /// Lines below the line of the call. A diff replaces the result.
    pub(super) fn render(&self) -> String {
        let mut page = TextBuilder::default();
        page.line(format_args!("{INDENT}{DIM}id:{DIM:#} {} {DIM}(haft history {0} shows what was decided){DIM:#}", self.id));
        for argument in &self.arguments {
            page.line(format_args!("{INDENT}{DIM}with{DIM:#} {argument}"));
        }
        match &self.diff {
            Some(diff) => diff.show("changes", diff::style_lines, &mut page),
            None => self.result.show("result", <[String]>::to_vec, &mut page),
        }
        page.finish()
    }
}

/// `name: value` for each argument, or text that is not JSON.
fn argument_lines(arguments: &str) -> Vec<String> {
    let value = match serde_json::from_str(arguments) {
        Ok(Value::Object(value)) => value,
        _ if arguments.trim().is_empty() => return Vec::new(),
        _ => return vec![display::shorten(arguments, LINE_CHARACTERS).into_owned()],
    };
    let argument = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}: {}", display::shorten(name, LINE_CHARACTERS), display::shorten(&value, LINE_CHARACTERS))
    };
    let mut lines: Vec<String> = value.iter().take(ARGUMENTS).map(argument).collect();
    if value.len() > ARGUMENTS {
        lines.push(format!("({} more)", value.len() - ARGUMENTS));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haft_contract::{ErrorKind, ToolError, ToolOutput};
    use serde_json::json;

    use super::*;

    fn shown(arguments: &str, outcome: Result<ToolOutput, ToolError>, diff: Option<&str>) -> String {
        let result = ToolResult { call_id: "call_1".into(), tool: "t".into(), outcome, elapsed: Duration::ZERO, stored: None };
        anstream::adapter::strip_str(&CallDetails::new("call_1", arguments, &result, diff).render()).to_string()
    }

    const ID: &str = "  id: call_1 (haft history call_1 shows what was decided)\n";

    #[test]
    fn details_show_arguments_and_result_escaped() {
        let arguments = json!({"path": "a\u{202e}\nb", "limit": 3, "list": ["x"]}).to_string();
        let expected = format!(
            "{ID}  with path: a\\u{{202e}}\\nb\n  with limit: 3\n  with list: [\"x\"]\n  result:\n    one\\u{{1b}}[2J\n    \ttwo\n"
        );
        assert_eq!(shown(&arguments, Ok(ToolOutput::text("one\u{1b}[2J\n\ttwo\n")), None), expected);
        assert_eq!(shown("", Ok(ToolOutput::text("")), None), ID);
        assert_eq!(shown("{nonsense\n", Err(ToolError::new(ErrorKind::Timeout, "late")), None), format!("{ID}  with {{nonsense\\n\n"));
    }

    #[test]
    fn details_are_bounded() {
        let text = shown(&json!({"content": "x".repeat(5_000)}).to_string(), Ok(ToolOutput::text("y\n".repeat(1_000))), None);
        let argument = format!("  with content: {}…\n", "x".repeat(LINE_CHARACTERS));
        let result = format!("  result:\n{}    (960 more lines)\n", "    y\n".repeat(40));
        assert_eq!(text, format!("{ID}{argument}{result}"));
        let many: serde_json::Map<String, Value> = (0..100).map(|n| (format!("a{n}"), json!(n))).collect();
        assert!(shown(&json!(many).to_string(), Ok(ToolOutput::text("")), None).ends_with("  with (80 more)\n"));
        let long = TextExcerpt::new(["é".repeat(10_000).as_str()].into_iter(), 1).lines[0].chars().count();
        assert_eq!(long, LINE_CHARACTERS + 1);
    }

    #[test]
    fn details_show_a_diff_in_place_of_the_result() {
        let text = shown("{}", Ok(ToolOutput::text("Successfully wrote")), Some("@@ -1 +1 @@\n-a\n+b\n"));
        assert_eq!(text, format!("{ID}  changes:\n    @@ -1 +1 @@\n    -a\n    +b\n"));
    }
}
