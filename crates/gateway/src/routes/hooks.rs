//! Requests of services to channels. They have no token of ours: each channel checks the signature of its service.

use std::time::SystemTime;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::backend::HookDelivery;

pub(super) async fn receive(State(app): State<App>, Path(channel): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let named =
        |(name, value): (&header::HeaderName, &header::HeaderValue)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()));
    let headers = headers.iter().filter_map(named).collect();
    let answer = app.backend.hook(&channel, HookDelivery { headers, body: body.to_vec(), at: SystemTime::now() }).await;
    let status = StatusCode::from_u16(answer.0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], answer.1).into_response()
}
