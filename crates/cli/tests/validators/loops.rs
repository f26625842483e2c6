//! Turns with a provider that plays by the rules, in every protocol.

use serde_json::{Value, json};

use super::aimock::Aimock;
use super::sdks::assert_valid;
use super::simulation::{PROTOCOLS, Protocol, Simulation, in_each_protocol, statuses};
use crate::harness::Ran;

fn fixture(matching: &Value, response: &Value) -> Value {
    json!({"match": matching, "response": response})
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "name": name, "arguments": arguments})
}

fn events(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn text_arrives_in_pieces() {
    let said = "Grüße — “here” is 東京, and \\ a \"quote\".\n\nDone.";
    let aimock = Aimock::start(&[fixture(&json!({"userMessage": "Say it"}), &json!({"content": said}))], &["--chunk-size", "4"]);
    let sent = in_each_protocol(|protocol| {
        let simulation = Simulation::new(protocol, &aimock);
        let ran = simulation.run(&["--json", "Say it"]);
        let pieces: Vec<Value> = events(&ran).into_iter().filter(|event| event["type"] == "text_delta").collect();
        let text: String = pieces.iter().map(|piece| piece["text"].as_str().unwrap()).collect();
        assert_eq!((ran.code, text.as_str()), (0, said), "{}: {ran:?}", protocol.name);
        assert!(pieces.len() > 5, "{}: {ran:?}", protocol.name);
        assert_eq!(statuses(&simulation.exchanges()), [200]);
        simulation.entries()
    });
    assert_valid(&sent.concat());
}

/// Reads, writes, and says so; the model thinks before each step, and wants its thoughts back.
fn copying() -> Vec<Value> {
    let read = call("call_read", "read_file", &json!({"path": "a.txt"}));
    let write = call("call_write", "write_file", &json!({"path": "b.txt", "content": "sharpen the axe"}));
    vec![
        fixture(
            &json!({"userMessage": "Copy", "hasToolResult": false}),
            &json!({"reasoning": "First I read.", "reasoningSignature": "c2lnbmVkIG9uZQ==", "content": "I look.", "toolCalls": [read]}),
        ),
        fixture(
            &json!({"toolCallId": "call_read", "toolResultContains": "sharpen the axe"}),
            &json!({"reasoning": "Then I write.", "reasoningSignature": "c2lnbmVkIHR3bw==", "toolCalls": [write]}),
        ),
        fixture(&json!({"toolCallId": "call_write", "toolResultContains": "success"}), &json!({"content": "It is copied."})),
        fixture(&json!({"userMessage": "Thanks"}), &json!({"content": "You are welcome."})),
    ]
}

const READ: (&str, &str) = ("call_read", "sharpen the axe");
const WRITTEN: (&str, &str) = ("call_write", "Successfully wrote 15 bytes to b.txt");

#[test]
fn calls_follow_each_other_and_each_result_goes_back() {
    let aimock = Aimock::start(&copying(), &[]);
    let sent = in_each_protocol(|protocol| {
        let simulation = Simulation::new(protocol, &aimock);
        simulation.world.write("a.txt", "sharpen the axe");
        let ran = simulation.run(&["Copy a.txt"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "I look.\nIt is copied.\n"), "{}: {ran:?}", protocol.name);
        assert_eq!(simulation.world.read("b.txt"), "sharpen the axe");
        let later = simulation.run(&["--session", "last", "Thanks"]);
        assert_eq!((later.code, later.stdout.as_str()), (0, "You are welcome.\n"), "{}: {later:?}", protocol.name);
        let exchanges = simulation.exchanges();
        assert_eq!(statuses(&exchanges), [200; 4], "{}", protocol.name);
        for (exchange, results) in exchanges.iter().zip([&[][..], &[READ], &[READ, WRITTEN], &[READ, WRITTEN]]) {
            exchange.has_results(results);
        }
        assert_eq!(thoughts(protocol, &exchanges[2].sent), thoughts_given(protocol), "{}", protocol.name);
        simulation.entries()
    });
    assert_valid(&sent.concat());
}

/// The reasoning that a request sends back.
fn thoughts(protocol: Protocol, body: &Value) -> Vec<String> {
    let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match protocol.name {
        "anthropic" => {
            let blocks = items(&body["messages"]).into_iter().flat_map(|message| items(&message["content"]));
            blocks.filter_map(|block| text(&block["signature"])).collect()
        }
        "openai-responses" => items(&body["input"]).iter().filter_map(|item| text(&item["summary"][0]["text"])).collect(),
        "openai" => items(&body["messages"]).iter().filter_map(|message| text(&message["reasoning_content"])).collect(),
        _ => {
            let parts = items(&body["contents"]).into_iter().flat_map(|content| items(&content["parts"]));
            parts.filter_map(|part| text(&part["thoughtSignature"])).collect()
        }
    }
}

/// The simulator signs no thoughts of Gemini, so that its calls bring the documented placeholder.
fn thoughts_given(protocol: Protocol) -> [&'static str; 2] {
    match protocol.name {
        "anthropic" => ["c2lnbmVkIG9uZQ==", "c2lnbmVkIHR3bw=="],
        "gemini" => ["skip_thought_signature_validator"; 2],
        _ => ["First I read.", "Then I write."],
    }
}

#[test]
fn a_session_moves_from_provider_to_provider() {
    let fixtures: Vec<Value> = PROTOCOLS
        .iter()
        .flat_map(|Protocol { name, .. }| {
            let read = call(name, "read_file", &json!({"path": "a.txt"}));
            let thought = json!({"reasoning": "I read.", "reasoningSignature": "c2lnbmVk", "content": "I look.", "toolCalls": [read]});
            [
                fixture(&json!({"userMessage": format!("({name})"), "hasToolResult": false}), &thought),
                fixture(&json!({"toolCallId": name}), &json!({"content": format!("Read by {name}.")})),
            ]
        })
        .collect();
    let sent = in_each_protocol(|first| {
        let aimock = Aimock::start(&fixtures, &[]);
        let simulation = Simulation::new(first, &aimock);
        simulation.world.write("a.txt", "sharpen the axe");
        let mut known = Vec::new();
        for protocol in PROTOCOLS.into_iter().cycle().skip_while(|protocol| protocol.name != first.name).take(PROTOCOLS.len()) {
            let (model, prompt) = (protocol.model(), format!("Read it ({})", protocol.name));
            let same: &[&str] = if known.is_empty() { &[] } else { &["--session", "last"] };
            let ran = simulation.run(&[same, &["--model", &model, &prompt]].concat());
            let expected = format!("I look.\nRead by {}.\n", protocol.name);
            assert_eq!((ran.code, ran.stdout), (0, expected), "{} after {known:?}: {}", protocol.name, ran.stderr);
            known.push(protocol.name);
            // Gemini gets no ids but its own; the simulator then makes one from the tool's name.
            let id = |whose| if protocol.name == "gemini" && whose != "gemini" { "call_gemini_read_file_0" } else { whose };
            let results: Vec<_> = known.iter().map(|whose| (id(whose), "sharpen the axe")).collect();
            simulation.exchanges().last().unwrap().has_results(&results);
        }
        assert_eq!(statuses(&simulation.exchanges()), [200; 8], "from {}", first.name);
        simulation.entries()
    });
    assert_valid(&sent.concat());
}

#[test]
fn calls_side_by_side_are_all_answered_and_the_failed_one_is_marked() {
    let calls = [
        call("call_good", "read_file", &json!({"path": "a.txt"})),
        call("call_bad", "read_file", &json!({"path": "missing.txt"})),
        call("call_unknown", "no_such_tool", &json!({})),
        call("call_write", "write_file", &json!({"path": "b.txt", "content": "new"})),
    ];
    let fixtures = [
        fixture(&json!({"userMessage": "All", "hasToolResult": false}), &json!({"toolCalls": calls})),
        fixture(&json!({"toolCallId": "call_write"}), &json!({"content": "Two of four."})),
    ];
    let aimock = Aimock::start(&fixtures, &["--chunk-size", "7"]);
    let sent = in_each_protocol(|protocol| {
        let simulation = Simulation::new(protocol, &aimock);
        simulation.world.write("a.txt", "sharpen the axe");
        let ran = simulation.run(&["All at once"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Two of four.\n"), "{}: {ran:?}", protocol.name);
        assert_eq!(simulation.world.read("b.txt"), "new");
        let exchanges = simulation.exchanges();
        assert_eq!(statuses(&exchanges), [200; 2], "{}", protocol.name);
        exchanges[1].has_results(&[
            ("call_good", "sharpen the axe"),
            ("call_bad", "File not found: missing.txt"),
            ("call_unknown", "no_such_tool"),
            ("call_write", "Successfully wrote 3 bytes"),
        ]);
        assert_eq!(failures(protocol, &exchanges[1].sent), [false, true, true, false], "{}", protocol.name);
        simulation.entries()
    });
    assert_valid(&sent.concat());
}

/// The results of the last message that are marked as failures in the protocol.
fn failures(protocol: Protocol, body: &Value) -> Vec<bool> {
    let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let says_error = |text: &Value| text.as_str().unwrap().contains(r#""status":"error""#);
    match protocol.name {
        "anthropic" => items(&body["messages"][2]["content"]).iter().map(|block| block["is_error"] == true).collect(),
        "gemini" => {
            let response = |part: &Value| part["functionResponse"]["response"]["status"] == "error";
            items(&body["contents"][2]["parts"]).iter().map(response).collect()
        }
        "openai" => items(&body["messages"])
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|result| says_error(&result["content"]))
            .collect(),
        _ => {
            let outputs = items(&body["input"]).into_iter().filter(|item| item["type"] == "function_call_output");
            outputs.map(|item| says_error(&item["output"])).collect()
        }
    }
}
