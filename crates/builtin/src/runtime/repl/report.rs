//! What is said of a call.

use haft_contract::{ErrorKind, ToolContext, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::super::exit::ending;
use super::super::words::{kept_in, remarked};
use super::interpreter::{Answer, Ending};
use super::params::Params;
use super::stream::Outcome;

/// What a call comes to.
struct Said {
    status: &'static str,
    /// What stands below the output, or above it if it failed.
    words: Option<String>,
    failure: Option<ErrorKind>,
}

impl Said {
    const fn well(status: &'static str, words: Option<String>) -> Self {
        Self { status, words, failure: None }
    }
    const fn badly(status: &'static str, kind: ErrorKind, words: String) -> Self {
        Self { status, words: Some(words), failure: Some(kind) }
    }
}

/// What is to be said besides the answer.
pub(super) struct Besides {
    /// To the model.
    pub(super) remarks: Vec<String>,
    /// What was asked for and is not done.
    pub(super) warnings: Vec<String>,
}

pub(super) fn report(params: &Params, answer: &Answer, besides: Besides, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let Besides { mut remarks, warnings } = besides;
    let excerpt = answer.capture.kept.excerpt();
    remarks.splice(0..0, excerpt.notes());
    let is_cut = answer.spill.as_ref().is_some_and(|spill| spill.bytes < answer.capture.kept.total());
    let output = match excerpt.text(&kept_in(&excerpt, answer.spill.as_ref(), is_cut, cx)) {
        empty if empty.is_empty() => "(no output)".to_owned(),
        output => output,
    };
    let said = said(params, &answer.ending);
    let mut details = details(params, answer, said.status);
    if !warnings.is_empty() {
        details["warnings"] = warnings.into();
    }
    match (said.failure, said.words) {
        (None, None) => Ok(ToolOutput::text(remarked(output, &remarks)).with_details(details)),
        (None, Some(words)) => Ok(ToolOutput::text(remarked(format!("{output}\n\n{words}"), &remarks)).with_details(details)),
        (Some(kind), words) => {
            let text = format!("{}\n\n{output}", words.unwrap_or_default());
            Err(ToolError::new(kind, remarked(text, &remarks)).with_details(details))
        }
    }
}

fn said(params: &Params, end: &Ending) -> Said {
    let limit = params.timeout().as_millis();
    match end {
        Ending::Answered(Outcome::Done | Outcome::Code(0)) => Said::well("completed", None),
        Ending::Answered(Outcome::Code(code)) => Said::well("completed", Some(format!("Exit code: {code}"))),
        Ending::Answered(Outcome::Raised) => {
            Said::well("raised", Some("The code raised an exception. What it had set up until then is kept.".to_owned()))
        }
        Ending::Answered(Outcome::Interrupted) => Said::badly(
            "timed_out",
            ErrorKind::Timeout,
            format!("The code was interrupted after {limit} ms, its timeout. What it had set up until then is kept. It had written:"),
        ),
        Ending::TimedOut => Said::badly(
            "timed_out",
            ErrorKind::Timeout,
            format!(
                "The code did not stop after {limit} ms, its timeout, so its interpreter was ended, and everything in it is lost. The \
                 next call starts a new one. It had written:"
            ),
        ),
        Ending::Cancelled => Said::badly(
            "cancelled",
            ErrorKind::Cancelled,
            "The call was cancelled, and its interpreter ended: everything in it is lost. It had written:".to_owned(),
        ),
        Ending::Ended(end) => {
            let how = ending(end, "");
            let words = format!("The interpreter has ended, and everything in it is lost; the next call starts a new one. {how}.");
            match end.code {
                Some(0) => Said::well("ended", Some(words)),
                _ => Said::badly("ended", ErrorKind::ExecutionError, format!("{words} It had written:")),
            }
        }
    }
}

fn details(params: &Params, answer: &Answer, status: &str) -> Value {
    let code = match &answer.ending {
        Ending::Answered(Outcome::Code(code)) => Some(*code),
        Ending::Ended(end) => end.code,
        _ => None,
    };
    json!({
        "status": status,
        "language": params.language().as_str(),
        "session": params.name(),
        "value": answer.capture.value.as_ref().map(|value| String::from_utf8_lossy(value)),
        "exit_code": code,
        "duration_ms": u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX),
        "output_bytes": answer.capture.kept.total(),
        "spill": answer.spill.as_ref().map(|spill| spill.path.to_string_lossy()),
    })
}
