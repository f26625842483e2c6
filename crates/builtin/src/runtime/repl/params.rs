//! The parameters of a call.

use std::time::Duration;

use haft_contract::{CommandRequest, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::language::{Language, LanguageName};
use crate::command::limits::RequestedLimits;

const TIMEOUT_MS: u64 = 30_000;
/// Below the timeout of the tool.
const MOST_TIMEOUT_MS: u64 = 110_000;
/// Longer code belongs into a file.
const MOST_CODE: usize = 1024 * 1024;
const MOST_NAME: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The code; may be empty with 'reset'.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["source", "script"]))]
    pub(super) code: String,
    /// The language of the code.
    #[schemars(extend("x-aliases" = ["lang"]))]
    language: LanguageName,
    /// After how many milliseconds it is stopped, at most 110000. Defaults to 30000.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["timeout"]))]
    timeout_ms: Option<u64>,
    /// Start a new interpreter without any state first.
    reset: Option<bool>,
    /// One of several interpreters of this language, by a name of your choice. Defaults to one without a name.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["name", "session_name"]))]
    session: Option<String>,
    /// Memory limit of a new interpreter below the configured one, in megabytes; at least 16.
    #[schemars(extend("x-rare" = true))]
    memory_mb: Option<u64>,
    /// CPU time limit of a new interpreter below the configured one, in seconds.
    #[schemars(extend("x-rare" = true))]
    cpu_seconds: Option<u64>,
    /// Limit on processes and threads of a new interpreter below the configured one; at least 8.
    #[schemars(extend("x-rare" = true))]
    processes: Option<u64>,
}

impl Params {
    /// Refuses parameters that cannot work.
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

    pub(super) fn request(&self) -> CommandRequest {
        let (program, limits) = (Some(self.language().program()), self.limits().limits());
        CommandRequest { command: self.code.clone(), interpreter: program, limits, ..CommandRequest::default() }
    }
    pub(super) fn limits(&self) -> RequestedLimits {
        RequestedLimits { memory_mb: self.memory_mb, cpu_seconds: self.cpu_seconds, processes: self.processes }
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
