//! Shared helpers: parts of a conversation, and streams fed event by event.

use haft_provider::{
    Adapter, Block, Delta, Message, Model, ModelReply, ModelTurn, OfferedTool, Opaque, OpenAiChat, OpenAiResponses, Protocol,
    ProviderError, ResultPart,
};
use serde_json::{Value, json};

pub(crate) const PIXEL: &str = "iVBORw0KGgo=";

pub(crate) fn adapter(protocol: Protocol) -> Box<dyn Adapter> {
    if protocol == Protocol::OpenAi { Box::new(OpenAiChat) } else { Box::new(OpenAiResponses) }
}

pub(crate) fn model(protocol: Protocol) -> Model {
    Model::new("openai", protocol, "gpt-5.2")
}

pub(crate) fn tool(name: &str, parameters: Value) -> OfferedTool {
    OfferedTool { name: name.into(), description: format!("What {name} does."), parameters: parameters.into() }
}

/// Tools: strict, not strict, with a name that does not fit, with a schema that cannot be projected.
pub(crate) fn tools() -> Vec<OfferedTool> {
    let path = json!({"type": "string", "description": "Where."});
    vec![
        tool("read_file", json!({"type": "object", "properties": {"path": path}, "required": ["path"], "additionalProperties": false})),
        tool(
            "grep",
            json!({"type": "object", "properties": {"pattern": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
                "required": ["pattern"], "additionalProperties": false}),
        ),
        tool("files.example/list everything", json!({"type": "object", "properties": {}})),
        tool("unspeakable", json!({"type": "string"})),
    ]
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::Call { id: id.into(), name: name.into(), arguments: arguments.into(), opaque: None }
}

pub(crate) fn result(id: &str, name: &str, content: Vec<ResultPart>, is_error: bool) -> Block {
    Block::Result { id: id.into(), name: name.into(), content, is_error }
}

pub(crate) fn text(text: &str) -> ResultPart {
    ResultPart::Text { text: text.into() }
}

pub(crate) fn picture(mime: &str) -> ResultPart {
    ResultPart::Image { mime: mime.into(), data: PIXEL.into() }
}

pub(crate) fn thinking(text: &str, opaque: impl Into<Option<Opaque>>) -> Block {
    Block::Thinking { text: text.into(), opaque: opaque.into() }
}

pub(crate) fn opaque(protocol: Protocol, provider: &str, value: Value) -> Opaque {
    Opaque { protocol, provider: provider.into(), value }
}

/// A call of the model and its result.
pub(crate) fn round(id: &str) -> Vec<Message> {
    let answer = vec![text(r#"{"status":"success","result":"ok"}"#)];
    vec![Message::assistant(vec![call(id, "read_file", r#"{"path":"a"}"#)]), Message::results(vec![result(id, "read_file", answer, false)])]
}

/// The events of a stream as a server writes it: name and data.
pub(crate) fn events(stream: &str) -> Vec<(String, String)> {
    let field = |event: &str, name: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix(name)).map(|rest| rest.strip_prefix(' ').unwrap_or(rest).to_owned());
        lines.collect::<Vec<_>>().join("\n")
    };
    stream.split("\n\n").filter(|event| !event.trim().is_empty()).map(|event| (field(event, "event:"), field(event, "data:"))).collect()
}

/// The deltas of a stream, and its reply or error.
pub(crate) type Decoded = (Vec<Delta>, Result<ModelReply, ProviderError>);

pub(crate) fn decode(protocol: Protocol, messages: &[Message], events: &[(String, String)]) -> Decoded {
    let (model, tools) = (model(protocol), tools());
    let turn = ModelTurn { model: &model, system: "", messages, tools: &tools };
    let mut decoder = adapter(protocol).decoder(&turn);
    let mut out = Vec::new();
    for (name, data) in events {
        if let Err(error) = decoder.event(name, data, &mut out) {
            return (out, Err(error));
        }
    }
    let reply = decoder.finish(&mut out);
    (out, reply)
}

pub(crate) fn ready(deltas: &[Delta]) -> Vec<(usize, Block)> {
    let ready =
        deltas.iter().filter_map(|delta| if let Delta::CallReady { index, call } = delta { Some((*index, call.clone())) } else { None });
    ready.collect()
}

/// Cuts the stream after every event: what was handed out is the beginning of what the whole stream hands out, nothing runs
/// that is not in the whole answer, and the answer is either the whole one or none.
pub(crate) fn check_cuts(protocol: Protocol, events: &[(String, String)]) {
    let (whole, end) = decode(protocol, &[], events);
    for kept in 0..events.len() {
        let (part, cut_end) = decode(protocol, &[], &events[..kept]);
        for call in ready(&part) {
            assert!(ready(&whole).contains(&call), "{call:?} after {kept} events");
            assert!(end.as_ref().map_or(true, |reply| reply.blocks.contains(&call.1)), "{call:?} after {kept} events");
        }
        if let Ok(reply) = cut_end {
            assert_eq!(Ok(&reply.blocks), end.as_ref().map(|reply| &reply.blocks), "after {kept} events");
        } else {
            assert_eq!(whole[..part.len()], part, "after {kept} events");
        }
    }
}
