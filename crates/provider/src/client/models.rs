//! Lists the models of a provider: the cheapest request that checks address and key.

use bytes::Bytes;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use tokio::time::timeout_at;

use super::body::{BodyReader, Deadlines, in_time};
use super::failure::{self, AttemptFailure};
use super::request::PreparedRequest;
use super::{AttemptContext, ModelClient, response};
use crate::{Endpoint, Model, ModelTurn, Protocol, ProviderError, ProviderErrorKind};

/// The largest lists have some hundred models with a page of text each.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

impl ModelClient {
    /// The names of the models of a provider, without retries. `model` gives the protocol; it need not be among them.
    pub async fn models(&self, endpoint: &Endpoint, model: &Model) -> Result<Vec<String>, ProviderError> {
        let adapter = model.protocol.adapter();
        let turn = ModelTurn { model, system: "", messages: &[], tools: &[] };
        let mut request = PreparedRequest::new(endpoint, adapter, &turn)?;
        (request.url, request.other_url) = endpoint.urls(path(model.protocol), model.protocol)?;
        request.headers.remove(CONTENT_TYPE);
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.body = Bytes::new();
        let attempt = AttemptContext { request: &request, adapter, turn: &turn, options: &self.options };
        self.list(&attempt).await.map_err(|AttemptFailure { error, .. }| ProviderError { message: request.scrub(&error.message), ..error })
    }

    async fn list(&self, attempt: &AttemptContext<'_>) -> Result<Vec<String>, AttemptFailure> {
        match (self.list_at(attempt, &attempt.request.url).await, &attempt.request.other_url) {
            (Err(failure), Some(other)) if failure.is_elsewhere => self.list_at(attempt, other).await,
            (outcome, _) => outcome,
        }
    }

    async fn list_at(&self, attempt: &AttemptContext<'_>, url: &Url) -> Result<Vec<String>, AttemptFailure> {
        let request = attempt.request;
        let deadlines = Deadlines::new(request, in_time(request.timeouts.total));
        let sent = self.clients.get(request, &self.options)?.get(url.clone()).headers(request.headers.clone()).send();
        let response = timeout_at(deadlines.first_byte.min(deadlines.total), sent).await;
        let response = response.map_err(|_| deadlines.timed_out(request, "did not start to answer", request.timeouts.first_byte))?;
        let response = response.map_err(|error| failure::describe(&error, request))?;
        let response = response::check_status(response, attempt, deadlines).await?;
        let body = BodyReader::new(response, request, deadlines).read_prefix(MAX_LIST_BYTES).await;
        names(&body).ok_or_else(|| no_list(request))
    }
}

/// Requests the largest page; the default is a few dozen models.
fn path(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Anthropic => "/models?limit=1000",
        Protocol::Gemini => "/models?pageSize=1000",
        Protocol::OpenAi | Protocol::OpenAiResponses => "/models",
    }
}

/// `{"data":[{"id":…}]}`, or Gemini's `{"models":[{"name":"models/…"}]}`.
fn names(body: &[u8]) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let (models, field) = match (&list["data"], &list["models"]) {
        (Value::Array(models), _) => (models, "id"),
        (_, Value::Array(models)) => (models, "name"),
        _ => return None,
    };
    let name = |model: &Value| model[field].as_str().map(|name| name.strip_prefix("models/").unwrap_or(name).to_owned());
    Some(models.iter().filter_map(name).collect())
}

fn no_list(request: &PreparedRequest) -> AttemptFailure {
    let message = format!("{} did not answer with a list of models. Check its base_url and protocol.", request.host);
    AttemptFailure::permanent(ProviderErrorKind::Malformed, message)
}
