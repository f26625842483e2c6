//! The error of a failed call.

use std::error::Error;
use std::fmt;

use serde_json::Value;

use crate::conflict::ConcurrentChange;
use crate::settings::named_enum;

named_enum! {
    /// The kind of a failure; on the wire `error_type`.
    #[non_exhaustive]
    ErrorKind {
        /// No tool of that name exists.
        ToolNotFound = "tool_not_found",
        /// The tool exists, but not for this agent.
        ToolNotAvailable = "tool_not_available",
        /// The tool is switched off for everyone.
        ToolGloballyDisabled = "tool_globally_disabled",
        /// The arguments are wrong.
        ValidationError = "validation_error",
        /// Access level, rule, host permission or the user denied it.
        PermissionDenied = "permission_denied",
        /// No answer to an approval came in time.
        ApprovalTimeout = "approval_timeout",
        /// A hook refused.
        Blocked = "blocked",
        /// The path is outside the workspace or protected.
        PathNotAllowed = "path_not_allowed",
        /// The file does not exist.
        FileNotFound = "file_not_found",
        /// The file is larger than can be handled.
        FileTooLarge = "file_too_large",
        /// The file is not text.
        NotText = "not_text",
        /// DNS, connection, TLS, or an address that is not allowed.
        NetworkError = "network_error",
        /// The tool's time is up.
        Timeout = "timeout",
        /// The user or the program stopped the call.
        Cancelled = "cancelled",
        /// The same call with the same outcome, again and again.
        LoopBlocked = "loop_blocked",
        /// A required sandbox is not available.
        SandboxUnavailable = "sandbox_unavailable",
        /// Anything else, panics included.
        ExecutionError = "execution_error",
    }
}

impl ErrorKind {
    /// The HTTP status that says the same.
    pub const fn status(self) -> u16 {
        match self {
            Self::ToolNotFound | Self::FileNotFound => 404,
            Self::ToolNotAvailable
            | Self::ToolGloballyDisabled
            | Self::PermissionDenied
            | Self::ApprovalTimeout
            | Self::Blocked
            | Self::PathNotAllowed => 403,
            Self::ValidationError => 400,
            Self::FileTooLarge => 413,
            Self::NotText => 415,
            Self::NetworkError => 502,
            Self::Timeout => 408,
            Self::Cancelled => 499,
            Self::LoopBlocked => 429,
            Self::SandboxUnavailable => 503,
            Self::ExecutionError => 500,
        }
    }
}

/// Why a call failed. The message is written for the model: what was wrong, with which value, what to do next.
#[derive(Debug)]
pub struct ToolError {
    inner: Box<ErrorParts>,
}

// Behind one box, so that `Result<_, ToolError>` stays a word wide on the hot path.
#[derive(Debug)]
struct ErrorParts {
    kind: ErrorKind,
    message: String,
    details: Option<Value>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ToolError {
    /// An error of this kind with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { inner: Box::new(ErrorParts { kind, message: message.into(), details: None, source: None }) }
    }
    /// Arguments that are wrong.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::ValidationError, message)
    }
    /// Something that failed while running.
    pub fn execution(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::ExecutionError, message)
    }
    /// Something that is not allowed.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::PermissionDenied, message)
    }
    /// Adds structured facts for people and programs; they never reach the model.
    pub fn with_details(mut self, details: Value) -> Self {
        self.inner.details = Some(details);
        self
    }
    /// Keeps the error this one came from, for logs.
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.inner.source = Some(source.into());
        self
    }
    /// Whether another program changed a file meanwhile, so that the same change may work when it is made again.
    pub fn is_conflict(&self) -> bool {
        self.inner.source.as_ref().is_some_and(|source| source.is::<ConcurrentChange>())
    }
    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }
    /// The message for the model.
    pub fn message(&self) -> &str {
        &self.inner.message
    }
    /// The facts for people and programs.
    pub fn details(&self) -> Option<&Value> {
        self.inner.details.as_ref()
    }
    /// The facts, to add to them.
    pub fn details_mut(&mut self) -> &mut Option<Value> {
        &mut self.inner.details
    }
    /// The same error with another message: for stages that redact or bound what is said.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.inner.message = message.into();
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_wire_name_and_reads_back() {
        let mut names: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        for kind in ErrorKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn statuses_are_those_of_the_design() {
        let table: Vec<_> = ErrorKind::ALL.iter().map(|kind| (kind.as_str(), kind.status())).collect();
        assert_eq!(
            table,
            [
                ("tool_not_found", 404),
                ("tool_not_available", 403),
                ("tool_globally_disabled", 403),
                ("validation_error", 400),
                ("permission_denied", 403),
                ("approval_timeout", 403),
                ("blocked", 403),
                ("path_not_allowed", 403),
                ("file_not_found", 404),
                ("file_too_large", 413),
                ("not_text", 415),
                ("network_error", 502),
                ("timeout", 408),
                ("cancelled", 499),
                ("loop_blocked", 429),
                ("sandbox_unavailable", 503),
                ("execution_error", 500),
            ]
        );
    }
}
