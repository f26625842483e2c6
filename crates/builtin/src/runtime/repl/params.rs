//! What code is given with.

use std::time::Duration;

use haft_contract::{LineRequest, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::limits::Asked;
use super::language::{Language, Name};

const TIMEOUT_MS: u64 = 30_000;
/// Below the time of the whole call.
const MOST_TIMEOUT_MS: u64 = 110_000;
/// What is longer is a file.
const MOST_CODE: usize = 1024 * 1024;
const MOST_NAME: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The code to run. It may be empty if 'reset' is given.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["source", "script"]))]
    pub(super) code: String,
    /// The language that it is written in.
    #[schemars(extend("x-aliases" = ["lang"]))]
    language: Name,
    /// After how many milliseconds it is stopped, at most 110000. Defaults to 30000.
    #[schemars(extend("x-aliases" = ["timeout"]))]
    timeout_ms: Option<u64>,
    /// Forget everything first: start a new interpreter. Defaults to false.
    reset: Option<bool>,
    /// Which of several interpreters of this language, by a name of your choice. Defaults to one that has no name.
    #[schemars(extend("x-aliases" = ["name", "session_name"]))]
    session: Option<String>,
    /// Let a new interpreter use less memory than is configured, in megabytes; at least 16.
    memory_mb: Option<u64>,
    /// Let a new interpreter use less processor time than is configured, in seconds.
    cpu_seconds: Option<u64>,
    /// Let a new interpreter have fewer processes and threads at one time than is configured; at least 8.
    processes: Option<u64>,
}

impl Params {
    /// Says beforehand what is wrong with them.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        if self.code.trim().is_empty() && !self.resets() {
            return Err(ToolError::validation("Parameter 'code' is empty. Give the code to run, or reset=true to start afresh."));
        }
        if self.code.contains('\0') {
            return Err(ToolError::validation("Parameter 'code' has a NUL character, which no interpreter can read. Leave it out."));
        }
        if self.code.len() > MOST_CODE {
            let size = self.code.len();
            let advice = "Put it into a file with write_file, and run or import that";
            return Err(ToolError::validation(format!("Parameter 'code' has {size} bytes; {MOST_CODE} are the most. {advice}.")));
        }
        if self.timeout_ms == Some(0) {
            return Err(ToolError::validation("Parameter 'timeout_ms' must be more than 0. Leave it out for 30000."));
        }
        self.limits().check()?;
        if self.name().chars().count() > MOST_NAME {
            return Err(ToolError::validation(format!("Parameter 'session' is too long: {MOST_NAME} characters are the most.")));
        }
        Ok(())
    }

    pub(super) fn request(&self) -> LineRequest {
        let (program, limits) = (Some(self.language().program()), self.limits().limits());
        LineRequest { line: self.code.clone(), program, limits, ..LineRequest::default() }
    }
    pub(super) fn limits(&self) -> Asked {
        Asked { memory_mb: self.memory_mb, cpu_seconds: self.cpu_seconds, processes: self.processes }
    }
    pub(super) fn language(&self) -> Language {
        self.language.into()
    }
    pub(super) fn name(&self) -> &str {
        self.session.as_deref().unwrap_or_default().trim()
    }
    pub(super) fn resets(&self) -> bool {
        self.reset == Some(true)
    }
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.unwrap_or(TIMEOUT_MS).min(MOST_TIMEOUT_MS))
    }
}
