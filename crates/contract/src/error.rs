//! Every failure of a call, as the model and people see it.

use std::error::Error;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// What kind of failure a call ended with; serialised as the wire's `error_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// No tool of that name exists.
    ToolNotFound,
    /// The tool exists, but not for this agent.
    ToolNotAvailable,
    /// The tool is switched off for everyone.
    ToolGloballyDisabled,
    /// The arguments are wrong.
    ValidationError,
    /// Access level, rule, host permission or a person said no.
    PermissionDenied,
    /// Nobody answered an approval in time.
    ApprovalTimeout,
    /// A hook refused.
    Blocked,
    /// The path is outside the workspace or protected.
    PathNotAllowed,
    /// The file does not exist.
    FileNotFound,
    /// The file is larger than can be handled.
    FileTooLarge,
    /// The file is not text.
    NotText,
    /// DNS, connection, TLS, or an address that is not allowed.
    NetworkError,
    /// The tool's time is up.
    Timeout,
    /// The person or program stopped the call.
    Cancelled,
    /// The same call with the same outcome, again and again.
    LoopBlocked,
    /// Isolation was required and cannot be had.
    SandboxUnavailable,
    /// Anything else, panics included.
    ExecutionError,
}

impl ErrorKind {
    /// Every kind, in the order of the design's table.
    pub const ALL: [Self; 17] = [
        Self::ToolNotFound,
        Self::ToolNotAvailable,
        Self::ToolGloballyDisabled,
        Self::ValidationError,
        Self::PermissionDenied,
        Self::ApprovalTimeout,
        Self::Blocked,
        Self::PathNotAllowed,
        Self::FileNotFound,
        Self::FileTooLarge,
        Self::NotText,
        Self::NetworkError,
        Self::Timeout,
        Self::Cancelled,
        Self::LoopBlocked,
        Self::SandboxUnavailable,
        Self::ExecutionError,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolNotFound => "tool_not_found",
            Self::ToolNotAvailable => "tool_not_available",
            Self::ToolGloballyDisabled => "tool_globally_disabled",
            Self::ValidationError => "validation_error",
            Self::PermissionDenied => "permission_denied",
            Self::ApprovalTimeout => "approval_timeout",
            Self::Blocked => "blocked",
            Self::PathNotAllowed => "path_not_allowed",
            Self::FileNotFound => "file_not_found",
            Self::FileTooLarge => "file_too_large",
            Self::NotText => "not_text",
            Self::NetworkError => "network_error",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::LoopBlocked => "loop_blocked",
            Self::SandboxUnavailable => "sandbox_unavailable",
            Self::ExecutionError => "execution_error",
        }
    }

    /// The kind with this name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

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

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a call failed. The message is written for the model: what was wrong, with which value, what to do next.
#[derive(Debug)]
pub struct ToolError {
    inner: Box<Inner>,
}

// Behind one box, so that `Result<_, ToolError>` stays a word wide on the hot path.
#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    details: Option<Value>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ToolError {
    /// An error of this kind with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { kind, message: message.into(), details: None, source: None }) }
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
            assert_eq!(ErrorKind::parse(kind.as_str()), Some(kind));
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
