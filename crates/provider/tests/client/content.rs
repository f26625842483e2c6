//! Answers that are no stream of events, and streams in other wrappings.

use haft_provider::{ProviderError, Trouble};

use crate::plain::{reply, text};
use crate::server::Act;
use crate::support::{HEAD, HELLO, WHOLE, answer, chunk, play, quick, say, stream};

const JSON: &str = "content-type: application/json; charset=utf-8\r\n";

#[tokio::test]
async fn something_else_than_a_stream_is_named_with_advice() {
    let page = "sent a web page ('Sign in — Corp & Co') instead of an answer. A login page or a proxy stands in between, or the base \
                address is that of a site: check both.";
    let untitled = "sent a web page instead of an answer. A login page or a proxy stands in between, or the base address is that of a \
                    site: check both.";
    let document = "sent one JSON document instead of a stream. The server, or a proxy before it, does not stream: use one that does, or \
                    another base address.";
    let other = "and no event in it. Check that the base address and the protocol belong together.";
    for (headers, body, message) in [
        ("content-type: text/html; charset=utf-8\r\n", "<!doctype html><TITLE lang=en>\n Sign in — Corp &\n Co </TITLE>", page.to_owned()),
        ("content-type: TEXT/HTML\r\n", "<html>", untitled.to_owned()),
        ("content-type: application/xhtml+xml\r\n", "<title></title>", untitled.to_owned()),
        (JSON, r#"{"choices":[{"message":{"content":"Hello"}}]}"#, document.to_owned()),
        (JSON, r#"{"error":null,"object":"chat.completion"}"#, document.to_owned()),
        (JSON, r#"[{"candidates":[]}]"#, document.to_owned()),
        (JSON, r#"{"cut":"#, document.to_owned()),
        ("content-type: text/plain\r\n", "Hello", format!("sent 'text/plain' {other}")),
        ("content-type: application/x-ndjson\r\n", "{}\n{}\n", format!("sent 'application/x-ndjson' {other}")),
        ("", "\u{1}\u{2}", format!("sent an answer without a content type {other}")),
    ] {
        let (outcome, server) = play(vec![answer(200, headers, body)], quick(3)).await;
        let expected = ProviderError::new(Trouble::Malformed, format!("{} {message}", server.address));
        assert_eq!((outcome.answer, server.seen().requests), (Err(expected), 1), "{headers} {body}");
    }
}

#[tokio::test]
async fn an_error_that_came_as_a_success_is_a_refusal() {
    for (body, status, trouble, requests) in [
        (r#"{"error":{"message":"no"}}"#, 200, Trouble::BadRequest, 1),
        (r#"{"error":"no"}"#, 200, Trouble::BadRequest, 1),
        (r#"{"type":"error","error":{"type":"x"}}"#, 200, Trouble::BadRequest, 1),
        (r#"{"object":"error","message":"no"}"#, 200, Trouble::BadRequest, 1),
        (r#"{"error":{"code":503,"message":"overloaded"}}"#, 503, Trouble::Server, 3),
        (r#"[{"error":{"code":429,"message":"slow"}}]"#, 429, Trouble::RateLimited, 3),
        (r#"{"error":{"code":429,"type":"insufficient_quota"}}"#, 429, Trouble::RateLimited, 1),
        (r#"{"error":{"code":7,"message":"own code"}}"#, 200, Trouble::BadRequest, 1),
    ] {
        let (outcome, server) = play(vec![answer(200, JSON, body)], quick(2)).await;
        let error = outcome.answer.unwrap_err();
        let told = if requests == 1 { String::new() } else { format!(". It was sent {requests} times.") };
        assert_eq!(error, ProviderError::new(trouble, format!("refused with {status}: {body}{told}")).with_status(status));
        assert_eq!(server.seen().requests, requests, "{body}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_tried_again_and_then_said() {
    for (what, script) in [
        ("a stream", stream("")),
        ("JSON", answer(200, JSON, "")),
        ("anything", answer(200, "", "")),
        ("no content", vec![Act::Read, say("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")]),
    ] {
        let (outcome, server) = play(vec![script], quick(1)).await;
        let message =
            format!("{} sent an empty answer. Try again; if it stays so, check the base address. It was sent 2 times.", server.address);
        assert_eq!((outcome.error(), server.seen().requests), ((Trouble::Server, message.as_str()), 2), "{what}");
    }
}

#[tokio::test]
async fn a_stream_with_another_type_or_none_is_read_all_the_same() {
    for headers in ["", "content-type: text/plain\r\n", "content-type: Text/Event-Stream;charset=UTF-8\r\n", "content-type: ü\r\n"] {
        let (outcome, _server) = play(vec![answer(200, headers, WHOLE)], quick(0)).await;
        assert_eq!(outcome.answer.unwrap().reply, reply("Hello", 0), "{headers}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = stream(WHOLE);
    for (status, headers, host) in [
        (301, "location: https://login.example.com/x?token=1\r\n", "login.example.com"),
        (302, "location: /elsewhere\r\n", "127.0.0.1"),
        (303, "", "an address that it does not name"),
        (307, "location: http://login.example.com/\r\n", "login.example.com"),
        (308, "location: //login.example.com/\r\n", "login.example.com"),
        (300, "location: ü\r\n", "an address that it does not name"),
    ] {
        let (outcome, server) = play(vec![answer(status, headers, ""), other.clone()], quick(3)).await;
        let advice = "The key is not sent there: if that is the provider, make it the base address.";
        let message = format!("{} redirects to {host} (status {status}). {advice}", server.address);
        let expected = ProviderError::new(Trouble::NotFound, message).with_status(status);
        assert_eq!((outcome.answer, server.seen().connections), (Err(expected), 1));
    }
}

#[tokio::test]
async fn compressed_answers_are_read() {
    let script = answer(200, "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n", gzip(WHOLE.as_bytes()));
    let (outcome, server) = play(vec![script], quick(0)).await;
    assert_eq!(outcome.answer.unwrap().reply, reply("Hello", 0));
    assert!(server.received()[0].contains("\r\naccept-encoding: gzip\r\n"), "{:?}", server.received());

    let script = answer(400, "content-encoding: gzip\r\n", gzip(b"no"));
    assert_eq!(play(vec![script], quick(0)).await.0.error(), (Trouble::BadRequest, "refused with 400: no"));
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
async fn an_event_without_end_is_an_error_and_not_a_heap_of_memory() {
    let long = "x".repeat(1 << 20);
    let script: Vec<_> = [Act::Read, say(HEAD), chunk(HELLO), chunk("data: ")].into_iter().chain((0..33).map(|_| chunk(&long))).collect();
    let (outcome, _server) = play(vec![script], quick(3)).await;
    let message = "The provider's answer is no stream of this protocol: one event of the stream is larger than 33554432 bytes. Check its base address.";
    assert_eq!((outcome.error(), outcome.deltas.clone()), ((Trouble::Malformed, message), vec![text("Hello")]));
}
