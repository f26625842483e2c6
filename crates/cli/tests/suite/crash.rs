//! `kill -9` at every step of a turn that is kept, and the session resumes: one result for each call, and nothing runs again.

use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use haft_testkit::{Hold, Moment, Round};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};

use super::model::{RunningTurn, Talk, done, in_every_protocol, mark};

/// What the model is told of a call when nobody knows what came of it.
const UNKNOWN: &str =
    "The call was interrupted before its outcome was known. It may or may not have had an effect; check before repeating it.";

/// What the model is told of a call whose changes are complete.
const FINISHED: &str = "All changes were made. The process ended before the result was recorded.";

const WROTE: &str = "Successfully wrote 1 bytes to marks.txt (mode: append)";
const NOTHING: &str = "noop executed with 1 params";

/// What a result says: its text, or why there is none; without the note that history was asked for it.
fn said(result: &Value) -> &str {
    let text = result.get("message").unwrap_or(&result["result"]).as_str().unwrap();
    text.split("\n\n(The conversation was broken off after this call had ended.").next().unwrap()
}

/// Waits until history knows so many calls that have ended: it is written behind them.
fn until_history_knows(calls: usize, talk: &Talk) {
    let begun = Instant::now();
    while talk.history().iter().filter(|(_, status)| status == "success").count() < calls {
        assert!(begun.elapsed() < Duration::from_mins(1), "{}: {:?}", talk.protocol, talk.history());
    }
}

/// What the session holds when the process is gone, and what the model is told when it resumes.
struct Left<'a> {
    kinds: &'a [&'a str],
    results: &'a [(&'a str, &'a str)],
    marks: usize,
}

/// Ends the process, looks at what it left, and lets another one resume.
fn killed_and_resumed(talk: Talk, going: RunningTurn, left: &Left<'_>) -> Talk {
    going.kill();
    let protocol = talk.protocol;
    assert_eq!((talk.kinds(), talk.marks()), (left.kinds.iter().map(ToString::to_string).collect(), left.marks), "{protocol}");
    resumed(talk, left)
}

/// Lets another process resume.
fn resumed(talk: Talk, left: &Left<'_>) -> Talk {
    let protocol = talk.protocol;
    let talk = talk.next(vec![done()]);
    let turn = talk.resume("continue");
    assert_eq!((turn.code, turn.ended(), turn.outcomes()), (0, ("done", "All done."), Vec::new()), "{protocol}: {turn:?}");
    let body = talk.server.asked().remove(0).body.to_string();
    assert!(body.contains("begin here") && body.contains("continue"), "{protocol}: {body}");
    let results = talk.results();
    let told: Vec<(&str, &str)> = results.iter().map(|(tool, result)| (tool.as_str(), said(result))).collect();
    assert_eq!((told, talk.marks()), (left.results.to_vec(), left.marks), "{protocol}");
    let lost = left.results.iter().filter(|(_, text)| *text == UNKNOWN).count();
    assert_eq!(turn.stderr.matches("has no result").count(), lost, "{protocol}: the user is told: {turn:?}");
    talk
}

/// A hook around each call that waits until the test lets it go.
struct Gate {
    alive: std::path::PathBuf,
    gate: std::path::PathBuf,
}

impl Gate {
    fn at(event: &str, talk: &Talk) -> Self {
        let [alive, gate] = ["alive", "gate"].map(|name| talk.world.path(name));
        for pipe in [&alive, &gate] {
            mkfifoat(CWD, pipe, Mode::RUSR | Mode::WUSR).unwrap();
        }
        let command = format!("exec 9>'{}'; timeout 60 cat '{}' >/dev/null", alive.display(), gate.display());
        talk.configure(&format!("[[hooks]]\nevent = \"{event}\"\ntimeout_seconds = 120\ncommand = \"{command}\"\n"));
        Self { alive, gate }
    }

    /// Waits until the hook runs.
    fn reached(&self) -> File {
        File::open(&self.alive).unwrap()
    }

    /// Lets the hook end, whose process nobody else ends any more, and waits until it has.
    fn open(self, mut alive: File) {
        drop(File::options().write(true).open(&self.gate).unwrap());
        alive.read_to_end(&mut Vec::new()).unwrap();
    }
}

#[test]
fn before_the_first_answer() {
    in_every_protocol(|protocol| {
        let hold = Hold::default();
        let talk = Talk::new(protocol, vec![done().held(Moment::Start, &hold)]);
        let going = talk.begin(&["begin here"]);
        assert!(hold.reached());
        killed_and_resumed(talk, going, &Left { kinds: &["user"], results: &[], marks: 0 });
    });
}

#[test]
fn in_the_middle_of_the_first_words() {
    in_every_protocol(|protocol| {
        let hold = Hold::default();
        let talk = Talk::new(protocol, vec![Round::Text("I am thin".into()).held(Moment::End, &hold)]);
        let mut going = talk.begin(&["begin here"]);
        assert_eq!(going.until("text_delta")["text"], "I am thin");
        killed_and_resumed(talk, going, &Left { kinds: &["user"], results: &[], marks: 0 });
    });
}

#[test]
fn after_a_call_was_begun_and_before_its_effect() {
    in_every_protocol(|protocol| {
        let talk = Talk::new(protocol, vec![Round::Calls(vec![mark("c1")])]);
        let gate = Gate::at("before_tool_call", &talk);
        let going = talk.begin(&["begin here"]);
        let alive = gate.reached();
        let left = Left { kinds: &["user", "begun"], results: &[("write_file", UNKNOWN)], marks: 0 };
        let talk = killed_and_resumed(talk, going, &left);
        gate.open(alive);
        assert_eq!(talk.marks(), 0, "{protocol}: what the hook held back never happens");
    });
}

#[test]
fn in_the_middle_of_a_call_while_another_is_done() {
    in_every_protocol(|protocol| {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap());
        let calls = vec![mark("c1"), ("c2".to_owned(), "http_request".to_owned(), json!({"url": url}))];
        let talk = Talk::with(protocol, "[network]\nallow = [\"127.0.0.1\"]\n", vec![Round::Calls(calls)]);
        let mut going = talk.begin(&["begin here"]);
        going.until("tool_end");
        let _connection = silent.accept().unwrap();
        until_history_knows(1, &talk);
        let results = [("write_file", WROTE), ("http_request", UNKNOWN)];
        killed_and_resumed(talk, going, &Left { kinds: &["user", "begun", "begun"], results: &results, marks: 1 });
    });
}

#[test]
fn after_the_effect_and_before_its_result() {
    in_every_protocol(|protocol| {
        let talk = Talk::new(protocol, vec![Round::Calls(vec![mark("c1")])]);
        let gate = Gate::at("after_tool_call", &talk);
        let going = talk.begin(&["begin here"]);
        let alive = gate.reached();
        assert_eq!(talk.history(), [("write_file".to_owned(), "unfinished".to_owned())], "{protocol}");
        // The next start compares the file with what the call would have left.
        let left = Left { kinds: &["user", "begun"], results: &[("write_file", FINISHED)], marks: 1 };
        let _talk = killed_and_resumed(talk, going, &left);
        gate.open(alive);
    });
}

#[test]
fn after_the_result_while_the_answer_still_comes() {
    in_every_protocol(|protocol| {
        let hold = Hold::default();
        // A Chat Completion says that a call is whole when the next one begins, and of the last one at its end.
        let calls = vec![mark("c1"), ("c2".to_owned(), "noop".to_owned(), json!({"n": 1}))];
        let talk = Talk::new(protocol, vec![Round::Calls(calls).held(Moment::End, &hold)]);
        let mut going = talk.begin(&["begin here"]);
        let calls = if protocol == "openai" { 1 } else { 2 };
        for _ in 0..calls {
            going.until("tool_end");
        }
        until_history_knows(calls, &talk);
        let results = [("write_file", WROTE), ("noop", NOTHING)];
        let kinds = ["user", "begun", "begun"];
        killed_and_resumed(talk, going, &Left { kinds: &kinds[..=calls], results: &results[..calls], marks: 1 });
    });
}

#[test]
fn after_the_results_and_before_the_next_answer() {
    in_every_protocol(|protocol| {
        for moment in [Moment::Start, Moment::End] {
            let hold = Hold::default();
            let talk = Talk::new(protocol, vec![Round::Calls(vec![mark("c1")]), Round::Text("It is wri".into()).held(moment, &hold)]);
            let mut going = talk.begin(&["begin here"]);
            assert!(hold.reached());
            if moment == Moment::End {
                going.until("text_delta");
            }
            let kinds = ["user", "begun", "assistant", "results"];
            killed_and_resumed(talk, going, &Left { kinds: &kinds, results: &[("write_file", WROTE)], marks: 1 });
        }
    });
}

/// The steps that follow each other too quickly to be killed between: a copy of the session ends there.
#[test]
fn after_every_entry_of_a_session() {
    in_every_protocol(|protocol| {
        let calls = vec![mark("c1"), ("c2".to_owned(), "noop".to_owned(), json!({"n": 1}))];
        let (unknown, known) = ([("write_file", UNKNOWN), ("noop", UNKNOWN)], [("write_file", WROTE), ("noop", NOTHING)]);
        let kinds = ["user", "begun", "begun", "assistant", "results", "assistant"];
        let mut talk = Talk::new(protocol, vec![Round::Calls(calls), done()]);
        assert_eq!(talk.turn(&["begin here"]).code, 0, "{protocol}");
        assert_eq!(talk.kinds(), kinds, "{protocol}");
        let whole = talk.world.run(&["sessions", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
        for (entries, results) in [(1, &[][..]), (2, &unknown[..1]), (3, &unknown), (4, &unknown), (5, &known), (6, &known)] {
            let forked = talk.world.run(&["sessions", "fork", &whole, "--at", &entries.to_string()]);
            assert_eq!(forked.code, 0, "{protocol} {entries}: {forked:?}");
            talk = resumed(talk, &Left { kinds: &kinds[..entries], results, marks: 1 });
        }
    });
}

#[test]
fn what_was_repaired_is_whole_and_not_repaired_again() {
    in_every_protocol(|protocol| {
        let hold = Hold::default();
        let talk = Talk::new(protocol, vec![Round::Calls(vec![mark("c1")]), done().held(Moment::Start, &hold)]);
        let going = talk.begin(&["begin here"]);
        assert!(hold.reached());
        going.kill();
        let talk = talk.next(vec![done(), done()]);
        for words in ["continue", "and on"] {
            let turn = talk.resume(words);
            assert_eq!((turn.code, turn.stderr.as_str(), talk.results().len()), (0, "", 1), "{protocol} {words}");
        }
    });
}

#[test]
fn a_second_open_of_a_session_names_its_owner() {
    in_every_protocol(|protocol| {
        let hold = Hold::default();
        let talk = Talk::new(protocol, vec![done().held(Moment::Start, &hold), done()]);
        let first = talk.begin(&["begin here"]);
        assert!(hold.reached());
        let second = talk.says(&["--session", "last", "me too"]);
        let errors: Vec<&str> = second.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!((second.code, second.stdout.as_str(), errors.len()), (1, "", 1), "{protocol}: {second:?}");
        assert!(errors[0].contains(&format!("process {}", first.child.id())), "{protocol}: {second:?}");
        hold.release();
        let first = first.finish(&talk.world);
        assert_eq!((first.code, first.ended(), talk.kinds().len()), (0, ("done", "All done."), 2), "{protocol}: {first:?}");
        let third = talk.turn(&["--session", "last", "now me"]);
        assert_eq!((third.code, third.ended()), (0, ("done", "All done.")), "{protocol}: {third:?}");
    });
}
