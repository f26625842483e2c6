//! Ctrl-C in a conversation: once cancels the turn, with an answer for every call; twice leaves.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};

use haft_testkit::{Hold, Moment, Round};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::model::{RunningTurn, Talk, done, in_every_protocol};

fn press_ctrl_c(going: &RunningTurn) {
    send(going, Signal::INT);
}

fn send(going: &RunningTurn, signal: Signal) {
    kill_process(Pid::from_child(&going.child), signal).unwrap();
}

/// A call that is done, and one that waits for a server which never answers; returns when its request has arrived.
fn waiting(talk: &Talk, silent: &TcpListener) -> (RunningTurn, TcpStream) {
    let mut going = talk.begin(&["begin here"]);
    going.until("tool_end");
    (going, silent.accept().unwrap().0)
}

fn calls_to(silent: &TcpListener) -> Round {
    let url = format!("http://{}/", silent.local_addr().unwrap());
    Round::Calls(vec![
        ("c1".to_owned(), "noop".to_owned(), json!({"n": 1})),
        ("c2".to_owned(), "http_request".to_owned(), json!({"url": url})),
    ])
}

const LOOPBACK: &str = "[network]\nallow = [\"127.0.0.1\"]\n";

/// How each call ended, as the model is told when the conversation resumes.
fn told(talk: &Talk) -> Vec<(String, Value)> {
    let outcome = |result: &Value| result.get("error_type").unwrap_or(&result["status"]).clone();
    talk.results().iter().map(|(tool, result)| (tool.clone(), outcome(result))).collect()
}

#[test]
fn once_while_a_call_runs() {
    in_every_protocol(|protocol| {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
            let silent = TcpListener::bind("127.0.0.1:0").unwrap();
            let talk = Talk::with(protocol, LOOPBACK, vec![calls_to(&silent), done()]);
            let (going, _connection) = waiting(&talk, &silent);
            send(&going, signal);
            let turn = going.finish(&talk.world);
            assert_eq!(
                (turn.code, turn.ended().0, turn.outcomes()),
                (code, "cancelled", vec!["success", "cancelled"]),
                "{protocol}: {turn:?}"
            );
            assert!(turn.stderr.starts_with("cancelling"), "{protocol}: {turn:?}");
            assert_eq!(talk.kinds(), ["user", "begun", "begun", "assistant", "results"], "{protocol}");
            let turn = talk.turn(&["--session", "last", "continue"]);
            assert_eq!((turn.code, turn.ended()), (0, ("done", "All done.")), "{protocol}: {turn:?}");
            let expected = [("noop".to_owned(), json!("success")), ("http_request".to_owned(), json!("cancelled"))];
            assert_eq!(told(&talk), expected, "{protocol}");
        }
    });
}

#[test]
fn once_before_the_model_answers_and_while_it_speaks() {
    in_every_protocol(|protocol| {
        for moment in [Moment::Start, Moment::End] {
            let hold = Hold::default();
            let talk = Talk::new(protocol, vec![Round::Text("I was abou".into()).held(moment, &hold), done()]);
            let mut going = talk.begin(&["begin here"]);
            assert!(hold.reached());
            if moment == Moment::End {
                going.until("text_delta");
            }
            press_ctrl_c(&going);
            let turn = going.finish(&talk.world);
            assert_eq!((turn.code, turn.ended().0), (130, "cancelled"), "{protocol} {moment:?}: {turn:?}");
            assert_eq!(talk.kinds(), ["user"], "{protocol} {moment:?}");
            let turn = talk.turn(&["--session", "last", "continue"]);
            assert_eq!((turn.code, turn.ended()), (0, ("done", "All done.")), "{protocol} {moment:?}: {turn:?}");
        }
    });
}

#[test]
fn once_while_the_model_speaks_and_a_call_is_done() {
    in_every_protocol(|protocol| {
        let hold = Hold::default();
        // A Chat Completion says that a call is whole when the next one begins, and of the last one at its end.
        let calls = ["c1", "c2"].map(|id| (id.to_owned(), "noop".to_owned(), json!({"id": id})));
        let talk = Talk::new(protocol, vec![Round::Calls(calls.to_vec()).held(Moment::End, &hold), done()]);
        let mut going = talk.begin(&["begin here"]);
        let whole = if protocol == "openai" { 1 } else { 2 };
        for _ in 0..whole {
            going.until("tool_end");
        }
        press_ctrl_c(&going);
        let turn = going.finish(&talk.world);
        assert_eq!((turn.code, turn.ended().0, turn.outcomes()), (130, "cancelled", vec!["success"; whole]), "{protocol}: {turn:?}");
        let turn = talk.turn(&["--session", "last", "continue"]);
        assert_eq!((turn.code, turn.stderr.as_str(), turn.ended()), (0, "", ("done", "All done.")), "{protocol}: {turn:?}");
        assert_eq!(told(&talk), vec![("noop".to_owned(), json!("success")); whole], "{protocol}");
    });
}

#[test]
fn twice_does_not_wait() {
    in_every_protocol(|protocol| {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let talk = Talk::with(protocol, LOOPBACK, vec![calls_to(&silent)]);
        let (mut going, _connection) = waiting(&talk, &silent);
        // The calls are cancelled, but what came of them cannot be kept yet: haft waits for it.
        let lock = Connection::open(talk.world.state().join("haft.db")).unwrap();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        press_ctrl_c(&going);
        let mut line = String::new();
        BufReader::new(going.child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "cancelling; press Ctrl-C again to end at once\n", "{protocol}");
        press_ctrl_c(&going);
        assert_eq!(going.child.wait().unwrap().code(), Some(130), "{protocol}");
        drop(lock);
        assert_eq!(talk.kinds(), ["user", "begun", "begun"], "{protocol}");
        let talk = talk.next(vec![done()]);
        let turn = talk.turn(&["--session", "last", "continue"]);
        assert_eq!((turn.code, turn.ended()), (0, ("done", "All done.")), "{protocol}: {turn:?}");
        assert_eq!(talk.results().len(), 2, "{protocol}");
    });
}
