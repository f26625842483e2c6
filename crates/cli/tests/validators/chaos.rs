//! Turns with a provider that fails, in every protocol: haft recovers, or ends with one sentence; what was done stays done, and
//! what was found out stays known.

use serde_json::{Value, json};

use super::aimock::Aimock;
use super::sdks::assert_valid;
use super::simulation::{PROTOCOLS, Simulation, in_each_protocol, statuses};
use crate::harness::Ran;

/// A way to fail.
struct Fault {
    /// As the simulator's command line and its fixtures name it.
    flag: &'static str,
    field: &'static str,
    /// Status in its journal.
    status: u64,
    words: &'static str,
}

const FAULTS: [Fault; 4] = [
    Fault { flag: "--chaos-ratelimit", field: "rateLimitRate", status: 429, words: "limits requests: Chaos: rate limit exceeded." },
    Fault { flag: "--chaos-drop", field: "dropRate", status: 500, words: "Chaos: request dropped" },
    Fault { flag: "--chaos-disconnect", field: "disconnectRate", status: 0, words: "The connection to 127.0.0.1:" },
    Fault { flag: "--chaos-malformed", field: "malformedRate", status: 200, words: "instead of a stream" },
];

/// The one line that says what went wrong.
fn sentence(ran: &Ran) -> &str {
    let mut errors = ran.stderr.lines().filter(|line| line.starts_with("error: "));
    let (Some(error), None, "") = (errors.next(), errors.next(), ran.stdout.as_str()) else { panic!("not one sentence: {ran:?}") };
    error
}

#[test]
fn a_provider_that_always_fails_is_given_up_with_one_sentence() {
    let mut sent = Vec::new();
    for fault in &FAULTS {
        let aimock = Aimock::start(&[], &[fault.flag, "1"]);
        sent.extend(in_each_protocol(|protocol| {
            let simulation = Simulation::new(protocol, &aimock);
            let ran = simulation.run(&["Hello"]);
            assert_eq!(ran.code, 1, "{} {}: {ran:?}", protocol.name, fault.flag);
            assert!(sentence(&ran).contains(fault.words), "{} {}: {ran:?}", protocol.name, fault.flag);
            assert_eq!(statuses(&simulation.exchanges()), vec![fault.status; 2], "{} {}", protocol.name, fault.flag);
            simulation.entries()
        }));
    }
    assert_valid(&sent.concat());
}

/// A call that shows in a file how often it was made.
fn mark(id: &str) -> Value {
    json!({"id": id, "name": "write_file", "arguments": {"path": "marks.txt", "content": "x", "mode": "append"}})
}

/// The model asks for a call; the request with its result fails the first time.
fn failing_once(protocol: &str, fault: &Fault) -> [Value; 3] {
    [
        json!({"match": {"userMessage": format!("({protocol})"), "hasToolResult": false}, "response": {"toolCalls": [mark(protocol)]}}),
        json!({
            "match": {"toolCallId": protocol, "sequenceIndex": 0},
            "response": {"content": "Not this."},
            "chaos": {fault.field: 1},
        }),
        json!({"match": {"toolCallId": protocol, "sequenceIndex": 1}, "response": {"content": "Done."}}),
    ]
}

#[test]
fn a_fault_behind_a_call_costs_neither_the_call_nor_its_result() {
    let mut sent = Vec::new();
    for fault in &FAULTS {
        let fixtures = PROTOCOLS.map(|protocol| failing_once(protocol.name, fault)).concat();
        let aimock = Aimock::start(&fixtures, &[]);
        sent.extend(in_each_protocol(|protocol| {
            let simulation = Simulation::new(protocol, &aimock);
            let ran = simulation.run(&[&format!("Mark it ({})", protocol.name)]);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{} {}: {ran:?}", protocol.name, fault.flag);
            assert_eq!(simulation.world.read("marks.txt"), "x", "{} {}", protocol.name, fault.flag);
            let exchanges = simulation.exchanges();
            assert_eq!(statuses(&exchanges), [200, fault.status, 200], "{} {}", protocol.name, fault.flag);
            for exchange in &exchanges[1..] {
                exchange.has_results(&[(protocol.name, "Successfully wrote 1 bytes to marks.txt")]);
            }
            simulation.entries()
        }));
    }
    assert_valid(&sent.concat());
}

/// The simulator breaks off the answer behind so many events, the first time.
fn breaking_off(name: &str, events: u32) -> [Value; 3] {
    let answer = json!({"content": "I mark it now.", "toolCalls": [mark(name)]});
    let asked = |index: u32| json!({"userMessage": format!("({name})"), "hasToolResult": false, "sequenceIndex": index});
    [
        // Without a pause between its events, the simulator throws them away as it ends the connection.
        json!({"match": asked(0), "response": answer, "chunkSize": 6, "latency": 2, "truncateAfterChunks": events}),
        json!({"match": asked(1), "response": answer, "chunkSize": 6}),
        json!({"match": {"toolCallId": name}, "response": {"content": "Done."}}),
    ]
}

#[test]
fn an_answer_that_breaks_off_anywhere_runs_its_call_once() {
    const EVENTS: [u32; 8] = [1, 2, 3, 5, 8, 12, 17, 23];
    let name = |protocol: &str, events: u32| format!("{protocol}-{events}");
    let fixtures: Vec<Value> =
        PROTOCOLS.iter().flat_map(|protocol| EVENTS.map(|events| breaking_off(&name(protocol.name, events), events))).flatten().collect();
    let aimock = Aimock::start(&fixtures, &[]);
    let sent = in_each_protocol(|protocol| {
        let simulation = Simulation::new(protocol, &aimock);
        for (number, events) in (1..).zip(EVENTS) {
            let ran = simulation.run(&[&format!("Mark it ({})", name(protocol.name, events))]);
            assert!(ran.code == 0 && ran.stdout.ends_with("\nDone.\n"), "{} {events}: {ran:?}", protocol.name);
            assert_eq!(simulation.world.read("marks.txt"), "x".repeat(number), "{} {events}: {ran:?}", protocol.name);
        }
        let exchanges = simulation.exchanges();
        let cuts = exchanges.iter().filter(|exchange| exchange.is_cut).count();
        assert!(cuts >= 3 && exchanges.iter().all(|exchange| exchange.status == 200), "{}: {cuts} cuts", protocol.name);
        simulation.entries()
    });
    assert_valid(&sent.concat());
}
