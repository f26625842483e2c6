//! Properties of every answer: it decodes at any fragmentation, and no call is ready too early.

use haft_provider::{Block, Message, ModelTurn, Protocol};
use haft_testkit::request_faults;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{adapter, call, check_cuts, decode, events, model, opaque, result, text, thinking, tools};

type Events = Vec<(String, String)>;

/// An answer that both protocols can give: a thought, a text, some calls.
fn answers() -> impl Strategy<Value = (Option<String>, Option<String>, Vec<Block>)> {
    let words = "[ -~äß漢🦀\n\\\\\"]{1,40}";
    let names =
        prop_oneof![Just("read_file".to_owned()), Just("grep".to_owned()), Just("files.example/list everything".to_owned()), "[a-z]{1,9}"];
    let arguments = prop_oneof![
        ("[a-z]{1,5}", words).prop_map(|(key, value)| json!({ key: value }).to_string()),
        (words, any::<i64>()).prop_map(|(value, number)| json!({"a": [value, number], "b": {"c": null}}).to_string()),
        Just("{}".to_owned()),
        Just(String::new()),
        "[ -~]{1,20}",
    ];
    let calls = vec((names, arguments), 0..6).prop_map(|calls| {
        calls.into_iter().enumerate().map(|(place, (name, arguments))| call(&format!("call_{place}"), &name, &arguments)).collect()
    });
    (option::of(words), option::of(words), calls)
}

fn wire_name(protocol: Protocol, name: &str) -> String {
    haft_provider::NameMap::new(protocol, tools().iter().map(|tool| &tool.name)).wire(name).into_owned()
}

/// The text in pieces of these lengths, over and over.
fn pieces(text: &str, lengths: &[usize]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut rest = &chars[..];
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece.iter().collect());
        rest = after;
    }
    pieces
}

fn chat_stream(thought: Option<&str>, said: Option<&str>, calls: &[Block], lengths: &[usize]) -> Events {
    let chunk = |delta: Value, finish: Value| {
        (String::new(), json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string())
    };
    let mut events = Vec::new();
    events.extend(
        pieces(thought.unwrap_or_default(), lengths).into_iter().map(|piece| chunk(json!({ "reasoning_content": piece }), Value::Null)),
    );
    events.extend(pieces(said.unwrap_or_default(), lengths).into_iter().map(|piece| chunk(json!({ "content": piece }), Value::Null)));
    for (index, call) in calls.iter().enumerate() {
        let Block::Call { id, name, arguments, .. } = call else { unreachable!() };
        let begin = json!([{"index": index, "id": id, "type": "function", "function": {"name": wire_name(Protocol::OpenAi, name), "arguments": ""}}]);
        events.push(chunk(json!({ "tool_calls": begin }), Value::Null));
        for piece in pieces(arguments, lengths) {
            events.push(chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}), Value::Null));
        }
    }
    events.push(chunk(json!({}), json!(if calls.is_empty() { "stop" } else { "tool_calls" })));
    events.push((String::new(), "[DONE]".into()));
    events
}

fn reasoning_item(thought: &str) -> Value {
    json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": thought}], "encrypted_content": "sealed"})
}

fn responses_stream(thought: Option<&str>, said: Option<&str>, calls: &[Block], lengths: &[usize]) -> Events {
    let mut events: Vec<(&str, Value)> = Vec::new();
    let mut index = 0;
    let mut item = |events: &mut Vec<(&'static str, Value)>, kind: &'static str, begun: Value, whole: Value, text: &str| {
        events.push(("response.output_item.added", json!({"output_index": index, "item": begun})));
        events.extend(
            pieces(text, lengths).into_iter().map(|piece| (kind, json!({"item_id": whole["id"], "output_index": index, "delta": piece}))),
        );
        if kind == "response.function_call_arguments.delta" {
            events
                .push(("response.function_call_arguments.done", json!({"item_id": whole["id"], "output_index": index, "arguments": text})));
        }
        events.push(("response.output_item.done", json!({"output_index": index, "item": whole})));
        index += 1;
    };
    if let Some(thought) = thought {
        let begun = json!({"id": "rs_1", "type": "reasoning", "summary": []});
        item(&mut events, "response.reasoning_summary_text.delta", begun, reasoning_item(thought), thought);
    }
    if let Some(said) = said {
        let whole = json!({"id": "msg_1", "type": "message", "content": [{"type": "output_text", "text": said}]});
        item(&mut events, "response.output_text.delta", json!({"id": "msg_1", "type": "message", "content": []}), whole, said);
    }
    for call in calls {
        let Block::Call { id, name, arguments, .. } = call else { unreachable!() };
        let named = |arguments: &str| {
            json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": id,
            "name": wire_name(Protocol::OpenAiResponses, name), "arguments": arguments})
        };
        item(&mut events, "response.function_call_arguments.delta", named(""), named(arguments), arguments);
    }
    events.push(("response.completed", json!({"response": {"status": "completed"}})));
    let numbered = events.into_iter().enumerate().map(|(number, (kind, mut event))| {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(number);
        (kind.to_owned(), event.to_string())
    });
    numbered.collect()
}

/// The blocks that the answer must become.
fn meant(protocol: Protocol, thought: Option<&str>, said: Option<&str>, calls: Vec<Block>) -> Vec<Block> {
    let kept = |thought: &str| if protocol == Protocol::OpenAi { json!("reasoning_content") } else { reasoning_item(thought) };
    let thought = thought.map(|thought| thinking(thought, opaque(protocol, "openai", kept(thought))));
    thought.into_iter().chain(said.map(Block::text)).chain(calls).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn answers_decode_at_any_fragmentation((thought, said, calls) in answers(), lengths in vec(1_usize..9, 1..5)) {
        for protocol in [Protocol::OpenAi, Protocol::OpenAiResponses] {
            let stream = if protocol == Protocol::OpenAi { chat_stream } else { responses_stream };
            let events = stream(thought.as_deref(), said.as_deref(), &calls, &lengths);
            let reply = decode(protocol, &[], &events).1.unwrap();
            prop_assert_eq!(&reply.blocks, &meant(protocol, thought.as_deref(), said.as_deref(), calls.clone()));
            check_cuts(protocol, &events);
            // And back again: with its results it is a conversation that the provider takes.
            let results = calls.iter().filter_map(Block::call_id).map(|id| result(id, "any", vec![text("{}")], false));
            let messages = [Message::user("Go"), Message::assistant(reply.blocks), Message::results(results.chain([Block::text("And?")]).collect())];
            let (model, tools) = (model(protocol), tools());
            let body = adapter(protocol).encode(&ModelTurn { model: &model, system: "Be brief.", messages: &messages, tools: &tools }).body;
            prop_assert_eq!(request_faults(protocol.as_str(), "", &body), Vec::<String>::new());
        }
    }

    #[test]
    fn decoder_never_panics(data in vec("\\PC{0,60}", 0..6), kept in 0_usize..40) {
        for (protocol, stream) in [(Protocol::OpenAi, include_str!("streams/chat_parallel.sse")), (Protocol::OpenAiResponses, include_str!("streams/responses_parallel.sse"))] {
            let mut events: Events = events(stream).into_iter().take(kept).collect();
            events.extend(data.iter().map(|data| (String::new(), data.clone())));
            let (_, reply) = decode(protocol, &[], &events);
            prop_assert!(reply.is_ok() || !reply.unwrap_err().message.is_empty());
        }
    }
}
