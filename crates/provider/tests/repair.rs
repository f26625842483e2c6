//! A repaired conversation is valid for every provider.
#![allow(clippy::unwrap_used, reason = "a test stops at the first failure")]

use haft_provider::transcript::{ValidatedPrefix, repair, validate};
use haft_provider::{
    Adapter, Anthropic, Block, Gemini, Message, Model, ModelTurn, OfferedTool, Opaque, OpenAiChat, OpenAiResponses, Protocol, ResultPart,
    Role,
};
use haft_testkit::request_faults;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Opaque data of a block, as the adapter of some provider stores it.
fn opaque(kinds: Vec<(Protocol, Value)>) -> impl Strategy<Value = Option<Opaque>> {
    let one = (select(kinds), select(vec!["here", "elsewhere"]));
    proptest::option::of(one.prop_map(|((protocol, value), provider)| Opaque { protocol, provider: provider.into(), value }))
}

fn with_text() -> impl Strategy<Value = Option<Opaque>> {
    opaque(vec![(Protocol::Gemini, json!({"thoughtSignature": "c2ln"})), (Protocol::OpenAiResponses, json!({"phase": "commentary"}))])
}

fn with_thinking() -> impl Strategy<Value = Option<Opaque>> {
    opaque(vec![
        (Protocol::Anthropic, json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})),
        (Protocol::Anthropic, json!({"type": "redacted_thinking", "data": "c2ln"})),
        (Protocol::Gemini, json!({"thoughtSignature": "c2ln"})),
        (Protocol::OpenAi, json!("reasoning_content")),
        (Protocol::OpenAiResponses, json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"})),
    ])
}

fn with_call() -> impl Strategy<Value = Option<Opaque>> {
    opaque(vec![
        (Protocol::Gemini, json!({"id": null, "thoughtSignature": "c2ln"})),
        (Protocol::Gemini, json!({"id": null})),
        (Protocol::Gemini, json!({"id": "theirs"})),
    ])
}

fn words() -> impl Strategy<Value = String> {
    select(vec!["", " ", "hello", "日本語 \u{0}", "a\nb "]).prop_map(String::from)
}

fn id() -> impl Strategy<Value = String> {
    select(vec!["", "1", "2", "call_3", "1-2", "odd|id/é", "long-long-long-long-long-long-long-long-long-long-long-long-long-long"])
        .prop_map(String::from)
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["read_file", "exec", "mcp.server/tool", "", "gone"]).prop_map(String::from)
}

fn arguments() -> impl Strategy<Value = String> {
    select(vec!["", "{}", "{\"a\":1}", "{\"a\":", "[1]", "null", "\"text\"", "not json"]).prop_map(String::from)
}

fn piece() -> impl Strategy<Value = ResultPart> {
    prop_oneof![
        words().prop_map(|text| ResultPart::Text { text }),
        Just(ResultPart::Text { text: "{\"status\":\"success\",\"result\":1}".into() }),
        Just(ResultPart::Image { mime: "image/png".into(), data: "AAAA".into() }),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    let content = proptest::collection::vec(piece(), 0..3);
    prop_oneof![
        1 => (words(), with_text()).prop_map(|(text, opaque)| Block::Text { text, opaque }),
        1 => (words(), with_thinking()).prop_map(|(text, opaque)| Block::Thinking { text, opaque }),
        1 => Just(Block::Image { mime: "image/png".into(), data: "AAAA".into() }),
        3 => (id(), name(), arguments(), with_call()).prop_map(|(id, name, arguments, opaque)| Block::Call { id, name, arguments, opaque }),
        3 => (id(), name(), content, any::<bool>()).prop_map(|(id, name, content, is_error)| Block::Result { id, name, content, is_error }),
    ]
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let message = (select(vec![Role::User, Role::Assistant]), proptest::collection::vec(block(), 0..5));
    proptest::collection::vec(message.prop_map(|(role, blocks)| Message { role, blocks }), 0..9)
}

/// A conversation in which nothing went wrong.
fn valid() -> impl Strategy<Value = Vec<Message>> {
    let round = (proptest::collection::vec((name(), piece(), any::<bool>()), 1..4), words());
    let rounds = proptest::collection::vec(round, 0..4);
    (proptest::collection::vec((rounds, words()), 1..3), with_thinking()).prop_map(|(turns, opaque)| {
        let mut messages = Vec::new();
        let mut count = 0;
        for (rounds, answer) in turns {
            messages.push(Message::user("a question"));
            for (calls, steering) in rounds {
                let (mut said, mut results) = (vec![Block::Thinking { text: "Hm.".into(), opaque: opaque.clone() }], Vec::new());
                for (name, piece, is_error) in calls {
                    let id = format!("c{count}");
                    count += 1;
                    said.push(Block::Call { id: id.clone(), name: name.clone(), arguments: "{\"path\":\"a\"}".into(), opaque: None });
                    results.push(Block::Result { id, name, content: vec![piece], is_error });
                }
                results.extend((!steering.trim().is_empty()).then(|| Block::text(steering)));
                messages.extend([Message::assistant(said), Message::results(results)]);
            }
            messages.push(Message::assistant(vec![Block::text(format!("an answer {answer}"))]));
        }
        messages
    })
}

/// A conversation after a crash: its last message truncated after a block, or a call in its arguments.
fn interrupted() -> impl Strategy<Value = Vec<Message>> {
    (valid(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(
        |(mut messages, at, blocks, bytes)| {
            messages.truncate(at.index(messages.len()) + 1);
            let last = messages.last_mut().unwrap();
            last.blocks.truncate(blocks.index(last.blocks.len()) + 1);
            if let Some(Block::Call { arguments, .. }) = last.blocks.last_mut() {
                arguments.truncate(bytes.index(arguments.len()));
            }
            messages
        },
    )
}

fn targets() -> Vec<(Box<dyn Adapter>, Model)> {
    let model = |protocol| Model::new("here", protocol, "m");
    let mut legacy = model(Protocol::Gemini);
    legacy.legacy_schema = true;
    vec![
        (Box::new(OpenAiChat), model(Protocol::OpenAi)),
        (Box::new(OpenAiResponses), model(Protocol::OpenAiResponses)),
        (Box::new(Anthropic), model(Protocol::Anthropic)),
        (Box::new(Gemini), model(Protocol::Gemini)),
        (Box::new(Gemini), legacy),
    ]
}

/// The faults that each provider reports for a conversation.
fn refusals(messages: &[Message]) -> Vec<(Model, Vec<String>)> {
    let spec = |name: &str| OfferedTool {
        name: name.into(),
        description: "D".into(),
        parameters: json!({"type": "object", "properties": {"a": {}}}).into(),
    };
    let tools = ["read_file", "exec", "mcp.server/tool"].map(spec);
    let refusals = targets().into_iter().map(|(adapter, model)| {
        let turn = ModelTurn { model: &model, system: "Be brief.", messages, tools: &tools };
        let faults = request_faults(model.protocol.as_str(), &model.name, &adapter.encode(&turn).body);
        (model, faults)
    });
    refusals.collect()
}

fn taken_by_all(messages: &[Message]) -> Result<(), TestCaseError> {
    for (model, faults) in refusals(messages) {
        prop_assert_eq!(faults, Vec::<String>::new(), "{}: {:?}", model.protocol, messages);
    }
    Ok(())
}

#[test]
fn unanswered_call_is_refused_by_every_provider() {
    let call = Block::Call { id: "c".into(), name: "exec".into(), arguments: "{}".into(), opaque: None };
    for (model, faults) in refusals(&[Message::user("hi"), Message::assistant(vec![call]), Message::user("well?")]) {
        assert!(!faults.is_empty(), "{}", model.protocol);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn any_messages_become_valid(messages in messages()) {
        let (repaired, flaws) = repair(messages.clone());
        prop_assert_eq!(&flaws, &validate(&messages));
        prop_assert_eq!(validate(&repaired), Vec::new());
        prop_assert!(!flaws.is_empty() || repaired == messages);
        if !repaired.is_empty() {
            taken_by_all(&repaired)?;
        }
    }

    #[test]
    fn interrupted_conversation_becomes_valid(messages in interrupted()) {
        let (mut repaired, _) = repair(messages.clone());
        // All that was whole is still there: only the last message changes, or is answered.
        prop_assert_eq!(&repaired[..messages.len() - 1], &messages[..messages.len() - 1]);
        repaired.push(Message::user("continue"));
        let (repaired, _) = repair(repaired);
        prop_assert_eq!(validate(&repaired), Vec::new());
        taken_by_all(&repaired)?;
    }

    /// Incremental validation agrees with validation of the whole, whatever was validated before.
    #[test]
    fn incremental_validation_equals_full_validation(valid in valid(), more in messages(), stops in prop::collection::vec(1..9_usize, 1..9)) {
        let all: Vec<Message> = valid.into_iter().chain(more).collect();
        let mut checked = ValidatedPrefix::default();
        let mut end = 0;
        for step in stops {
            end = (end + step).min(all.len());
            prop_assert_eq!(checked.is_valid(&all[..end]), validate(&all[..end]).is_empty(), "{:?}", &all[..end]);
        }
        let shorter = end / 2;
        prop_assert_eq!(checked.is_valid(&all[..shorter]), validate(&all[..shorter]).is_empty());
    }

    #[test]
    fn any_slice_of_a_conversation_becomes_valid(messages in valid(), from in 0..20_usize, to in 0..20_usize) {
        prop_assert_eq!(validate(&messages), Vec::new());
        let to = to.min(messages.len());
        let (repaired, _) = repair(messages[from.min(to)..to].to_vec());
        prop_assert_eq!(validate(&repaired), Vec::new());
    }
}
