//! Reads the body of a response within its deadlines.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::failure::{self, AttemptFailure};
use super::request::PreparedRequest;
use crate::ProviderErrorKind;

/// Larger than any answer.
const MAX_BODY_BYTES: u64 = 512 * 1024 * 1024;

/// Deadlines of an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    pub(super) first_byte: Instant,
    pub(super) total: Instant,
}

impl Deadlines {
    /// The deadlines of an attempt that starts now.
    pub(super) fn new(request: &PreparedRequest, total: Instant) -> Self {
        Self { first_byte: in_time(request.timeouts.first_byte), total }
    }

    /// The failure of a timeout: of all attempts, or of this step.
    pub(super) fn timed_out(&self, request: &PreparedRequest, what: &str, limit: Duration) -> AttemptFailure {
        if Instant::now() < self.total {
            return AttemptFailure::timed_out(&request.host, what, limit);
        }
        AttemptFailure { retry: false, ..AttemptFailure::timed_out(&request.host, "did not finish its answer", request.timeouts.total) }
    }
}

/// Reads a body chunk by chunk.
pub(super) struct BodyReader<'a> {
    response: Response,
    request: &'a PreparedRequest,
    deadlines: Deadlines,
    /// Bytes read so far.
    pub(super) bytes: u64,
}

impl<'a> BodyReader<'a> {
    pub(super) fn new(response: Response, request: &'a PreparedRequest, deadlines: Deadlines) -> Self {
        Self { response, request, deadlines, bytes: 0 }
    }

    /// The next chunk; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, AttemptFailure> {
        let timeouts = &self.request.timeouts;
        let (deadline, what, limit) = if self.bytes == 0 {
            (self.deadlines.first_byte, "sent no first byte of its answer", timeouts.first_byte)
        } else {
            (in_time(timeouts.idle), "sent nothing more of its answer", timeouts.idle)
        };
        let chunk = timeout_at(deadline.min(self.deadlines.total), self.response.chunk()).await;
        let chunk = chunk.map_err(|_| self.deadlines.timed_out(self.request, what, limit))?;
        let chunk = chunk.map_err(|error| failure::describe(&error, self.request))?;
        self.bytes += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        if self.bytes > MAX_BODY_BYTES {
            return Err(AttemptFailure::permanent(
                ProviderErrorKind::Malformed,
                format!("{} sent more than {MAX_BODY_BYTES} bytes.", self.request.host),
            ));
        }
        Ok(chunk)
    }

    /// The whole body; a larger one is an error.
    pub(super) async fn read_all(mut self, limit: usize) -> Result<Vec<u8>, AttemptFailure> {
        let mut body = Vec::new();
        while let Some(chunk) = self.next().await? {
            if chunk.len() > limit - body.len() {
                let message = format!("{} sent a document of more than {limit} bytes.", self.request.host);
                return Err(AttemptFailure::permanent(ProviderErrorKind::Malformed, message));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The beginning of the body, up to a limit; a broken connection ends it.
    pub(super) async fn read_prefix(mut self, limit: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.next().await {
            body.extend_from_slice(&chunk[..chunk.len().min(limit - body.len())]);
            if body.len() == limit {
                break;
            }
        }
        body
    }
}

/// The instant after this duration, at most one year from now.
pub(super) fn in_time(limit: Duration) -> Instant {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    Instant::now() + limit.min(YEAR)
}
