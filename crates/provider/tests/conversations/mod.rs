//! Conversations that adapters are tested with, and streams played into their decoders.

// Every test binary uses its part.
#![allow(dead_code)]

pub(crate) mod random;

use std::sync::Arc;

use haft_provider::{
    Adapter, Block, Delta, Message, Model, ModelReply, ModelTurn, OfferedTool, Opaque, Protocol, ProviderError, ResultPart, StreamDecoder,
};
use serde_json::{Value, json};

/// A red dot.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

pub(crate) fn tools() -> Vec<OfferedTool> {
    let tool = |name: &str, description: &str, parameters| OfferedTool {
        name: name.into(),
        description: description.into(),
        parameters: Arc::new(parameters),
    };
    vec![
        tool("get_current_time", "The time now.", json!({"type": "object", "properties": {}})),
        tool(
            "read_file",
            "The content of a file.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where it is"},
                    "lines": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["path"],
            }),
        ),
        tool(
            "mcp/a server with a long name/take a screenshot of the whole page and all of its frames",
            "A picture of the page.",
            json!({"type": "object", "properties": {"full": {"type": "boolean"}}}),
        ),
        tool("broken", "Its schema is no object.", json!({"type": "string"})),
    ]
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::Call { id: id.into(), name: name.into(), arguments: arguments.into(), opaque: None }
}

pub(crate) fn with_opaque(block: Block, new: Opaque) -> Block {
    match block {
        Block::Text { text, .. } => Block::Text { text, opaque: Some(new) },
        Block::Thinking { text, .. } => Block::Thinking { text, opaque: Some(new) },
        Block::Call { id, name, arguments, .. } => Block::Call { id, name, arguments, opaque: Some(new) },
        other => other,
    }
}

pub(crate) fn thinking(text: &str, opaque: Option<Opaque>) -> Block {
    Block::Thinking { text: text.into(), opaque }
}

pub(crate) fn opaque(protocol: Protocol, provider: &str, value: Value) -> Opaque {
    Opaque { protocol, provider: provider.into(), value }
}

pub(crate) fn result(id: &str, name: &str, content: Vec<ResultPart>, is_error: bool) -> Block {
    Block::Result { id: id.into(), name: name.into(), content, is_error }
}

pub(crate) fn text(text: &str) -> ResultPart {
    ResultPart::Text { text: text.into() }
}

pub(crate) fn png() -> ResultPart {
    ResultPart::Image { mime: "image/png".into(), data: PNG.into() }
}

pub(crate) fn a_text_turn() -> Vec<Message> {
    vec![Message::user("Good morning"), Message::assistant(vec![Block::text("Hello. What can I do?")]), Message::user("Tell me a joke.")]
}

pub(crate) fn a_picture() -> Vec<Message> {
    let picture = |mime: &str| Block::Image { mime: mime.into(), data: PNG.into() };
    let mut message = Message::user("What is on these?");
    message.blocks.extend([picture("image/png"), picture("image/x-unknown")]);
    vec![message]
}

/// Three parallel calls: one returns an image of an unsupported type, one fails with an image, one returns an image; then the user adds a text.
pub(crate) fn parallel_calls() -> Vec<Message> {
    let screenshot = &tools()[2].name;
    let bitmap = ResultPart::Image { mime: "image/bmp".into(), data: "Qk0=".into() };
    vec![
        Message::user("What is the time, what does README.md say, and how does the page look?"),
        Message::assistant(vec![
            Block::text("I look at all three."),
            call("toolu_01", "get_current_time", ""),
            call("toolu_02", "read_file", r#"{"path":"README.md"}"#),
            call("toolu_03", screenshot, r#"{"full":true}"#),
        ]),
        Message::results(vec![
            result("toolu_01", "get_current_time", vec![text(r#"{"status":"success","result":"12:00"}"#), bitmap], false),
            result(
                "toolu_02",
                "read_file",
                vec![text(r#"{"status":"error","error_type":"file_not_found","message":"File not found: README.md"}"#), png()],
                true,
            ),
            result("toolu_03", screenshot, vec![text(r#"{"status":"success","result":"1 picture"}"#), png()], false),
        ]),
        Message::user("And be quick."),
    ]
}

/// A session that began with other providers: foreign thoughts, long ids, ids that come again, arguments that are no object.
pub(crate) fn moved_in() -> Vec<Message> {
    let reasoning = opaque(Protocol::OpenAiResponses, "openai", json!({"type": "reasoning", "encrypted_content": "gAAAA"}));
    let long = "call_with/an id that is longer than sixty-four characters and has spaces in it";
    vec![
        Message::user("Begin"),
        Message::assistant(vec![
            thinking("hm", Some(reasoning.clone())),
            with_opaque(call(long, "read_file", r#"{"path":"a"}"#), reasoning.clone()),
        ]),
        Message::results(vec![result(long, "read_file", vec![text("a")], false)]),
        Message::assistant(vec![thinking("only thought", Some(reasoning)), Block::text("")]),
        Message::user("Continue"),
        Message::assistant(vec![call("call_0", "gone_tool", "not json"), call("call_1", "read_file", "[1]")]),
        Message::results(vec![result("call_0", "gone_tool", vec![], true), result("call_1", "read_file", vec![text("")], false)]),
        Message::assistant(vec![call("call_0", "get_current_time", "{}")]),
        Message::results(vec![result("call_0", "get_current_time", vec![text("12:00")], false)]),
    ]
}

/// The request of a conversation, as a golden file holds it.
pub(crate) fn golden(adapter: &dyn Adapter, model: &Model, messages: &[Message]) -> Value {
    let tools = tools();
    let encoded = adapter.encode(&ModelTurn { model, system: "You are helpful.", messages, tools: &tools });
    let headers: serde_json::Map<String, Value> = encoded.headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({"path": encoded.path, "headers": headers, "warnings": encoded.warnings, "body": encoded.body})
}

/// Name and data of every event.
pub(crate) type Events = Vec<(String, String)>;

/// The events of a recorded stream.
pub(crate) fn events(stream: &str) -> Events {
    let blocks = stream.split("\n\n").filter(|block| !block.trim().is_empty());
    blocks
        .map(|block| {
            let field = |name: &str| block.lines().filter_map(|line| line.strip_prefix(name)).collect::<Vec<_>>().join("\n");
            (field("event: "), field("data: "))
        })
        .collect()
}

/// Everything that a decoder makes of some events.
pub(crate) fn play(
    adapter: &dyn Adapter,
    model: &Model,
    messages: &[Message],
    events: &[(String, String)],
) -> (Vec<Delta>, Result<ModelReply, ProviderError>) {
    let tools = tools();
    let mut decoder: Box<dyn StreamDecoder> = adapter.decoder(&ModelTurn { model, system: "", messages, tools: &tools });
    let mut deltas = Vec::new();
    for (name, data) in events {
        if let Err(error) = decoder.event(name, data, &mut deltas) {
            return (deltas, Err(error));
        }
    }
    let reply = decoder.finish(&mut deltas);
    (deltas, reply)
}

/// A line for everything that came, and for every block of the reply.
pub(crate) fn told(played: &(Vec<Delta>, Result<ModelReply, ProviderError>)) -> String {
    let mut lines: Vec<String> = played.0.iter().map(|delta| format!("{delta:?}")).collect();
    match &played.1 {
        Ok(reply) => {
            lines.push(format!("-- {:?}, {:?}", reply.stop, reply.usage));
            lines.extend(reply.blocks.iter().map(|block| json!(block).to_string()));
        }
        Err(error) => lines.push(format!("-- {:?}, {:?}: {error}", error.kind, error.status)),
    }
    lines.join("\n")
}

pub(crate) fn ready(deltas: &[Delta]) -> Vec<&Block> {
    deltas.iter().filter_map(|delta| if let Delta::CallReady { call, .. } = delta { Some(call) } else { None }).collect()
}

/// Cut after any number of events, a stream says what the whole one has said by then, and no more; before its end it is an error
/// that may go away when it is tried again.
pub(crate) fn assert_cuts_are_prefixes(adapter: &dyn Adapter, model: &Model, events: &[(String, String)], is_end: impl Fn(&str) -> bool) {
    let (whole, _) = play(adapter, model, &[], events);
    for cut in 0..events.len() {
        let (deltas, reply) = play(adapter, model, &[], &events[..cut]);
        assert_eq!(deltas, whole[..deltas.len()], "cut after {cut} events");
        let ended = events[..cut].iter().any(|(_, data)| is_end(data));
        assert_eq!(reply.is_ok(), ended, "cut after {cut} events");
        assert!(reply.is_ok() || reply.is_err_and(|error| error.is_retryable()), "cut after {cut} events");
    }
}
