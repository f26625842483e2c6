//! A response of any size, made into something a model can read.

use std::fmt::Write;

use haft_contract::{HttpResponse, SpillFile, ToolContext, ToolError};
use serde_json::{Value, json};

use crate::shared::binary;
use crate::shared::capture::{Capture, Captured};
use crate::shared::media::Media;
use crate::shared::words;

const SHOWN_KB: usize = 100;
const DOWNLOAD_MB: u64 = 50;

/// A body that was received, as far as it is wanted.
#[derive(Debug)]
pub(crate) struct Received {
    media: Media,
    body: Captured,
    /// Whether nothing followed.
    complete: bool,
}

impl Received {
    /// Reads the body: its beginning to show, all of it into a spill if it is larger than that or not text.
    pub(crate) async fn read(response: &mut HttpResponse, cx: &ToolContext) -> Result<Self, ToolError> {
        let media = Media::parse(header(response, "Content-Type").unwrap_or_default());
        let mut capture = Capture::new(cx, SHOWN_KB * 1024, media.extension());
        let mut complete = true;
        while complete && let Some(mut chunk) = next_chunk(response, capture.total()).await? {
            let room = usize::try_from(DOWNLOAD_MB * 1024 * 1024 - capture.total()).unwrap_or(usize::MAX);
            complete = chunk.len() <= room;
            chunk.truncate(room);
            capture.push(&chunk).await?;
        }
        if capture.total() > 0 && media.is_binary(capture.head()) {
            capture.spill_all().await?;
        }
        Ok(Self { media, body: capture.finish().await?, complete })
    }

    /// Status, content type, length and body, as the model reads them.
    pub(crate) fn text(&self, response: &HttpResponse) -> String {
        let mut text = format!("HTTP {} {}", response.status, response.reason).trim_end().to_owned();
        for name in ["Content-Type", "Content-Length"] {
            if let Some(value) = header(response, name) {
                text.extend(["\n", name, ": ", value]);
            }
        }
        match response.redirected_from.len() {
            0 => {}
            1 => text.extend(["\nURL: ", &response.url, " (after 1 redirect)"]),
            // Writing to a string cannot fail.
            hops => drop(write!(text, "\nURL: {} (after {hops} redirects)", response.url)),
        }
        text + "\n\n" + &self.shown()
    }

    /// Everything, for people and programs.
    pub(crate) fn details(&self, response: &HttpResponse) -> Value {
        json!({
            "status": response.status,
            "reason": response.reason,
            "url": response.url,
            "redirected_from": response.redirected_from,
            "headers": response.headers,
            "bytes": self.body.total,
            "complete": self.complete,
            "spill": self.body.spill.as_ref().map(|spill| spill.path.to_string_lossy()),
        })
    }

    fn shown(&self) -> String {
        let Captured { head, total, spill } = &self.body;
        match spill {
            _ if *total == 0 => "(empty response body)".into(),
            None => self.media.decode(head, true),
            Some(spill) if self.media.is_binary(head) => self.not_shown(spill),
            Some(spill) => format!("{}\n\n{}", self.media.decode(head, false), self.cut(spill)),
        }
    }

    fn not_shown(&self, spill: &SpillFile) -> String {
        let named = if self.media.essence.is_empty() { "of no stated type" } else { &self.media.essence };
        let looks = binary::format_of(&self.body.head).map(|format| format!(", looks like {format}")).unwrap_or_default();
        let (size, path) = (words::size(self.body.total), spill.path.display());
        let cut = if self.complete { String::new() } else { format!(" The download was stopped at {DOWNLOAD_MB}MB.") };
        format!("(Binary response, not shown: {named}{looks}, {size}.{cut} It is kept in {path}.)")
    }

    fn cut(&self, spill: &SpillFile) -> String {
        let path = spill.path.display();
        let encoding = self.media.encoding;
        let how = if encoding == encoding_rs::UTF_8 { String::new() } else { format!(" and encoding='{}'", encoding.name()) };
        if self.complete {
            let total = self.body.total / 1024;
            format!(
                "(Response truncated. Showing first {SHOWN_KB}KB of {total}KB total.) \
                 The whole body is in {path}: read on with read_file, that path{how}."
            )
        } else {
            format!(
                "(Response truncated. Showing first {SHOWN_KB}KB; the download was stopped at {DOWNLOAD_MB}MB.) \
                 What was received is in {path}: read on with read_file, that path{how}."
            )
        }
    }
}

async fn next_chunk(response: &mut HttpResponse, so_far: u64) -> Result<Option<Vec<u8>>, ToolError> {
    let status = response.status;
    response.body.chunk().await.map_err(|error| {
        let message = format!("{} (The response, HTTP {status}, broke off after {}.)", error.message(), words::size(so_far));
        error.with_message(message)
    })
}

fn header<'a>(response: &'a HttpResponse, wanted: &str) -> Option<&'a str> {
    response.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{ErrorKind, HttpRequest, Plan, PlanContext};
    use haft_testkit::{FakeHost, Reply, context_for, expect_error};

    use super::*;

    async fn receive(host: &Arc<FakeHost>, reply: Reply) -> Result<(String, Value), ToolError> {
        let url = "http://api.test/";
        host.http.answer("GET", url, reply);
        let plan = Plan::nothing().connect(PlanContext::new(&**host).connect("GET", url)?);
        let cx = context_for(plan, Arc::clone(host));
        let request = HttpRequest { method: "GET".into(), url: url.into(), headers: Vec::new(), body: None, redirects: 0 };
        let mut response = cx.http().send(request).await?;
        let received = Received::read(&mut response, &cx).await?;
        let text = received.text(&response);
        let body = text.split_once("\n\n").unwrap().1.to_owned();
        Ok((body, received.details(&response)))
    }

    #[tokio::test]
    async fn a_body_of_exactly_a_page_is_shown_whole() {
        let (host, body) = (FakeHost::new(), "x".repeat(100 * 1024));
        let (text, details) = receive(&host, Reply::ok("text/plain", body.as_str())).await.unwrap();
        assert!(text == body);
        assert_eq!((&details["bytes"], &details["spill"], host.journal.spills_opened()), (&json!(102_400), &Value::Null, 0));
    }

    #[tokio::test]
    async fn a_larger_body_is_cut_and_kept_whole() {
        let host = FakeHost::new();
        let pieces = ["0123456789".repeat(10_239), "abcdefghijé".repeat(3_000)];
        let reply = Reply::ok("application/json; charset=utf-8", pieces[0].as_str()).chunk(pieces[1].as_str());
        let (text, details) = receive(&host, reply).await.unwrap();
        let whole = pieces.concat();
        let note = "(Response truncated. Showing first 100KB of 135KB total.) \
                    The whole body is in /spills/1.json: read on with read_file, that path.";
        // Byte 102,400 lies within an é, which is left for the file.
        assert_eq!(text, format!("{}\n\n{note}", &whole[..whole.floor_char_boundary(102_400)]));
        assert_eq!(host.files.text("/spills/1.json").unwrap(), whole);
        assert_eq!(
            (&details["bytes"], &details["spill"], &details["complete"]),
            (&json!(whole.len()), &json!("/spills/1.json"), &json!(true))
        );
    }

    #[tokio::test]
    async fn an_endless_body_is_stopped() {
        let host = FakeHost::new();
        let reply = Reply::ok("text/plain; charset=ISO-8859-1", vec![b'x'; 3 << 20]).endless();
        let (text, details) = receive(&host, reply).await.unwrap();
        let note = "(Response truncated. Showing first 100KB; the download was stopped at 50MB.) \
                    What was received is in /spills/1.txt: read on with read_file, that path and encoding='windows-1252'.";
        assert_eq!(text, format!("{}\n\n{note}", "x".repeat(102_400)));
        assert_eq!((&details["bytes"], &details["complete"]), (&json!(50 << 20), &json!(false)));
        assert_eq!(host.files.get("/spills/1.txt").unwrap().len(), 50 << 20);
    }

    #[tokio::test]
    async fn text_is_decoded_as_the_server_says() {
        let host = FakeHost::new();
        for (content_type, bytes, expected) in [
            ("text/plain; charset=ISO-8859-1", &b"caf\xe9"[..], "café"),
            ("text/plain", "café".as_bytes(), "café"),
            ("text/plain", b"caf\xe9", "caf\u{fffd}"),
            ("text/html", b"\xff\xfec\0a\0", "ca"),
        ] {
            assert_eq!(receive(&host, Reply::ok(content_type, bytes)).await.unwrap().0, expected);
        }
    }

    #[tokio::test]
    async fn binary_bodies_are_kept_not_shown() {
        for (reply, expected) in [
            (
                Reply::ok("image/png", &b"\x89PNG\r\n\x1a\n\0"[..]),
                "(Binary response, not shown: image/png, looks like a PNG image, 9 bytes. It is kept in /spills/1.png.)",
            ),
            (
                Reply::ok("application/octet-stream", vec![0; 200_000]),
                "(Binary response, not shown: application/octet-stream, 195.3 KB. It is kept in /spills/1.bin.)",
            ),
            (
                Reply::new(200, "OK").chunk(&b"a\0b"[..]),
                "(Binary response, not shown: of no stated type, 3 bytes. It is kept in /spills/1.txt.)",
            ),
        ] {
            let host = FakeHost::new();
            let (text, details) = receive(&host, reply).await.unwrap();
            assert_eq!(text, expected);
            assert_eq!(host.files.get(details["spill"].as_str().unwrap()).unwrap().len() as u64, details["bytes"]);
        }
        assert_eq!(receive(&FakeHost::new(), Reply::ok("image/png", "")).await.unwrap().0, "(empty response body)");
    }

    #[tokio::test]
    async fn a_broken_response_and_a_full_disk_are_errors() {
        let host = FakeHost::new();
        let broken = Reply::ok("text/plain", "x".repeat(2048)).breaks_off(ErrorKind::NetworkError, "Connection reset.");
        let error = expect_error(receive(&host, broken).await);
        assert_eq!(error, (ErrorKind::NetworkError, "Connection reset. (The response, HTTP 200, broke off after 2.0 KB.)".into()));
        host.journal.fail(ErrorKind::ExecutionError, "No space left");
        let error = expect_error(receive(&host, Reply::ok("text/plain", vec![b'x'; 200_000])).await);
        assert_eq!(error, (ErrorKind::ExecutionError, "No space left".into()));
    }
}
