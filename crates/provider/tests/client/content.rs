//! Answers that are no stream of events, and streams in other wrappings.

use haft_provider::{ProviderError, ProviderErrorKind};

use crate::plain::{reply, text};
use crate::server::Act;
use crate::support::{HEAD, HELLO, WHOLE, answer, chunk, play, quick, say, stream};

const JSON: &str = "content-type: application/json; charset=utf-8\r\n";

#[tokio::test]
async fn response_that_is_no_stream_is_reported_with_advice() {
    let advice = "instead of an answer. Check the base_url, and whether a login page or a proxy is in between.";
    let page = format!("sent a web page ('Sign in — Corp & Co') {advice}");
    let untitled = format!("sent a web page {advice}");
    let document = "sent a JSON document that is no answer. Check that base_url and protocol belong together.";
    let other = "without events. Check that base_url and protocol belong together.";
    for (headers, body, message) in [
        ("content-type: text/html; charset=utf-8\r\n", "<!doctype html><TITLE lang=en>\n Sign in — Corp &\n Co </TITLE>", page),
        ("content-type: TEXT/HTML\r\n", "<html>", untitled.clone()),
        ("content-type: application/xhtml+xml\r\n", "<title></title>", untitled),
        (JSON, r#"{"error":null,"object":"chat.completion"}"#, document.to_owned()),
        (JSON, r#"[{"candidates":[]}]"#, document.to_owned()),
        ("content-type: text/plain\r\n", "Hello", format!("sent 'text/plain' {other}")),
        ("content-type: application/x-ndjson\r\n", "{}\n{}\n", format!("sent 'application/x-ndjson' {other}")),
        ("", "\u{1}\u{2}", format!("sent an answer without a content type {other}")),
    ] {
        let (outcome, server) = play(vec![answer(200, headers, body)], quick(3)).await;
        let expected = ProviderError::new(ProviderErrorKind::Malformed, format!("{} {message}", server.address));
        assert_eq!((outcome.answer, server.seen().requests), (Err(expected), 1), "{headers} {body}");
    }
}

#[tokio::test]
async fn broken_document_is_sent_again() {
    let (outcome, server) = play(vec![answer(200, JSON, r#"{"cut":"#), answer(200, JSON, WHOLE)], quick(3)).await;
    assert_eq!((outcome.answer.unwrap().reply, server.seen().requests), (reply("Hello", 0), 2));
    let (outcome, server) = play(vec![answer(200, JSON, r#"{"cut":"#)], quick(1)).await;
    let message = format!(
        "{} sent a broken JSON document instead of a stream. Try again; if it stays so, check the base_url. It was sent 2 times.",
        server.address
    );
    assert_eq!(outcome.error(), (ProviderErrorKind::Malformed, message.as_str()));
}

#[tokio::test]
async fn error_in_a_successful_response_is_an_error() {
    for (body, status, kind, requests) in [
        (r#"{"error":{"message":"no"}}"#, 200, ProviderErrorKind::BadRequest, 1),
        (r#"{"error":"no"}"#, 200, ProviderErrorKind::BadRequest, 1),
        (r#"{"type":"error","error":{"type":"x"}}"#, 200, ProviderErrorKind::BadRequest, 1),
        (r#"{"object":"error","message":"no"}"#, 200, ProviderErrorKind::BadRequest, 1),
        (r#"{"error":{"code":503,"message":"overloaded"}}"#, 503, ProviderErrorKind::Server, 3),
        (r#"[{"error":{"code":429,"message":"slow"}}]"#, 429, ProviderErrorKind::RateLimited, 3),
        (r#"{"error":{"code":429,"type":"insufficient_quota"}}"#, 429, ProviderErrorKind::RateLimited, 1),
        (r#"{"error":{"code":7,"message":"own code"}}"#, 200, ProviderErrorKind::BadRequest, 1),
    ] {
        let (outcome, server) = play(vec![answer(200, JSON, body)], quick(2)).await;
        let error = outcome.answer.unwrap_err();
        let told = if requests == 1 { String::new() } else { format!(". It was sent {requests} times.") };
        assert_eq!(error, ProviderError::new(kind, format!("refused with {status}: {body}{told}")).with_status(status));
        assert_eq!(server.seen().requests, requests, "{body}");
    }
}

#[tokio::test]
async fn empty_answer_is_retried_then_reported() {
    for (what, script) in [
        ("a stream", stream("")),
        ("JSON", answer(200, JSON, "")),
        ("anything", answer(200, "", "")),
        ("no content", vec![Act::Read, say("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")]),
    ] {
        let (outcome, server) = play(vec![script], quick(1)).await;
        let message =
            format!("{} sent an empty answer. Try again; if it stays empty, check the base_url. It was sent 2 times.", server.address);
        assert_eq!((outcome.error(), server.seen().requests), ((ProviderErrorKind::Server, message.as_str()), 2), "{what}");
    }
}

#[tokio::test]
async fn stream_with_other_content_type_is_read() {
    for headers in ["", "content-type: text/plain\r\n", "content-type: Text/Event-Stream;charset=UTF-8\r\n", "content-type: ü\r\n"] {
        let (outcome, _server) = play(vec![answer(200, headers, WHOLE)], quick(0)).await;
        assert_eq!(outcome.answer.unwrap().reply, reply("Hello", 0), "{headers}");
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let other = stream(WHOLE);
    for (status, headers, host) in [
        (301, "location: https://login.example.com/x?token=1\r\n", "login.example.com"),
        (302, "location: /elsewhere\r\n", "127.0.0.1"),
        (303, "", "an unknown address"),
        (307, "location: http://login.example.com/\r\n", "login.example.com"),
        (308, "location: //login.example.com/\r\n", "login.example.com"),
        (300, "location: ü\r\n", "an unknown address"),
    ] {
        let (outcome, server) = play(vec![answer(status, headers, ""), other.clone()], quick(3)).await;
        let advice = "and the key is not sent there. If that is the provider, use it as base_url.";
        let message = format!("{} redirects to {host} (status {status}), {advice}", server.address);
        let expected = ProviderError::new(ProviderErrorKind::NotFound, message).with_status(status);
        assert_eq!((outcome.answer, server.seen().connections), (Err(expected), 1));
    }
}

#[tokio::test]
async fn compressed_answers_are_read() {
    let script = answer(200, "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n", gzip(WHOLE.as_bytes()));
    let (outcome, server) = play(vec![script], quick(0)).await;
    assert_eq!(outcome.answer.unwrap().reply, reply("Hello", 0));
    assert!(server.received()[0].contains("\r\naccept-encoding: gzip,br\r\n"), "{:?}", server.received());

    let script = answer(400, "content-encoding: gzip\r\n", gzip(b"no"));
    assert_eq!(play(vec![script], quick(0)).await.0.error(), (ProviderErrorKind::BadRequest, "refused with 400: no"));
}

/// In one stored block: nothing here need be small.
fn gzip(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap();
    let checksum = data.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 })
    });
    let head: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    let tail = [(!checksum).to_le_bytes(), u32::from(length).to_le_bytes()].concat();
    [head, &length.to_le_bytes(), &(!length).to_le_bytes(), data, &tail].concat()
}

#[tokio::test]
async fn endless_event_is_an_error_in_bounded_memory() {
    let long = "x".repeat(1 << 20);
    let script: Vec<_> = [Act::Read, say(HEAD), chunk(HELLO), chunk("data: ")].into_iter().chain((0..33).map(|_| chunk(&long))).collect();
    let (outcome, _server) = play(vec![script], quick(3)).await;
    let message = "The answer is not a stream of this protocol: one event of the stream is larger than 33554432 bytes. Check the base_url.";
    assert_eq!((outcome.error(), outcome.deltas.clone()), ((ProviderErrorKind::Malformed, message), vec![text("Hello")]));
}
