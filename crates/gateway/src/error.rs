//! Errors of the API: one shape for all of them.

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_contract::ToolError;
use haft_engine::AnswerError;
use haft_store::StoreError;
use haft_tui::failure::{Exit, Failure};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a request was refused.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    body: Box<ErrorBody>,
    /// Seconds after which another try makes sense.
    retry_after: Option<u64>,
}

/// The body of an answer that is an error.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// Always `error`.
    status: &'static str,
    /// What kind of error.
    error_type: Cow<'static, str>,
    /// What failed, and why.
    message: String,
    /// What to do next.
    help: Option<String>,
}

impl ApiError {
    /// An error with this kind.
    pub(crate) fn new(status: StatusCode, kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        let body = ErrorBody { status: "error", error_type: kind.into(), message: message.into(), help: None };
        Self { status, body: Box::new(body), retry_after: None }
    }
    /// The request makes no sense.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }
    /// What is named does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }
    /// The state does not allow it.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }
    /// Something that should not fail has failed.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
    /// It may work later.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }
    /// Too many tries.
    pub(crate) fn rate_limited(seconds: u64, message: impl Into<String>) -> Self {
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message) }
    }
    /// What to do next.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.body.help = Some(help.into());
        self
    }
    /// What failed, and why.
    pub(crate) fn message(&self) -> &str {
        &self.body.message
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        let status = match (failure.kind, failure.exit) {
            ("not_found" | "tool_not_found", _) => StatusCode::NOT_FOUND,
            ("conflict" | "busy" | "not_undone" | "session_busy", _) => StatusCode::CONFLICT,
            (_, Exit::Usage) => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let error = Self::new(status, failure.kind, failure.message.clone());
        match &failure.help {
            Some(help) => error.help(help.clone()),
            None => error,
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Missing { .. } => Self::not_found(error.to_string()),
            StoreError::Busy { .. } | StoreError::Conflict { .. } | StoreError::Exists { .. } => Self::conflict(error.to_string()),
            StoreError::Locked { .. } | StoreError::Full { .. } | StoreError::Closed(_) => Self::unavailable(error.to_string()),
            _ => Self::internal(error.to_string()),
        }
    }
}

impl From<AnswerError> for ApiError {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Unknown(_) => Self::not_found(error.to_string()),
            _ => Self::conflict(error.to_string()),
        }
    }
}

impl From<ToolError> for ApiError {
    fn from(error: ToolError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.kind().as_str(), error.message())
    }
}
