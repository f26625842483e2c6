//! HTTP as it is spoken to a proxy: `CONNECT host:port`, and requests with a whole URL.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use url::Url;

use super::{GREETING_TIME, ProxyTarget, Refused, Shared, part, tunnel};

/// The longest head of a request.
const LONGEST: usize = 64 * 1024;

/// Serves a client whose first byte was read already.
pub(super) async fn attend(mut client: UnixStream, first: u8, shared: &Shared) -> io::Result<()> {
    let head = tokio::time::timeout(GREETING_TIME, head(&mut client, first)).await.map_err(io::Error::other)??;
    match read(&head) {
        Ok(ProxyRequest::Tunnel(target)) => tunnel(client, &target, shared).await,
        Ok(ProxyRequest::Request(request)) => forward(client, request, shared).await,
        Err(problem) => answer(client, "400 Bad Request", problem).await,
    }
}

/// Up to the empty line, and not a byte further: what follows belongs to the target.
async fn head(client: &mut UnixStream, first: u8) -> io::Result<Vec<u8>> {
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= LONGEST {
            return Err(io::Error::other("the head of the request is too long"));
        }
        head.push(client.read_u8().await?);
    }
    Ok(head)
}

#[derive(Debug, PartialEq, Eq)]
enum ProxyRequest {
    Tunnel(ProxyTarget),
    Request(Request),
}

/// A request as it is forwarded to the target.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    target: ProxyTarget,
    head: String,
    body: u64,
}

fn read(head: &[u8]) -> Result<ProxyRequest, &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "The request is no text.")?;
    let mut lines = text.strip_suffix("\r\n\r\n").unwrap_or(text).split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, wanted, version @ ("HTTP/1.1" | "HTTP/1.0")] = line[..] else { return Err("This is no HTTP request.") };
    if text.bytes().any(|byte| byte == 0) || text.replace("\r\n", "").contains(['\r', '\n']) {
        return Err("The request holds a control character.");
    }
    if method == "CONNECT" {
        return ProxyTarget::of_authority(wanted).map(ProxyRequest::Tunnel).ok_or("CONNECT needs host:port.");
    }
    let headers: Vec<(&str, &str)> = lines.map(|line| line.split_once(':').ok_or("A header has no colon.")).collect::<Result<_, _>>()?;
    request(method, wanted, version, &headers).map(ProxyRequest::Request)
}

/// The request in the form that the target itself is sent: its path, its own `Host`, and the end of the connection after it,
/// so that no second request for someone else can follow.
fn request(method: &str, wanted: &str, version: &str, headers: &[(&str, &str)]) -> Result<Request, &'static str> {
    let url = Url::parse(wanted).ok().filter(|url| url.scheme() == "http").ok_or("A proxy needs a whole http:// address.")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("The address holds a user name or password.");
    }
    let target = ProxyTarget::new(url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80))
        .ok_or("The host cannot be read.")?;
    let is = |name: &str, wanted: &str| name.trim().eq_ignore_ascii_case(wanted);
    // An offer of HTTP/2, as cargo makes it, is left out: the server then answers in this version.
    let is_upgrade = |name: &str, value: &str| is(name, "upgrade") && !value.trim().eq_ignore_ascii_case("h2c");
    if headers.iter().any(|(name, value)| is(name, "transfer-encoding") || is_upgrade(name, value)) {
        return Err("Bodies without a length and upgrades are not passed on; use https.");
    }
    let lengths: Vec<&str> = headers.iter().filter(|(name, _)| is(name, "content-length")).map(|(_, value)| value.trim()).collect();
    let body = match lengths[..] {
        [] => 0,
        [length] if length.bytes().all(|byte| byte.is_ascii_digit()) => length.parse().map_err(|_| "The length of the body is wrong.")?,
        _ => return Err("The length of the body is wrong."),
    };
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let host = if target.port == 80 { target.host.to_string() } else { target.to_string() };
    let mut head = format!("{method} {path} {version}\r\nHost: {host}\r\nConnection: close\r\n");
    let ours =
        ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer", "upgrade", "http2-settings"];
    for (name, value) in headers.iter().filter(|(name, _)| !ours.iter().any(|wanted| is(name, wanted))) {
        head.extend([name, ":", value, "\r\n"]);
    }
    head.push_str("\r\n");
    Ok(Request { target, head, body })
}

async fn tunnel(mut client: UnixStream, target: &ProxyTarget, shared: &Shared) -> io::Result<()> {
    let server = match shared.connect(target).await {
        Ok(server) => server,
        Err(refused) => return refuse(client, &refused).await,
    };
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    tunnel::run(client, server, target, shared).await
}

async fn forward(mut client: UnixStream, request: Request, shared: &Shared) -> io::Result<()> {
    let mut server: TcpStream = match shared.connect(&request.target).await {
        Ok(server) => server,
        Err(refused) => return refuse(client, &refused).await,
    };
    server.write_all(request.head.as_bytes()).await?;
    let (from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let mut body = from_client.take(request.body);
    let sent = async {
        tokio::io::copy(&mut body, &mut to_server).await?;
        // Nothing more follows, but the connection stays open: some servers take its end for a broken client.
        std::future::pending::<io::Result<()>>().await
    };
    tokio::select! {
        received = tokio::io::copy(&mut from_server, &mut to_client) => received.map(drop),
        failed = sent => failed,
    }?;
    part(client).await
}

async fn refuse(client: UnixStream, refused: &Refused) -> io::Result<()> {
    let status = match refused {
        Refused::Denied(_) => "403 Forbidden",
        Refused::Unreachable(_) => "502 Bad Gateway",
    };
    answer(client, status, refused.reason()).await
}

async fn answer(mut client: UnixStream, status: &str, reason: &str) -> io::Result<()> {
    let length = reason.len() + 1;
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{reason}\n"
    );
    client.write_all(text.as_bytes()).await?;
    part(client).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_of(text: &str) -> Result<ProxyRequest, &'static str> {
        read(text.as_bytes())
    }

    #[test]
    fn forwarded_request_has_its_own_host_only() {
        let text = "POST http://Example.org/a?b=c HTTP/1.1\r\nHost: evil.example\r\nProxy-Connection: keep-alive\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\nX: 1\r\nContent-Length: 3\r\n\r\n";
        let head = "POST /a?b=c HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\nX: 1\r\nContent-Length: 3\r\n\r\n".to_owned();
        let target = ProxyTarget::new("example.org", 80).unwrap();
        assert_eq!(request_of(text), Ok(ProxyRequest::Request(Request { target, head, body: 3 })));
        let tunnel = ProxyTarget::new("example.org", 443).unwrap();
        assert_eq!(request_of("CONNECT example.org:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"), Ok(ProxyRequest::Tunnel(tunnel)));
    }

    #[test]
    fn what_cannot_be_read_one_way_is_refused() {
        for text in [
            "\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\n\r\n",
            "GET ftp://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://user:pass@example.org/ HTTP/1.1\r\n\r\n",
            "GET  http://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.org/ HTTP/2\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\nno colon\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\nA: b\nHost: evil\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT example.org:443\0.evil:443 HTTP/1.1\r\n\r\n",
        ] {
            assert!(request_of(text).is_err(), "{text:?}");
        }
    }
}
