//! Everything that goes wrong between here and a model, in every protocol: recovered from, or said in a sentence.

use haft_testkit::{Fault, Round};
use serde_json::{Value, json};

use super::model::{KEY, Talk, done, in_every_protocol, mark};

/// Statuses after which the same request may succeed.
const PASSING: [u16; 9] = [408, 409, 429, 500, 502, 503, 504, 524, 529];

/// The marking call alone.
fn marking(id: &str) -> Round {
    Round::Calls(vec![mark(id)])
}

fn refused(status: u16, headers: &[(&str, &str)]) -> Round {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Round::StatusWith { status, headers, body: json!({"error": {"message": "not now"}}).to_string() }
}

/// The one line that says what went wrong.
fn sentence(stderr: &str) -> &str {
    let errors: Vec<&str> = stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && !stderr.contains("panicked"), "{stderr}");
    errors[0]
}

#[test]
fn a_status_that_may_pass_is_waited_out_in_every_form() {
    in_every_protocol(|protocol| {
        for headers in [
            &[("retry-after-ms", "1")][..],
            &[("Retry-After", "0.001")],
            &[("retry-after-ms", "1.5"), ("retry-after", "3600")],
            &[("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 09:49:37 GMT"), ("retry-after-ms", "1")],
        ] {
            let before = |statuses: &[u16]| statuses.iter().map(|status| refused(*status, headers)).collect::<Vec<_>>();
            // At most four in a row.
            let rounds = [
                before(&PASSING[..4]),
                vec![marking("c1")],
                before(&PASSING[4..8]),
                vec![marking("c2")],
                before(&PASSING[8..]),
                vec![done()],
            ]
            .concat();
            let talk = Talk::new(protocol, rounds);
            let turn = talk.turn(&["go"]);
            assert_eq!((turn.code, turn.ended()), (0, ("done", "All done.")), "{protocol} {headers:?}: {turn:?}");
            assert_eq!((talk.server.asked().len(), talk.marks()), (PASSING.len() + 3, 2), "{protocol} {headers:?}");
        }
    });
}

#[test]
fn limits_that_begin_anew_and_delays_in_the_body_are_waited_for() {
    in_every_protocol(|protocol| {
        let until_reset = [
            ("x-ratelimit-reset-requests", "1ms"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-tokens", "1h"),
            ("x-ratelimit-remaining-tokens", "9000"),
        ];
        let detail = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.001s"});
        let in_body = json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [detail]}});
        let mut rounds = vec![refused(429, &until_reset), refused(429, &until_reset)];
        if protocol == "gemini" {
            rounds.push(Round::Status(429, in_body.to_string()));
        }
        let refusals = rounds.len();
        rounds.push(done());
        let talk = Talk::new(protocol, rounds);
        let turn = talk.turn(&["go"]);
        assert_eq!((turn.code, talk.server.asked().len()), (0, refusals + 1), "{protocol}: {turn:?}");
    });
}

#[test]
fn a_wait_that_is_too_long_is_said_and_nobody_is_asked_again_before() {
    in_every_protocol(|protocol| {
        for headers in [
            &[("retry-after", "3600")][..],
            &[("retry-after-ms", "3600000")],
            &[("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 09:49:37 GMT")],
            &[("x-ratelimit-reset-requests", "60m0s"), ("x-ratelimit-remaining-requests", "0")],
        ] {
            let talk = Talk::new(protocol, vec![refused(429, headers), done()]);
            let ran = talk.says(&["go"]);
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{protocol} {headers:?}: {ran:?}");
            assert!(sentence(&ran.stderr).contains("It asks for a delay of 3600s"), "{protocol} {headers:?}: {ran:?}");
            assert_eq!(talk.server.asked().len(), 1, "{protocol} {headers:?}");
        }
    });
}

#[test]
fn a_provider_that_stays_down_is_given_up_after_its_tries() {
    in_every_protocol(|protocol| {
        let talk = Talk::new(protocol, vec![refused(503, &[("retry-after-ms", "1")]); 60]);
        let ran = talk.says(&["go"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{protocol}: {ran:?}");
        assert!(sentence(&ran.stderr).contains("It was sent 5 times"), "{protocol}: {ran:?}");
        assert_eq!(talk.server.asked().len(), 5, "{protocol}");
        let notices: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(" of 4 in ")).collect();
        assert!(notices.len() == 4 && notices[1].contains("Retry 2 of 4") && notices[1].contains("Ctrl-C"), "{protocol}: {ran:?}");
    });
}

#[test]
fn what_breaks_before_an_answer_is_sent_again() {
    let event_stream = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    in_every_protocol(|protocol| {
        for (what, round) in [
            ("reset before the headers", Round::Reset),
            ("closed before the headers", Round::Raw(Vec::new())),
            ("cut inside of the headers", Round::Raw(b"HTTP/1.1 200 OK\r\ncontent-ty".to_vec())),
            ("an empty 200", Round::Status(200, String::new())),
            ("an empty stream", Round::StatusWith { status: 200, headers: event_stream.clone(), body: String::new() }),
            ("cut before the first event", marking("c1").with(Fault::CutAfter(0))),
            ("cut inside of a name", marking("c1").with(Fault::CutBehind("write_fi".into()))),
        ] {
            let talk = Talk::new(protocol, vec![round, marking("c2"), done()]);
            let turn = talk.turn(&["go"]);
            assert_eq!(
                (turn.code, turn.ended(), turn.outcomes()),
                (0, ("done", "All done."), vec!["success"]),
                "{protocol} {what}: {turn:?}"
            );
            assert_eq!((talk.server.asked().len(), talk.marks()), (3, 1), "{protocol} {what}");
        }
    });
}

/// What comes of a call whose answer has something wrong in it: how it is answered, and how often it was made.
struct Expected {
    outcomes: &'static [&'static str],
    marks: usize,
}

/// It ran, and once.
const RAN: Expected = Expected { outcomes: &["success"], marks: 1 };
/// It was not complete, so it did not run.
const DROPPED: Expected = Expected { outcomes: &[], marks: 0 };
/// It came garbled: it is answered, and did not run.
const GARBLED: Expected = Expected { outcomes: &["validation_error"], marks: 0 };

#[test]
fn what_breaks_inside_of_an_answer_never_runs_a_call_twice() {
    in_every_protocol(|protocol| {
        // Only the end of a Chat Completion says that a call is whole.
        let ends_calls = protocol != "openai";
        // Events without numbers that come twice are more text: these arguments are no JSON any more.
        let numbered = ["openai-responses", "gemini"].contains(&protocol);
        for (fault, expected) in [
            (Fault::CutBehind("appe".into()), DROPPED),
            (Fault::NoEnd, if ends_calls { RAN } else { DROPPED }),
            (Fault::CutAtEnd, RAN),
            (Fault::Error("overheated".into()), if ends_calls { RAN } else { DROPPED }),
            (Fault::Twice, if numbered { RAN } else { GARBLED }),
            (Fault::Unknown, RAN),
            (Fault::Drip, RAN),
            (Fault::Type("text/plain; charset=utf-8".into()), RAN),
        ] {
            let talk = Talk::new(protocol, vec![marking("c1").with(fault.clone()), done()]);
            let turn = talk.turn(&["go"]);
            assert_eq!((turn.code, turn.ended()), (0, ("done", "All done.")), "{protocol} {fault:?}: {turn:?}");
            assert_eq!((turn.outcomes(), talk.marks()), (expected.outcomes.to_vec(), expected.marks), "{protocol} {fault:?}: {turn:?}");
            assert_eq!(talk.server.asked().len(), 2, "{protocol} {fault:?}");
            assert_eq!(talk.results().len(), expected.outcomes.len(), "{protocol} {fault:?}");
            let is_said =
                |event: &Value| event["text"].as_str().is_some_and(|text| text.contains("Retry 1 of") && text.contains("Ctrl-C stops it."));
            let is_retried = turn.of("notice").any(is_said);
            assert!(is_retried || expected.outcomes != DROPPED.outcomes, "{protocol} {fault:?}: {turn:?}");
        }
    });
}

#[test]
fn what_is_no_answer_at_all_is_one_sentence_and_no_second_try() {
    let page = |title: &str| Round::StatusWith {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/html; charset=utf-8".to_owned())],
        body: format!("<!doctype html><title>{title}</title><h1>Log in</h1>"),
    };
    in_every_protocol(|protocol| {
        for (round, words) in [
            (page("Corporate proxy"), "sent a web page ('Corporate proxy') instead of an answer"),
            (done().with(Fault::Type("text/html".into())), "sent a web page instead of an answer"),
            (Round::Status(200, json!({"status": "up"}).to_string()), "sent a JSON document that is no answer"),
            (done().with(Fault::Malformed), "not what the protocol says"),
            (Round::Status(404, json!({"error": {"message": "no model m1"}}).to_string()), "no model m1"),
            (Round::Status(400, json!({"error": {"message": "bad field"}}).to_string()), "bad field"),
            (Round::Status(307, String::new()), "redirects to"),
        ] {
            let talk = Talk::new(protocol, vec![round, done()]);
            let ran = talk.says(&["go"]);
            assert_eq!(ran.code, 1, "{protocol} {words}: {ran:?}");
            assert!(sentence(&ran.stderr).contains(words), "{protocol} {words}: {ran:?}");
            assert_eq!(talk.server.asked().len(), 1, "{protocol} {words}");
            let resumed = talk.turn(&["--session", "last", "again"]);
            assert_eq!((resumed.code, resumed.ended()), (0, ("done", "All done.")), "{protocol} {words}: {resumed:?}");
        }
    });
}

#[test]
fn a_key_that_is_missing_wrong_or_expired_is_one_sentence_with_its_variable() {
    in_every_protocol(|protocol| {
        let talk = Talk::new(protocol, Vec::new());
        for empty in [None, Some(""), Some(" ")] {
            let mut command = talk.world.command(&["run", "go"]);
            let ran = talk.world.ran(&command.envs(empty.map(|value| (KEY.0, value))).output().unwrap());
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{protocol} {empty:?}: {ran:?}");
            assert!(sentence(&ran.stderr).contains(KEY.0), "{protocol} {empty:?}: {ran:?}");
        }
        assert_eq!(talk.server.asked().len(), 0, "{protocol}");
        for (status, words) in [(401, format!("Incorrect API key provided: {}", KEY.1)), (403, "Your key expired on 2024-01-01".to_owned())]
        {
            let talk = Talk::new(protocol, vec![Round::Status(status, json!({"error": {"message": words}}).to_string()), done()]);
            let ran = talk.says(&["go"]);
            let said = sentence(&ran.stderr);
            assert_eq!((ran.code, ran.stdout.as_str(), talk.server.asked().len()), (1, "", 1), "{protocol} {status}: {ran:?}");
            assert!(
                said.contains(KEY.0) && said.contains(words.trim_end_matches(KEY.1)) && !said.contains(KEY.1),
                "{protocol} {status}: {said}"
            );
        }
    });
}
