//! The five flows of the design's second seed that a user would look at on a screen, through the binary and in every protocol:
//! the message goes to the model, its call is seen to start and to end, and its last answer comes from what the call found.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use haft_testkit::Round;
use serde_json::{Value, json};

use super::model::{Happened, Talk, in_every_protocol};
use super::sent::results;

/// A model that repeats what its calls found.
fn repeats() -> Round {
    Round::Made(|body| {
        let said = |result: &Value| result.get("message").unwrap_or(&result["result"]).as_str().unwrap_or_default().trim().to_owned();
        let lines: Vec<String> = results(body).iter().map(|(tool, result)| format!("{tool}: {}", said(result))).collect();
        Round::Text(lines.join(" | "))
    })
}

/// One message, once for a program and once for a user; the model asks for these calls and then repeats what they found.
fn flow(
    protocol: &'static str,
    config: &str,
    message: &str,
    calls: &[(&str, Value)],
    prepare: impl Fn(&Talk),
) -> (Happened, String, String) {
    let calls = calls.iter().enumerate().map(|(place, (tool, arguments))| (format!("c{place}"), (*tool).to_owned(), arguments.clone()));
    let calls = Round::Calls(calls.collect());
    let talk = Talk::with(protocol, config, vec![calls.clone(), repeats(), calls, repeats()]);
    prepare(&talk);
    let turn = talk.turn(&[message]);
    assert_eq!((turn.code, turn.ended().0, talk.server.asked().len()), (0, "done", 2), "{protocol}: {turn:?}");
    let asked = talk.server.asked().remove(0).body.to_string();
    assert!(asked.contains(&json!(message).to_string()), "{protocol}: the message arrives as it was written: {asked}");
    let shown = talk.says(&[message]);
    assert_eq!(shown.code, 0, "{protocol}: {shown:?}");
    (turn, shown.stdout, shown.stderr)
}

/// The calls that were seen, in the order in which they began; each began before it ended.
fn began(turn: &Happened) -> Vec<&str> {
    let place = |kind: &str, id: &Value| turn.events.iter().position(|event| event["type"] == kind && event["call_id"] == *id).unwrap();
    for event in turn.of("tool_start") {
        assert!(place("tool_start", &event["call_id"]) < place("tool_end", &event["call_id"]), "{turn:?}");
    }
    turn.of("tool_start").map(|event| event["tool"].as_str().unwrap()).collect()
}

/// The result of a tool as it is shown.
fn result<'a>(turn: &'a Happened, tool: &str) -> &'a str {
    turn.of("tool_end").find(|event| event["tool"] == tool).unwrap()["result"].as_str().unwrap()
}

#[test]
fn flow_4_1_get_current_time_single_tool_call() {
    in_every_protocol(|protocol| {
        let before = jiff::Timestamp::now();
        let (turn, stdout, stderr) = flow(protocol, "", "What is the current time?", &[("get_current_time", json!({}))], |_| {});
        assert_eq!((began(&turn), turn.outcomes()), (vec!["get_current_time"], vec!["success"]), "{protocol}");
        let shown = result(&turn, "get_current_time");
        let time: jiff::Timestamp = shown.parse().unwrap_or_else(|error| panic!("{error}: {shown}"));
        assert!(before.as_second() <= time.as_second() && time <= jiff::Timestamp::now(), "{protocol}: {shown}");
        assert_eq!(turn.ended().1, format!("get_current_time: {shown}"), "{protocol}");
        assert!(stderr.contains("ok get_current_time") && stdout.starts_with("get_current_time: 20"), "{protocol}: {stdout} {stderr}");
    });
}

#[test]
fn flow_4_2_read_file() {
    in_every_protocol(|protocol| {
        let message = "Please read the file at test.txt and tell me what it says.";
        let calls = [("read_file", json!({"path": "test.txt"}))];
        let (turn, stdout, stderr) = flow(protocol, "", message, &calls, |talk| talk.world.write("test.txt", "hello world\n"));
        assert_eq!((began(&turn), turn.outcomes()), (vec!["read_file"], vec!["success"]), "{protocol}");
        assert_eq!((result(&turn, "read_file"), turn.ended().1), ("hello world\n", "read_file: hello world"), "{protocol}");
        assert!(stderr.contains("ok read_file test.txt") && stdout == "read_file: hello world\n", "{protocol}: {stdout} {stderr}");
    });
}

/// Answers two requests with what it was asked, as httpbin.org does.
fn echo(listener: &TcpListener) {
    for connection in listener.incoming().take(2) {
        let mut connection = connection.unwrap();
        let mut head: Vec<String> = Vec::new();
        for line in BufReader::new(&connection).lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
            head.push(line);
        }
        let body = json!({"url": format!("http://{}/get", listener.local_addr().unwrap()), "headers": head[1..]}).to_string();
        write!(connection, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    }
}

#[test]
fn flow_4_3_http_request_get() {
    in_every_protocol(|protocol| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/get", listener.local_addr().unwrap());
        let message = format!("Make an HTTP GET request to {url} and show me the response.");
        let echoing = std::thread::spawn(move || echo(&listener));
        let calls = [("http_request", json!({"url": url}))];
        let (turn, stdout, stderr) = flow(protocol, "[network]\nallow = [\"127.0.0.1\"]\n", &message, &calls, |_| {});
        echoing.join().unwrap();
        assert_eq!((began(&turn), turn.outcomes()), (vec!["http_request"], vec!["success"]), "{protocol}");
        for words in [format!("\"url\":\"{url}\""), "\"headers\":".to_owned(), "HTTP 200".to_owned()] {
            assert!(
                turn.ended().1.contains(&words) && stdout.contains(&words),
                "{protocol}: no {words} in {:?} and {stdout}",
                turn.ended()
            );
        }
        assert!(stderr.contains(&format!("ok http_request {url}")), "{protocol}: {stderr}");
    });
}

#[test]
fn flow_4_4_parallel_tool_calls() {
    in_every_protocol(|protocol| {
        let message = "Do two things at once: (1) what is the current time, and (2) read test.txt";
        let calls = [("get_current_time", json!({})), ("read_file", json!({"path": "test.txt"}))];
        let (turn, stdout, stderr) = flow(protocol, "", message, &calls, |talk| talk.world.write("test.txt", "hello world\n"));
        assert_eq!((began(&turn), turn.outcomes()), (vec!["get_current_time", "read_file"], vec!["success"; 2]), "{protocol}");
        let time = result(&turn, "get_current_time");
        assert_eq!(turn.ended().1, format!("get_current_time: {time} | read_file: hello world"), "{protocol}");
        assert!(stderr.contains("ok get_current_time") && stderr.contains("ok read_file test.txt"), "{protocol}: {stderr}");
        assert!(stdout.starts_with("get_current_time: 20") && stdout.ends_with("| read_file: hello world\n"), "{protocol}: {stdout}");
    });
}

/// Its own database, and that of another program: neither is read, and the conversation continues.
#[test]
fn flow_4_5_restricted_file_path() {
    in_every_protocol(|protocol| {
        for path in ["../home/state/haft.db", "/data/data/com.oneclaw.shadow/databases/oneclaw.db"] {
            let message = format!("Please read the file {path}");
            let (turn, stdout, stderr) = flow(protocol, "", &message, &[("read_file", json!({"path": path}))], |_| {});
            assert_eq!((began(&turn), turn.outcomes()), (vec!["read_file"], vec!["path_not_allowed"]), "{protocol} {path}: {turn:?}");
            let refused = turn.of("tool_end").next().unwrap()["message"].as_str().unwrap();
            assert_eq!(turn.ended().1, format!("read_file: {refused}"), "{protocol} {path}");
            assert!(stderr.contains("failed read_file") && stdout.starts_with("read_file: "), "{protocol} {path}: {stdout} {stderr}");
        }
    });
}
