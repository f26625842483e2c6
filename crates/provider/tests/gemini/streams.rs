//! Decoding of streams.

use haft_provider::{Block, Delta, Gemini, Message, ProviderErrorKind, StopReason};
use serde_json::{Value, json};

use crate::conversations::*;
use crate::{chunk, model, own, stop};

#[test]
fn recorded_streams_decode_at_every_truncation() {
    let streams = [
        ("thoughts_and_two_calls", include_str!("../streams/gemini/thoughts_and_two_calls.sse")),
        ("signature_at_the_end", include_str!("../streams/gemini/signature_at_the_end.sse")),
        ("blocked", include_str!("../streams/gemini/blocked.sse")),
        ("unavailable", include_str!("../streams/gemini/unavailable.sse")),
    ];
    for (name, stream) in streams {
        let events = events(stream);
        insta::assert_snapshot!(format!("stream_{name}"), told(&play(&Gemini, &model(), &[], &events)));
        assert_cuts_are_prefixes(&Gemini, &model(), &events, |data| data.contains("finishReason") || data.contains("blockReason"));
    }
}

#[test]
fn finish_reasons_are_mapped() {
    let cases = [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Refused),
        ("RECITATION", StopReason::Refused),
        ("BLOCKLIST", StopReason::Refused),
        ("PROHIBITED_CONTENT", StopReason::Refused),
        ("SPII", StopReason::Refused),
        ("IMAGE_SAFETY", StopReason::Refused),
        ("LANGUAGE", StopReason::Refused),
    ];
    for (reason, expected) in cases {
        let reply = play(&Gemini, &model(), &[], &[stop(reason)]).1.unwrap();
        assert_eq!((reply.stop, reply.blocks), (expected, vec![]), "{reason}");
    }
    let calls = [chunk(&json!([{"functionCall": {"name": "x"}}])), stop("STOP")];
    assert_eq!(play(&Gemini, &model(), &[], &calls).1.unwrap().stop, StopReason::ToolCalls);
}

/// Unusable output is retried, also after other output.
#[test]
fn failed_finish_reasons_are_garbled_errors() {
    let cases = [
        ("MALFORMED_FUNCTION_CALL", ProviderErrorKind::Garbled, "it holds a call that cannot be read; fewer or simpler tools may help"),
        ("MALFORMED_RESPONSE", ProviderErrorKind::Garbled, "it cannot be read"),
        ("UNEXPECTED_TOOL_CALL", ProviderErrorKind::Garbled, "it calls a tool where none was offered"),
        ("TOO_MANY_TOOL_CALLS", ProviderErrorKind::Garbled, "it made too many calls in a row; smaller steps may help"),
        ("MISSING_THOUGHT_SIGNATURE", ProviderErrorKind::BadRequest, "a call was sent back without its signature; begin another session"),
    ];
    for (reason, kind, why) in cases {
        let (what, next) = match kind {
            ProviderErrorKind::Garbled => ("The model's answer cannot be used", "Ask again"),
            _ => ("The provider refuses the request", "Check the model's settings"),
        };
        for before in [vec![], vec![chunk(&json!([{"text": "I look"}]))]] {
            let events: Events = before.into_iter().chain([stop(reason)]).collect();
            let error = play(&Gemini, &model(), &[], &events).1.unwrap_err();
            assert_eq!(error.message, format!("{what}: {reason}: {why}. said why. {next}."));
            assert_eq!((error.kind, error.is_retryable()), (kind, kind == ProviderErrorKind::Garbled), "{reason}");
        }
    }
}

#[test]
fn unknown_finish_reason_ends_the_answer_unless_it_is_empty() {
    let said = chunk(&json!([{"text": "Well"}]));
    for reason in ["OTHER", "FINISH_REASON_UNSPECIFIED", "NEW_ONE"] {
        let reply = play(&Gemini, &model(), &[], &[said.clone(), stop(reason)]).1.unwrap();
        assert_eq!((reply.stop, reply.blocks), (StopReason::Other(reason.into()), vec![Block::text("Well")]), "{reason}");
        let error = play(&Gemini, &model(), &[], &[stop(reason)]).1.unwrap_err();
        let message = format!("The model's answer cannot be used: it ended with {reason} before any output. Ask again.");
        assert_eq!((error.kind, error.message), (ProviderErrorKind::Garbled, message));
    }
}

#[test]
fn arguments_of_any_type_become_text() {
    let cases = [
        (json!({"name": "x", "args": {"b": 1, "a": [null]}}), r#"{"b":1,"a":[null]}"#),
        (json!({"name": "x", "args": {}}), "{}"),
        (json!({"name": "x"}), "{}"),
        (json!({"name": "x", "args": null}), "{}"),
        (json!({"name": "x", "args": "{\"a\":"}), "{\"a\":"),
        (json!({"name": "x", "args": [1]}), "[1]"),
    ];
    for (function_call, expected) in cases {
        let events = [chunk(&json!([{ "functionCall": function_call }])), stop("STOP")];
        let blocks = play(&Gemini, &model(), &[], &events).1.unwrap().blocks;
        assert_eq!(blocks, [with_opaque(call("call_1_0e50c320", "x", expected), own(json!({"id": null})))]);
    }
}

#[test]
fn missing_and_duplicate_ids_are_generated_and_names_map_back() {
    let history = [Message::assistant(vec![call("call_3", "x", ""), call("same", "x", "")])];
    let name = &tools()[2].name;
    let wire = golden(&Gemini, &model(), &[])["body"]["tools"][0]["functionDeclarations"][2]["name"].clone();
    assert_ne!(wire, json!(name));
    let ids = [json!(null), json!("same"), json!("new"), json!("new")];
    let arguments = ["{}", "{}", "{}", r#"{"n":4}"#];
    let part = |(id, arguments): (&Value, &str)| {
        let args: Value = serde_json::from_str(arguments).unwrap();
        chunk(&json!([{"functionCall": {"id": id, "name": wire, "args": args}}]))
    };
    let mut events: Events = ids.iter().zip(arguments).map(part).collect();
    // The very same event once more is no further call.
    events.push(events[2].clone());
    events.push(stop("STOP"));
    let ours = ["call_3_376b639d", "call_4_376b639d", "new", "call_6_376b639d"];
    let block = |((id, theirs), arguments)| with_opaque(call(id, name, arguments), own(json!({"id": theirs})));
    let expected: Vec<Block> = ours.into_iter().zip(ids).zip(arguments).map(block).collect();
    assert_eq!(play(&Gemini, &model(), &history, &events).1.unwrap().blocks, expected);
}

#[test]
fn signed_parts_are_never_merged() {
    let events = [
        chunk(&json!([{"text": "a"}, {"text": "b", "thoughtSignature": "MQ=="}])),
        chunk(&json!([{"text": "c", "thoughtSignature": "Mg=="}, {"text": "d"}])),
        chunk(&json!([{"text": "e"}, {"thoughtSignature": "Mw=="}, {"text": "f", "thought": true, "thoughtSignature": "NA=="}])),
        stop("STOP"),
    ];
    let signed = |text: &str, signature: &str| with_opaque(Block::text(text), own(json!({"thoughtSignature": signature})));
    let expected = [
        Block::text("a"),
        signed("b", "MQ=="),
        signed("c", "Mg=="),
        Block::text("de"),
        signed("", "Mw=="),
        thinking("f", Some(own(json!({"thoughtSignature": "NA=="})))),
    ];
    let (deltas, reply) = play(&Gemini, &model(), &[], &events);
    assert_eq!(reply.unwrap().blocks, expected);
    let said: String = deltas.iter().filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None }).collect();
    assert_eq!(said, "abcde");
}
