//! Plain HTTP in a tunnel. Who was permitted to reach one host must not ask its server for another, in any request of the
//! connection. What is not HTTP passes as it is.
//!
//! A request counts for a server when its head is complete, so the head is held back until it was checked. Whatever two readers
//! could read in two ways is refused.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;
use url::Url;

use super::ProxyTarget;

/// The longest head of a request, and the longest line in a body of chunks.
const LONGEST_HEAD: u64 = 64 * 1024;
const LONGEST_CHUNK_LINE: u64 = 4 * 1024;

/// Why a stream ended early.
#[derive(Debug)]
pub(super) enum Broken {
    Io(io::Error),
    /// It asks for another host, or cannot be read.
    Refused(String),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<&str> for Broken {
    fn from(reason: &str) -> Self {
        Self::Refused(reason.to_owned())
    }
}

/// Passes on what a client says. `switched` resolves with the first answer: whether the server speaks another protocol from then
/// on.
pub(super) async fn pass<R, W>(from: &mut R, to: &mut W, target: &ProxyTarget, switched: oneshot::Receiver<bool>) -> Result<(), Broken>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let Some(mut line) = first_line(from, to).await? else {
        tokio::io::copy_buf(from, to).await?;
        return Ok(());
    };
    let (mut switched, mut sent) = (Some(switched), line.len());
    loop {
        let Some(head) = rest_of_head(from, &mut line).await? else { return Ok(()) };
        let request = Request::parse(&line[..head], &line[head..])?;
        request.check_host(target)?;
        to.write_all(&line[sent..]).await?;
        body(from, to, request.body).await?;
        if request.is_upgrade {
            let switched = switched.take().ok_or("it asks for another protocol in a later request, which cannot be checked")?;
            if switched.await == Ok(true) {
                tokio::io::copy_buf(from, to).await?;
                return Ok(());
            }
        }
        switched = None;
        (line, sent) = (Vec::new(), 0);
        if !next_line(from, to, &mut line).await? {
            return Ok(());
        }
    }
}

/// The request line, if the client speaks HTTP. It is passed on as it comes: a client of another protocol may wait for an answer
/// to half a line.
async fn first_line<R, W>(from: &mut R, to: &mut W) -> Result<Option<Vec<u8>>, Broken>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = Vec::new();
    loop {
        let bytes = from.fill_buf().await?;
        let count = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        line.extend_from_slice(&bytes[..count]);
        to.write_all(&bytes[..count]).await?;
        from.consume(count);
        let is_text = |byte: &u8| !byte.is_ascii_control() || matches!(byte, b'\r' | b'\n' | b'\t');
        if count == 0 || line.len() as u64 > LONGEST_HEAD || !line.iter().all(is_text) {
            return Ok(None);
        }
        if line.ends_with(b"\n") {
            // Servers skip empty lines before a request.
            if line.trim_ascii().is_empty() {
                line.clear();
            } else {
                return Ok(is_request_line(&line).then_some(line));
            }
        }
    }
}

/// Whether a line may be read as one of HTTP, even by a lenient server.
fn is_request_line(line: &[u8]) -> bool {
    line.windows(5).any(|part| part.eq_ignore_ascii_case(b"http/"))
}

/// The next request line; `false` at the end of the stream. Empty lines before it are passed on.
async fn next_line<R, W>(from: &mut R, to: &mut W, line: &mut Vec<u8>) -> Result<bool, Broken>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        line.clear();
        read_line(from, line, LONGEST_HEAD).await?;
        match &line[..] {
            [] => return Ok(false),
            b"\r\n" => to.write_all(line).await?,
            _ => return Ok(true),
        }
    }
}

/// Reads the headers behind a request line, with the empty line; where the line ends. `None` if the stream ends before.
async fn rest_of_head<R: AsyncBufRead + Unpin>(from: &mut R, head: &mut Vec<u8>) -> Result<Option<usize>, Broken> {
    let first = head.len();
    loop {
        let before = head.len();
        let left = LONGEST_HEAD.saturating_sub(before as u64);
        read_line(from, head, left).await?;
        match &head[before..] {
            [] => return Ok(None),
            b"\r\n" => return Ok(Some(first)),
            _ => {}
        }
    }
}

/// Adds a line to what was read; nothing at the end of the stream.
async fn read_line<R: AsyncBufRead + Unpin>(from: &mut R, line: &mut Vec<u8>, most: u64) -> Result<(), Broken> {
    let before = line.len();
    let count = from.take(most).read_until(b'\n', line).await?;
    match &line[before..] {
        [] if most > 0 => Ok(()),
        [.., b'\r', b'\n'] => Ok(()),
        [.., b'\n'] => Err("its request holds a line that ends without a carriage return".into()),
        _ if (count as u64) < most => Err("its request is cut off".into()),
        _ => Err("the head of its request is too long".into()),
    }
}

/// How the body of a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    Bytes(u64),
    Chunks,
}

/// What is checked of a request.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    /// What stands for a host in the request line.
    wanted: Option<String>,
    /// The header `Host`.
    host: Option<String>,
    body: BodyLength,
    is_upgrade: bool,
}

impl Request {
    fn parse(line: &[u8], headers: &[u8]) -> Result<Self, &'static str> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (line, headers) = (text(line), text(headers));
        let words: Vec<&str> = line.trim_end_matches("\r\n").split(' ').collect();
        let [method, wanted, version @ ("HTTP/1.1" | "HTTP/1.0")] = words[..] else {
            return Err("it speaks a version of HTTP without TLS that cannot be checked");
        };
        let headers: Vec<(String, &str)> =
            headers.split_terminator("\r\n").filter(|line| !line.is_empty()).map(header).collect::<Result<_, _>>()?;
        let all = |name: &str| headers.iter().filter(|(key, _)| key == name).map(|(_, value)| *value).collect::<Vec<_>>();
        let host = match all("host")[..] {
            [] if version == "HTTP/1.0" => None,
            [host] => Some(host.to_owned()),
            _ => return Err("its request names no host, or several"),
        };
        let wanted = match wanted {
            _ if method == "CONNECT" => return Err("it asks for a tunnel within its tunnel"),
            path if path.starts_with('/') || path == "*" => None,
            url => Some(url.to_owned()),
        };
        let upgrades = all("upgrade");
        if upgrades.iter().any(|value| value.to_ascii_lowercase().contains("h2c")) {
            return Err("it asks for HTTP/2 without TLS, which cannot be checked");
        }
        Ok(Self { wanted, host, body: body_length(&all("content-length"), &all("transfer-encoding"))?, is_upgrade: !upgrades.is_empty() })
    }

    fn check_host(&self, target: &ProxyTarget) -> Result<(), Broken> {
        let refused = |host: &str| Err(Broken::Refused(format!("its request asks for '{host}'")));
        if let Some(wanted) = &self.wanted {
            let url = Url::parse(wanted).ok().filter(|url| url.scheme() == "http");
            let named = url.and_then(|url| ProxyTarget::new(url.host_str()?, url.port_or_known_default()?));
            if named.as_ref() != Some(target) {
                return refused(wanted);
            }
        }
        match &self.host {
            Some(host) if ProxyTarget::of_authority(host).or_else(|| ProxyTarget::new(host, target.port)).as_ref() != Some(target) => {
                refused(host)
            }
            _ => Ok(()),
        }
    }
}

fn header(line: &str) -> Result<(String, &str), &'static str> {
    let (name, value) = line.split_once(':').ok_or("a header of its request has no colon")?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_name || line.contains(['\0', '\r', '\n']) {
        return Err("a header of its request cannot be read");
    }
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t'])))
}

fn body_length(lengths: &[&str], encodings: &[&str]) -> Result<BodyLength, &'static str> {
    match (lengths, encodings) {
        ([], []) => Ok(BodyLength::Bytes(0)),
        ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map(BodyLength::Bytes).map_err(|_| "the length of its body is wrong")
        }
        ([], [encoding]) if encoding.eq_ignore_ascii_case("chunked") => Ok(BodyLength::Chunks),
        _ => Err("where its request ends cannot be told"),
    }
}

async fn body<R, W>(from: &mut R, to: &mut W, length: BodyLength) -> Result<(), Broken>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match length {
        BodyLength::Bytes(count) => bytes(from, to, count).await,
        BodyLength::Chunks => chunks(from, to).await,
    }
}

async fn bytes<R, W>(from: &mut R, to: &mut W, count: u64) -> Result<(), Broken>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    if tokio::io::copy_buf(&mut from.take(count), to).await? < count {
        return Err("its request is cut off".into());
    }
    Ok(())
}

async fn chunks<R, W>(from: &mut R, to: &mut W) -> Result<(), Broken>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        let mut line = Vec::new();
        read_line(from, &mut line, LONGEST_CHUNK_LINE).await?;
        let size = chunk_size(&line).ok_or("a chunk of its request cannot be read")?;
        to.write_all(&line).await?;
        if size == 0 {
            return trailers(from, to).await;
        }
        bytes(from, to, size).await?;
        let mut end = [0; 2];
        from.read_exact(&mut end).await?;
        if &end != b"\r\n" {
            return Err("a chunk of its request cannot be read".into());
        }
        to.write_all(&end).await?;
    }
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line.strip_suffix(b"\r\n")?).ok()?;
    let digits = text.split(';').next().unwrap_or_default();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

async fn trailers<R, W>(from: &mut R, to: &mut W) -> Result<(), Broken>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        let mut line = Vec::new();
        read_line(from, &mut line, LONGEST_CHUNK_LINE).await?;
        to.write_all(&line).await?;
        if matches!(&line[..], b"\r\n" | b"") {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
