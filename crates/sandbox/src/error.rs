use std::io;
use std::path::{Path, PathBuf};

/// Why a command could not be confined; it was not run either.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The backend does not work on this machine.
    #[error("the sandbox '{backend}' cannot be used here: {why}; {remedy}")]
    Unavailable {
        /// Name of the backend.
        backend: &'static str,
        /// What is missing.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// The backend works, but cannot enforce this policy.
    #[error("the sandbox '{backend}' cannot enforce this policy: {why}; {remedy}")]
    Unsupported {
        /// Name of the backend.
        backend: &'static str,
        /// What it cannot enforce.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// The policy contradicts itself or the machine.
    #[error("invalid sandbox policy: {what}")]
    Policy {
        /// What is wrong, with its value, and what to do.
        what: String,
    },
    /// An I/O error while the sandbox was set up.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl SandboxError {
    pub(crate) fn unavailable(backend: &'static str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unavailable { backend, why: why.into(), remedy: remedy.into() }
    }

    pub(crate) fn unsupported(backend: &'static str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unsupported { backend, why: why.into(), remedy: remedy.into() }
    }

    pub(crate) fn policy(what: impl Into<String>) -> Self {
        Self::Policy { what: what.into() }
    }

    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
