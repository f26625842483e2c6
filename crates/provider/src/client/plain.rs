//! Requests besides conversations: one body goes, one comes back. Keys, addresses, timeouts and failures are those of conversations.

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use tokio::time::timeout_at;

use super::body::{BodyReader, Deadlines, in_time};
use super::failure::{self, AttemptFailure};
use super::request::PreparedRequest;
use super::{AttemptContext, ModelClient, response};
use crate::{Endpoint, Model, ModelTurn, Protocol, ProviderError, ProviderErrorKind};

/// A request with one body.
pub(super) struct PlainRequest<'a> {
    pub(super) provider: &'a str,
    pub(super) path: &'a str,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    /// The longest answer; a longer one is cut.
    pub(super) most: usize,
}

impl<'a> PlainRequest<'a> {
    pub(super) fn json(provider: &'a str, path: &'a str, body: &Value, most: usize) -> Self {
        Self { provider, path, content_type: "application/json".to_owned(), body: body.to_string().into_bytes(), most }
    }
}

/// The answer, and who gave it.
pub(super) struct PlainAnswer {
    pub(super) host: String,
    pub(super) body: Vec<u8>,
}

impl ModelClient {
    /// Sends a request, without retries.
    pub(super) async fn post(&self, endpoint: &Endpoint, plain: PlainRequest<'_>) -> Result<PlainAnswer, ProviderError> {
        let model = Model::new(plain.provider, Protocol::OpenAi, "");
        let adapter = model.protocol.adapter();
        let turn = ModelTurn { model: &model, system: "", messages: &[], tools: &[] };
        let mut request = PreparedRequest::new(endpoint, adapter, &turn)?;
        (request.url, request.other_url) = endpoint.urls(plain.path, model.protocol)?;
        request.headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        let invalid = |_| ProviderError::new(ProviderErrorKind::BadRequest, "The type of the request is not valid.");
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_str(&plain.content_type).map_err(invalid)?);
        request.body = Bytes::from(plain.body);
        let attempt = AttemptContext { request: &request, adapter, turn: &turn, options: &self.options };
        let answered = self.post_once(&attempt, plain.most).await;
        let body = answered.map_err(|AttemptFailure { error, .. }| ProviderError { message: request.scrub(&error.message), ..error })?;
        Ok(PlainAnswer { host: request.host, body })
    }

    async fn post_once(&self, attempt: &AttemptContext<'_>, most: usize) -> Result<Vec<u8>, AttemptFailure> {
        let request = attempt.request;
        let deadlines = Deadlines::new(request, in_time(request.timeouts.total));
        let client = self.clients.get(request, &self.options)?;
        let sent = client.post(request.url.clone()).headers(request.headers.clone()).body(request.body.clone()).send();
        let response = timeout_at(deadlines.first_byte.min(deadlines.total), sent).await;
        let response = response.map_err(|_| deadlines.timed_out(request, "did not start to answer", request.timeouts.first_byte))?;
        let response = response.map_err(|error| failure::describe(&error, request))?;
        let response = response::check_status(response, attempt, deadlines).await?;
        Ok(BodyReader::new(response, request, deadlines).read_prefix(most).await)
    }
}
