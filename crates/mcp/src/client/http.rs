//! The connection to an address: streamable HTTP over our own client, every body bounded.
//!
//! The user has named the address, so it is reached as written, and nowhere else: a redirect would carry the token elsewhere.

pub(in crate::client) mod body;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;
use tokio::sync::watch;

use super::failure::ConnectionState;
use super::oauth::Authorization;
use super::settings::{BearerToken, HttpServer};
use super::stdio::MAX_MESSAGE;

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long the first request of a session waits for the stream on which the server may ask back.
const LISTEN_TIME: Duration = Duration::from_secs(5);
const MAX_IDLE_CONNECTIONS: usize = 4;
const MAX_RESPONSE_HEADERS: usize = 200;
/// The part of an error's body that is read.
const MAX_ERROR_BODY: usize = 64 * 1024;
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const ACCEPTED: &str = "text/event-stream, application/json";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// Headers that the protocol sets itself.
const RESERVED: &[&str] = &["accept", "content-type", "host", "content-length", SESSION, LAST_EVENT, "mcp-protocol-version"];

type HttpError = StreamableHttpError<reqwest::Error>;

/// Our client for servers at addresses.
#[derive(Debug, Clone)]
pub(crate) struct BoundedClient {
    client: Client,
    /// The session whose stream of the server's own messages is open, or was refused.
    listening: watch::Sender<Option<Arc<str>>>,
    /// The user's sign-in, whose tokens go with every request.
    authorization: Option<Arc<Authorization>>,
    state: Arc<ConnectionState>,
}

/// The transport to an address.
pub(crate) fn transport(
    server: &HttpServer,
    authorization: Option<Authorization>,
    state: Arc<ConnectionState>,
) -> Result<StreamableHttpClientTransport<BoundedClient>, String> {
    let url = reqwest::Url::parse(&server.url).map_err(|error| format!("its address is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("its address must begin with http:// or https://".to_owned());
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str())
        .custom_headers(headers(&server.headers)?)
        .max_sse_event_size(MAX_MESSAGE);
    if let Some(BearerToken(token)) = &server.token {
        config = config.auth_header(token.clone());
    }
    let client = BoundedClient::new(client(url.scheme() == "https")?, authorization.map(Arc::new), state);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn headers(configured: &[(String, String)]) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let header = |(name, value): &(String, String)| {
        let bad = || format!("the header '{}' cannot be sent", haft_text::display::shorten(name, 80));
        let name = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        if RESERVED.contains(&name.as_str()) {
            return Err(format!("the header '{name}' belongs to the protocol"));
        }
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| bad())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    configured.iter().map(header).collect()
}

pub(super) fn client(secure: bool) -> Result<Client, String> {
    // The TLS library has one crypto provider per process; if another part installed one, it stays.
    drop(rustls::crypto::ring::default_provider().install_default());
    let builder = Client::builder()
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT_TIME)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .http1_max_headers(MAX_RESPONSE_HEADERS)
        .tcp_nodelay(true);
    // Plain HTTP must work without installed certificates, and goes through no proxy.
    let builder = if secure { builder } else { builder.no_proxy().tls_certs_only([]) };
    builder.build().map_err(|error| format!("no connection can be set up: {}", haft_contract::causes::innermost(&error)))
}

impl BoundedClient {
    fn new(client: Client, authorization: Option<Arc<Authorization>>, state: Arc<ConnectionState>) -> Self {
        Self { client, listening: watch::Sender::new(None), authorization, state }
    }

    /// Waits until the server can reach us in this session: what it asks before that is lost, and its call never ends.
    /// A server that does not answer the request for the stream at all delays one request, not each.
    async fn reachable(&self, session: &Arc<str>) {
        let mut listening = self.listening.subscribe();
        if tokio::time::timeout(LISTEN_TIME, listening.wait_for(|open| open.as_ref() == Some(session))).await.is_err() {
            self.listening.send_replace(Some(Arc::clone(session)));
        }
    }

    /// Sends a request with the configured token, or that of the sign-in, which is renewed once if it is refused.
    async fn send(&self, request: RequestBuilder, configured: Option<String>) -> Result<Response, HttpError> {
        let sent = |request: RequestBuilder, token: Option<String>| async {
            token.into_iter().fold(request, RequestBuilder::bearer_auth).send().await.map_err(StreamableHttpError::Client)
        };
        let Some(authorization) = &self.authorization else { return sent(request, configured).await };
        let (again, token) = (request.try_clone(), authorization.token().await);
        let mut response = sent(request, token.clone()).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let (Some(again), Some(refused)) = (again, token)
            && let Some(renewed) = authorization.renew(&refused).await
        {
            response = sent(again, Some(renewed)).await?;
        }
        self.state.set_refusal(authorization.refused(response.status(), response.headers()).await);
        Ok(response)
    }
}

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let request = prepared(self.client.get(uri.as_ref()), session.as_deref(), headers).header(ACCEPT, ACCEPTED);
        let request = last_event.into_iter().fold(request, |request, id| request.header(LAST_EVENT, id));
        let response = self.send(request, token).await;
        self.listening.send_replace(session);
        let response = response?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let response = successful(response)?;
        if !has_type(&response, EVENTS) {
            return Err(StreamableHttpError::UnexpectedContentType(content_type(&response)));
        }
        Ok(body::events(response, MAX_MESSAGE))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let request = prepared(self.client.delete(uri.as_ref()), Some(session.as_ref()), headers);
        let response = self.send(request, token).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED { Ok(()) } else { successful(response).map(drop) }
    }

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        if let (Some(session), JsonRpcMessage::Request(_)) = (&session, &message) {
            self.reachable(session).await;
        }
        let text = serde_json::to_vec(&message)?;
        let request = prepared(self.client.post(uri.as_ref()), session.as_deref(), headers);
        let request = request.header(ACCEPT, ACCEPTED).header(CONTENT_TYPE, JSON).body(text);
        let answered = async { answer(self.send(request, token).await?, &message, session.is_some()).await };
        answered.await.inspect_err(|error| self.state.set_trouble(trouble(error)))
    }
}

/// What went wrong, in words.
fn trouble(error: &HttpError) -> String {
    let what = match error {
        StreamableHttpError::Client(error) => haft_contract::causes::innermost(error),
        StreamableHttpError::SessionExpired => "it has ended the session".to_owned(),
        StreamableHttpError::UnexpectedContentType(Some(kind)) => format!("it answers with {kind}, which is no message"),
        other => other.to_string(),
    };
    haft_text::display::shorten(&what, 300).into_owned()
}

fn prepared(request: RequestBuilder, session: Option<&str>, headers: HashMap<HeaderName, HeaderValue>) -> RequestBuilder {
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    session.into_iter().fold(request, |request, id| request.header(SESSION, id))
}

/// What a server answers to a message.
async fn answer(response: Response, message: &ClientJsonRpcMessage, has_session: bool) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    let wants_answer = matches!(message, JsonRpcMessage::Request(_));
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) || (!wants_answer && status.is_success()) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    if !status.is_success() {
        return refusal(response, message, has_session, session).await;
    }
    if has_type(&response, EVENTS) {
        return Ok(StreamableHttpPostResponse::Sse(body::events(response, MAX_MESSAGE), session));
    }
    if !has_type(&response, JSON) {
        return Err(StreamableHttpError::UnexpectedContentType(content_type(&response)));
    }
    let bytes = body::whole(response, MAX_MESSAGE).await?;
    let parsed = serde_json::from_slice::<ServerJsonRpcMessage>(&bytes);
    parsed.map(|message| StreamableHttpPostResponse::Json(message, session)).map_err(|error| {
        let start = haft_text::display::escape_bytes(&bytes, 80);
        StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("the answer is no message ({error}): {start}")))
    })
}

/// An answer that is no success: a JSON-RPC error is passed on, because it tells more than a number.
async fn refusal(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return successful(response).map(|_| StreamableHttpPostResponse::Accepted);
    }
    let body = body::start(response, MAX_ERROR_BODY).await;
    let error = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(JsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    // A server that does not know the discovery refuses it in many ways; each means that it is an older one.
    if let JsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !has_session
    {
        let data = error.map_or_else(|| ErrorData::invalid_request(format!("refused with HTTP {status}"), None), |error| error.error);
        return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(data, Some(request.id.clone())), None));
    }
    match error {
        Some(error) => Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session)),
        None => Err(HttpStatusError::new(status.as_u16(), None).into()),
    }
}

/// The response, if it is a success.
fn successful(response: Response) -> Result<Response, HttpError> {
    let status = response.status();
    if status == StatusCode::UNAUTHORIZED {
        let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(haft_text::display::shorten(challenge, 300).into_owned())));
    }
    if status.is_success() { Ok(response) } else { Err(HttpStatusError::new(status.as_u16(), None).into()) }
}

fn has_type(response: &Response, wanted: &str) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().to_ascii_lowercase().starts_with(wanted.as_bytes()))
}

fn content_type(response: &Response) -> Option<String> {
    response.headers().get(CONTENT_TYPE).map(|value| haft_text::display::escape_bytes(value.as_bytes(), 80))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::settings::OAuthClient;
    use super::*;

    #[test]
    fn addresses_and_headers_are_checked() {
        let server = |url: &str, header: &str| HttpServer {
            url: url.into(),
            headers: vec![(header.into(), "x".into())],
            token: None,
            oauth: OAuthClient::default(),
        };
        for (url, header, fault) in [
            ("ftp://a", "x-a", "must begin with http"),
            ("nonsense", "x-a", "is not a URL"),
            ("javascript:alert(1)", "x-a", "must begin with http"),
            ("http://127.0.0.1:1/mcp", "Mcp-Session-Id", "belongs to the protocol"),
            ("http://127.0.0.1:1/mcp", "a b", "cannot be sent"),
        ] {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let refused = runtime.block_on(async { transport(&server(url, header), None, Arc::new(ConnectionState::new(None))).map(drop) });
            assert!(refused.as_ref().is_err_and(|why| why.contains(fault)), "{url} {header}: {refused:?}");
        }
    }

    /// A server that answers the request for its stream late, and tells in which order it answered.
    async fn slow_listener(stream_answer: &'static str) -> (Arc<str>, tokio::sync::mpsc::UnboundedReceiver<&'static str>) {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (answered, order) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let answered = answered.clone();
                tokio::spawn(async move {
                    let mut start = [0; 4];
                    connection.read_exact(&mut start).await.unwrap();
                    let is_stream = start == *b"GET ";
                    if is_stream {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    answered.send(if is_stream { "stream" } else { "request" }).unwrap();
                    let answer = if is_stream { stream_answer } else { "202 Accepted" };
                    let head = format!("HTTP/1.1 {answer}\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n");
                    drop(connection.write_all(head.as_bytes()).await);
                });
            }
        });
        (uri.into(), order)
    }

    #[tokio::test]
    async fn a_request_waits_until_the_server_can_ask_back() {
        let session: Arc<str> = "one".into();
        for (stream_answer, has_session, expected) in [
            ("200 OK", true, ["stream", "request"]),
            ("405 Method Not Allowed", true, ["stream", "request"]),
            ("200 OK", false, ["request", "stream"]),
        ] {
            let (uri, mut order) = slow_listener(stream_answer).await;
            let bounded = BoundedClient::new(client(false).unwrap(), None, Arc::new(ConnectionState::new(None)));
            let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
            let request: ClientJsonRpcMessage = serde_json::from_value(ping).unwrap();
            let in_session = has_session.then(|| Arc::clone(&session));
            let stream = bounded.get_stream(Arc::clone(&uri), Some(Arc::clone(&session)), None, None, HashMap::new());
            let posted = bounded.post_message(uri, request, in_session, None, HashMap::new());
            let (_, posted) = tokio::join!(stream, posted);
            assert!(posted.is_ok(), "{stream_answer}");
            assert_eq!([order.recv().await.unwrap(), order.recv().await.unwrap()], expected, "{stream_answer}, session: {has_session}");
        }
    }
}
