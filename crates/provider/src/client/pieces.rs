//! The body of an answer on its way, and how long it is waited for.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::failure::{self, Failure};
use super::request::Request;
use crate::Trouble;

/// More than any answer has; what is larger is no answer.
const MAX_BODY_BYTES: u64 = 512 * 1024 * 1024;

/// The times at which waiting ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    pub(super) first_byte: Instant,
    pub(super) total: Instant,
}

impl Deadlines {
    /// Of a try that begins now.
    pub(super) fn new(request: &Request, total: Instant) -> Self {
        Self { first_byte: in_time(request.timeouts.first_byte), total }
    }

    /// Why waiting ended: the time of all tries was up, or this.
    pub(super) fn late(&self, request: &Request, what: &str, limit: Duration) -> Failure {
        if Instant::now() < self.total {
            return Failure::late(&request.host, what, limit);
        }
        Failure { again: false, ..Failure::late(&request.host, "did not finish its answer", request.timeouts.total) }
    }
}

/// A body, piece by piece.
pub(super) struct Pieces<'a> {
    response: Response,
    request: &'a Request,
    deadlines: Deadlines,
    /// How much has come.
    pub(super) bytes: u64,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(response: Response, request: &'a Request, deadlines: Deadlines) -> Self {
        Self { response, request, deadlines, bytes: 0 }
    }

    /// The next piece, or none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let timeouts = &self.request.timeouts;
        let (deadline, what, limit) = if self.bytes == 0 {
            (self.deadlines.first_byte, "sent no first byte of its answer", timeouts.first_byte)
        } else {
            (in_time(timeouts.idle), "sent nothing more of its answer", timeouts.idle)
        };
        let piece = timeout_at(deadline.min(self.deadlines.total), self.response.chunk()).await;
        let piece = piece.map_err(|_| self.deadlines.late(self.request, what, limit))?;
        let piece = piece.map_err(|error| failure::describe(&error, self.request))?;
        self.bytes += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        if self.bytes > MAX_BODY_BYTES {
            return Err(Failure::lasting(Trouble::Malformed, format!("{} sent more than {MAX_BODY_BYTES} bytes.", self.request.host)));
        }
        Ok(piece)
    }

    /// What the body holds, up to a limit. It is only looked at: one that breaks off counts as far as it came.
    pub(super) async fn beginning(mut self, limit: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(piece)) = self.next().await {
            body.extend_from_slice(&piece[..piece.len().min(limit - body.len())]);
            if body.len() == limit {
                break;
            }
        }
        body
    }
}

/// The time after so long. A limit that is longer than time can be counted is none.
pub(super) fn in_time(limit: Duration) -> Instant {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    Instant::now() + limit.min(YEAR)
}
