//! Messages that clients post.
//!
//! Their bodies mean the same to every reader, as on a pipe: no object has a key twice, and the depth is bounded. No id is used for two
//! requests at once. A call of a session is answered here if it is done at once; everything else is the SDK's.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use haft_contract::json::parse_strict;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, ErrorCode, ProtocolVersion, RequestId, ServerJsonRpcMessage};
use tokio_util::sync::CancellationToken;

use super::MOST_BYTES;
use super::guard::SESSION;
use super::sessions::{HttpSessions, OpenedSession};
use crate::server::answer::{push_answer, push_message};
use crate::server::client_session::ClientSession;
use crate::server::early_call::{EarlyCallSlot, EarlyOutcome};
use crate::server::handler::ToolServer;
use crate::server::message::{DirectCall, MessageFault, call_request, id_of, id_of_unreadable, refuse_shape};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const JSON: &[u8] = b"application/json";
const EVENTS: &str = "text/event-stream";

/// What answers messages before the SDK sees them.
#[derive(Clone)]
pub(super) struct DirectMessages {
    pub(super) server: ToolServer,
    pub(super) sessions: Arc<HttpSessions>,
    pub(super) names: Arc<ServerNames>,
}

/// The names of this server in the headers of requests, as most clients write them. The SDK checks all others.
#[derive(Debug)]
pub(super) struct ServerNames {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl ServerNames {
    pub(super) fn new(names: &[String], address: SocketAddr) -> Self {
        // A name with a port of its own means that port alone.
        let names = || names.iter().filter(|name| name.starts_with('[') || !name.contains(':'));
        let with_port = || names().map(|name| format!("{name}:{}", address.port()));
        Self { hosts: with_port().chain(names().cloned()).collect(), origins: with_port().map(|host| format!("http://{host}")).collect() }
    }

    /// Whether the request is surely meant for this server, and comes from no page of another.
    fn admit(&self, headers: &HeaderMap) -> bool {
        let host = only(headers, &header::HOST).ok().flatten();
        let origin = only(headers, &header::ORIGIN);
        host.is_some_and(|host| self.hosts.iter().any(|name| name == host))
            && origin.is_ok_and(|origin| origin.is_none_or(|origin| self.origins.iter().any(|name| name == origin)))
    }
}

/// The value of a header; an error if there are several or it is no text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        return Err(());
    }
    value.map(HeaderValue::to_str).transpose().map_err(drop)
}

/// Answers a message, or lets the SDK answer it. What is sent as another type is refused behind this, without being read.
pub(super) async fn answer(State(messages): State<DirectMessages>, request: Request, next: Next) -> Response {
    let is_json = request.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(JSON));
    if request.method() != Method::POST || !is_json {
        return next.run(request).await;
    }
    let (mut head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MOST_BYTES).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, format!("A message has at most {MOST_BYTES} bytes.\n")).into_response();
    };
    let message = match read(&bytes) {
        Ok(message) => message,
        Err(refusal) => return *refusal,
    };
    let Ok(session) = only(&head.headers, &SESSION) else { return next.run(Request::from_parts(head, Body::from(bytes))).await };
    match session.map(str::to_owned) {
        Some(session) => {
            if let Some(answer) = messages.answer(&mut head, &session, message).await {
                return answer;
            }
            next.run(Request::from_parts(head, Body::from(bytes))).await
        }
        None => messages.open(Request::from_parts(head, Body::from(bytes)), next).await,
    }
}

/// What a body says, as far as it matters here.
#[expect(clippy::large_enum_variant, reason = "nearly every message is a call, which is used at once")]
enum BodyMessage {
    Call(DirectCall),
    Request(RequestId),
    Other,
}

fn read(bytes: &Bytes) -> Result<BodyMessage, Box<Response>> {
    let unreadable = |id, why: String| {
        let error = ErrorData::new(ErrorCode::PARSE_ERROR, format!("The message is not JSON: {why}."), None);
        Box::new(refuse(id, error))
    };
    let text = std::str::from_utf8(bytes).map_err(|error| unreadable(None, error.to_string()))?;
    let value = parse_strict(text).map_err(|error| unreadable(id_of_unreadable(text), error.to_string()))?;
    let value = match call_request(value) {
        Ok(call) => return Ok(BodyMessage::Call(call)),
        Err(value) => value,
    };
    if let Some(MessageFault { id, error }) = refuse_shape(&value) {
        return Err(Box::new(refuse(id, error)));
    }
    Ok(match id_of(&value).filter(|_| value.get("method").is_some()) {
        Some(id) => BodyMessage::Request(id),
        None => BodyMessage::Other,
    })
}

fn refuse(id: Option<RequestId>, error: ErrorData) -> Response {
    let mut body = Vec::new();
    // A text without content cannot fail to be written.
    push_message(&mut body, &ServerJsonRpcMessage::error(error, id)).ok();
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

impl DirectMessages {
    /// Lets the SDK answer, and notes the session that the request opens.
    async fn open(&self, mut request: Request, next: Next) -> Response {
        let opened = OpenedSession::default();
        request.extensions_mut().insert(opened.clone());
        let response = next.run(request).await;
        if let Some(id) = response.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
            self.sessions.add(id, &opened);
        }
        response
    }

    /// Answers a message of a session. `None` leaves it to the SDK, with a call that runs already in the extensions of its request.
    async fn answer(&self, head: &mut Parts, session: &str, message: BodyMessage) -> Option<Response> {
        let client = self.sessions.get(session).await?;
        let (id, call) = match message {
            BodyMessage::Call(call) => (call.id.clone(), Some(call)),
            BodyMessage::Request(id) => (id, None),
            BodyMessage::Other => return None,
        };
        let open = match client.requests.open(id.clone()) {
            Ok(open) => Arc::new(open),
            Err(refusal) => {
                let (id, error) = refusal.answer(&id);
                return Some(refuse(id, error));
            }
        };
        let call = call.filter(|call| call.is_plain() && self.names.admit(&head.headers) && is_usual(&head.headers));
        match call.and_then(|call| self.begin(&client, call)) {
            Some(EarlyOutcome::Answered(answer)) => {
                self.sessions.note_use(session).await;
                return Some(json(id, answer));
            }
            Some(EarlyOutcome::Runs(call)) => drop(head.extensions.insert(EarlyCallSlot::new(call))),
            None => {}
        }
        // The id is free when the SDK has dropped the request.
        head.extensions.insert(open);
        None
    }

    fn begin(&self, client: &Arc<ClientSession>, call: DirectCall) -> Option<EarlyOutcome> {
        let ready = client.ready()?;
        let shape = self.server.shape(&call.params.name);
        Some(client.begin(ready, call.params, shape, CancellationToken::new()))
    }
}

/// Whether a client takes both forms of an answer and speaks a version in which a request says nothing more in its headers.
fn is_usual(headers: &HeaderMap) -> bool {
    let accepts = only(headers, &header::ACCEPT).ok().flatten().is_some_and(|kinds| {
        // As the SDK looks at it.
        kinds.contains("application/json") && kinds.contains(EVENTS)
    });
    let is_known = |version: &str| ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version);
    let is_early = |version: &str| version < ProtocolVersion::V_2026_07_28.as_str() && is_known(version);
    accepts && only(headers, &VERSION).is_ok_and(|version| version.is_none_or(is_early))
}

fn json(id: RequestId, answer: Result<CallToolResponse, ErrorData>) -> Response {
    let mut body = Vec::new();
    if push_answer(&mut body, id, answer).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
