//! Properties of any answer and any conversation.

use haft_provider::{Adapter, Anthropic, Block, ModelTurn, Protocol, StopReason};
use haft_testkit::request_faults;
use proptest::prelude::*;
use serde_json::json;

use crate::conversations::random::conversation;
use crate::conversations::*;
use crate::{model, redacted, stop, stream_of, thought};

/// Blocks of an answer in decoded form.
fn said() -> impl Strategy<Value = Vec<Block>> {
    let word = "[a-z\"\\\\ äß漢\n]{1,20}";
    let block = prop_oneof![
        word.prop_map(Block::text),
        (word, "[A-Za-z0-9+/=]{1,20}").prop_map(|(text, signature)| thought(&text, &signature)),
        "[A-Za-z0-9+/=]{1,20}".prop_map(|data| redacted(&data)),
        (word, word).prop_map(|(key, value)| call("", "read_file", &json!({ key: value }).to_string())),
        Just(call("", "get_current_time", "{}")),
    ];
    prop::collection::vec(block, 0..8).prop_map(|blocks| {
        let number = |(at, block)| match block {
            Block::Call { name, arguments, .. } => call(&format!("toolu_{at}"), &name, &arguments),
            other => other,
        };
        blocks.into_iter().enumerate().map(number).collect()
    })
}

fn whole_stream(blocks: &[Block], width: usize) -> Events {
    blocks.iter().enumerate().flat_map(|(index, block)| stream_of(index, block, width)).collect()
}

proptest! {
    #[test]
    fn answers_decode_to_their_blocks(blocks in said(), width in 1_usize..12) {
        let mut events = whole_stream(&blocks, width);
        events.push(stop("end_turn"));
        let (deltas, reply) = play(&Anthropic, &model(), &[], &events);
        let calls: Vec<&Block> = blocks.iter().filter(|block| block.call_id().is_some()).collect();
        prop_assert_eq!(ready(&deltas), calls.clone());
        let reply = reply.unwrap();
        prop_assert_eq!(reply.stop == StopReason::ToolCalls, !calls.is_empty());
        prop_assert_eq!(reply.blocks, blocks);
    }

    /// The last call is cut at any byte, and the stream at any event: that call never runs, and no call that is not in the whole.
    #[test]
    fn truncated_stream_never_completes_a_partial_call(blocks in said(), width in 1_usize..12, part in any::<prop::sample::Index>()) {
        let arguments = r#"{"path":"/etc","force":true}"#;
        let cut = &arguments[..part.index(arguments.len())];
        let mut events = whole_stream(&blocks, width);
        events.extend(stream_of(blocks.len(), &call("cut", "read_file", cut), width));
        events.push(stop("max_tokens"));
        let (deltas, reply) = play(&Anthropic, &model(), &[], &events);
        let whole = ready(&deltas);
        prop_assert_eq!(reply.unwrap().blocks, blocks);
        for end in 0..events.len() {
            let (deltas, _) = play(&Anthropic, &model(), &[], &events[..end]);
            let now = ready(&deltas);
            prop_assert!(whole.starts_with(&now), "cut after {} events: {:?}", end, now);
        }
    }

    #[test]
    fn conversations_encode_without_faults(messages in conversation(Protocol::Anthropic)) {
        let (model, tools) = (model(), tools());
        let body = Anthropic.encode(&ModelTurn { model: &model, system: "", messages: &messages, tools: &tools }).body;
        prop_assert_eq!(request_faults("anthropic", "", &body), Vec::<String>::new(), "{:#}", body);
    }
}
