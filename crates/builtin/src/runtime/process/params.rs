//! The parameters of a call.

use std::time::Duration;

use haft_contract::{JobAccess, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest that a call waits for output.
const MOST_WAIT_MS: u64 = 120_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum JobAction {
    List,
    Poll,
    Log,
    Write,
    SendKeys,
    Submit,
    Paste,
    Kill,
    Clear,
    Remove,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The action.
    pub(super) action: JobAction,
    /// The job, by the name that exec gave it; for all but 'list'.
    #[schemars(extend("x-aliases" = ["session_id", "job_id", "id"]))]
    job: Option<String>,
    /// For 'write' and 'submit': the input.
    #[schemars(extend("x-verbatim" = true))]
    pub(super) data: Option<String>,
    /// For 'write': close its input after the data. Defaults to false.
    #[schemars(extend("x-rare" = true))]
    pub(super) eof: Option<bool>,
    /// For 'send-keys': keys by name, such as 'enter', 'up', 'C-c', 'F5'.
    pub(super) keys: Option<Vec<String>>,
    /// For 'send-keys': bytes in hexadecimal, such as '1b'; sent before the keys.
    #[schemars(extend("x-rare" = true))]
    pub(super) hex: Option<Vec<String>>,
    /// For 'send-keys': text to type as it is; sent first.
    #[schemars(extend("x-rare" = true, "x-verbatim" = true))]
    pub(super) literal: Option<String>,
    /// For 'paste': the text.
    #[schemars(extend("x-verbatim" = true))]
    pub(super) text: Option<String>,
    /// For 'paste': mark it as pasted, so that an editor does not indent it. Defaults to true where the job has a terminal.
    #[schemars(extend("x-rare" = true))]
    pub(super) bracketed: Option<bool>,
    /// For 'log': the first line, from 0. Defaults to the last lines.
    pub(super) offset: Option<usize>,
    /// For 'log': how many lines. Defaults to 200.
    #[schemars(extend("x-rare" = true))]
    pub(super) limit: Option<usize>,
    /// For 'poll': how long to wait for output, at most 120000. Defaults to 0.
    #[schemars(extend("x-aliases" = ["timeout"]))]
    timeout_ms: Option<u64>,
}

impl Params {
    /// Refuses parameters that are incomplete.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        let missing = |parameter: &str, what: &str| {
            let action = self.action.name();
            Err(ToolError::validation(format!("Parameter '{parameter}' is needed for '{action}': {what}.")))
        };
        let is_empty = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
        let no_keys = |keys: &Option<Vec<String>>| keys.as_ref().is_none_or(Vec::is_empty);
        match self.action {
            JobAction::List => Ok(()),
            _ if self.job.is_none() => missing("job", "the name that exec gave the job; 'list' shows them"),
            JobAction::Write if is_empty(&self.data) && self.eof != Some(true) => missing("data", "the input of the job, or eof=true"),
            JobAction::Paste if is_empty(&self.text) => missing("text", "the text to paste"),
            JobAction::SendKeys if no_keys(&self.keys) && no_keys(&self.hex) && is_empty(&self.literal) => {
                missing("keys", "such as ['C-c'] or ['down', 'enter']; or 'literal' or 'hex'")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn job(&self) -> Result<&str, ToolError> {
        self.check()?;
        Ok(self.job.as_deref().unwrap_or_default())
    }

    pub(super) fn patience(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.unwrap_or(0).min(MOST_WAIT_MS))
    }
}

impl JobAction {
    /// Whether it sends input to the job.
    pub(super) const fn is_input(self) -> bool {
        matches!(self, Self::Write | Self::SendKeys | Self::Submit | Self::Paste)
    }

    /// What it does with the job.
    pub(super) const fn access(self) -> JobAccess {
        match self {
            Self::List | Self::Poll | Self::Log => JobAccess::Read,
            Self::Write | Self::SendKeys | Self::Submit | Self::Paste => JobAccess::Write,
            Self::Kill | Self::Clear | Self::Remove => JobAccess::End,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Poll => "poll",
            Self::Log => "log",
            Self::Write => "write",
            Self::SendKeys => "send-keys",
            Self::Submit => "submit",
            Self::Paste => "paste",
            Self::Kill => "kill",
            Self::Clear => "clear",
            Self::Remove => "remove",
        }
    }
}
