//! Bodies that mean the same to every reader, as on a pipe: no object has a key twice, and the depth is bounded.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use haft_contract::json::parse_strict;
use serde_json::json;

use super::MOST_BYTES;

/// JSON-RPC's code of a text that is no JSON.
const PARSE_ERROR: i32 = -32700;

/// Lets a request through whose body is strict JSON. What is sent as another type is refused behind this, without being read.
pub(super) async fn check(request: Request, next: Next) -> Response {
    let is_json = request.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if request.method() != Method::POST || !is_json {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MOST_BYTES).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, format!("A message has at most {MOST_BYTES} bytes.\n")).into_response();
    };
    let parsed = std::str::from_utf8(&bytes).map_err(|error| error.to_string()).and_then(|text| {
        let checked = parse_strict(text).map(drop);
        checked.map_err(|error| error.to_string())
    });
    match parsed {
        Ok(()) => next.run(Request::from_parts(head, Body::from(bytes))).await,
        Err(why) => {
            let error = json!({"code": PARSE_ERROR, "message": format!("The message is not JSON: {why}.")});
            (StatusCode::BAD_REQUEST, axum::Json(json!({"jsonrpc": "2.0", "id": null, "error": error}))).into_response()
        }
    }
}
