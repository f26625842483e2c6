//! Classifies a response: an error, a document instead of a stream, or a stream.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use serde_json::Value;
use tokio::time::Instant;

use super::body::{BodyReader, Deadlines};
use super::document::{self, WholeEvent};
use super::failure::{self, AttemptFailure};
use super::request::PreparedRequest;
use super::{AttemptContext, retry_after};
use crate::{Adapter, ProviderErrorKind};

/// Statuses after which the same request may succeed.
const RETRYABLE: [u16; 9] = [408, 409, 429, 500, 502, 503, 504, 524, 529];
/// Codes of a 429 that waiting does not fix.
const WITHOUT_QUOTA: [&str; 2] = ["insufficient_quota", "billing_hard_limit_reached"];
/// Limits for reading a body that is no stream.
const MAX_ERROR_BYTES: usize = 256 * 1024;
/// The largest answer that is read whole.
const MAX_WHOLE_BYTES: usize = 32 * 1024 * 1024;
const MAX_ERROR_TIME: Duration = Duration::from_secs(10);

/// The response, if its status is a success.
pub(super) async fn check_status(
    response: Response,
    attempt: &AttemptContext<'_>,
    deadlines: Deadlines,
) -> Result<Response, AttemptFailure> {
    let status = response.status();
    if status.is_redirection() {
        return Err(redirected(&response, attempt.request));
    }
    if !status.is_success() {
        return Err(refused(response, attempt, deadlines).await);
    }
    Ok(response)
}

/// The body of a successful response.
pub(super) enum AnswerBody<'a> {
    Stream(BodyReader<'a>),
    /// The events of an answer that came whole.
    Whole(Vec<WholeEvent>),
}

/// The body of a successful response that is an answer.
pub(super) async fn accept<'a>(
    response: Response,
    attempt: &AttemptContext<'a>,
    deadlines: Deadlines,
) -> Result<AnswerBody<'a>, AttemptFailure> {
    let response = check_status(response, attempt, deadlines).await?;
    match content_type(response.headers()).as_str() {
        "text/html" | "application/xhtml+xml" => Err(web_page(response, attempt.request, deadlines).await),
        "application/json" => whole(response, attempt, deadlines).await.map(AnswerBody::Whole),
        _ => Ok(AnswerBody::Stream(BodyReader::new(response, attempt.request, deadlines))),
    }
}

/// The content type without its parameters.
pub(super) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn redirected(response: &Response, request: &PreparedRequest) -> AttemptFailure {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let target = location.and_then(|location| request.url.join(location).ok());
    let host = target.as_ref().and_then(|target| target.host_str()).unwrap_or("an unknown address");
    let status = response.status().as_u16();
    let message = format!(
        "{} redirects to {host} (status {status}), and the key is not sent there. If that is the provider, use it as base_url.",
        request.host
    );
    let failure = AttemptFailure::permanent(ProviderErrorKind::NotFound, message);
    AttemptFailure { error: failure.error.with_status(status), ..failure }
}

async fn refused(response: Response, attempt: &AttemptContext<'_>, deadlines: Deadlines) -> AttemptFailure {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = read_error_body(response, attempt.request, deadlines).await;
    let mut error = attempt.adapter.refusal(status, &body);
    error.status = Some(status);
    error.retry_after = retry_after::requested_delay(status, &headers, (attempt.options.now)()).or(error.retry_after);
    if error.kind == ProviderErrorKind::Key && !attempt.request.key_hint.is_empty() {
        failure::add(&mut error, &attempt.request.key_hint);
    }
    let retry = should_retry(&headers).unwrap_or_else(|| RETRYABLE.contains(&status) && !is_without_quota(&body));
    // A provider that does not know a model says so in its own words.
    let is_elsewhere = status == 404 && error_status(&body, status).is_none();
    AttemptFailure { error, retry, is_elsewhere }
}

/// The header by which some providers decide about a retry.
fn should_retry(headers: &HeaderMap) -> Option<bool> {
    headers.get("x-should-retry")?.to_str().ok()?.trim().parse().ok()
}

fn is_without_quota(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    WITHOUT_QUOTA.iter().any(|code| text.contains(code))
}

async fn read_error_body(response: Response, request: &PreparedRequest, deadlines: Deadlines) -> Vec<u8> {
    let limit = Instant::now() + MAX_ERROR_TIME;
    let deadlines = Deadlines { first_byte: deadlines.first_byte.min(limit), total: deadlines.total.min(limit) };
    request.scrub_body(BodyReader::new(response, request, deadlines).read_prefix(MAX_ERROR_BYTES).await)
}

async fn web_page(response: Response, request: &PreparedRequest, deadlines: Deadlines) -> AttemptFailure {
    let body = read_error_body(response, request, deadlines).await;
    let title = title(&String::from_utf8_lossy(&body)).map_or_else(String::new, |title| format!(" ('{title}')"));
    let message = format!(
        "{} sent a web page{title} instead of an answer. Check the base_url, and whether a login page or a proxy is in between.",
        request.host
    );
    AttemptFailure::permanent(ProviderErrorKind::Malformed, message)
}

fn title(page: &str) -> Option<String> {
    // Lower-casing ASCII keeps the length.
    let lower = page.to_ascii_lowercase();
    let tag = lower.find("<title")?;
    let start = tag + lower[tag..].find('>')? + 1;
    let end = start + lower[start..].find('<')?;
    let words = page[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then(|| haft_text::display::shorten(&words, 80).into_owned())
}

/// A JSON document instead of a stream: an error, or the whole answer of a server that does not stream.
async fn whole(response: Response, attempt: &AttemptContext<'_>, deadlines: Deadlines) -> Result<Vec<WholeEvent>, AttemptFailure> {
    let (status, request) = (response.status().as_u16(), attempt.request);
    let body = BodyReader::new(response, request, deadlines).read_all(MAX_WHOLE_BYTES).await?;
    if body.is_empty() {
        return Err(empty(request));
    }
    let Ok(document) = serde_json::from_slice::<Value>(&body) else {
        if let Some(events) = document::streamed(&body) {
            return Ok(events);
        }
        let message =
            format!("{} sent a broken JSON document instead of a stream. Try again; if it stays so, check the base_url.", request.host);
        return Err(AttemptFailure::transient(ProviderErrorKind::Malformed, message));
    };
    if let Some(status) = error_status(&body, status) {
        return Err(document_error(attempt.adapter, status, &request.scrub_body(body)));
    }
    document::events(attempt.turn.model.protocol, &document).ok_or_else(|| {
        let message = format!("{} sent a JSON document that is no answer. Check that base_url and protocol belong together.", request.host);
        AttemptFailure::permanent(ProviderErrorKind::Malformed, message)
    })
}

fn document_error(adapter: &dyn Adapter, status: u16, body: &[u8]) -> AttemptFailure {
    let AttemptFailure { error, retry, .. } = adapter.refusal(status, body).into();
    let retry = (retry || RETRYABLE.contains(&status)) && !is_without_quota(body);
    AttemptFailure { error: error.with_status(status), retry, is_elsewhere: false }
}

/// The status of a document that is an error: its code, or the status of the response.
fn error_status(body: &[u8], status: u16) -> Option<u16> {
    let document: Value = serde_json::from_slice(body).ok()?;
    let document = document.get(0).unwrap_or(&document);
    let error = document.get("error").filter(|error| !error.is_null());
    let is_error = error.is_some() || ["type", "object"].iter().any(|name| document.get(name).is_some_and(|kind| kind == "error"));
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    is_error.then(|| code.filter(|code| (400..600).contains(code)).unwrap_or(status))
}

/// An empty answer, as gateways send it under load.
pub(super) fn empty(request: &PreparedRequest) -> AttemptFailure {
    AttemptFailure::transient(
        ProviderErrorKind::Server,
        format!("{} sent an empty answer. Try again; if it stays empty, check the base_url.", request.host),
    )
}

/// A body without events.
pub(super) fn without_events(request: &PreparedRequest, content_type: &str) -> AttemptFailure {
    if content_type == "text/event-stream" {
        return empty(request);
    }
    let kind = if content_type.is_empty() { "an answer without a content type".to_owned() } else { format!("'{content_type}'") };
    let message = format!(
        "{} sent {} without events. Check that base_url and protocol belong together.",
        request.host,
        haft_text::display::shorten(&kind, 80)
    );
    AttemptFailure::permanent(ProviderErrorKind::Malformed, message)
}
