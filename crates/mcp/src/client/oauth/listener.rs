//! Waits on this machine for the browser that comes back from the authorization server.

use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const PATH: &str = "/callback";
const MAX_REQUEST: usize = 16 * 1024;
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Browsers open connections ahead, and may ask for an icon.
const MAX_AT_ONCE: usize = 16;
const MAX_CONNECTIONS: usize = 500;

/// An open port of this machine, which no other machine reaches.
#[derive(Debug)]
pub(super) struct RedirectListener {
    listener: TcpListener,
    address: String,
}

/// What the browser brought back.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RedirectAnswer {
    pub(super) code: Option<String>,
    pub(super) issuer: Option<String>,
    pub(super) error: Option<String>,
    pub(super) description: Option<String>,
}

impl RedirectListener {
    /// Opens this port, or any.
    pub(super) async fn open(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = format!("http://{}{PATH}", listener.local_addr()?);
        Ok(Self { listener, address })
    }

    /// Where the browser is to be sent back to.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the browser with this state. Requests without it are refused: any page may send some.
    pub(super) async fn wait(self, state: &str, time: Duration) -> Result<RedirectAnswer, String> {
        let late = || format!("nobody came back from the sign-in in {} s", time.as_secs());
        tokio::time::timeout(time, self.accept(state)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn accept(self, state: &str) -> Result<RedirectAnswer, String> {
        let mut connections: JoinSet<Option<RedirectAnswer>> = JoinSet::new();
        for _ in 0..MAX_CONNECTIONS {
            let accepted = loop {
                tokio::select! {
                    Some(done) = connections.join_next() => if let Ok(Some(answer)) = done {
                        return Ok(answer);
                    },
                    accepted = self.listener.accept(), if connections.len() < MAX_AT_ONCE => break accepted,
                }
            };
            let (stream, _) = accepted.map_err(|error| format!("the browser cannot be waited for: {error}"))?;
            let state = state.to_owned();
            connections.spawn(async move { tokio::time::timeout(REQUEST_TIME, serve(stream, &state)).await.ok().flatten() });
        }
        Err("too many requests came that were not from the sign-in".to_owned())
    }
}

/// Answers one request; gives what it brought if it is the one that is waited for.
async fn serve(mut stream: TcpStream, state: &str) -> Option<RedirectAnswer> {
    let mut request = Vec::new();
    let mut chunk = [0; 2048];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        match stream.read(&mut chunk).await {
            Ok(read) if read > 0 => request.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
    let found = parse(&request, state);
    let (status, text) = match &found {
        Some(RedirectAnswer { error: None, .. }) => ("200 OK", "Haft has what it needs. You can close this page."),
        Some(_) => ("200 OK", "The sign-in was refused. You can close this page; the terminal says why."),
        None => ("404 Not Found", "This is not the sign-in that Haft waits for."),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Haft</title><p>{text}</p>");
    let headers = "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
                   Content-Security-Policy: default-src 'none'\r\nConnection: close";
    let answer = format!("HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
    // A browser that is gone has done its part.
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
    found
}

fn parse(request: &[u8], state: &str) -> Option<RedirectAnswer> {
    let line = std::str::from_utf8(request).ok()?.lines().next()?;
    let target = line.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?;
    let url = Url::parse(&format!("http://127.0.0.1{target}")).ok()?;
    if !target.starts_with('/') || url.path() != PATH {
        return None;
    }
    let first = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    // Digests are compared, so that the time tells nothing of the state.
    let hash = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let is_ours = first("state").is_some_and(|given| hash(&given).as_ref() == hash(state).as_ref());
    is_ours.then(|| RedirectAnswer {
        code: first("code"),
        issuer: first("iss"),
        error: first("error"),
        description: first("error_description"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(address: &str, target: &str) -> String {
        let host = address.trim_start_matches("http://").trim_end_matches(PATH);
        let mut stream = TcpStream::connect(host).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn only_the_browser_with_the_state_is_believed() {
        let listener = RedirectListener::open(0).await.unwrap();
        let address = listener.address().to_owned();
        let waiting = tokio::spawn(listener.wait("right", Duration::from_secs(30)));
        // Held open and silent, as browsers do.
        let silent = TcpStream::connect(address.trim_start_matches("http://").trim_end_matches(PATH)).await.unwrap();
        for target in ["/favicon.ico", "/callback?code=x&state=wrong", "/callback?code=x", "/other?code=x&state=right", "@evil/callback"] {
            assert!(get(&address, target).await.starts_with("HTTP/1.1 404"), "{target}");
        }
        let answer = get(&address, "/callback?code=a%20b&state=right&iss=https%3A%2F%2Fi").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("no-store") && !answer.contains("a b"), "{answer}");
        let expected = RedirectAnswer { code: Some("a b".into()), issuer: Some("https://i".into()), ..RedirectAnswer::default() };
        assert_eq!(waiting.await.unwrap(), Ok(expected));
        drop(silent);
    }

    #[tokio::test]
    async fn the_wait_is_bounded() {
        let listener = RedirectListener::open(0).await.unwrap();
        assert!(listener.wait("right", Duration::from_secs(1)).await.is_err_and(|why| why.contains("in 1 s")));
    }
}
