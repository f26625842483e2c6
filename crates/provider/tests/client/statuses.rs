//! Every status, with every form of the time to wait.

use std::sync::Arc;
use std::time::Duration;

use haft_provider::{ProviderError, ProviderErrorKind};
use jiff::Timestamp;

use crate::plain::{reply, text, usage};
use crate::server::Server;
use crate::support::{WHOLE, answer, ask, endpoint, milliseconds, play, quick, stream};

const PASSING: [u16; 9] = [408, 409, 429, 500, 502, 503, 504, 524, 529];

#[tokio::test]
async fn transient_status_is_retried_after_the_requested_delay() {
    for (headers, wait) in [
        ("", 2),
        ("retry-after: 0\r\n", 2),
        ("retry-after: 0.012\r\n", 12),
        ("Retry-After-Ms: 14\r\n", 14),
        ("retry-after-ms: 14.9\r\nretry-after: 100\r\n", 14),
        ("retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 2),
        ("retry-after: soon\r\n", 2),
        ("retry-after: 1000\r\nretry-after: 2000\r\nretry-after-ms: 3\r\n", 3),
    ] {
        for status in PASSING {
            let (outcome, server) = play(vec![answer(status, headers, "busy"), stream(WHOLE)], quick(8)).await;
            assert_eq!(outcome.waits.iter().map(Duration::as_millis).collect::<Vec<_>>(), [wait], "{status} {headers}");
            assert_eq!(outcome.retries(), 1, "{status} {headers}");
            assert_eq!((outcome.answer.unwrap().reply, outcome.deltas), (reply("Hello", 0), vec![text("Hello"), usage(1)]), "{status}");
            assert_eq!(server.seen().requests, 2, "{status} {headers}");
        }
    }
}

#[tokio::test]
async fn retry_date_uses_the_clock_of_the_provider_or_ours() {
    for headers in [
        "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:38 GMT\r\n",
        "retry-after: Sat, 01 Jan 2000 00:00:01 GMT\r\n",
    ] {
        let mut options = quick(1);
        options.max_delay = milliseconds(600);
        options.now = Arc::new(|| Timestamp::from_second(946_684_800).unwrap().into());
        let (outcome, _server) = play(vec![answer(503, headers, ""), stream(WHOLE)], options).await;
        assert_eq!((outcome.waits, outcome.answer.unwrap().retries), (vec![milliseconds(1000)], 1), "{headers}");
    }
}

#[tokio::test]
async fn rate_limit_reset_counts_only_when_the_limit_was_hit() {
    for (status, wait) in [(429, 6), (500, 2)] {
        let headers = "x-ratelimit-reset-tokens: 6ms\r\nx-ratelimit-reset-requests: 1m30s\r\nx-ratelimit-remaining-requests: 59\r\n";
        let (outcome, _server) = play(vec![answer(status, headers, ""), stream(WHOLE)], quick(8)).await;
        assert_eq!(outcome.waits, [milliseconds(wait)], "{status}");
    }
}

#[tokio::test]
async fn retry_delay_in_the_body_is_used_without_a_header() {
    for (headers, wait) in [("", 11), ("retry-after-ms: 5\r\n", 5)] {
        let (outcome, _server) = play(vec![answer(429, headers, "wait 11"), stream(WHOLE)], quick(8)).await;
        assert_eq!(outcome.waits, [milliseconds(wait)], "{headers}");
    }
}

#[tokio::test]
async fn permanent_status_fails_at_once() {
    for status in [400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 415, 418, 421, 422, 425, 426, 428, 431, 451, 501, 505, 511] {
        let (outcome, server) = play(vec![answer(status, "retry-after: 1\r\n", "no")], quick(8)).await;
        let kind = match status {
            401 => ProviderErrorKind::Key,
            500.. => ProviderErrorKind::Server,
            _ => ProviderErrorKind::BadRequest,
        };
        // The address has a version, which may be one too many.
        let advice = ". If the server has no version in its address, leave it out of base_url; it was sent to '/v1/say'.";
        let expected = ProviderError::new(kind, format!("refused with {status}: no{}", if status == 404 { advice } else { "" }));
        let expected = expected.with_status(status).with_retry_after(Some(Duration::from_secs(1)));
        assert_eq!((outcome.answer, outcome.deltas, server.seen().requests), (Err(expected), vec![], 1));
    }
}

#[tokio::test]
async fn provider_header_decides_about_retry() {
    for (status, headers, body, requests) in [
        (429, "x-should-retry: false\r\n", "", 1),
        (400, "x-should-retry: true\r\n", "", 3),
        (429, "x-should-retry: perhaps\r\n", "", 3),
        (429, "", r#"{"error":{"code":"insufficient_quota"}}"#, 1),
        (429, "", r#"{"error":{"code":"rate_limit_exceeded"}}"#, 3),
    ] {
        let (outcome, server) = play(vec![answer(status, headers, body)], quick(2)).await;
        assert_eq!(server.seen().requests, requests, "{status} {headers} {body}");
        assert_eq!(outcome.answer.unwrap_err().status, Some(status));
    }
}

#[tokio::test]
async fn retries_are_limited() {
    let (outcome, server) = play(vec![answer(529, "", "overloaded.")], quick(4)).await;
    let expected = ProviderError::new(ProviderErrorKind::Server, "refused with 529: overloaded. It was sent 5 times.").with_status(529);
    assert_eq!(outcome.answer, Err(expected));
    assert_eq!(outcome.waits, [2, 4, 8, 8].map(milliseconds));
    assert_eq!(server.seen().requests, 5);

    let (outcome, server) = play(vec![answer(529, "", "overloaded")], quick(0)).await;
    assert_eq!(
        (outcome.error(), server.seen().requests),
        ((ProviderErrorKind::Server, "refused with 529: overloaded. It was sent once."), 1)
    );
}

#[tokio::test]
async fn too_long_delay_is_reported_without_waiting() {
    let (outcome, server) = play(vec![answer(429, "retry-after: 3600\r\n", "slow down")], quick(8)).await;
    let message = "refused with 429: slow down. It asks for a delay of 3600s, more than the limit of 16ms. Try again then.";
    let expected =
        ProviderError::new(ProviderErrorKind::RateLimited, message).with_status(429).with_retry_after(Some(Duration::from_hours(1)));
    assert_eq!((outcome.answer, outcome.waits, server.seen().requests), (Err(expected), vec![], 1));
}

#[tokio::test]
async fn retry_delay_never_exceeds_the_total_timeout() {
    let server = Server::playing(vec![answer(429, "retry-after: 50\r\n", "slow down")]).await;
    let mut options = quick(8);
    options.max_delay = Duration::from_mins(1);
    let mut endpoint = endpoint(server.url());
    endpoint.timeouts.total = Duration::from_secs(40);
    let outcome = ask(options, &endpoint).await;
    let message = "refused with 429: slow down. A delay of 50s before the next attempt exceeds the total timeout.";
    assert_eq!((outcome.error(), server.seen().requests), ((ProviderErrorKind::RateLimited, message), 1));
}
