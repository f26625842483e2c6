//! The text of a response of any size.

use std::fmt::Write;

use encoding_rs::{Encoding, UTF_8};
use haft_contract::{Dialect, ErrorKind, HttpResponse, SpillFile, ToolContext, ToolError};
use haft_text::numbers;
use serde_json::{Value, json};

use crate::files::read_file::continue_at;
use crate::shared::binary;
use crate::shared::brief;
use crate::shared::media_type::MediaType;
use crate::shared::pager::newlines;
use crate::shared::polite::{CallDeadline, header};
use crate::shared::spill_buffer::{SpillBuffer, SpilledOutput};

const SHOWN_KB: usize = 100;
const DOWNLOAD_MB: u64 = 50;

/// A received body, up to the download limit.
#[derive(Debug)]
pub(crate) struct ReceivedBody {
    media: MediaType,
    /// A content encoding that the client does not decode.
    undecoded: Option<String>,
    body: SpilledOutput,
    ending: BodyEnd,
    /// For the name of `read_file`.
    dialect: Dialect,
}

/// How a body ended.
#[derive(Debug, PartialEq, Eq)]
enum BodyEnd {
    /// Completely.
    Complete,
    /// At the download limit.
    Stopped,
    /// By an error.
    Broken(String),
}

impl ReceivedBody {
    /// Reads the body: the beginning into memory, all of it into a spill if it is larger or not text.
    pub(crate) async fn read(response: &mut HttpResponse, deadline: &CallDeadline, cx: &ToolContext) -> Result<Self, ToolError> {
        let media = MediaType::parse(header(response, "Content-Type").unwrap_or_default());
        let mut capture = SpillBuffer::new(cx, SHOWN_KB * 1024, media.extension());
        let ending = receive(response, &mut capture, deadline).await?;
        let undecoded = left_encoded(response);
        if capture.total() > 0 && (undecoded.is_some() || media.is_binary(capture.head())) {
            capture.spill_all().await?;
        }
        Ok(Self { media, undecoded, body: capture.finish().await?, ending, dialect: cx.dialect() })
    }

    /// Status, content type, length and body.
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
        text + "\n\n" + &self.body_text()
    }

    /// The same with every header: for requests whose answer they are.
    pub(crate) fn text_with_headers(&self, response: &HttpResponse) -> String {
        let mut text = format!("HTTP {} {}", response.status, response.reason).trim_end().to_owned();
        response.headers.iter().for_each(|(name, value)| text.extend(["\n", name, ": ", value]));
        if self.body.total > 0 {
            text.extend(["\n\n", &self.body_text()]);
        }
        text
    }

    /// All facts of the response.
    pub(crate) fn details(&self, response: &HttpResponse) -> Value {
        json!({
            "status": response.status,
            "reason": response.reason,
            "url": response.url,
            "redirected_from": response.redirected_from,
            "headers": response.headers,
            "bytes": self.body.total,
            "complete": self.ending == BodyEnd::Complete,
            "spill": self.body.spill.as_ref().map(|spill| spill.path.to_string_lossy()),
        })
    }

    fn body_text(&self) -> String {
        let SpilledOutput { head, total, spill } = &self.body;
        let whole = self.ending == BodyEnd::Complete;
        let text = match spill {
            _ if *total == 0 => "(empty response body)".into(),
            None => self.media.decode(head, whole),
            Some(spill) if self.undecoded.is_some() || self.media.is_binary(head) => self.not_shown(spill),
            Some(spill) => {
                let text = self.media.decode(head, false);
                let note = self.truncation_note(spill, &text);
                text + "\n\n" + &note
            }
        };
        text + &self.broken_off()
    }

    fn broken_off(&self) -> String {
        let BodyEnd::Broken(why) = &self.ending else { return String::new() };
        let (size, why) = (numbers::size(self.body.total), why.trim_end_matches('.'));
        format!("\n\n(The response broke off after {size}, so this is only its beginning: {why}. Request it again for the rest.)")
    }

    fn not_shown(&self, spill: &SpillFile) -> String {
        let named = if self.media.essence.is_empty() { "of no stated type" } else { &self.media.essence };
        let looks = match (&self.undecoded, binary::format_of(&self.body.head)) {
            (Some(encoding), _) => format!(", encoded as {}, which this client does not decode", brief(encoding)),
            (None, Some(format)) => format!(", looks like {format}"),
            (None, None) => String::new(),
        };
        let (size, path) = (numbers::size(self.body.total), spill.path.display());
        let cut = if self.ending == BodyEnd::Stopped { format!(" The download was stopped at {DOWNLOAD_MB}MB.") } else { String::new() };
        format!("(Binary response, not shown: {named}{looks}, {size}.{cut} It is kept in {path}.)")
    }

    fn truncation_note(&self, spill: &SpillFile, shown: &str) -> String {
        let (how_much, what) = match self.ending {
            BodyEnd::Complete => (format!(" of {}KB total", self.body.total / 1024), "The whole body"),
            BodyEnd::Stopped => (format!("; the download was stopped at {DOWNLOAD_MB}MB"), "What was received"),
            BodyEnd::Broken(_) => (String::new(), "What was received"),
        };
        let (path, (reader, at)) = (spill.path.display(), self.continuation(shown));
        format!("(Response truncated. Showing first {SHOWN_KB}KB{how_much}.) {what} is in {path}: continue with {reader}, that path, {at}.")
    }

    /// The tool that continues, and its arguments: line, column within a line, and the encoding without a byte order mark.
    fn continuation(&self, shown: &str) -> (&'static str, String) {
        let line = newlines(shown.as_bytes()) + 1;
        let column = shown.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let (reader, offset) = continue_at(self.dialect, line);
        let mut arguments = vec![offset];
        if column > 1 {
            arguments.push(format!("column={column}"));
        }
        if self.media.encoding != UTF_8 && Encoding::for_bom(&self.body.head).is_none() {
            arguments.push(format!("encoding='{}'", self.media.encoding.name()));
        }
        (reader, arguments.join(", "))
    }
}

/// Receives the body up to the limit. A partial body is a result; an error before the first byte is an error.
async fn receive(response: &mut HttpResponse, capture: &mut SpillBuffer<'_>, deadline: &CallDeadline) -> Result<BodyEnd, ToolError> {
    loop {
        let mut chunk = match deadline.limit(response.body.chunk()).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(BodyEnd::Complete),
            Err(error) if error.kind() != ErrorKind::Cancelled && capture.total() > 0 => {
                return Ok(BodyEnd::Broken(error.message().into()));
            }
            Err(error) => return Err(without_body(response.status, error)),
        };
        let space = usize::try_from(DOWNLOAD_MB * 1024 * 1024 - capture.total()).unwrap_or(usize::MAX);
        let stops = chunk.len() > space;
        chunk.truncate(space);
        capture.push(&chunk).await?;
        if stops {
            return Ok(BodyEnd::Stopped);
        }
    }
}

fn without_body(status: u16, error: ToolError) -> ToolError {
    let message = format!("{} (The response, HTTP {status}, broke off before its body.)", error.message());
    error.with_message(message)
}

/// The client removes the header of an encoding that it has decoded.
fn left_encoded(response: &HttpResponse) -> Option<String> {
    let encoding = header(response, "Content-Encoding")?.trim();
    (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")).then(|| encoding.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{HttpRequest, Plan, PlanContext};
    use haft_testkit::{FakeHost, Reply, context_for, expect_error, expect_text, run_tool};

    use super::*;

    async fn receive(host: &Arc<FakeHost>, reply: Reply) -> Result<(String, Value), ToolError> {
        receive_in(Dialect::Haft, host, reply).await
    }

    async fn receive_in(dialect: Dialect, host: &Arc<FakeHost>, reply: Reply) -> Result<(String, Value), ToolError> {
        let url = "http://api.test/";
        host.http.answer("GET", url, reply);
        let plan = Plan::nothing().connect(PlanContext::new(&**host).connect("GET", url)?);
        let cx = context_for(plan, Arc::clone(host)).called_as(dialect, None);
        let request = HttpRequest { method: "GET".into(), url: url.into(), headers: Vec::new(), body: None, redirects: 0 };
        let mut response = cx.http().send(request).await?;
        let received = ReceivedBody::read(&mut response, &CallDeadline::of_a_call(), &cx).await?;
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
        let pieces = ["0123456789".repeat(10_239), "abcdefghié".repeat(3_000)];
        let reply = Reply::ok("application/json; charset=utf-8", pieces[0].as_str()).chunk(pieces[1].as_str());
        let (text, details) = receive(&host, reply).await.unwrap();
        let whole = pieces.concat();
        let note = "(Response truncated. Showing first 100KB of 132KB total.) \
                    The whole body is in /spills/1.json: continue with read_file, that path, offset=1, column=102400.";
        // The page ends within an é, which is left for the file.
        assert_eq!(text, format!("{}\n\n{note}", &whole[..whole.floor_char_boundary(102_400)]));
        assert_eq!(host.files.text("/spills/1.json").unwrap(), whole);
        assert_eq!(
            (&details["bytes"], &details["spill"], &details["complete"]),
            (&json!(whole.len()), &json!("/spills/1.json"), &json!(true))
        );
    }

    #[tokio::test]
    async fn continuation_uses_the_names_of_the_dialect() {
        for (dialect, words) in
            [(Dialect::Claw, "read_file, that path, offset=51200."), (Dialect::OpenClaw, "read, that path, offset=51201.")]
        {
            let (text, _) = receive_in(dialect, &FakeHost::new(), Reply::ok("text/plain", "x\n".repeat(60_000))).await.unwrap();
            assert!(text.ends_with(&format!(": continue with {words}")), "{}", &text[text.len() - 200..]);
        }
    }

    #[tokio::test]
    async fn an_endless_body_is_stopped() {
        let host = FakeHost::new();
        let reply = Reply::ok("text/plain; charset=ISO-8859-1", vec![b'x'; 3 << 20]).endless();
        let (text, details) = receive(&host, reply).await.unwrap();
        let note = "(Response truncated. Showing first 100KB; the download was stopped at 50MB.) \
                    What was received is in /spills/1.txt: continue with read_file, that path, offset=1, column=102401, encoding='windows-1252'.";
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
    async fn the_note_names_where_the_shown_part_ends() {
        let read_file = crate::all().into_iter().find(|tool| tool.definition().name == "read_file").unwrap();
        let utf_16: Vec<u8> = "\u{feff}ab\n".repeat(20_000).encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (content_type, body, place) in [
            ("text/plain", "x\n".repeat(60_000).into_bytes(), "offset=51201"),
            ("text/plain", "é\nabc\n".repeat(20_000).into_bytes(), "offset=29258, column=2"),
            ("text/html; charset=windows-1252", utf_16, "offset=12801"),
            ("text/plain; charset=utf-16le", "ab\n".repeat(20_000).encode_utf16().flat_map(u16::to_le_bytes).collect(), "encoding"),
        ] {
            let host = FakeHost::new();
            let (text, _) = receive(&host, Reply::ok(content_type, body)).await.unwrap();
            let (shown, note) = text.rsplit_once("\n\n(Response truncated. ").unwrap();
            let said = note.rsplit_once("that path, ").unwrap().1.trim_end_matches('.');
            if place == "encoding" {
                assert!(said.ends_with(", encoding='UTF-16LE'"), "{said}");
            } else {
                assert_eq!(said, place);
            }
            let mut arguments = json!({"path": note.split_once(" is in ").unwrap().1.split_once(": continue").unwrap().0});
            for (name, value) in said.split(", ").map(|part| part.split_once('=').unwrap()) {
                arguments[name] = value.parse::<usize>().map_or_else(|_| json!(value.trim_matches('\'')), |number| json!(number));
            }
            let rest = expect_text(run_tool(&*read_file, arguments, host.clone()).await);
            let whole =
                MediaType::parse(content_type).decode(&host.files.get("/spills/1.txt").or(host.files.get("/spills/1.html")).unwrap(), true);
            assert!(whole[shown.len()..].starts_with(&rest[..100]), "{content_type}: {:?} is not behind", &rest[..100]);
        }
    }

    #[tokio::test]
    async fn what_came_of_a_broken_response_is_kept() {
        let note = |size| {
            format!(
                "(The response broke off after {size}, so this is only its beginning: Connection reset. Request it again for the rest.)"
            )
        };
        let host = FakeHost::new();
        let broken = |body: String| Reply::ok("text/plain", body).breaks_off(ErrorKind::NetworkError, "Connection reset.");
        let (text, details) = receive(&host, broken("x".repeat(2048))).await.unwrap();
        assert_eq!(text, format!("{}\n\n{}", "x".repeat(2048), note("2.0 KB")));
        assert_eq!((&details["bytes"], &details["complete"]), (&json!(2048), &json!(false)));
        let (text, _) = receive(&host, broken("x\n".repeat(60_000))).await.unwrap();
        let cut = "(Response truncated. Showing first 100KB.) What was received is in /spills/1.txt: continue with read_file, \
                   that path, offset=51201.";
        assert_eq!(text, format!("{}\n\n{cut}\n\n{}", "x\n".repeat(51_200), note("117.2 KB")));
    }

    #[tokio::test]
    async fn an_encoding_that_is_not_decoded_is_named() {
        let host = FakeHost::new();
        let reply = |encoding| Reply::ok("text/html", &b"\x0b\x02\x80text\x03"[..]).header("Content-Encoding", encoding);
        let (text, details) = receive(&host, reply("zstd")).await.unwrap();
        let expected = "(Binary response, not shown: text/html, encoded as zstd, which this client does not decode, 8 bytes. \
                        It is kept in /spills/1.html.)";
        assert_eq!((text.as_str(), &details["spill"]), (expected, &json!("/spills/1.html")));
        assert!(receive(&host, reply("Identity")).await.unwrap().0.contains("text"));
    }

    #[tokio::test]
    async fn a_response_without_a_body_and_a_full_disk_are_errors() {
        let host = FakeHost::new();
        let broken = Reply::new(200, "OK").breaks_off(ErrorKind::NetworkError, "Connection reset.");
        let error = expect_error(receive(&host, broken).await);
        assert_eq!(error, (ErrorKind::NetworkError, "Connection reset. (The response, HTTP 200, broke off before its body.)".into()));
        let cancelled = Reply::ok("text/plain", "x").breaks_off(ErrorKind::Cancelled, "The call has ended.");
        assert_eq!(expect_error(receive(&host, cancelled).await).0, ErrorKind::Cancelled);
        host.journal.fail(ErrorKind::ExecutionError, "No space left");
        let error = expect_error(receive(&host, Reply::ok("text/plain", vec![b'x'; 200_000])).await);
        assert_eq!(error, (ErrorKind::ExecutionError, "No space left".into()));
    }
}
