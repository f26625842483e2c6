//! Socket mode: messages and button presses come over a WebSocket that we open, so that Slack needs no way in.
//!
//! Slack sends what is not acknowledged again. An envelope is acknowledged with the next question, when its messages are recorded.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_websocket::{WsMessage, WsReader, WsRole, WsWriter, request_upgrade};
use serde_json::{Value, json};
use tokio::io::{ReadHalf, WriteHalf};
use tokio::time::{Instant, timeout};
use url::Url;

use super::{Slack, decode, events};
use crate::dial::{DialedStream, dial};
use crate::driver::PolledMessages;
use crate::settings::is_loopback;
use crate::wire::{REQUEST, WireRequest};
use crate::{ChannelSecret, SendFailure};

/// Slack asks every few seconds whether we are there.
const SILENCE: Duration = Duration::from_secs(75);
/// How long one question for messages takes.
const LONGEST: Duration = Duration::from_secs(25);

/// The way to the messages of an app, by its own token.
pub(super) struct SlackSocket {
    token: ChannelSecret,
    link: Mutex<Option<SocketLink>>,
}

/// An open WebSocket.
struct SocketLink {
    reader: WsReader<ReadHalf<Box<dyn DialedStream>>>,
    writer: WsWriter<WriteHalf<Box<dyn DialedStream>>>,
    /// The envelope whose messages were handed out.
    handed_out: Option<String>,
}

impl SlackSocket {
    pub(super) fn new(token: ChannelSecret) -> Self {
        Self { token, link: Mutex::default() }
    }

    /// The next messages. The cursor is the envelope whose messages are recorded.
    pub(super) async fn poll(&self, slack: &Slack, cursor: Option<&str>) -> Result<PolledMessages, SendFailure> {
        // While it is waited for nobody else has it; a question that is given up closes it.
        let open = self.link().take();
        let mut link = match open {
            Some(link) => link,
            None => timeout(REQUEST, self.open(slack)).await.map_err(|_| SendFailure::not_sent("Slack did not answer in time"))??,
        };
        let polled = link.next(cursor).await.map_err(|why| SendFailure::unknown(format!("the connection to Slack: {why}")))?;
        let Some(polled) = polled else { return Ok(PolledMessages::default()) };
        *self.link() = Some(link);
        Ok(polled)
    }

    async fn open(&self, slack: &Slack) -> Result<SocketLink, SendFailure> {
        let request = WireRequest::new("POST", format!("{}/apps.connections.open", slack.base));
        let request = request.header("authorization", format!("Bearer {}", self.token.expose())).json(&json!({}));
        let answer = decode(&slack.wire.send(request).await?)?;
        let place = answer["url"].as_str().and_then(|url| place(url, &slack.base));
        let (host, port, path) = place.ok_or_else(|| SendFailure::refused("Slack named a socket that is not its own"))?;
        let unreachable = |why: String| SendFailure::not_sent(format!("the socket of Slack cannot be reached: {why}"));
        let is_plain = port.is_plain;
        let mut stream = dial(&host, port.number, is_plain).await.map_err(unreachable)?;
        request_upgrade(&mut stream, &host, &path).await.map_err(|error| unreachable(error.to_string()))?;
        let (read, write) = tokio::io::split(stream);
        let (reader, writer) = (WsReader::new(read, WsRole::Client), WsWriter::new(write, WsRole::Client));
        Ok(SocketLink { reader, writer, handed_out: None })
    }

    // A link comes and goes whole, so it is consistent after a panic elsewhere.
    fn link(&self) -> MutexGuard<'_, Option<SocketLink>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The port of a socket, and whether it is plain: that is for this machine alone.
#[derive(Debug, PartialEq, Eq)]
struct SocketPort {
    number: u16,
    is_plain: bool,
}

/// Host, port and path of a socket: one of Slack, or on this machine if the configuration says that Slack is there.
fn place(url: &str, base: &str) -> Option<(String, SocketPort, String)> {
    let (url, base) = (Url::parse(url).ok()?, Url::parse(base).ok()?);
    let host = url.host_str()?.to_owned();
    let is_plain = match url.scheme() {
        "wss" if host == "slack.com" || host.ends_with(".slack.com") => false,
        "ws" if is_loopback(&url) && is_loopback(&base) => true,
        _ => return None,
    };
    let number = url.port().unwrap_or(if is_plain { 80 } else { 443 });
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some((host, SocketPort { number, is_plain }, format!("{}{query}", url.path())))
}

impl SocketLink {
    /// Messages, or nothing for now; `None` if Slack wants another connection.
    async fn next(&mut self, cursor: Option<&str>) -> Result<Option<PolledMessages>, String> {
        if let Some(envelope) = self.handed_out.take() {
            if cursor != Some(envelope.as_str()) {
                return Err("messages could not be recorded; Slack sends them again".into());
            }
            self.acknowledge(&envelope).await?;
        }
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            let arrived = timeout(SILENCE, self.reader.next()).await.map_err(|_| "nothing came for too long".to_owned())?;
            match arrived.map_err(|error| error.to_string())? {
                WsMessage::Ping(payload) => self.writer.pong(&payload).await.map_err(|error| error.to_string())?,
                WsMessage::Text(text) => {
                    let envelope: Value = serde_json::from_str(&text).unwrap_or_default();
                    if envelope["type"] == "disconnect" {
                        return Ok(None);
                    }
                    let Some(id) = envelope["envelope_id"].as_str() else { continue };
                    let messages = events::messages(&envelope["payload"]);
                    if !messages.is_empty() {
                        self.handed_out = Some(id.to_owned());
                        return Ok(Some(PolledMessages { messages, cursor: Some(id.to_owned()) }));
                    }
                    self.acknowledge(id).await?;
                }
                WsMessage::Close => return Ok(None),
                WsMessage::Binary(_) | WsMessage::Pong => {}
            }
        }
        Ok(Some(PolledMessages::default()))
    }

    async fn acknowledge(&mut self, envelope: &str) -> Result<(), String> {
        let message = WsMessage::Text(json!({ "envelope_id": envelope }).to_string());
        self.writer.send(&message).await.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_is_one_of_slack_or_of_this_machine() {
        let slack = "https://slack.com/api";
        let place_of =
            |url: &str, base: &str| place(url, base).map(|(host, port, path)| format!("{host} {} {} {path}", port.number, port.is_plain));
        let real = "wss://wss-primary.slack.com/link/?ticket=a&app_id=b";
        assert_eq!(place_of(real, slack).as_deref(), Some("wss-primary.slack.com 443 false /link/?ticket=a&app_id=b"));
        assert_eq!(place_of("ws://127.0.0.1:99/x", "http://127.0.0.1:98").as_deref(), Some("127.0.0.1 99 true /x"));
        for (url, base) in [
            ("ws://wss-primary.slack.com/link", slack),
            ("wss://evil.example/link", slack),
            ("wss://evilslack.com/", slack),
            ("ws://127.0.0.1:99/x", slack),
            ("https://slack.com/", slack),
            ("x", slack),
        ] {
            assert_eq!(place_of(url, base), None, "{url}");
        }
    }
}
