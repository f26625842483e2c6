//! A turn as a program sees it: one line of JSON for each event.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use haft_agent::{TurnEvent, Watcher};

/// Every event as a line of JSON on standard output, from the beginning of a turn to its end.
pub(crate) struct JsonLines(Mutex<Writing>);

struct Writing {
    to: Box<dyn Write + Send>,
    /// Whether a turn goes on. A tool that did not stop when its time was up still speaks, but nobody listens.
    open: bool,
}

impl std::fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JsonLines")
    }
}

impl JsonLines {
    pub(crate) fn new() -> Self {
        Self::to(Box::new(std::io::stdout()))
    }

    fn to(to: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(Writing { to, open: false }))
    }
}

impl Watcher for JsonLines {
    fn event(&self, event: &TurnEvent<'_>) {
        let mut writing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writing.open |= matches!(event, TurnEvent::Start { .. });
        if !writing.open {
            return;
        }
        writing.open = !matches!(event, TurnEvent::End(_));
        if let Ok(mut line) = serde_json::to_string(event) {
            line.push('\n');
            // A reader that went away is noticed by whoever writes next; there is nobody to tell here.
            writing.to.write_all(line.as_bytes()).and_then(|()| writing.to.flush()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_agent::{EndReason, TurnEnd};

    use super::*;
    use crate::terminal::screen::testing::Paper;

    #[test]
    fn the_end_of_a_turn_is_always_the_last_line_of_it() {
        let paper = Paper::default();
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
