//! Any conversation that the transcript may hold after it was validated.

use haft_provider::{Block, Message, Opaque, Protocol, ResultPart};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;

use super::{call, opaque, png, result, text, thinking, tools, with_opaque};

/// The provider whose opaque parts may be sent back.
pub(crate) const HERE: &str = "here";

/// One round: what the model says, what its calls get, what the user adds.
#[derive(Debug, Clone)]
struct Round {
    said: Vec<Block>,
    calls: Vec<Block>,
    contents: Vec<(Vec<ResultPart>, bool)>,
    is_reversed: bool,
    steering: Option<String>,
    added: Vec<Block>,
}

/// It begins with the user or with a summary, and ends with the user or with results.
pub(crate) fn conversation(protocol: Protocol) -> impl Strategy<Value = Vec<Message>> {
    let rounds = prop::collection::vec(round(protocol), 0..5);
    (any::<bool>(), rounds, any::<bool>()).prop_map(|(begins_with_model, mut rounds, may_end_with_results)| {
        let mut messages = Vec::new();
        if begins_with_model {
            messages.push(Message::assistant(vec![Block::text("Summary of what was.")]));
        }
        messages.push(Message::user("Begin"));
        let last = rounds.last_mut().filter(|last| may_end_with_results && !last.calls.is_empty());
        let ends_with_results = last.map(|last| (last.steering, last.added) = (None, Vec::new())).is_some();
        for round in rounds {
            add(&mut messages, round);
        }
        if !ends_with_results {
            messages.push(Message::user("Continue"));
        }
        messages
    })
}

fn add(messages: &mut Vec<Message>, round: Round) {
    let answer = |(asked, (content, is_error)): (&Block, &(Vec<ResultPart>, bool))| match asked {
        Block::Call { id, name, .. } => result(id, name, content.clone(), *is_error),
        other => panic!("{other:?} is no call"),
    };
    let mut results: Vec<Block> = round.calls.iter().zip(&round.contents).map(answer).collect();
    if round.is_reversed {
        results.reverse();
    }
    if let (Some(steering), false) = (round.steering, results.is_empty()) {
        results.insert(0, Block::text(steering));
    }
    messages.push(Message::assistant(round.said.into_iter().chain(round.calls).collect()));
    messages.push(Message::results(results));
    messages.push(Message { role: haft_provider::Role::User, blocks: round.added });
}

fn round(protocol: Protocol) -> impl Strategy<Value = Round> {
    let ids = subsequence(vec!["call_0", "call_1", "an id/with ümlauts", "toolu_9", LONG], 0..=4);
    let details = prop::collection::vec((name(), arguments(), opaque_part(protocol), contents(), any::<bool>()), 4);
    let said = prop::collection::vec(said(protocol), 0..4);
    let added = prop::collection::vec(prop_oneof![words().prop_map(Block::text), Just(picture())], 0..3);
    (said, ids, details, any::<bool>(), prop::option::of(words()), added).prop_map(|(said, ids, details, is_reversed, steering, added)| {
        let calls = ids.iter().zip(&details).map(|(id, (name, arguments, opaque, _, _))| {
            let block = call(id, name, arguments);
            opaque.clone().map_or(block.clone(), |opaque| with_opaque(block, opaque))
        });
        let contents = ids.iter().zip(&details).map(|(_, (_, _, _, content, is_error))| (content.clone(), *is_error));
        Round { said, calls: calls.collect(), contents: contents.collect(), is_reversed, steering, added }
    })
}

const LONG: &str = "an-id-of-more-than-sixty-four-characters-that-no-provider-takes-as-it-is";

fn picture() -> Block {
    Block::Image { mime: "image/webp".into(), data: "AAAA".into() }
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-zäß\"\\\\ \n]{1,12}"]
}

fn name() -> impl Strategy<Value = String> {
    let mut names: Vec<String> = tools().into_iter().map(|tool| tool.name).collect();
    names.extend(["gone tool", "", "a.b:c", "9lives"].map(str::to_owned));
    select(names)
}

fn arguments() -> impl Strategy<Value = &'static str> {
    select(vec!["", " ", "{}", r#"{"a":[1,{"b":null}]}"#, "nope", "[1]", "\"s\"", "null", "{\"a\":"])
}

fn contents() -> impl Strategy<Value = Vec<ResultPart>> {
    let bitmap = ResultPart::Image { mime: "image/bmp".into(), data: "AAAA".into() };
    prop::collection::vec(prop_oneof![words().prop_map(|words| text(&words)), Just(png()), Just(bitmap)], 0..3)
}

fn said(protocol: Protocol) -> impl Strategy<Value = Block> {
    prop_oneof![
        (words(), opaque_part(protocol)).prop_map(|(text, opaque)| Block::Text { text, opaque }),
        (words(), opaque_part(protocol)).prop_map(|(text, opaque)| thinking(&text, opaque)),
    ]
}

fn opaque_part(protocol: Protocol) -> impl Strategy<Value = Option<Opaque>> {
    let own = match protocol {
        Protocol::Gemini => {
            vec![json!({"id": "fc_1", "thoughtSignature": "c2ln"}), json!({"id": null}), json!({"thoughtSignature": "c2ln"})]
        }
        _ => {
            vec![json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"}), json!({"type": "redacted_thinking", "data": "ZGF0YQ"})]
        }
    };
    let own = own.into_iter().map(move |value| Some(opaque(protocol, HERE, value)));
    let foreign = [
        None,
        Some(opaque(protocol, "elsewhere", json!({"thoughtSignature": "eA", "signature": "eA"}))),
        Some(opaque(Protocol::OpenAiResponses, HERE, json!({"type": "reasoning"}))),
    ];
    select(own.chain(foreign).collect::<Vec<_>>())
}
