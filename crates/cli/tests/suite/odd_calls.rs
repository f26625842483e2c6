//! Calls that no model should make, and more of them than any makes, in every protocol: each is answered, and the turn continues.

use haft_testkit::Round;
use serde_json::{Value, json};

use super::model::{Talk, done, in_every_protocol, mark};

#[test]
fn a_call_that_met_the_models_limit_never_runs() {
    in_every_protocol(|protocol| {
        let talk = Talk::new(protocol, vec![Round::Truncated(vec![mark("c2")])]);
        let turn = talk.turn(&["go"]);
        assert_eq!((turn.code, turn.ended(), turn.outcomes()), (0, ("max_tokens", ""), Vec::new()), "{protocol}: {turn:?}");
        assert_eq!((talk.server.asked().len(), talk.marks()), (1, 0), "{protocol}");
        let before = ("c1".to_owned(), "noop".to_owned(), json!({"n": 1}));
        let talk = Talk::new(protocol, vec![Round::Truncated(vec![before, mark("c2")]), done()]);
        let turn = talk.turn(&["go"]);
        assert_eq!((turn.code, turn.ended(), turn.outcomes()), (0, ("done", "All done."), vec!["success"]), "{protocol}: {turn:?}");
        assert_eq!((talk.results().len(), talk.marks()), (1, 0), "{protocol}");
    });
}

#[test]
fn nonsense_calls_are_answered_and_the_model_continues() {
    in_every_protocol(|protocol| {
        let noop = |arguments: Value| ("c1".to_owned(), "noop".to_owned(), arguments);
        let named = |name: &str| vec![("c1".to_owned(), name.to_owned(), json!({}))];
        for (what, round, outcome) in [
            ("an unknown tool", Round::Calls(named("no_such_tool")), "tool_not_found"),
            ("an empty name", Round::Calls(named("")), "tool_not_found"),
            ("a name of blanks", Round::Calls(named("  ")), "tool_not_found"),
            ("a very long name", Round::Calls(named(&"x".repeat(500))), "tool_not_found"),
            ("a string", Round::Calls(vec![noop(json!("text"))]), "validation_error"),
            ("a list", Round::Calls(vec![noop(json!([1, 2]))]), "validation_error"),
            ("null", Round::Calls(vec![noop(Value::Null)]), "success"),
            ("an object", Round::Calls(vec![noop(json!({"a": 1}))]), "success"),
            ("a string as a value", Round::ValueCalls(vec![noop(json!("text"))]), "validation_error"),
            ("a list as a value", Round::ValueCalls(vec![noop(json!([1, 2]))]), "validation_error"),
            ("null as a value", Round::ValueCalls(vec![noop(Value::Null)]), "success"),
            ("an object as a value", Round::ValueCalls(vec![noop(json!({"a": 1}))]), "success"),
        ] {
            let talk = Talk::new(protocol, vec![round, done()]);
            let turn = talk.turn(&["go"]);
            assert_eq!(
                (turn.code, turn.ended(), turn.outcomes()),
                (0, ("done", "All done."), vec![outcome]),
                "{protocol} {what}: {turn:?}"
            );
            let results = talk.results();
            assert_eq!((talk.server.asked().len(), results.len()), (2, 1), "{protocol} {what}");
            let told = results[0].1.get("error_type").unwrap_or(&results[0].1["status"]);
            assert_eq!(told, outcome, "{protocol} {what}: {results:?}");
        }
    });
}

#[test]
fn two_calls_with_one_id_are_two_calls() {
    in_every_protocol(|protocol| {
        let call = |tool: &str, arguments: Value| ("same".to_owned(), tool.to_owned(), arguments);
        let calls = vec![
            call("write_file", json!({"path": "marks.txt", "content": "x", "mode": "append"})),
            call("noop", json!({"a": 1})),
            call("write_file", json!({"path": "marks.txt", "content": "yz", "mode": "append"})),
        ];
        let talk = Talk::new(protocol, vec![Round::Calls(calls), Round::Calls(vec![mark("same")]), done()]);
        let turn = talk.turn(&["go"]);
        assert_eq!((turn.code, turn.ended(), turn.outcomes()), (0, ("done", "All done."), vec!["success"; 4]), "{protocol}: {turn:?}");
        assert_eq!(talk.world.read("marks.txt"), "xyzx", "{protocol}");
        let tools: Vec<String> = talk.results().into_iter().map(|(tool, _)| tool).collect();
        assert_eq!(tools, ["write_file", "noop", "write_file", "write_file"], "{protocol}");
    });
}

#[test]
fn two_hundred_calls_in_one_turn() {
    in_every_protocol(|protocol| {
        let calls = (0..200).map(|number| (format!("c{number}"), "noop".to_owned(), json!({"n": number}))).collect();
        let talk = Talk::new(protocol, vec![Round::Calls(calls), done()]);
        let turn = talk.turn(&["go"]);
        assert_eq!((turn.code, turn.ended(), turn.outcomes()), (0, ("done", "All done."), vec!["success"; 200]), "{protocol}");
        assert_eq!((talk.server.asked().len(), talk.results().len()), (2, 200), "{protocol}");
    });
}

#[test]
fn a_hundred_rounds() {
    in_every_protocol(|protocol| {
        let mut rounds: Vec<Round> = (0..99).map(|number| Round::call(&format!("c{number}"), "noop", json!({"n": number}))).collect();
        rounds.push(done());
        let talk = Talk::new(protocol, rounds);
        let turn = talk.turn(&["go"]);
        assert_eq!((turn.code, turn.ended(), turn.outcomes()), (0, ("done", "All done."), vec!["success"; 99]), "{protocol}");
        assert_eq!((&turn.end()["rounds"], talk.server.asked().len(), talk.results().len()), (&json!(100), 100, 99), "{protocol}");
    });
}
