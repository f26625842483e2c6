//! Requests that spare the server: it may ask to wait, and is asked again once.

use std::time::Duration;

use haft_contract::{ErrorKind, HttpRequest, HttpResponse, ToolContext, ToolError};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// A longer wait is left to the model and the user.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Less than the timeout of the tools, so that the answer says what happened and has what was received.
const CALL_TIME: Duration = Duration::from_secs(27);

/// Until when the server has to answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallDeadline(tokio::time::Instant);

impl CallDeadline {
    /// For a call that begins now.
    pub(crate) fn of_a_call() -> Self {
        Self(tokio::time::Instant::now() + CALL_TIME)
    }

    /// Waits for an answer, and no longer.
    pub(crate) async fn limit<T>(&self, answer: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        tokio::time::timeout_at(self.0, answer).await.unwrap_or_else(|_| {
            let seconds = CALL_TIME.as_secs();
            let message =
                format!("HTTP request timed out: the server did not answer within {seconds} s. Try again later, or another address.");
            Err(ToolError::new(ErrorKind::Timeout, message))
        })
    }
}

/// Sends a request; if the server asks to wait for a short time, waits and sends it once more.
pub(crate) async fn send(request: HttpRequest, cx: &ToolContext) -> Result<HttpResponse, ToolError> {
    let response = cx.http().send(request.clone()).await?;
    match wait_asked(&response, cx).filter(|wait| *wait <= LONGEST_WAIT) {
        Some(wait) => {
            drop(response);
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = cx.cancelled() => {}
            }
            cx.http().send(request).await
        }
        None => Ok(response),
    }
}

/// How long a response asks to wait, by its `Retry-After`.
pub(crate) fn wait_asked(response: &HttpResponse, cx: &ToolContext) -> Option<Duration> {
    if !matches!(response.status, 429 | 503) {
        return None;
    }
    let value = header(response, "Retry-After")?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let until = DateTimeParser::new().parse_timestamp(value).ok()?;
    let now = Timestamp::try_from(cx.clock().now()).ok()?;
    Some(Duration::try_from(until - now).unwrap_or_default())
}

/// The first header of a name.
pub(crate) fn header<'a>(response: &'a HttpResponse, field: &str) -> Option<&'a str> {
    response.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(field)).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{Plan, PlanContext};
    use haft_testkit::{FakeHost, Reply, context_for};

    use super::*;

    const URL: &str = "http://a.test/";

    async fn status(reply: Reply, next: Reply) -> (u16, usize, Duration) {
        let host = FakeHost::new();
        host.clock.set("2026-11-02T10:00:00Z".parse::<Timestamp>().unwrap().into());
        host.http.answer_once("GET", URL, reply);
        host.http.answer("GET", URL, next);
        let plan = Plan::nothing().connect(PlanContext::new(&*host).connect("GET", URL).unwrap());
        let cx = context_for(plan, Arc::clone(&host));
        let request = HttpRequest { method: "GET".into(), url: URL.into(), headers: Vec::new(), body: None, redirects: 0 };
        let started = tokio::time::Instant::now();
        let response = send(request, &cx).await.unwrap();
        (response.status, host.http.requests().len(), started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_wait_is_taken_once_and_a_long_one_is_not() {
        let busy = |after: &str| Reply::new(429, "Too Many Requests").header("retry-after", after);
        let fine = || Reply::ok("text/plain", "x");
        for (reply, next, expected) in [
            (fine(), fine(), (200, 1, 0)),
            (busy("3"), fine(), (200, 2, 3)),
            (busy("3"), busy("3"), (429, 2, 3)),
            (busy("3600"), fine(), (429, 1, 0)),
            (busy("Mon, 02 Nov 2026 10:00:07 GMT"), fine(), (200, 2, 7)),
            (busy("Mon, 02 Nov 2020 10:00:07 GMT"), fine(), (200, 2, 0)),
            (busy("soon"), fine(), (429, 1, 0)),
            (Reply::new(500, "x").header("Retry-After", "1"), fine(), (500, 1, 0)),
        ] {
            let (status, requests, waited) = status(reply, next).await;
            assert_eq!((status, requests, waited.as_secs()), expected);
        }
    }
}
