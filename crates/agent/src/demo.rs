//! The demo model: a few rules that turn plain requests into real tool calls, offline and without a key. Every answer says that
//! it is one.

mod request;

use haft_contract::BoxFuture;
use haft_provider::{
    Block, Completion, Delta, Message, Model, ModelReply, ModelTurn, OfferedTool, Protocol, ProviderError, ResultPart, Role, StopReason,
    Usage,
};
use haft_text::truncate::ellipsize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::request::{DemoRequest, requests};
use crate::Provider;
use crate::runner::text_of;

/// The beginning of every answer.
const ANNOUNCEMENT: &str = "[demo model: a few rules, not a language model]";
const HELP: &str = "I understand plain requests: \"what time is it in Tokyo\", \"read README.md\", \"write 'hello' to notes.txt\", \
                    \"fetch http://127.0.0.1:8080/\", \"search for TODO\", \"how much memory is there\", several at once with \"and\". \
                    For a real model set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or configure a provider.";
/// How much of a result is repeated in an answer.
const RESULT_CHARS: usize = 600;

/// A model made of rules, for demonstrations and tests.
#[derive(Debug)]
pub struct DemoModel {
    model: Model,
}

impl Default for DemoModel {
    fn default() -> Self {
        let mut model = Model::new("demo", Protocol::OpenAi, "demo");
        model.accepts_pictures = false;
        Self { model }
    }
}

impl Provider for DemoModel {
    fn model(&self) -> &Model {
        &self.model
    }

    fn answer<'a>(
        &'a self,
        turn: ModelTurn<'a>,
        _cancel: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        Box::pin(async move {
            let reply = reply(&turn);
            stream_blocks(&reply.blocks, each);
            Ok(Completion::new(reply))
        })
    }
}

fn stream_blocks(blocks: &[Block], each: &mut (dyn FnMut(Delta) + Send)) {
    let mut index = 0;
    for block in blocks {
        match block {
            Block::Text { text, .. } => each(Delta::Text(text.clone())),
            Block::Call { name, .. } => {
                each(Delta::CallBegun { index, name: name.clone() });
                each(Delta::CallReady { index, call: block.clone() });
                index += 1;
            }
            _ => {}
        }
    }
}

fn reply(turn: &ModelTurn<'_>) -> ModelReply {
    let blocks = match turn.messages.last() {
        Some(Message { role: Role::User, blocks }) if blocks.iter().any(|block| block.result_id().is_some()) => vec![summary(blocks)],
        // The first block is what the user wrote; files that it names follow.
        Some(Message { role: Role::User, blocks }) => calls(&text_of(&blocks[..blocks.len().min(1)]), turn),
        _ => vec![Block::text(format!("{ANNOUNCEMENT} {HELP}"))],
    };
    let stop = if blocks.iter().any(|block| block.call_id().is_some()) { StopReason::ToolCalls } else { StopReason::EndTurn };
    ModelReply::new(blocks, stop, Usage::default())
}

/// The calls that the text requests, or a list of what this model understands.
fn calls(text: &str, turn: &ModelTurn<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::text(ANNOUNCEMENT.to_owned())];
    let mut missing = Vec::new();
    for (number, request) in requests(text).into_iter().enumerate() {
        match call(&request, turn.tools) {
            Some((name, arguments)) => {
                let id = format!("demo_{}_{number}", turn.messages.len());
                blocks.push(Block::Call { id, name, arguments: arguments.to_string(), opaque: None });
            }
            None => missing.push(request.tools()[0]),
        }
    }
    let more = match (blocks.len(), missing.as_slice()) {
        (1, []) => HELP.to_owned(),
        (_, []) => return blocks,
        (_, names) => format!("I would need {}, which I am not offered; `haft explain {}` says why.", names.join(" and "), names[0]),
    };
    blocks[0] = Block::text(format!("{ANNOUNCEMENT} {more}"));
    blocks
}

/// The first offered tool for a request, in any dialect.
fn call(request: &DemoRequest, tools: &[OfferedTool]) -> Option<(String, Value)> {
    let offered = request.tools().iter().find_map(|name| tools.iter().find(|tool| tool.name == *name))?;
    Some((offered.name.clone(), request.arguments()))
}

/// The results, one after the other.
fn summary(blocks: &[Block]) -> Block {
    let line = |block: &Block| {
        let Block::Result { name, content, is_error, .. } = block else { return None };
        let failed = if *is_error { " failed" } else { "" };
        Some(format!("{name}{failed}: {}", outcome(content)))
    };
    let lines = std::iter::once(ANNOUNCEMENT.to_owned()).chain(blocks.iter().filter_map(line));
    Block::text(lines.collect::<Vec<_>>().join("\n"))
}

/// The text in the envelope of a result.
fn outcome(content: &[ResultPart]) -> String {
    let text =
        content.iter().find_map(|piece| if let ResultPart::Text { text } = piece { Some(text.as_str()) } else { None }).unwrap_or_default();
    let envelope: Value = serde_json::from_str(text).unwrap_or_default();
    let result = envelope["result"].as_str().or_else(|| envelope["message"].as_str()).unwrap_or(text).trim();
    ellipsize(result, RESULT_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(names: &[&str]) -> Vec<OfferedTool> {
        names.iter().map(|name| OfferedTool { name: (*name).into(), description: String::new(), parameters: json!({}) }).collect()
    }

    fn answered(messages: &[Message], names: &[&str]) -> ModelReply {
        let (demo, tools) = (DemoModel::default(), tools(names));
        reply(&ModelTurn { model: &demo.model, system: "", messages, tools: &tools })
    }

    fn called(text: &str, names: &[&str]) -> Vec<(String, Value)> {
        let reply = answered(&[Message::user(text)], names);
        let call = |block: &Block| match block {
            Block::Call { name, arguments, .. } => Some((name.clone(), serde_json::from_str(arguments).unwrap())),
            _ => None,
        };
        reply.blocks.iter().filter_map(call).collect()
    }

    #[test]
    fn plain_requests_become_calls() {
        let all = ["get_current_time", "read_file", "write_file", "http_request", "system_info", "notify", "grep_search", "exec", "agent"];
        for (text, expected) in [
            ("What time is it?", vec![("get_current_time", json!({}))]),
            ("what time is it in Tokyo", vec![("get_current_time", json!({"timezone": "Asia/Tokyo"}))]),
            (
                "What time is it in Tokyo, and what does README.md say?",
                vec![("get_current_time", json!({"timezone": "Asia/Tokyo"})), ("read_file", json!({"path": "README.md"}))],
            ),
            (
                "read src/main.rs and notes.txt",
                vec![("read_file", json!({"path": "src/main.rs"})), ("read_file", json!({"path": "notes.txt"}))],
            ),
            ("write 'buy milk and eggs' to list.txt", vec![("write_file", json!({"path": "list.txt", "content": "buy milk and eggs"}))]),
            ("create notes.txt with hello there", vec![("write_file", json!({"path": "notes.txt", "content": "hello there"}))]),
            ("write hello there to notes.txt", vec![("write_file", json!({"path": "notes.txt", "content": "hello there"}))]),
            ("fetch http://127.0.0.1:8080/a.txt", vec![("http_request", json!({"url": "http://127.0.0.1:8080/a.txt"}))]),
            ("run `cargo test`", vec![("exec", json!({"command": "cargo test"}))]),
            ("search for \"TODO\"", vec![("grep_search", json!({"pattern": "TODO"}))]),
            (
                "let an explorer \"read plan.toml\"",
                vec![("agent", json!({"prompt": "read plan.toml", "description": "read plan.toml", "subagent_type": "explore"}))],
            ),
            ("how much memory is there?", vec![("system_info", json!({}))]),
            ("tell me a joke", vec![]),
        ] {
            let expected: Vec<(String, Value)> = expected.into_iter().map(|(name, arguments)| (name.to_owned(), arguments)).collect();
            assert_eq!(called(text, &all), expected, "{text}");
        }
    }

    #[test]
    fn it_uses_the_names_it_is_shown_and_says_what_it_lacks() {
        assert_eq!(called("read a.txt", &["read"]), [("read".to_owned(), json!({"path": "a.txt"}))]);
        let reply = answered(&[Message::user("read a.txt")], &[]);
        let expected = format!("{ANNOUNCEMENT} I would need read_file, which I am not offered; `haft explain read_file` says why.");
        assert_eq!(reply, ModelReply::new(vec![Block::text(expected)], StopReason::EndTurn, Usage::default()));
    }

    #[test]
    fn results_are_repeated_and_it_always_says_what_it_is() {
        let result = |name: &str, envelope: Value, is_error| Block::Result {
            id: name.into(),
            name: name.into(),
            content: vec![ResultPart::Text { text: envelope.to_string() }],
            is_error,
        };
        let results = Message::results(vec![
            result("noop", json!({"status": "success", "result": "done"}), false),
            result("read_file", json!({"status": "error", "error_type": "file_not_found", "message": "File not found: a"}), true),
        ]);
        let text = format!("{ANNOUNCEMENT}\nnoop: done\nread_file failed: File not found: a");
        assert_eq!(answered(&[results], &[]), ModelReply::new(vec![Block::text(text)], StopReason::EndTurn, Usage::default()));
    }
}
