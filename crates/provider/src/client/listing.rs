//! The list of a provider's models: the cheapest request that tells whether it is there and takes the key.

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use tokio::time::timeout_at;

use super::failure::{self, Failure};
use super::pieces::{Deadlines, Pieces, in_time};
use super::request::Request;
use super::{Attempt, Client, answer};
use crate::{Adapter, Anthropic, Endpoint, Gemini, Model, OpenAiChat, OpenAiResponses, Protocol, ProviderError, Trouble, Turn};

/// The largest catalogues have some hundred models with a page of text each.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

impl Client {
    /// The names of the models that a provider offers, asked for once. `model` says what it speaks; whether it is among them is
    /// for the caller to see.
    pub async fn models(&self, endpoint: &Endpoint, model: &Model) -> Result<Vec<String>, ProviderError> {
        let adapter = adapter(model.protocol);
        let turn = Turn { model, system: "", messages: &[], tools: &[] };
        let mut request = Request::new(endpoint, adapter, &turn)?;
        request.url = endpoint.join(path(model.protocol))?;
        request.headers.remove(CONTENT_TYPE);
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.body = Bytes::new();
        let attempt = Attempt { request: &request, adapter, turn: &turn, options: &self.options };
        let listed = self.list(&attempt).await;
        listed.map_err(|Failure { error, .. }| ProviderError { message: request.scrub(&error.message), ..error })
    }

    async fn list(&self, attempt: &Attempt<'_>) -> Result<Vec<String>, Failure> {
        let request = attempt.request;
        let deadlines = Deadlines::new(request, in_time(request.timeouts.total));
        let sent = self.connections.to(request, &self.options)?.get(request.url.clone()).headers(request.headers.clone()).send();
        let response = timeout_at(deadlines.first_byte.min(deadlines.total), sent).await;
        let response = response.map_err(|_| deadlines.late(request, "did not begin to answer", request.timeouts.first_byte))?;
        let response = response.map_err(|error| failure::describe(&error, request))?;
        let response = answer::granted(response, attempt, deadlines).await?;
        let body = Pieces::new(response, request, deadlines).beginning(MAX_LIST_BYTES).await;
        names(&body).ok_or_else(|| no_list(request))
    }
}

fn adapter(protocol: Protocol) -> &'static dyn Adapter {
    match protocol {
        Protocol::OpenAi => &OpenAiChat,
        Protocol::OpenAiResponses => &OpenAiResponses,
        Protocol::Anthropic => &Anthropic,
        Protocol::Gemini => &Gemini,
    }
}

/// As many as the provider gives at once: the usual number is a few dozen where it is not told otherwise.
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

fn no_list(request: &Request) -> Failure {
    let message = format!("{} answered with something else than a list of models. Check its base address and protocol.", request.host);
    Failure::lasting(Trouble::Malformed, message)
}
