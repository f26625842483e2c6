//! Why a command ended without its result, and with which exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use haft_config::SaveError;
use haft_contract::ToolError;
use haft_engine::UndoError;
use haft_store::StoreError;
use serde_json::{Map, Value, json};

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It worked.
    Success,
    /// The tool failed, or what was asked for is not there.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// The person stopped it.
    Interrupted,
    /// Another program stopped it.
    Terminated,
    /// Its terminal went away.
    HungUp,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            // As shells say it: 128 and the number of the signal.
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

/// Why a command ended without its result. Behind one box, so that a `Result` stays small.
#[derive(Debug)]
pub(crate) struct Failure(Box<Reason>);

/// What there is to say about it.
#[derive(Debug)]
pub(crate) struct Reason {
    pub(crate) exit: Exit,
    /// The `error_type` in JSON.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// Text that is shown in place of the message, because it says more.
    pub(crate) report: Option<String>,
    /// More for programs.
    pub(crate) facts: Map<String, Value>,
}

impl Failure {
    fn new(exit: Exit, kind: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Reason { exit, kind, message: message.into(), help: None, report: None, facts: Map::new() }))
    }
    /// The command was given something it does not take.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage_error", message)
    }
    /// A word of the command line is not UTF-8, where text is needed.
    fn not_text() -> Self {
        let is_path = |before: Option<&OsString>| before.is_some_and(|word| word == "--workspace" || word == "--config");
        let words: Vec<OsString> = std::env::args_os().collect();
        let wrong = (1..words.len()).find(|place| words[*place].to_str().is_none() && !is_path(words.get(place - 1)));
        let which =
            wrong.map_or_else(|| "an argument".to_owned(), |place| format!("argument {place} ('{}')", words[place].to_string_lossy()));
        Self::usage(format!("{which} is not UTF-8")).help("names and arguments are UTF-8 text; JSON can spell any character as \\uXXXX")
    }
    /// The configuration or the environment cannot be used.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "config_error", message)
    }
    /// It was tried and did not work.
    pub(crate) fn failed(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, kind, message)
    }
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }
    pub(crate) fn report(mut self, report: String) -> Self {
        self.0.report = Some(report);
        self
    }
    pub(crate) fn fact(mut self, name: &str, value: Value) -> Self {
        self.0.facts.insert(name.to_owned(), value);
        self
    }
    /// As a program reads it.
    pub(crate) fn to_json(&self) -> Value {
        let mut object = json!({ "status": "error", "error_type": self.kind, "message": self.message });
        if let Value::Object(map) = &mut object {
            map.extend(self.help.iter().map(|help| ("help".to_owned(), json!(help))));
            map.extend(self.facts.clone());
        }
        object
    }
}

impl std::ops::Deref for Failure {
    type Target = Reason;
    fn deref(&self) -> &Reason {
        &self.0
    }
}

impl From<clap::Error> for Failure {
    /// Help that was asked for comes this way too, as it does from the parser; it ends well.
    fn from(error: clap::Error) -> Self {
        if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
            return Self::not_text();
        }
        let text = error.render();
        let plain = text.to_string();
        // All of what is wrong, such as every argument that is missing; how to use it comes behind an empty line.
        let first = plain.split("\n\n").next().unwrap_or_default().trim().trim_start_matches("error: ");
        let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
        Self::new(exit, "usage_error", first).report(text.ansi().to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::Newer { .. } | StoreError::Untrusted { .. } => Exit::Usage,
            _ => Exit::Failed,
        };
        Self::new(exit, "store_error", error.to_string())
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        Self::config(error.to_string())
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

/// What the person can change to get another answer, and where, if the decision says so.
pub(crate) fn to_change(details: Option<&Value>) -> Option<String> {
    details?["to_change"].as_str().map(str::to_owned)
}
