//! A session that was interrupted at any byte of a stream or at any step resumes with a request that every provider accepts.
#![allow(clippy::unwrap_used, reason = "a test stops at the first failure")]

mod session;
mod wire;

use haft_provider::transcript::{repair, validate};
use haft_provider::{
    Adapter, Anthropic, Block, Gemini, IdForm, Message, Model, ModelTurn, OfferedTool, OpenAiChat, OpenAiResponses, Protocol,
};
use haft_testkit::request_faults;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

use crate::session::{Kept, Round, Session};
use crate::wire::{Answer, End, Said};

/// The tools by the names that they are shown by; some fit no wire.
pub(crate) const TOOLS: [&str; 3] = ["read_file", "exec", "mcp.server/a tool"];

pub(crate) fn tools() -> Vec<OfferedTool> {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    TOOLS.map(|name| OfferedTool { name: name.into(), description: "D".into(), parameters: parameters.clone().into() }).into()
}

pub(crate) fn adapter(protocol: Protocol) -> &'static dyn Adapter {
    match protocol {
        Protocol::OpenAiResponses => &OpenAiResponses,
        Protocol::Anthropic => &Anthropic,
        Protocol::Gemini => &Gemini,
        _ => &OpenAiChat,
    }
}

/// Every kind of model that a session may resume with.
fn targets() -> Vec<Model> {
    let model = |protocol, name: &str| Model::new("here", protocol, name);
    let (mut mistral, mut legacy) = (model(Protocol::OpenAi, "mistral-large"), model(Protocol::Gemini, "house-model"));
    (mistral.id_form, mistral.needs_reasoning, legacy.legacy_schema) = (IdForm::Nine, true, true);
    vec![
        model(Protocol::OpenAi, "m"),
        mistral,
        model(Protocol::OpenAiResponses, "gpt-5.2"),
        model(Protocol::Anthropic, "claude-sonnet-4-5"),
        model(Protocol::Gemini, "gemini-3-pro-preview"),
        model(Protocol::Gemini, "gemini-2.5-flash"),
        legacy,
    ]
}

/// Everything that a provider would refuse about a conversation.
fn refusals(messages: &[Message]) -> Vec<String> {
    let tools = tools();
    let flaws = validate(messages).into_iter().map(|flaw| flaw.sentence);
    let refusals = targets().into_iter().flat_map(|model| {
        let adapter = adapter(model.protocol);
        let body = adapter.encode(&ModelTurn { model: &model, system: "Be brief.", messages, tools: &tools }).body;
        request_faults(model.protocol.as_str(), &model.name, &body).into_iter().map(move |fault| format!("{}: {fault}", model.name))
    });
    flaws.chain(refusals).collect()
}

/// The messages of a stored session when the user resumes it.
fn resumed(kept: &[Kept]) -> Vec<Message> {
    let (mut messages, _) = repair(session::read(kept));
    messages.push(Message::user("continue"));
    repair(messages).0
}

/// Number of results of every call that was begun. A call whose arguments are no object had no effect and needs none.
fn results_of_begun(kept: &[Kept], messages: &[Message]) -> Vec<usize> {
    let runs = |arguments: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok();
    let begun = kept.iter().filter_map(|kept| match kept {
        Kept::Begun(Block::Call { id, arguments, .. }) if runs(arguments) => Some(id.as_str()),
        _ => None,
    });
    let blocks: Vec<&Block> = messages.iter().flat_map(|message| &message.blocks).collect();
    begun.map(|id| blocks.iter().filter(|block| block.result_id() == Some(id)).count()).collect()
}

/// Whether the calls are among all calls of an answer, in their order. One without an object waits for the end of the answer,
/// so it may be missing where a later one is decoded.
fn are_of(decoded: &[(&str, &str)], all: &[(&str, &str)]) -> bool {
    let mut all = all.iter();
    decoded.iter().all(|call| all.any(|other| other == call))
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![Just(" ".to_owned()), "[a-zäß漢\"\\\\ \n]{1,24}"]
}

fn said() -> impl Strategy<Value = Said> {
    let id = select(vec![None, Some("call_0"), Some("call_1"), Some("an id/of nobody's form, and longer than anybody would take it")]);
    let arguments = select(vec!["{}", r#"{"path":"ä\n"}"#, r#"{"path":"b","lines":[1,{"c":null}]}"#, "not json", "[1]"]);
    prop_oneof![
        1 => words().prop_map(Said::Thought),
        1 => words().prop_map(Said::Text),
        3 => (id, select(TOOLS.to_vec()), arguments).prop_map(|(id, name, arguments)| Said::Call(id, name, arguments)),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let end = prop_oneof![4 => Just(End::Whole), 1 => (1..9_usize).prop_map(End::Truncated)];
    (prop::collection::vec(said(), 0..5), end, 1..20_usize).prop_map(|(said, end, width)| Answer { said, end, width })
}

fn round() -> impl Strategy<Value = Round> {
    let whom = (select(Protocol::ALL.to_vec()), select(vec!["here", "elsewhere"]));
    let results = prop::collection::vec((any::<bool>(), any::<bool>()), 5);
    let asks = prop::option::weighted(0.3, words());
    (whom, answer(), prop::option::weighted(0.5, any::<Index>()), 1..64_usize, results, asks).prop_map(
        |((protocol, provider), answer, cut, chunk, results, asks)| Round { protocol, provider, answer, cut, chunk, results, asks },
    )
}

proptest! {
    #[test]
    fn interrupted_session_resumes_with_valid_requests(rounds in prop::collection::vec(round(), 1..5), step in any::<Index>()) {
        let mut session = Session::begin();
        for round in &rounds {
            // As the loop sends it in the middle of a turn.
            prop_assert_eq!(refusals(session.messages()), Vec::<String>::new(), "{:#?}", session.messages());
            let decoded = session.play(round);
            prop_assert!(are_of(&decoded, &round.answer.calls()), "{:?} {:?}", round, decoded);
        }
        prop_assert_eq!(refusals(session.messages()), Vec::<String>::new(), "{:#?}", session.messages());
        let kept = &session.kept()[..=step.index(session.kept().len())];
        let messages = resumed(kept);
        prop_assert_eq!(refusals(&messages), Vec::<String>::new(), "{:#?}\n{:#?}", kept, messages);
        let results = results_of_begun(kept, &messages);
        prop_assert!(results.iter().all(|count| *count == 1), "{:?} {:#?}\n{:#?}", results, kept, messages);
    }
}

/// One answer of everything there is, cut at each of its bytes.
#[test]
fn session_resumes_after_truncation_at_every_byte() {
    let said = vec![
        Said::Thought("Hm, ä".into()),
        Said::Text("I look 漢".into()),
        Said::Call(None, "read_file", r#"{"path":"ä"}"#),
        Said::Call(Some("call_0"), "mcp.server/a tool", "{}"),
        Said::Text("and".into()),
    ];
    for protocol in Protocol::ALL {
        let answer = Answer { said: said.clone(), end: End::Whole, width: 3 };
        let stream = answer.stream(protocol);
        let round = Round { protocol, provider: "here", answer, cut: None, chunk: 61, results: vec![(true, true)], asks: None };
        let mut seen = Vec::new();
        for end in 0..=stream.len() {
            let mut session = Session::begin();
            let decoded = session.play_bytes(&round, &stream[..end]);
            if seen.last() != Some(&decoded) {
                let messages = resumed(session.kept());
                assert_eq!(refusals(&messages), Vec::<String>::new(), "{protocol} cut at {end}: {messages:#?}");
                seen.push(decoded);
            }
        }
        let calls = round.answer.calls();
        assert_eq!(seen, [&calls[..0], &calls[..1], &calls[..2]], "{protocol}: a call is decoded once it is complete, and no sooner");
    }
}
