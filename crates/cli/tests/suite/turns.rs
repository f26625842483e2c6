//! What the user at a terminal sees of a turn, and what a program reads beside them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use haft_testkit::Round;
use serde_json::{Value, json};

use super::harness::World;
use super::model::{KEY, Talk};
use super::terminal::{PROMPT, Program, Screen, seen, shown};

/// Without keys and without servers of this machine.
const ALONE: (&str, &str) = ("HAFT_LOCAL_MODELS", "");
const QUESTION: &str = "what does README.md say?";

fn world() -> World {
    let world = World::new();
    world.write("README.md", "sharpen the axe\n");
    world
}

/// Without colours, and without what differs from run to run: how long things took.
fn steady(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    let number = |word: &str| word.starts_with(|ch: char| ch.is_ascii_digit());
    let units = ["s", "ms", "ms\n", "s\n"];
    let words: Vec<&str> = text.split(' ').collect();
    let unit_behind = |place: usize| words.get(place + 1).is_some_and(|word| units.iter().any(|unit| word.starts_with(unit.trim_end())));
    let steady = |(place, word): (usize, &&str)| if number(word) && unit_behind(place) { "N".to_owned() } else { (*word).to_owned() };
    words.iter().enumerate().map(steady).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_turn_says_who_answers_what_was_called_and_what_it_took() {
    let expected = "The demo model answers, because no model is configured, no key is set, and no\n\
                    model server answers on this machine. `haft models` lists others, and --model\n\
                    takes one.\n\
                    ✓ read_file README.md · 1 line · N ms\n\
                    [demo model: a few rules, not a language model]\n\
                    read_file: sharpen the axe\n\
                    1 tool · N ms\n";
    assert_eq!(steady(&shown(&world(), 80, &[ALONE], &["run", QUESTION])), expected);
}

#[test]
fn plain_output_is_lines_and_words() {
    let words = [&["run", "--model", "demo", QUESTION][..], &["run", "--model", "demo", "--plain", QUESTION]];
    for (variable, words) in
        [(("HAFT_PLAIN", "1"), words[0]), (("TERM", "dumb"), words[0]), (ALONE, words[1]), (("NO_COLOR", "1"), words[0])]
    {
        let text = shown(&world(), 80, &[variable], words);
        let expected = "ok read_file README.md: 1 line, N ms\n\
                        [demo model: a few rules, not a language model]\n\
                        read_file: sharpen the axe\n\
                        1 call, N ms\n";
        assert_eq!(steady(&text), expected, "{variable:?}");
    }
}

#[test]
fn forty_columns_are_enough() {
    let world = World::new();
    let text = shown(&world, 40, &[ALONE], &["run", "read a/rather/long/path/to/a/file/that/is/not/there.txt"]);
    let text = steady(&text);
    let ours: Vec<&str> = text.lines().filter(|line| !line.contains("demo model:") && !line.contains(" failed: ")).collect();
    assert!(ours.iter().all(|line| line.chars().count() <= 40), "{text}");
    assert!(text.contains("\n✗ read_file a/rather/l… · file_not_found\n  File not found:\n"), "{text}");
}

#[test]
fn a_pipe_has_the_models_words_and_verbose_the_rest() {
    let ran = world().run_with(&[ALONE], &["run", "-v", QUESTION]);
    assert_eq!(ran.stdout, "[demo model: a few rules, not a language model]\nread_file: sharpen the axe\n");
    let expected = "ok read_file README.md: 1 line, N ms\n  \
                    id: demo_1_0 (haft history demo_1_0 shows what was decided)\n  \
                    with path: README.md\n  \
                    result:\n    \
                    sharpen the axe\n\
                    1 call, N ms\n";
    assert_eq!(steady(&ran.stderr), expected);
}

/// A server that answers when it is told to.
fn slow_server() -> (String, mpsc::Sender<()>, thread::JoinHandle<()>) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    let (go, wait) = mpsc::channel();
    let answer = thread::spawn(move || {
        let (mut connection, _) = server.accept().unwrap();
        connection.read_exact(&mut [0; 4]).unwrap();
        wait.recv().unwrap();
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone").unwrap();
    });
    (url, go, answer)
}

#[test]
fn a_long_call_is_one_line_that_becomes_its_result() {
    let (url, go, answer) = slow_server();
    let rounds = vec![Round::call("c1", "http_request", json!({"url": url})), Round::Text("It is done.".into())];
    let talk = Talk::with("anthropic", "[network]\nallow = [\"127.0.0.1\"]\n", rounds);
    let (text, _) = seen(talk.command(&["run", "ask it"]), 80, Program::Absent, |screen, _| {
        screen.wait_for(" 2 s");
        go.send(()).unwrap();
    });
    answer.join().unwrap();
    let text = steady(&text);
    let (moving, rest) = text.rsplit_once('\r').unwrap();
    let moved: Vec<&str> = moving.split('\r').filter(|line| !line.trim().is_empty()).collect();
    let line = format!(" http_request {url} N s");
    assert!(!moved.is_empty() && moved.iter().all(|moved| moved.trim_start_matches(['◑', '◒', '◐', '◓']) == line), "{text:?}");
    let result = format!("✓ http_request {url} · 200 OK · 4 bytes · N s\nIt is done.\n↑14 ↓6 · 1 tool · N s\n");
    assert_eq!(rest, result);
}

/// A turn that needs a yes, with this typed at the question.
fn asked(answer: &'static str) -> (String, Vec<Value>) {
    let rounds = vec![Round::call("c1", "write_file", json!({"path": "a.txt", "content": "x"})), Round::Text("So be it.".into())];
    let talk = Talk::new("openai", rounds);
    let answers = |screen: &mut Screen, _: &std::process::Child| {
        screen.wait_for(PROMPT);
        screen.types(answer);
    };
    let mut command = talk.command(&["run", "--json", "write it"]);
    command.env("NO_COLOR", "1").env("HAFT_ASK", "always");
    let (shown, read) = seen(command, 80, Program::Reads, answers);
    (shown, read.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn program_reads_the_question_and_the_answer() {
    for (typed, word, status) in [("y", "once", "success"), ("n", "deny", "error")] {
        let (shown, events) = asked(typed);
        assert!(shown.contains("\nwrite_file: write ") && !shown.contains("\"type\""), "{shown}");
        let approvals: Vec<&Value> = events.iter().filter(|event| event["type"] == "approval").collect();
        let [question, answer] = approvals.as_slice() else { panic!("{events:?}") };
        assert_eq!((&question["call_id"], &question["tool"]), (&json!("c1"), &json!("write_file")));
        assert_eq!((&question["effects"][0]["effect"], question.get("answer")), (&json!("write"), None));
        assert!(!question["reason"].as_str().unwrap().is_empty(), "{question}");
        let mut answered = (*question).clone();
        answered["answer"] = json!(word);
        assert_eq!(**answer, answered);
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        let place = |kind: &str| kinds.iter().position(|other| *other == kind).unwrap();
        assert!(place("tool_start") < place("approval") && kinds.last() == Some(&"turn_end"), "{kinds:?}");
        assert_eq!(events[place("tool_end")]["status"], status, "{events:?}");
    }
}

#[test]
fn spending_question_is_decided_by_the_user() {
    for (typed, ended) in [
        ("y", "\nIt is done.\n↑14 ↓6 · 1 tool · N ms\n"),
        ("n", "\nwarning: The budget is used up: 10 of the 10 tokens for this session are used\n(budget.tokens).\n↑7 ↓3 · 1 tool · "),
    ] {
        let rounds = vec![Round::call("c1", "noop", json!({})), Round::Text("It is done.".into())];
        let talk = Talk::with("openai", "[budget]\ntokens = 10\n", rounds);
        let (text, _) = seen(talk.command(&["run", "do it"]), 80, Program::Absent, |screen, _| {
            screen.wait_for("Spend as much again? [y]es, [n]o: ");
            screen.types(typed);
        });
        let text = steady(&text);
        assert!(text.contains("The budget is used up: 10 of the 10 tokens for this session are used (budget.tokens).\nSpend"), "{text}");
        assert!(text.contains(ended), "{typed:?}: {text}");
    }
}

#[test]
fn a_model_that_does_not_answer_is_told_once() {
    let talk = Talk::new("anthropic", vec![Round::Status(401, "{}".into())]);
    let ran = talk.says(&["hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.matches("error").count() == 1 && ran.stderr.contains(KEY.0), "{ran:?}");
}

#[test]
fn rounds_of_the_configuration_end_a_turn() {
    let rounds = (0..4).map(|number| Round::call(&format!("c{number}"), "noop", json!({}))).collect();
    let talk = Talk::new("openai", rounds);
    // A key of the whole configuration stands before its tables.
    let file = talk.world.path("config/haft/config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("max_rounds = 2\n{config}")).unwrap();
    let happened = talk.turn(&["do nothing"]);
    assert_eq!(happened.ended().0, "max_rounds");
    assert_eq!(talk.server.asked().len(), 2);
}
