//! The bodies of requests: bounded, and JSON that means the same to every reader.

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use haft_contract::json::parse_strict;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// The largest body.
const MOST_BYTES: usize = 4 << 20;

/// How long a client may take to send it.
const MOST_TIME: Duration = Duration::from_mins(1);

/// A body that was checked. An empty one is `{}`.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
        let body = tokio::time::timeout(MOST_TIME, to_bytes(request.into_body(), MOST_BYTES)).await;
        let bytes = body.map_err(|_| too_slow())?.map_err(|_| too_large())?;
        if bytes.is_empty() {
            return from_value(serde_json::json!({}));
        }
        if !is_json {
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad_request", "The body must be JSON.")
                .help("Send 'content-type: application/json'."));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| ApiError::bad_request("The body is not UTF-8."))?;
        from_value(parse_strict(text).map_err(|error| ApiError::bad_request(format!("The body is not usable JSON: {error}.")))?)
    }
}

fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<Body<T>, ApiError> {
    // A list could be read as the fields in their order.
    if !value.is_object() {
        return Err(ApiError::bad_request("The body is not a JSON object."));
    }
    let read = serde_json::from_value(value).map(Body);
    read.map_err(|error| ApiError::bad_request(format!("The body does not fit this request: {error}.")))
}

fn too_slow() -> ApiError {
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "bad_request", format!("The body did not come in {} seconds.", MOST_TIME.as_secs()))
}

fn too_large() -> ApiError {
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("The body is larger than {MOST_BYTES} bytes, or broke off."))
        .help("Write the content to a file in the workspace, and name the file.")
}
