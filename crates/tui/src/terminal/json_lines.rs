//! A turn as JSON, one line for each event.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use haft_agent::{TurnEvent, TurnWatcher};

/// Prints every event of a turn as a line of JSON on standard output.
pub struct JsonLines(Mutex<JsonWriter>);

struct JsonWriter {
    to: Box<dyn Write + Send>,
    /// Whether a turn runs. Events of a tool that runs past its timeout are dropped.
    open: bool,
}

haft_contract::opaque_debug!(JsonLines);

impl Default for JsonLines {
    fn default() -> Self {
        Self::to(Box::new(std::io::stdout()))
    }
}

impl JsonLines {
    fn to(to: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(JsonWriter { to, open: false }))
    }
}

impl TurnWatcher for JsonLines {
    fn event(&self, event: &TurnEvent<'_>) {
        let mut writing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writing.open |= matches!(event, TurnEvent::Start { .. });
        if !writing.open {
            return;
        }
        writing.open = !matches!(event, TurnEvent::End(_));
        if let Ok(mut line) = serde_json::to_string(event) {
            line.push('\n');
            // A closed pipe is reported by the next command that writes.
            writing.to.write_all(line.as_bytes()).and_then(|()| writing.to.flush()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_agent::{EndReason, TurnEnd};

    use super::*;
    use crate::terminal::screen::testing::CapturedOutput;

    #[test]
    fn turn_end_is_the_last_line() {
        let paper = CapturedOutput::default();
        let lines = JsonLines::to(Box::new(paper.clone()));
        let (start, update) =
            (TurnEvent::Start { session: "s", model: "a/b" }, TurnEvent::ToolUpdate { call_id: "1", tool: "t", message: "half\n" });
        let end = TurnEnd::new(EndReason::Done);
        for event in [&update, &start, &update, &TurnEvent::End(&end), &update, &TurnEvent::Text("late"), &start] {
            lines.event(event);
        }
        let start = r#"{"type":"turn_start","schema":1,"session":"s","model":"a/b"}"#;
        let update = r#"{"type":"tool_update","call_id":"1","tool":"t","message":"half\n"}"#;
        let kinds: Vec<String> = paper.read().lines().map(|line| line.split(',').next().unwrap().to_owned()).collect();
        assert_eq!(kinds, [r#"{"type":"turn_start""#, r#"{"type":"tool_update""#, r#"{"type":"turn_end""#, r#"{"type":"turn_start""#]);
        assert!(paper.read().starts_with(&format!("{start}\n{update}\n")), "{}", paper.read());
    }
}
