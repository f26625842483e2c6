//! The model server says what it was told to, and goes wrong exactly as it was told to.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use haft_testkit::{Fault, Hold, ModelServer, Moment, Round};
use serde_json::{Value, json};

const PATHS: [&str; 4] = ["/chat/completions", "/responses", "/messages", "/models/m1:streamGenerateContent?alt=sse"];

fn sent(server: &ModelServer, head: &str) -> TcpStream {
    let mut connection = TcpStream::connect(server.address()).unwrap();
    write!(connection, "{head} HTTP/1.1\r\nhost: x\r\nX-One: 1\r\ncontent-length: 9\r\n\r\n{{\"go\": 1}}").unwrap();
    connection
}

fn asked(server: &ModelServer, path: &str) -> (String, String) {
    let mut text = String::new();
    sent(server, &format!("POST {path}")).read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// The data of a stream, and whether it came to its end.
fn events(body: &str) -> (Vec<String>, bool) {
    let (mut rest, mut stream) = (body, String::new());
    while let Some((size, behind)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        stream.push_str(&behind[..size]);
        rest = &behind[(size + 2).min(behind.len())..];
    }
    (stream.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect(), body.ends_with("0\r\n\r\n"))
}

fn one(round: Round, path: &str) -> (Vec<String>, bool) {
    let server = ModelServer::start(vec![round]).unwrap();
    events(&asked(&server, path).1)
}

fn call() -> Round {
    Round::call("c1", "noop", json!({"text": "aXb"}))
}

#[test]
fn every_protocol_says_calls_and_texts_and_its_end() {
    for (path, call_events, text_events) in [(PATHS[0], 6, 4), (PATHS[1], 7, 5), (PATHS[2], 7, 6), (PATHS[3], 2, 2)] {
        let (said, complete) = one(call(), path);
        assert_eq!((said.len(), complete), (call_events, true), "{path}: {said:?}");
        assert!(said.iter().any(|data| data.contains("noop")), "{path}: {said:?}");
        let (said, complete) = one(Round::Text("hello".into()), path);
        assert_eq!((said.len(), complete), (text_events, true), "{path}: {said:?}");
        assert!(said.iter().any(|data| data.contains("hello")), "{path}: {said:?}");
    }
}

#[test]
fn faults_befall_the_stream() {
    for path in PATHS {
        let (whole, _) = one(call(), path);
        let twice: Vec<String> = whole.iter().flat_map(|data| [data.clone(), data.clone()]).collect();
        assert_eq!(one(call().with(Fault::Twice), path), (twice, true), "{path}");
        assert_eq!(one(call().with(Fault::CutAtEnd), path), (whole.clone(), false), "{path}");
        assert_eq!(one(call().with(Fault::Drip), path), (whole.clone(), true), "{path}");
        let (unknown, _) = one(call().with(Fault::Unknown), path);
        assert_eq!(unknown.len(), 2 * whole.len(), "{path}");
        let (without_end, complete) = one(call().with(Fault::NoEnd), path);
        assert!(complete && without_end.len() < whole.len() && whole.starts_with(&without_end), "{path}: {without_end:?}");
        for (fault, words) in [(Fault::Malformed, "{\"half\": "), (Fault::Error("overheated".into()), "overheated")] {
            let (said, complete) = one(call().with(fault), path);
            assert_eq!((&said[..said.len() - 1], complete), (&without_end[..], true), "{path}");
            assert!(said.last().unwrap().contains(words), "{path}: {said:?}");
        }
        let (cut, complete) = one(call().with(Fault::CutBehind("noo".into())), path);
        assert!(!complete && cut.last().unwrap().ends_with("noo"), "{path}: {cut:?}");
        let (nothing, complete) = one(call().with(Fault::CutAfter(0)), path);
        assert_eq!((nothing, complete), (Vec::new(), false), "{path}");
    }
}

#[test]
fn arguments_are_values_where_that_is_wanted() {
    for path in PATHS {
        let (said, _) = one(Round::ValueCalls(vec![("c1".into(), "noop".into(), json!([1, {"a": 2}]))]), path);
        assert!(said.iter().any(|data| data.contains(r#"[1,{"a":2}]"#)), "{path}: {said:?}");
    }
}

#[test]
fn a_call_that_was_cut_is_not_whole_and_the_end_says_why() {
    for (path, reason) in PATHS.into_iter().zip(["\"length\"", "max_output_tokens", "max_tokens", "MAX_TOKENS"]) {
        let call = |id: &str, last: &str| (id.to_owned(), "noop".to_owned(), json!({"first": "begin", "last": last}));
        let (said, complete) = one(Round::Truncated(vec![call("c1", "whole"), call("c2", "missing")]), path);
        let text = said.concat();
        assert!(complete && text.contains(reason) && text.contains("whole") && !text.contains("missing"), "{path}: {said:?}");
    }
}

#[test]
fn an_answer_may_be_made_of_the_question() {
    for path in PATHS {
        let (said, complete) = one(Round::Made(|body| Round::Text(format!("you said {}", body["go"]))), path);
        assert!(complete && said.iter().any(|data| data.contains("you said 1")), "{path}: {said:?}");
    }
}

#[test]
fn other_answers_are_sent_as_they_are() {
    let headers = vec![("Content-Type".to_owned(), "text/html".to_owned()), ("retry-after".to_owned(), "3".to_owned())];
    let rounds = vec![
        Round::StatusWith { status: 429, headers, body: "<p>".into() },
        Round::Status(500, "{}".into()),
        Round::Raw(b"HTTP/1.1 200 OK\r\n\r\nraw".to_vec()),
        Round::Text("t".into()).with(Fault::Type("text/html".into())),
    ];
    let server = ModelServer::start(rounds).unwrap();
    let expected = [
        ("HTTP/1.1 429 Said\r\nContent-Type: text/html\r\nretry-after: 3\r\ncontent-length: 3\r\nconnection: close", Some("<p>")),
        ("HTTP/1.1 500 Said\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close", Some("{}")),
        ("HTTP/1.1 200 OK", Some("raw")),
        ("HTTP/1.1 200 Said\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\nconnection: close", None),
    ];
    for (head, body) in expected {
        let answer = asked(&server, PATHS[0]);
        assert_eq!(answer.0, head);
        assert!(body.is_none_or(|body| body == answer.1), "{answer:?}");
    }
    let after_the_last = asked(&server, PATHS[0]).1;
    assert!(after_the_last.contains("nothing left"), "{after_the_last}");
}

#[test]
fn a_reset_is_a_reset() {
    let server = ModelServer::start(vec![Round::Reset]).unwrap();
    let read = sent(&server, "POST /messages").read(&mut [0; 8]);
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn requests_are_recorded_and_lists_are_separate() {
    let server = ModelServer::with_models(&["a", "b"], Vec::new()).unwrap();
    asked(&server, PATHS[2]);
    let seen = server.asked().remove(0);
    assert_eq!((seen.path.as_str(), seen.header("x-one"), &seen.body), (PATHS[2], Some("1"), &json!({"go": 1})));
    for (header, ids) in [
        ("accept", json!({"object": "list", "data": [{"object": "model", "id": "a"}, {"object": "model", "id": "b"}]})),
        (
            "x-api-key",
            json!({"data": [{"type": "model", "id": "a", "display_name": "a"}, {"type": "model", "id": "b", "display_name": "b"}],
                "has_more": false}),
        ),
        ("x-goog-api-key", json!({"models": [{"name": "models/a", "displayName": "a"}, {"name": "models/b", "displayName": "b"}]})),
    ] {
        let mut connection = TcpStream::connect(server.address()).unwrap();
        write!(connection, "GET /v1/models HTTP/1.1\r\n{header}: k\r\n\r\n").unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        let list: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(list, ids, "{header}");
    }
    assert_eq!((server.asked().len(), server.listed().len()), (1, 3));
}

#[test]
fn an_answer_is_held_where_the_test_says_while_others_are_served() {
    for (moment, before) in [(Moment::Start, 0), (Moment::End, 1)] {
        let hold = Hold::default();
        let server = ModelServer::start(vec![Round::Text("slow".into()).held(moment, &hold), Round::Text("quick".into())]).unwrap();
        let mut waiting = sent(&server, "POST /chat/completions");
        assert!(hold.reached());
        assert!(asked(&server, PATHS[0]).1.contains("quick"));
        let mut first = vec![0; 4096];
        waiting.set_nonblocking(true).unwrap();
        let arrived = waiting.read(&mut first).unwrap_or(0);
        assert_eq!(String::from_utf8_lossy(&first[..arrived]).matches("slow").count(), before, "{moment:?}");
        waiting.set_nonblocking(false).unwrap();
        hold.release();
        let mut rest = String::new();
        waiting.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"), "{moment:?}: {rest}");
    }
}

#[test]
fn dropped_it_leaves_nothing_behind() {
    let hold = Hold::default();
    let server = ModelServer::start(vec![Round::Text("never".into()).held(Moment::Start, &hold)]).unwrap();
    let address = server.address();
    let mut waiting = sent(&server, "POST /messages");
    let mut silent = TcpStream::connect(address).unwrap();
    assert!(hold.reached());
    drop(server);
    assert!(TcpStream::connect(address).is_err(), "the port is closed");
    for connection in [&mut waiting, &mut silent] {
        assert!(matches!(connection.read(&mut [0; 8]), Ok(0) | Err(_)), "it is closed, and nothing was said");
    }
}
