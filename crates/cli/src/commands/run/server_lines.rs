//! Events of a server as the lines that `haft run --json` prints without one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What the lines of a turn need to know of those before.
#[derive(Debug, Default)]
pub(super) struct ServerLines {
    /// The last text of the model.
    text: String,
    /// Tools of the calls that have begun and not ended, by their ids.
    running: BTreeMap<String, Value>,
    /// Open approvals by their ids.
    asked: BTreeMap<String, Value>,
}

impl ServerLines {
    /// The first line.
    pub(super) fn start(session: &str, model: &Value) -> Value {
        json!({ "type": "turn_start", "schema": 1, "session": session, "model": model })
    }

    /// The lines of an event.
    pub(super) fn of_event(&mut self, name: &str, data: &Value) -> Vec<Value> {
        match name {
            "item" => self.item(&data["item"]),
            "text" => {
                self.text += data["delta"].as_str().unwrap_or_default();
                vec![json!({ "type": "text_delta", "text": data["delta"] })]
            }
            "thinking" => vec![json!({ "type": "thinking_delta", "text": data["delta"] })],
            "call" => self.call(&data["call"]),
            "progress" => {
                let tool = data["call"].as_str().and_then(|id| self.running.get(id));
                vec![json!({ "type": "tool_update", "call_id": data["call"], "tool": tool, "message": data["line"] })]
            }
            "approval" => vec![self.note_approval(&data["approval"])],
            "approval_closed" => self.close_approval(data),
            "todos" => vec![json!({ "type": "todos", "todos": data["todos"] })],
            _ => Vec::new(),
        }
    }

    /// The last lines of a turn whose end is not known.
    pub(super) fn break_off(&mut self, error: &str) -> Vec<Value> {
        let mut lines = self.end_calls();
        lines.push(json!({ "type": "turn_end", "reason": "failed", "text": self.text, "error": error }));
        lines
    }

    fn item(&mut self, item: &Value) -> Vec<Value> {
        match item["type"].as_str().unwrap_or_default() {
            "assistant" => {
                self.text.clear();
                Vec::new()
            }
            "call" => self.call(&item["call"]),
            "notice" => vec![json!({ "type": "notice", "text": item["text"] })],
            "message" => vec![json!({ "type": "message", "message": item["text"], "level": item["level"] })],
            "turn_end" => self.end(item),
            _ => Vec::new(),
        }
    }

    /// A call begins with the first event about it, and ends with the first that has a result.
    fn call(&mut self, call: &Value) -> Vec<Value> {
        let id = call["id"].as_str().unwrap_or_default();
        let is_open = matches!(call["state"].as_str(), Some("queued" | "planning" | "waiting" | "running"));
        if is_open {
            let is_new = self.running.insert(id.to_owned(), call["tool"].clone()).is_none();
            let start = || json!({ "type": "tool_start", "call_id": id, "tool": call["tool"], "arguments": call["arguments"] });
            return is_new.then(start).into_iter().collect();
        }
        if self.running.remove(id).is_none() {
            return Vec::new();
        }
        let mut end = json!({ "type": "tool_end", "call_id": id, "tool": call["tool"] });
        let fields = if call["state"] == "success" {
            json!({ "status": "success", "result": call["result"] })
        } else {
            json!({ "status": "error", "error_type": call["error_type"], "message": call["message"] })
        };
        for (name, value) in fields.as_object().into_iter().flatten().chain([(&"duration_ms".to_owned(), &call["duration_ms"])]) {
            end[name] = value.clone();
        }
        vec![end]
    }

    fn note_approval(&mut self, approval: &Value) -> Value {
        let line = json!({
            "type": "approval", "call_id": approval["call_id"], "tool": approval["tool"], "effects": approval["effects"],
            "reason": approval["reason"],
        });
        self.asked.insert(approval["id"].as_str().unwrap_or_default().to_owned(), line.clone());
        line
    }

    fn close_approval(&mut self, closed: &Value) -> Vec<Value> {
        let asked = closed["id"].as_str().and_then(|id| self.asked.remove(id));
        let answered = asked.map(|mut line| {
            line["answer"] = closed["answer"].clone();
            line
        });
        answered.into_iter().collect()
    }

    fn end(&mut self, item: &Value) -> Vec<Value> {
        const TOKENS: [&str; 4] = ["input_tokens", "output_tokens", "cached_tokens", "cost"];
        let mut usage = json!({ "type": "usage" });
        let mut end = json!({ "type": "turn_end", "reason": item["reason"], "text": self.text });
        for name in TOKENS {
            usage[name] = item[name].clone();
        }
        for name in ["rounds", "calls"].into_iter().chain(TOKENS).chain(["context_tokens", "duration_ms"]) {
            end[name] = item[name].clone();
        }
        if item["error"].is_string() {
            end["error"] = item["error"].clone();
        }
        self.end_calls().into_iter().chain([usage, end]).collect()
    }

    /// Each call that began has one result.
    fn end_calls(&mut self) -> Vec<Value> {
        let end = |(id, tool)| {
            json!({
                "type": "tool_end", "call_id": id, "tool": tool, "status": "error", "error_type": "cancelled",
                "message": "The turn ended before the result of this call was known.",
            })
        };
        std::mem::take(&mut self.running).into_iter().map(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_of_a_server_has_the_lines_of_one_without() {
        let mut lines = ServerLines::default();
        let call = |state: &str| {
            json!({ "id": "c1", "tool": "read_file", "state": state, "arguments": { "path": "a" }, "result": "hi",
            "error_type": "cancelled", "message": "no", "duration_ms": 1.5 })
        };
        let events = [
            ("hello", json!({ "seq": 1 })),
            ("item", json!({ "item": { "type": "call", "call": call("running") } })),
            ("progress", json!({ "call": "c1", "line": "half" })),
            ("approval", json!({ "approval": { "id": "q1", "call_id": "c1", "tool": "read_file", "effects": [], "reason": "why" } })),
            ("call", json!({ "call": call("waiting") })),
            ("approval_closed", json!({ "id": "q1", "answer": "once" })),
            ("call", json!({ "call": call("success") })),
            ("call", json!({ "call": call("success") })),
            ("item", json!({ "item": { "type": "assistant" } })),
            ("text", json!({ "delta": "Do" })),
            ("text", json!({ "delta": "ne" })),
            ("item", json!({ "item": { "type": "call", "call": { "id": "c2", "tool": "exec", "state": "running" } } })),
            ("item", json!({ "item": { "type": "turn_end", "reason": "done", "rounds": 2, "calls": 1, "input_tokens": 3 } })),
        ];
        let printed: Vec<Value> = events.iter().flat_map(|(name, data)| lines.of_event(name, data)).collect();
        let kinds: Vec<&str> = printed.iter().map(|line| line["type"].as_str().unwrap()).collect();
        let expected = [
            "tool_start",
            "tool_update",
            "approval",
            "approval",
            "tool_end",
            "text_delta",
            "text_delta",
            "tool_start",
            "tool_end",
            "usage",
            "turn_end",
        ];
        assert_eq!(kinds, expected);
        let end =
            json!({ "type": "tool_end", "call_id": "c1", "tool": "read_file", "status": "success", "result": "hi", "duration_ms": 1.5 });
        assert_eq!(printed[4], end);
        assert_eq!((&printed[3]["answer"], &printed[8]["call_id"]), (&json!("once"), &json!("c2")));
        assert_eq!((&printed[10]["text"], &printed[10]["rounds"]), (&json!("Done"), &json!(2)));
        assert_eq!(lines.break_off("gone")[0]["reason"], "failed");
    }
}
