//! Why a command failed, and its exit code.

use std::process::ExitCode;

use haft_contract::ToolError;
use haft_engine::UndoError;
use haft_store::StoreError;
use serde_json::{Map, Value, json};

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// The tool failed, or the named thing does not exist.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// SIGHUP.
    HungUp,
}

impl Exit {
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            // As in a shell: 128 plus the number of the signal.
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command failed. Boxed, so that a `Result` stays small.
#[derive(Debug)]
pub struct Failure(Box<FailureDetails>);

/// The parts of a failure.
#[derive(Debug)]
pub struct FailureDetails {
    pub exit: Exit,
    /// The `error_type` in JSON.
    pub kind: &'static str,
    pub message: String,
    pub help: Option<String>,
    /// Longer text, printed in place of the message.
    pub report: Option<String>,
    /// More fields of the JSON.
    pub facts: Map<String, Value>,
}

impl Failure {
    pub fn new(exit: Exit, kind: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(FailureDetails { exit, kind, message: message.into(), help: None, report: None, facts: Map::new() }))
    }
    /// Wrong arguments.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage_error", message)
    }
    /// Invalid configuration or environment.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "config_error", message)
    }
    /// The command ran and failed.
    pub fn failed(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, kind, message)
    }
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }
    pub fn report(mut self, report: String) -> Self {
        self.0.report = Some(report);
        self
    }
    pub fn fact(mut self, name: &str, value: Value) -> Self {
        self.0.facts.insert(name.to_owned(), value);
        self
    }
    /// The failure as JSON.
    pub fn to_json(&self) -> Value {
        let mut object = json!({ "status": "error", "error_type": self.kind, "message": self.message });
        if let Value::Object(map) = &mut object {
            map.extend(self.help.iter().map(|help| ("help".to_owned(), json!(help))));
            map.extend(self.facts.clone());
        }
        object
    }
}

impl std::ops::Deref for Failure {
    type Target = FailureDetails;
    fn deref(&self) -> &FailureDetails {
        &self.0
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::Newer { .. } | StoreError::Untrusted { .. } | StoreError::WrongAddress(_) => Exit::Usage,
            _ => Exit::Failed,
        };
        Self::new(exit, "store_error", error.to_string())
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        let failure = Self::failed(error.kind().as_str(), error.message());
        match to_change(error.details()) {
            Some(change) => failure.help(change),
            None => failure,
        }
    }
}

impl From<UndoError> for Failure {
    fn from(error: UndoError) -> Self {
        match error {
            UndoError::Store(error) => error.into(),
            UndoError::File(error) => error.into(),
            UndoError::Changed(ref files) | UndoError::ChangedElsewhere(ref files) => {
                let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
                Self::failed("not_undone", error.to_string()).fact("files", json!(files))
            }
            other => Self::failed("not_undone", other.to_string()),
        }
    }
}

/// The setting that the user can change for another decision, if it is known.
pub fn to_change(details: Option<&Value>) -> Option<String> {
    details?["to_change"].as_str().map(str::to_owned)
}
