//! A message as the text that is written.
//!
//! Most of what is written are the texts of results. Escaping them a byte at a time is half of what a small server does for a call, so a
//! result that is one text is written here.

use std::io;

use haft_text::json::push_escaped;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult,
};

/// Adds a message.
pub(super) fn push_message(line: &mut Vec<u8>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let result = match message {
        JsonRpcMessage::Response(response) => match &response.result {
            ServerResult::CallToolResult(result) => one_text(result).map(|text| (&response.id, result, text)),
            _ => None,
        },
        _ => None,
    };
    match result {
        Some((id, result, text)) => push_text_result(line, id, result, text),
        None => serde_json::to_writer(&mut *line, message).map_err(Into::into),
    }
}

/// Adds the answer to a call of a version in which results do not say that they are complete.
pub(super) fn push_answer(line: &mut Vec<u8>, id: RequestId, answer: Result<CallToolResponse, ErrorData>) -> io::Result<()> {
    let message = match answer.map(ServerResult::from) {
        Ok(mut result) => {
            result.strip_result_type_for_legacy_peer();
            JsonRpcMessage::response(result, id)
        }
        Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
    };
    push_message(line, &message)
}

/// The text of a result that is nothing but one.
fn one_text(result: &CallToolResult) -> Option<&str> {
    match result.content.as_slice() {
        [ContentBlock::Text(content)] if result.structured_content.is_none() && result.meta.is_none() => {
            (content.meta.is_none() && content.annotations.is_none()).then_some(&content.text)
        }
        _ => None,
    }
}

fn push_text_result(line: &mut Vec<u8>, id: &RequestId, result: &CallToolResult, text: &str) -> io::Result<()> {
    line.reserve(text.len() + text.len() / 8 + 128);
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    serde_json::to_writer(&mut *line, id)?;
    line.extend_from_slice(b",\"result\":{");
    if let Some(kind) = &result.result_type {
        line.extend_from_slice(b"\"resultType\":");
        serde_json::to_writer(&mut *line, kind)?;
        line.push(b',');
    }
    line.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":\"");
    push_escaped(line, text);
    line.extend_from_slice(b"\"}]");
    line.extend_from_slice(match result.is_error {
        Some(true) => b",\"isError\":true}}",
        Some(false) => b",\"isError\":false}}",
        None => b"}}",
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(texts: &[&str], structured: Option<Value>) -> CallToolResult {
        let mut result = CallToolResult::success(texts.iter().map(|text| ContentBlock::text(*text)).collect());
        result.structured_content = structured;
        result
    }

    fn written(message: &ServerJsonRpcMessage) -> Vec<u8> {
        let mut line = b"before\n".to_vec();
        push_message(&mut line, message).unwrap();
        line.strip_prefix(b"before\n").unwrap().to_vec()
    }

    fn expected(message: &ServerJsonRpcMessage) -> Vec<u8> {
        serde_json::to_vec(message).unwrap()
    }

    #[test]
    fn text_is_what_the_sdk_writes() {
        let every: String = (0..0x300).filter_map(char::from_u32).collect();
        let long = ["0123456789abcde\n".repeat(30), every.repeat(3), "\"".repeat(300), "é€𝄞\u{7f}\u{80}\\".repeat(60), "\u{1}".repeat(999)];
        for id in [RequestId::Number(-1), RequestId::String("\"text\":\"\"".into()), RequestId::String("a\nb".into())] {
            for text in &long {
                for texts in [&[text.as_str()][..], &[""], &[text, "short"], &[]] {
                    for (structured, is_error) in [(None, Some(false)), (Some(json!({"text": ""})), None), (None, None), (None, Some(true))]
                    {
                        let mut result = result(texts, structured);
                        result.is_error = is_error;
                        let message = JsonRpcMessage::response(ServerResult::CallToolResult(result.clone()), id.clone());
                        assert!(written(&message) == expected(&message), "{id} {texts:?}");
                        result.result_type = None;
                        let message = JsonRpcMessage::response(ServerResult::CallToolResult(result), id.clone());
                        assert!(written(&message) == expected(&message), "{id} {texts:?}");
                    }
                }
            }
        }
        let noted = ContentBlock::Text(rmcp::model::TextContent::new("x").with_annotations(rmcp::model::Annotations::default()));
        let message = JsonRpcMessage::response(ServerResult::CallToolResult(CallToolResult::error(vec![noted])), RequestId::Number(1));
        assert_eq!(written(&message), expected(&message));
    }

    #[test]
    fn answer_to_a_call_says_nothing_of_its_kind() {
        let answered = |answer| {
            let mut line = Vec::new();
            push_answer(&mut line, RequestId::Number(7), answer).unwrap();
            String::from_utf8(line).unwrap()
        };
        let done = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a\n"}],"isError":false}}"#;
        assert_eq!(answered(Ok(result(&["a\n"], None).into())), done);
        let refused = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}"#;
        assert_eq!(answered(Err(ErrorData::invalid_params("no", None))), refused);
    }
}
