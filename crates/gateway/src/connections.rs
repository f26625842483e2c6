//! What the server knows of its connections: how many there may be, and the requests of each.

use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use haft_listen::{BoundedListener, ConnectionLimits, OpenRequests, RequestGuard};

/// Connections that may be open at once. More wait to be accepted.
const MOST: usize = 2_048;
/// A connection over which nothing goes for this long is closed.
const IDLE: Duration = Duration::from_mins(1);

/// The limits of this server.
pub(crate) fn limits() -> ConnectionLimits {
    ConnectionLimits::new(MOST, IDLE)
}

/// The requests of a connection, as handlers get them.
#[derive(Debug, Clone)]
pub(crate) struct PageRequests(pub(crate) OpenRequests);

impl PageRequests {
    /// Counts a request until the guard is dropped.
    pub(crate) fn begin(&self) -> RequestGuard {
        self.0.begin()
    }
}

impl Connected<IncomingStream<'_, BoundedListener>> for PageRequests {
    fn connect_info(stream: IncomingStream<'_, BoundedListener>) -> Self {
        Self(stream.io().requests().clone())
    }
}
