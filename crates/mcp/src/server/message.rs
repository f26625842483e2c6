//! What a client sends, read strictly: the line of a pipe, and the body of a request over HTTP.

use haft_contract::json::parse_strict;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonObject, JsonRpcMessage,
    MetaObject, RequestId, RequestMetaObject,
};
use serde_json::Value;

/// The key of the token under which a client wants progress.
const PROGRESS_TOKEN: &str = "progressToken";

/// The longest id of a request, in bytes: ids are kept, those of cancelled calls for a while after their end.
const LONGEST_ID: usize = 1024;

/// A line that is no message.
pub(super) struct MessageFault {
    pub(super) id: Option<RequestId>,
    pub(super) error: ErrorData,
}

/// What a line says.
#[expect(clippy::large_enum_variant, reason = "nearly every message is a call, which is used at once")]
pub(super) enum ParsedLine {
    /// A call of the usual shape, which is nearly every message.
    Call(DirectCall),
    /// A request for the first page of the tools, with which clients begin; the message is for the SDK.
    List(RequestId, Value),
    /// Anything else that the SDK knows.
    Message(Box<ClientJsonRpcMessage>),
    /// A notification that is not known.
    Nothing,
}

/// A call of the usual shape, which can be answered without the SDK.
pub(super) struct DirectCall {
    pub(super) id: RequestId,
    pub(super) params: CallToolRequestParams,
    pub(super) meta: Option<JsonObject>,
}

impl DirectCall {
    /// Whether nothing about the call needs the SDK: it says no more of itself than where its progress goes.
    pub(super) fn is_plain(&self) -> bool {
        self.meta.as_ref().is_none_or(|meta| meta.keys().all(|key| key == PROGRESS_TOKEN))
    }

    /// The same call for the SDK.
    pub(super) fn into_message(self) -> ClientJsonRpcMessage {
        let mut request = CallToolRequest::new(self.params);
        if let Some(meta) = self.meta {
            request.extensions.insert(RequestMetaObject(MetaObject(meta)));
        }
        JsonRpcMessage::request(ClientRequest::CallToolRequest(request), self.id)
    }
}

/// Parses a message.
pub(super) fn parse(line: &[u8]) -> Result<ParsedLine, Box<MessageFault>> {
    let fault = |id, code, text: String| Box::new(MessageFault { id, error: ErrorData::new(code, text, None) });
    let text = std::str::from_utf8(line).map_err(|_| fault(None, ErrorCode::PARSE_ERROR, "The message is not UTF-8.".to_owned()))?;
    let value = match parse_strict(text) {
        Ok(value) => value,
        Err(error) => {
            return Err(fault(id_of_unreadable(text), ErrorCode::PARSE_ERROR, format!("The message is not JSON: {error}.")));
        }
    };
    if value.get("id").and_then(Value::as_str).is_some_and(|id| id.len() > LONGEST_ID) {
        return Err(fault(None, ErrorCode::INVALID_REQUEST, format!("The id is longer than {LONGEST_ID} bytes: use a shorter one.")));
    }
    let value = match call_request(value) {
        Ok(call) => return Ok(ParsedLine::Call(call)),
        Err(value) => value,
    };
    if is_plain_list(&value)
        && let Some(id) = id_of(&value)
    {
        return Ok(ParsedLine::List(id, value));
    }
    if let Some(refused) = refuse_shape(&value) {
        return Err(Box::new(refused));
    }
    let (id, is_notification) = (id_of(&value), value.get("method").is_some() && value.get("id").is_none());
    match serde_json::from_value(value) {
        Ok(message) => Ok(ParsedLine::Message(Box::new(message))),
        Err(_) if is_notification => Ok(ParsedLine::Nothing),
        Err(_) => Err(fault(id, ErrorCode::INVALID_REQUEST, "This is not a message of JSON-RPC 2.0 that MCP knows.".to_owned())),
    }
}

/// Why a message is refused by its shape, which every reader refuses in the same words.
pub(super) fn refuse_shape(value: &Value) -> Option<MessageFault> {
    let is_id = |id: &Value| id.is_string() || id.is_i64();
    let why = match value {
        Value::Array(_) => "Batches are not supported: send one message at a time.",
        Value::Object(message) if message.get("id").is_some_and(|id| !is_id(id)) && message.contains_key("method") => {
            "The id of a request is a text or a whole number."
        }
        _ => return None,
    };
    Some(MessageFault { id: None, error: ErrorData::invalid_request(why, None) })
}

/// The id of a message that is refused for what else is in it, such as half a character, a number beyond all limits or a depth without end:
/// a client that got no answer would wait for it.
pub(super) fn id_of_unreadable(text: &str) -> Option<RequestId> {
    #[derive(serde::Deserialize)]
    struct Identified {
        id: Value,
    }
    let whole = || serde_json::from_str(text).ok().and_then(|value: Value| id_of(&value));
    serde_json::from_str::<Identified>(text).ok().and_then(|Identified { id }| short_id(id)).or_else(whole)
}

/// The id of a request, unless it is too long to be kept.
pub(super) fn id_of(value: &Value) -> Option<RequestId> {
    value.get("id").cloned().and_then(short_id)
}

fn short_id(id: Value) -> Option<RequestId> {
    let is_short = id.as_str().is_none_or(|id| id.len() <= LONGEST_ID);
    is_short.then(|| serde_json::from_value(id).ok()).flatten()
}

/// A call of the usual shape. The SDK tries one kind of request after the other on a copy; any other shape is left to it.
pub(super) fn call_request(value: Value) -> Result<DirectCall, Value> {
    let Value::Object(mut message) = value else { return Err(value) };
    let id = match message.get("id") {
        Some(Value::Number(number)) => number.as_i64().map(RequestId::Number),
        Some(Value::String(text)) => Some(RequestId::String(text.as_str().into())),
        _ => None,
    };
    let is_call = message.len() == 4
        && message.get("jsonrpc").is_some_and(|version| version == "2.0")
        && message.get("method").is_some_and(|method| method == "tools/call")
        && message.get("params").is_some_and(is_usual);
    match (id, message.get_mut("params")) {
        (Some(id), Some(Value::Object(params))) if is_call => Ok(call_of(id, params)),
        _ => Err(Value::Object(message)),
    }
}

/// Whether this asks for the tools from the first on, and says nothing else.
fn is_plain_list(value: &Value) -> bool {
    let Some(message) = value.as_object() else { return false };
    let is_list = message.get("method").is_some_and(|method| method == "tools/list");
    let is_empty = |params: &Value| params.as_object().is_some_and(JsonObject::is_empty);
    let is_known = |(key, value): (&String, &Value)| match key.as_str() {
        "jsonrpc" => value == "2.0",
        "id" | "method" => true,
        "params" => is_empty(value),
        _ => false,
    };
    is_list && message.len() >= 3 && message.iter().all(is_known)
}

/// Whether parameters of a call have no other fields than these.
fn is_usual(params: &Value) -> bool {
    let is_known = |(key, value): (&String, &Value)| match key.as_str() {
        "name" => value.is_string(),
        "arguments" | "_meta" => value.is_object(),
        _ => false,
    };
    params.as_object().is_some_and(|params| params.contains_key("name") && params.iter().all(is_known))
}

fn call_of(id: RequestId, params: &mut JsonObject) -> DirectCall {
    let mut take = |key: &str| params.get_mut(key).map(Value::take);
    let mut call = CallToolRequestParams::default();
    if let Some(Value::String(name)) = take("name") {
        call.name = name.into();
    }
    if let Some(Value::Object(arguments)) = take("arguments") {
        call.arguments = Some(arguments);
    }
    let meta = take("_meta").and_then(|meta| if let Value::Object(meta) = meta { Some(meta) } else { None });
    DirectCall { id, params: call, meta }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> Option<i32> {
        parse(line.as_bytes()).err().map(|fault| fault.error.code.0)
    }

    #[test]
    fn what_is_no_message_has_its_error() {
        let deep = "[".repeat(10_000);
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","method":"notifications/unheard_of","params":{}}"#, None),
            ("garbage", Some(-32700)),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, Some(-32700)),
            (r#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#, Some(-32700)),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Some(-32600)),
            (r#"{"id":1,"method":"ping"}"#, Some(-32600)),
            (r#"{"jsonrpc":"2.0","id":1}"#, Some(-32600)),
            ("\"text\"", Some(-32600)),
            (deep.as_str(), Some(-32700)),
        ] {
            assert_eq!(code(line), expected, "{}", &line[..line.len().min(80)]);
        }
        assert_eq!(parse(b"\"\xff\"").err().map(|fault| fault.error.code.0), Some(-32700));
    }

    #[test]
    fn message_that_cannot_be_read_is_answered_under_its_id() {
        let deep = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping","params":1e999}}"#, "x".repeat(LONGEST_ID + 1));
        let number = Some(RequestId::Number(7));
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"text":"half \ud83d"}}}"#, number.clone()),
            (r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","arguments":{"n":1e999}},"id":7}"#, number.clone()),
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":1,"a":2}}"#, number.clone()),
            (deep.as_str(), number),
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"n":1e999}}"#, Some(RequestId::String("a".into()))),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping","params":{"n":1e999}}"#, None),
            (long.as_str(), None),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#, None),
        ] {
            let fault = parse(line.as_bytes()).err().unwrap();
            assert_eq!((fault.error.code.0, fault.id), (-32700, expected), "{}", &line[..line.len().min(90)]);
        }
    }

    #[test]
    fn call_of_the_usual_shape_is_what_the_sdk_makes_of_it() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,null,"y"]}}}"#,
            r#"{"params":{"_meta":{"progressToken":"t","k":{}},"name":"a\u0062"},"id":"a-1","method":"tools/call","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":-7,"method":"tools/call","params":{"name":"","arguments":{}}}"#,
        ] {
            let made = call_request(serde_json::from_str(line).unwrap()).unwrap_or_else(|_| panic!("{line}")).into_message();
            let expected: ClientJsonRpcMessage = serde_json::from_str(line).unwrap();
            assert_eq!(format!("{made:?}"), format!("{expected:?}"), "{line}");
        }
    }

    #[test]
    fn call_that_says_more_of_itself_is_not_plain() {
        for (meta, expected) in [
            ("", true),
            (r#","_meta":{}"#, true),
            (r#","_meta":{"progressToken":7}"#, true),
            (r#","_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#, false),
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a"{meta}}}}}"#);
            let Ok(ParsedLine::Call(call)) = parse(line.as_bytes()) else { panic!("{line}") };
            assert_eq!(call.is_plain(), expected, "{line}");
        }
    }

    #[test]
    fn list_from_the_first_tool_on_is_plain() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, true),
            (r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}"#, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"at:2"}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#, false),
            (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","result":{}}"#, false),
            (r#"{"jsonrpc":"2.0","method":"tools/list","params":{}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#, false),
        ] {
            assert_eq!(matches!(parse(line.as_bytes()), Ok(ParsedLine::List(..))), expected, "{line}");
        }
    }

    #[test]
    fn any_other_shape_is_left_to_the_sdk() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"},"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":null}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"s"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
        ] {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(call_request(value.clone()).err(), Some(value), "{line}");
        }
    }
}
