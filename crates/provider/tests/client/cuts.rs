//! Connections that break at every point, and errors inside of a stream.

use haft_provider::{Delta, ProviderErrorKind};

use crate::plain::{text, usage};
use crate::server::{Act, Script};
use crate::support::{HEAD, HELLO, WHOLE, chunk, play, quick, say, stream};

const USAGE: &str = "event: usage\ndata: 7\n\n";
const END: &str = "event: end\ndata:\n\n";

/// A stream in these pieces, and then this.
fn pieces(pieces: &[&str], then: Vec<Act>) -> Script {
    let head = [Act::Read, say(HEAD)];
    head.into_iter().chain(pieces.iter().map(|piece| chunk(piece))).chain(then).collect()
}

fn last_chunk() -> Vec<Act> {
    vec![say("0\r\n\r\n")]
}

#[tokio::test]
async fn stream_broken_before_output_is_retried() {
    let closed = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    for (what, first) in [
        ("closed before the request", vec![]),
        ("reset before the request", vec![Act::Reset]),
        ("closed before the head", vec![Act::Read]),
        ("reset before the head", vec![Act::Read, Act::Reset]),
        ("reset inside the head", vec![Act::Read, say("HTTP/1.1 200 OK\r\ncontent-ty"), Act::Reset]),
        ("closed inside the head", vec![Act::Read, say("HTTP/1.1 200 OK\r\ncontent-ty")]),
        ("reset behind the head", vec![Act::Read, say(HEAD), Act::Reset]),
        ("closed behind the head", vec![Act::Read, say(HEAD)]),
        ("cut inside the first event", pieces(&["event: text\ndata: Hel"], vec![])),
        ("reset inside the first event", pieces(&["event: text\ndata: Hel"], vec![Act::Reset])),
        ("cut behind usage", pieces(&[USAGE], vec![])),
        ("ended behind usage", pieces(&[USAGE], last_chunk())),
        ("ended inside the first event", pieces(&["event: text\ndata: Hel"], last_chunk())),
        ("ended without length inside the first event", vec![Act::Read, say(closed), say("event: text\ndata: Hel\n")]),
        ("an error as first event", pieces(&["event: error\ndata: overloaded\n\n"], last_chunk())),
        (
            "an error behind usage and unknown events",
            pieces(&["event: ping\ndata: {}\n\n", USAGE, "event: error\ndata: overloaded\n\n"], vec![]),
        ),
        ("only comments", pieces(&[": processing\n\n: processing\n\n"], last_chunk())),
        ("an empty stream", stream("")),
        ("not HTTP", vec![Act::Read, say("SSH-2.0-OpenSSH_9.9\r\n")]),
    ] {
        let (outcome, server) = play(vec![first, stream(WHOLE)], quick(3)).await;
        let said: Vec<_> = outcome.deltas.iter().filter(|delta| !matches!(delta, Delta::Usage(_))).cloned().collect();
        assert_eq!((said, server.seen().connections), (vec![text("Hello")], 2), "{what}");
        assert_eq!(outcome.answer.as_ref().map(|answer| answer.retries).map_err(Clone::clone), Ok(1), "{what}");
    }
}

#[tokio::test]
async fn stream_broken_after_output_is_partial_and_not_retried() {
    for (what, script, kind) in [
        ("cut between events", pieces(&[HELLO], vec![]), ProviderErrorKind::Network),
        ("reset between events", pieces(&[HELLO], vec![Act::Reset]), ProviderErrorKind::Network),
        ("cut inside an event", pieces(&[HELLO, "event: te"], vec![]), ProviderErrorKind::Network),
        ("cut inside the last event", pieces(&[HELLO, "event: end\ndata:\n"], vec![]), ProviderErrorKind::Network),
        ("cut inside a chunk", vec![Act::Read, say(HEAD), chunk(HELLO), say("ff\r\nevent: en")], ProviderErrorKind::Network),
        ("ended without an end", pieces(&[HELLO], last_chunk()), ProviderErrorKind::Network),
        ("an error that may pass", pieces(&[HELLO, "event: error\ndata: overloaded\n\n", END], last_chunk()), ProviderErrorKind::Server),
        ("an error that will not", pieces(&[HELLO, "event: refused\ndata: no\n\n", END], last_chunk()), ProviderErrorKind::BadRequest),
    ] {
        let (outcome, server) = play(vec![script, stream(WHOLE)], quick(3)).await;
        let error = outcome.answer.unwrap_err();
        assert_eq!((error.kind, error.partial, outcome.deltas), (kind, true, vec![text("Hello")]), "{what}: {error}");
        assert_eq!(server.seen().connections, 1, "{what}");
    }
}

#[tokio::test]
async fn complete_answer_survives_a_broken_connection() {
    for (what, script) in [
        ("as it should", pieces(&[HELLO, END], last_chunk())),
        ("without the last chunk", pieces(&[HELLO, END], vec![])),
        ("reset", pieces(&[HELLO, END], vec![Act::Reset])),
        ("an event behind it that is cut", pieces(&[HELLO, END, "event: usage\ndata: 1"], vec![])),
        ("a comment behind it that is cut", pieces(&[HELLO, END, ": pi"], vec![])),
        ("without any length", vec![Act::Read, say("HTTP/1.0 200 OK\r\n\r\n"), say(HELLO), say(END)]),
        ("byte by byte", pieces(&WHOLE.split_inclusive(|_| true).collect::<Vec<_>>(), last_chunk())),
        ("with unknown events", pieces(&["event: new\ndata: {\"a\":1}\n\n", HELLO, "data: unnamed\n\n", END, END], last_chunk())),
    ] {
        let (outcome, server) = play(vec![script], quick(3)).await;
        assert_eq!(outcome.answer.map(|answer| (answer.reply, answer.retries)), Ok((crate::plain::reply("Hello", 0), 0)), "{what}");
        assert_eq!((outcome.deltas, server.seen().connections), (vec![text("Hello"), usage(1)], 1), "{what}");
    }
}

#[tokio::test]
async fn repeated_events_are_passed_on() {
    let (outcome, _server) = play(vec![pieces(&[HELLO, HELLO, END], last_chunk())], quick(0)).await;
    assert_eq!(outcome.deltas, [text("Hello"), text("Hello"), usage(1)]);
}

/// It counts as a try of the model, and those are counted by the loop.
#[tokio::test]
async fn garbled_output_is_not_retried_by_the_client() {
    let (outcome, server) = play(vec![pieces(&["event: garbled\ndata: no\n\n"], last_chunk()), stream(WHOLE)], quick(3)).await;
    assert_eq!((outcome.error(), server.seen().connections), ((ProviderErrorKind::Garbled, "garbled inside: no"), 1));
    assert!(outcome.answer.unwrap_err().is_retryable());
}

#[tokio::test]
async fn permanent_stream_error_is_not_retried() {
    let (outcome, server) = play(vec![pieces(&["event: refused\ndata: no\n\n"], last_chunk())], quick(3)).await;
    assert_eq!((outcome.error(), server.seen().connections), ((ProviderErrorKind::BadRequest, "refused inside: no"), 1));
    assert!(!outcome.answer.unwrap_err().partial);
}
