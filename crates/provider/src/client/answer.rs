//! An answer: refused, something else than a stream, or a stream and what it says.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use serde_json::Value;
use tokio::time::Instant;

use super::failure::{self, Failure};
use super::pieces::{Deadlines, Pieces};
use super::request::Request;
use super::{Attempt, retry_after};
use crate::{Adapter, Trouble};

/// Statuses after which the same request may succeed.
const PASSING: [u16; 9] = [408, 409, 429, 500, 502, 503, 504, 524, 529];
/// Marks of a 429 that no waiting ends.
const WITHOUT_QUOTA: [&str; 2] = ["insufficient_quota", "billing_hard_limit_reached"];
/// How much of a body that is no stream is read, and for how long.
const LOOKED_AT: usize = 256 * 1024;
const LOOKED_FOR: Duration = Duration::from_secs(10);

/// What stands in the way of an answer: nothing, if the request was granted.
pub(super) async fn granted(response: Response, attempt: &Attempt<'_>, deadlines: Deadlines) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_redirection() {
        return Err(redirected(&response, attempt.request));
    }
    if !status.is_success() {
        return Err(refused(response, attempt, deadlines).await);
    }
    Ok(response)
}

/// The same, and that it is the beginning of a stream.
pub(super) async fn accept<'a>(response: Response, attempt: &Attempt<'a>, deadlines: Deadlines) -> Result<Pieces<'a>, Failure> {
    let response = granted(response, attempt, deadlines).await?;
    let kind = content_type(response.headers());
    match kind.as_str() {
        "text/html" | "application/xhtml+xml" => Err(page(response, attempt.request, deadlines).await),
        "application/json" => Err(document(response, attempt, deadlines).await),
        _ => Ok(Pieces::new(response, attempt.request, deadlines)),
    }
}

/// The type without its parameters.
pub(super) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn redirected(response: &Response, request: &Request) -> Failure {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let target = location.and_then(|location| request.url.join(location).ok());
    let host = target.as_ref().and_then(|target| target.host_str()).unwrap_or("an address that it does not name");
    let status = response.status().as_u16();
    let message = format!(
        "{} redirects to {host} (status {status}). The key is not sent there: if that is the provider, make it the base address.",
        request.host
    );
    let failure = Failure::lasting(Trouble::NotFound, message);
    Failure { error: failure.error.with_status(status), ..failure }
}

async fn refused(response: Response, attempt: &Attempt<'_>, deadlines: Deadlines) -> Failure {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = look_at(response, attempt.request, deadlines).await;
    let mut error = attempt.adapter.refusal(status, &body);
    error.status = Some(status);
    error.retry_after = retry_after::asked(status, &headers, (attempt.options.now)()).or(error.retry_after);
    if error.trouble == Trouble::Key && !attempt.request.key_hint.is_empty() {
        failure::add(&mut error, &attempt.request.key_hint);
    }
    let again = should_retry(&headers).unwrap_or_else(|| PASSING.contains(&status) && !is_without_quota(&body));
    Failure { error, again }
}

/// Some providers say it themselves.
fn should_retry(headers: &HeaderMap) -> Option<bool> {
    headers.get("x-should-retry")?.to_str().ok()?.trim().parse().ok()
}

fn is_without_quota(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    WITHOUT_QUOTA.iter().any(|mark| text.contains(mark))
}

async fn look_at(response: Response, request: &Request, deadlines: Deadlines) -> Vec<u8> {
    let soon = Instant::now() + LOOKED_FOR;
    let deadlines = Deadlines { first_byte: deadlines.first_byte.min(soon), total: deadlines.total.min(soon) };
    request.scrub_body(Pieces::new(response, request, deadlines).beginning(LOOKED_AT).await)
}

async fn page(response: Response, request: &Request, deadlines: Deadlines) -> Failure {
    let body = look_at(response, request, deadlines).await;
    let title = title(&String::from_utf8_lossy(&body)).map_or_else(String::new, |title| format!(" ('{title}')"));
    let message = format!(
        "{} sent a web page{title} instead of an answer. A login page or a proxy stands in between, or the base address is that \
         of a site: check both.",
        request.host
    );
    Failure::lasting(Trouble::Malformed, message)
}

fn title(page: &str) -> Option<String> {
    // As long as the page itself, because only ASCII letters change.
    let lower = page.to_ascii_lowercase();
    let tag = lower.find("<title")?;
    let start = tag + lower[tag..].find('>')? + 1;
    let end = start + lower[start..].find('<')?;
    let words = page[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then(|| haft_contract::visible::shorten(&words, 80).into_owned())
}

/// A whole document where a stream was asked for: an error, or a server that cannot stream.
async fn document(response: Response, attempt: &Attempt<'_>, deadlines: Deadlines) -> Failure {
    let status = response.status().as_u16();
    let body = look_at(response, attempt.request, deadlines).await;
    if body.is_empty() {
        return empty(attempt.request);
    }
    if let Some(status) = error_status(&body, status) {
        return refusal_inside(attempt.adapter, status, &body);
    }
    let message = format!(
        "{} sent one JSON document instead of a stream. The server, or a proxy before it, does not stream: use one that does, or \
         another base address.",
        attempt.request.host
    );
    Failure::lasting(Trouble::Malformed, message)
}

fn refusal_inside(adapter: &dyn Adapter, status: u16, body: &[u8]) -> Failure {
    let Failure { error, again } = adapter.refusal(status, body).into();
    let again = (again || PASSING.contains(&status)) && !is_without_quota(body);
    Failure { error: error.with_status(status), again }
}

/// The status that a document would have had if it is an error: what it says, or else the one that it came with.
fn error_status(body: &[u8], status: u16) -> Option<u16> {
    let document: Value = serde_json::from_slice(body).ok()?;
    let document = document.get(0).unwrap_or(&document);
    let error = document.get("error").filter(|error| !error.is_null());
    let is_error = error.is_some() || ["type", "object"].iter().any(|name| document.get(name).is_some_and(|kind| kind == "error"));
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    is_error.then(|| code.filter(|code| (400..600).contains(code)).unwrap_or(status))
}

/// Gateways answer so under load, and the next try succeeds.
pub(super) fn empty(request: &Request) -> Failure {
    Failure::passing(Trouble::Server, format!("{} sent an empty answer. Try again; if it stays so, check the base address.", request.host))
}

/// Bytes came, and no event was in them.
pub(super) fn without_events(request: &Request, kind: &str) -> Failure {
    if kind == "text/event-stream" {
        return empty(request);
    }
    let kind = if kind.is_empty() { "an answer without a content type".to_owned() } else { format!("'{kind}'") };
    let message = format!(
        "{} sent {} and no event in it. Check that the base address and the protocol belong together.",
        request.host,
        haft_contract::visible::shorten(&kind, 80)
    );
    Failure::lasting(Trouble::Malformed, message)
}
