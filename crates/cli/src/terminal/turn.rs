//! A turn as a person sees it: the model's words as they come, one line for each call; or one line of JSON for each event.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use haft_agent::{EndReason, TurnEnd, TurnEvent, Watcher};
use haft_contract::{ToolResult, visible};
use serde_json::Value;

use crate::commands::history::duration;
use crate::output::{BAD, DIM, GOOD, Output, note, warn};

/// How much of an argument a line shows.
const SHOWN_CHARACTERS: usize = 60;

/// Every event as a line of JSON on standard output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonLines;

impl Watcher for JsonLines {
    fn event(&self, event: &TurnEvent<'_>) {
        // A reader that went away is noticed by whoever writes next; there is nobody to tell here.
        if let Ok(line) = serde_json::to_string(event) {
            let mut out = std::io::stdout().lock();
            drop(writeln!(out, "{line}").and_then(|()| out.flush()));
        }
    }
}

/// The model's words on standard output, everything else on standard error.
#[derive(Debug)]
pub(crate) struct TurnOnTerminal {
    symbols: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the last word of the model was not the end of a line.
    mid_line: bool,
    /// What each call is about, for its line.
    subjects: HashMap<String, String>,
}

impl TurnOnTerminal {
    pub(crate) fn new(output: &Output) -> Self {
        Self { symbols: output.has_symbols(), state: Mutex::default() }
    }

    fn says(&self, text: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.mid_line = !text.ends_with('\n');
        let mut out = std::io::stdout().lock();
        drop(write!(out, "{}", visible::lines(text)).and_then(|()| out.flush()));
    }

    fn end_line(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut state.mid_line) {
            drop(writeln!(std::io::stdout()));
        }
    }

    fn begins(&self, call_id: &str, arguments: &str) {
        let subject = subject(arguments);
        self.state.lock().unwrap_or_else(PoisonError::into_inner).subjects.insert(call_id.to_owned(), subject);
    }

    /// `✓ read_file README.md · 3 ms`.
    fn ends(&self, result: &ToolResult) {
        self.end_line();
        let subject = self.state.lock().unwrap_or_else(PoisonError::into_inner).subjects.remove(&result.call_id).unwrap_or_default();
        let (mark, word, style) = if result.is_success() { ("✓", "ok", GOOD) } else { ("✗", "failed", BAD) };
        let mark = if self.symbols { mark } else { word };
        let why = result.outcome.as_ref().err().map(|error| format!(" · {}", visible::line(error.message()))).unwrap_or_default();
        note(&format!("{style}{mark}{style:#} {} {subject}{DIM} · {}{DIM:#}{why}", visible::line(&result.tool), duration(result.elapsed)));
    }

    fn over(&self, end: &TurnEnd) {
        self.end_line();
        match end.reason {
            EndReason::Loop => warn("the model ran in circles, so the turn was ended"),
            EndReason::MaxRounds => warn("the turn was ended after as many rounds as are allowed"),
            EndReason::MaxTokens => warn("the answer was cut at the model's limit"),
            EndReason::Refused => warn("the model, or a filter of its provider, refused"),
            _ => {}
        }
        if end.usage.input + end.usage.output > 0 {
            note(&format!("{DIM}{} tokens in, {} out, {} rounds{DIM:#}", end.usage.input, end.usage.output, end.rounds));
        }
    }
}

impl Watcher for TurnOnTerminal {
    fn event(&self, event: &TurnEvent<'_>) {
        match event {
            TurnEvent::Text(text) => self.says(text),
            TurnEvent::ToolStart { call_id, arguments, .. } => self.begins(call_id, arguments),
            TurnEvent::ToolEnd(result) => self.ends(result),
            TurnEvent::Notice(text) => {
                self.end_line();
                note(&visible::line(text));
            }
            TurnEvent::End(end) => self.over(end),
            _ => {}
        }
    }
}

/// The argument that says most: the first text among them.
fn subject(arguments: &str) -> String {
    let value: Value = serde_json::from_str(arguments).unwrap_or_default();
    let first = ["path", "command", "url", "pattern", "query", "message"].iter().find_map(|name| value[*name].as_str());
    let text = first.or_else(|| value.as_object()?.values().find_map(Value::as_str)).unwrap_or_default();
    let text = visible::line(text);
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_what_it_is_about() {
        for (arguments, expected) in [
            (r#"{"limit":3,"path":"a.txt"}"#, "a.txt"),
            (r#"{"city":"Tokyo","n":1}"#, "Tokyo"),
            ("", ""),
            ("not json", ""),
            (r#"{"path":"x\u001b[2J"}"#, "x\\u{1b}[2J"),
        ] {
            assert_eq!(subject(arguments), expected, "{arguments}");
        }
        assert_eq!(subject(&format!(r#"{{"path":"{}"}}"#, "x".repeat(100))).chars().count(), SHOWN_CHARACTERS + 1);
    }
}
