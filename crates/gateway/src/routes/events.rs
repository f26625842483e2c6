//! The stream of events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{once, unfold};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::canvas::OpenPage;
use crate::error::ApiError;
use crate::hub::{EventStream, StreamPart, event};

/// How often a comment keeps an idle stream alive.
const ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StreamQuery {
    after: Option<u64>,
    session: Option<String>,
}

pub(super) async fn stream(
    State(app): State<App>,
    token: SignedIn,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let header = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::trim).filter(|id| !id.is_empty());
    // What is no number of ours is a stream that has to load everything again.
    let after = header.map(|id| id.parse().unwrap_or(0)).or(query.after);
    let hello = event("hello", &json!({ "seq": app.approvals.hub.newest(), "version": env!("CARGO_PKG_VERSION") }));
    let events = app.approvals.hub.stream(after, query.session);
    let page = app.canvas.opened();
    let reader = Some(StreamReader { events, app, token, _page: page });
    let body = once(async { Ok::<_, Infallible>(hello) }).chain(unfold(reader, StreamReader::next));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(body)).into_response())
}

struct StreamReader {
    events: EventStream,
    app: App,
    token: SignedIn,
    _page: OpenPage,
}

impl StreamReader {
    /// The next bytes; the reader is gone after the last ones.
    async fn next(reader: Option<Self>) -> Option<(Result<Bytes, Infallible>, Option<Self>)> {
        let mut reader = reader?;
        let bye = |reason: &str| Some((Ok(event("bye", &json!({ "reason": reason }))), None));
        tokio::select! {
            biased;
            () = reader.token.revoked().cancelled() => bye("revoked"),
            () = reader.app.stop.cancelled() => bye("stopping"),
            part = reader.events.next() => match part {
                StreamPart::Events(bytes) => Some((Ok(bytes), Some(reader))),
                StreamPart::Behind => None,
            },
            () = tokio::time::sleep(ALIVE) => Some((Ok(Bytes::from_static(b":\n\n")), Some(reader))),
        }
    }
}
