//! Log messages to a client, from the level on that it asked for.
#![expect(deprecated, reason = "later protocol versions drop logging; clients of the earlier ones use it")]

use std::sync::atomic::{AtomicU8, Ordering};

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::{Peer, RoleServer};
use serde_json::Value;

/// How severe a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LogSeverity {
    Info = 1,
    Notice = 2,
    Warning = 3,
}

impl LogSeverity {
    fn level(self) -> LoggingLevel {
        match self {
            Self::Info => LoggingLevel::Info,
            Self::Notice => LoggingLevel::Notice,
            Self::Warning => LoggingLevel::Warning,
        }
    }
}

/// The client asked for no messages.
const OFF: u8 = u8::MAX;

/// The messages that a client wants.
#[derive(Debug)]
pub(super) struct ClientLog {
    least: AtomicU8,
}

impl Default for ClientLog {
    fn default() -> Self {
        Self { least: AtomicU8::new(OFF) }
    }
}

impl ClientLog {
    /// The log of one request, which says itself what it wants.
    pub(super) fn of_request(level: Option<LoggingLevel>) -> Self {
        Self { least: AtomicU8::new(level.map_or(OFF, rank)) }
    }

    /// Sends messages from this level on.
    pub(super) fn set(&self, level: LoggingLevel) {
        self.least.store(rank(level), Ordering::Relaxed);
    }

    /// Sends a message, if the client wants it.
    pub(super) async fn send(&self, peer: &Peer<RoleServer>, severity: LogSeverity, tool: &str, text: String) {
        if severity as u8 >= self.least.load(Ordering::Relaxed) {
            let message = LoggingMessageNotificationParam::new(severity.level(), Value::from(text)).with_logger(tool);
            // A client that has gone needs no messages.
            peer.notify_logging_message(message).await.ok();
        }
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_severities() {
        for severity in [LogSeverity::Info, LogSeverity::Notice, LogSeverity::Warning] {
            assert_eq!(rank(severity.level()), severity as u8);
        }
        assert!(rank(LoggingLevel::Debug) < LogSeverity::Info as u8);
        assert!(rank(LoggingLevel::Error) > LogSeverity::Warning as u8);
    }
}
