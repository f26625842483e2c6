//! Servers that are slow in every way.

use std::time::{Duration, Instant};

use haft_provider::{ProviderErrorKind, Timeouts};

use crate::plain::text;
use crate::server::{Act, Script, Server};
use crate::support::{HEAD, HELLO, Outcome, ask, chunk, endpoint, milliseconds, quick, say};

const LONG: Duration = Duration::from_secs(20);

/// A request in which one timeout is short.
async fn ask_with(script: Script, short: impl Fn(&mut Timeouts)) -> (Outcome, Server) {
    let server = Server::playing(vec![script]).await;
    let mut endpoint = endpoint(server.url());
    let timeouts = &mut endpoint.timeouts;
    (timeouts.connect, timeouts.first_byte, timeouts.idle, timeouts.total) = (LONG, LONG, LONG, LONG);
    short(timeouts);
    let began = Instant::now();
    let outcome = ask(quick(1), &endpoint).await;
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    (outcome, server)
}

fn late(server: &Server, what: &str, advice: &str) -> String {
    format!("{} {what}. Try again later, or raise the provider's timeouts.{advice}", server.address)
}

#[tokio::test]
async fn missing_or_endless_head_times_out_and_is_retried() {
    let head = "HTTP/1.1 200 OK\r\n";
    for (what, script) in [
        ("nothing", vec![Act::Read, Act::Hang]),
        ("a head that never ends", vec![Act::Read, say(head), Act::Drip(b"x-more: 1\r\n".to_vec(), milliseconds(10))]),
        ("a line that never ends", vec![Act::Read, say(head), say("x-more: "), Act::Drip(b"1".to_vec(), milliseconds(10))]),
    ] {
        let (outcome, server) = ask_with(script, |timeouts| timeouts.first_byte = milliseconds(150)).await;
        let message = late(&server, "did not start to answer within 150ms", " It was sent 2 times.");
        assert_eq!((outcome.error(), server.connections().await), ((ProviderErrorKind::Timeout, message.as_str()), 2), "{what}");
    }
}

#[tokio::test]
async fn flood_of_headers_is_refused() {
    let script = vec![Act::Read, say("HTTP/1.1 200 OK\r\n"), Act::Drip("x-more: 1\r\n".repeat(1000).into_bytes(), Duration::ZERO)];
    let (outcome, server) = ask_with(script, |_| {}).await;
    assert_eq!((outcome.error().0, server.connections().await), (ProviderErrorKind::Network, 2), "{outcome:?}");
}

#[tokio::test]
async fn missing_body_times_out_and_is_retried() {
    let (outcome, server) = ask_with(vec![Act::Read, say(HEAD), Act::Hang], |timeouts| timeouts.first_byte = milliseconds(150)).await;
    let message = late(&server, "sent no first byte of its answer within 150ms", " It was sent 2 times.");
    assert_eq!((outcome.error(), server.connections().await), ((ProviderErrorKind::Timeout, message.as_str()), 2));
}

#[tokio::test]
async fn idle_timeout_ends_the_answer() {
    let idle = |timeouts: &mut Timeouts| timeouts.idle = milliseconds(150);
    let (outcome, server) = ask_with(vec![Act::Read, say(HEAD), chunk(": ping\n"), Act::Hang], idle).await;
    let message = late(&server, "sent nothing more of its answer within 150ms", " It was sent 2 times.");
    assert_eq!(
        (outcome.error(), server.connections().await),
        ((ProviderErrorKind::Timeout, message.as_str()), 2),
        "nothing was handed out"
    );

    let (outcome, server) = ask_with(vec![Act::Read, say(HEAD), chunk(HELLO), Act::Hang], idle).await;
    let message = late(&server, "sent nothing more of its answer within 150ms", "");
    assert_eq!((outcome.error(), server.connections().await), ((ProviderErrorKind::Timeout, message.as_str()), 1), "something was");
    assert_eq!((outcome.answer.unwrap_err().partial, outcome.deltas), (true, vec![text("Hello")]));
}

#[tokio::test]
async fn slow_stream_lasts_until_the_total_timeout() {
    let ping = b"7\r\n: ping\n\r\n".to_vec();
    let (outcome, server) = ask_with(vec![Act::Read, say(HEAD), Act::Drip(ping, milliseconds(20))], |timeouts| {
        (timeouts.idle, timeouts.first_byte, timeouts.total) = (milliseconds(300), milliseconds(300), milliseconds(700));
    })
    .await;
    let message = late(&server, "did not finish its answer within 700ms", "");
    assert_eq!((outcome.error(), server.connections().await), ((ProviderErrorKind::Timeout, message.as_str()), 1));
}

#[tokio::test]
async fn complete_answer_ends_although_the_connection_stays_open() {
    let script = vec![Act::Read, say(HEAD), chunk(HELLO), chunk("event: end\ndata:\n\n"), Act::Hang];
    let (outcome, _server) = ask_with(script, |timeouts| timeouts.idle = milliseconds(100)).await;
    assert_eq!(outcome.answer.unwrap().reply, crate::plain::reply("Hello", 0));
}

#[tokio::test]
async fn endless_error_body_is_read_within_limits() {
    let script = vec![Act::Read, say("HTTP/1.1 400 No\r\ncontent-length: 100\r\n\r\nbecause"), Act::Hang];
    let (outcome, _server) = ask_with(script, |timeouts| timeouts.idle = milliseconds(100)).await;
    assert_eq!(outcome.error(), (ProviderErrorKind::BadRequest, "refused with 400: because"));
}

#[tokio::test]
async fn connect_timeout_is_retried() {
    let server = Server::playing(vec![vec![Act::Hang]]).await;
    let mut endpoint = endpoint(format!("https://{}", server.address));
    endpoint.timeouts.connect = milliseconds(150);
    let outcome = ask(quick(1), &endpoint).await;
    let message = late(&server, "did not accept a connection within 150ms", " It was sent 2 times.");
    assert_eq!((outcome.error(), server.connections().await), ((ProviderErrorKind::Timeout, message.as_str()), 2));
}

#[tokio::test]
async fn huge_timeouts_are_accepted() {
    let script = crate::support::stream(crate::support::WHOLE);
    let all = |timeouts: &mut Timeouts| {
        (timeouts.connect, timeouts.first_byte, timeouts.idle, timeouts.total) = (LONG, Duration::MAX, Duration::MAX, Duration::MAX);
    };
    assert!(ask_with(script, all).await.0.answer.is_ok());
}
