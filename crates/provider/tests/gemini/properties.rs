//! Properties of any answer and any conversation.

use haft_provider::{Block, Gemini, Protocol, Role, StopReason};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conversations::random::conversation;
use crate::conversations::*;
use crate::{chunk, faults, legacy, model, older, own, stop};

/// Blocks of an answer in decoded form: no two neighbours that would be merged.
fn said() -> impl Strategy<Value = Vec<Block>> {
    let word = "[a-z\"\\\\ äß漢\n]{1,20}";
    let signature = "[A-Za-z0-9+/]{4}";
    let block = prop_oneof![
        word.prop_map(Block::text),
        word.prop_map(|text| thinking(&text, None)),
        ("[a-z ]{0,5}", signature)
            .prop_map(|(text, signature)| with_opaque(Block::text(text), own(json!({"thoughtSignature": signature})))),
        (word, signature).prop_map(|(text, signature)| thinking(&text, Some(own(json!({"thoughtSignature": signature}))))),
        (word, word, signature).prop_map(|(key, value, signature)| {
            let block = call("", "read_file", &json!({ key: value }).to_string());
            with_opaque(block, own(json!({"id": "", "thoughtSignature": signature})))
        }),
        Just(with_opaque(call("", "get_current_time", "{}"), own(json!({"id": ""})))),
    ];
    prop::collection::vec(block, 0..8).prop_map(|blocks| {
        let mut said: Vec<Block> = Vec::new();
        for (at, block) in blocks.into_iter().enumerate() {
            let would_merge = matches!(
                (said.last(), &block),
                (Some(Block::Text { opaque: None, .. }), Block::Text { opaque: None, .. })
                    | (Some(Block::Thinking { opaque: None, .. }), Block::Thinking { opaque: None, .. })
            );
            match block {
                _ if would_merge => {}
                Block::Call { name, arguments, opaque: Some(mut opaque), .. } => {
                    opaque.value["id"] = format!("fc_{at}").into();
                    said.push(with_opaque(call(&format!("fc_{at}"), &name, &arguments), opaque));
                }
                other => said.push(other),
            }
        }
        said
    })
}

/// The parts that a block is sent in: unsigned text in pieces of so many characters, all else whole.
fn parts_of(block: &Block, width: usize) -> Vec<Value> {
    let pieces =
        |text: &str| -> Vec<String> { text.chars().collect::<Vec<_>>().chunks(width).map(|piece| piece.iter().collect()).collect() };
    match block {
        Block::Text { text, opaque: None } => pieces(text).iter().map(|piece| json!({ "text": piece })).collect(),
        Block::Thinking { text, opaque: None } => pieces(text).iter().map(|piece| json!({ "text": piece, "thought": true })).collect(),
        Block::Text { text, opaque: Some(opaque) } => vec![json!({"text": text, "thoughtSignature": opaque.value["thoughtSignature"]})],
        Block::Thinking { text, opaque: Some(opaque) } => {
            vec![json!({"text": text, "thought": true, "thoughtSignature": opaque.value["thoughtSignature"]})]
        }
        Block::Call { id, name, arguments, opaque: Some(opaque) } => {
            let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
            let mut part = json!({"functionCall": {"id": id, "name": name, "args": arguments}});
            if let Some(signature) = opaque.value.get("thoughtSignature") {
                part["thoughtSignature"] = signature.clone();
            }
            vec![part]
        }
        other => panic!("{other:?} is not said by a model"),
    }
}

proptest! {
    #[test]
    fn answers_decode_to_their_blocks(blocks in said(), width in 1_usize..12, together in 1_usize..4) {
        let parts: Vec<Value> = blocks.iter().flat_map(|block| parts_of(block, width)).collect();
        let mut events: Events = parts.chunks(together).map(|parts| chunk(&json!(parts))).collect();
        events.push(stop("STOP"));
        let (deltas, reply) = play(&Gemini, &model(), &[], &events);
        let calls: Vec<&Block> = blocks.iter().filter(|block| block.call_id().is_some()).collect();
        prop_assert_eq!(ready(&deltas), calls.clone());
        for end in 0..events.len() {
            let (deltas, reply) = play(&Gemini, &model(), &[], &events[..end]);
            prop_assert!(calls.starts_with(&ready(&deltas)) && reply.is_err(), "cut after {} events", end);
        }
        let reply = reply.unwrap();
        prop_assert_eq!(reply.stop == StopReason::ToolCalls, !calls.is_empty());
        prop_assert_eq!(reply.blocks, blocks);
    }

    #[test]
    fn conversations_encode_without_faults(messages in conversation(Protocol::Gemini)) {
        for model in [model(), older(), legacy()] {
            let body = golden(&Gemini, &model, &messages)["body"].clone();
            prop_assert_eq!(faults(&model, &body), Vec::<String>::new(), "{:#}", body);
            let user = messages.iter().filter(|message| message.role == Role::User).flat_map(|message| &message.blocks);
            let results = user.filter(|block| block.result_id().is_some()).count();
            prop_assert_eq!(body.to_string().matches("\"functionResponse\":").count(), results);
        }
    }
}
