//! What is said of a call.

use haft_contract::{ErrorKind, ToolContext, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::interpreter::{CallEnd, CodeAnswer};
use super::params::Params;
use super::stream::CodeOutcome;
use crate::command::exit::ending;
use crate::command::job_text::{kept_in, with_remarks};
use crate::command::run::{direct_details, undo_remarks};

/// What a call comes to.
struct ReportText {
    status: &'static str,
    /// What stands below the output, or above it if it failed.
    words: Option<String>,
    failure: Option<ErrorKind>,
}

impl ReportText {
    const fn well(status: &'static str, words: Option<String>) -> Self {
        Self { status, words, failure: None }
    }
    const fn badly(status: &'static str, kind: ErrorKind, words: String) -> Self {
        Self { status, words: Some(words), failure: Some(kind) }
    }
}

/// What is to be said besides the answer.
pub(super) struct ReportNotes {
    /// To the model.
    pub(super) remarks: Vec<String>,
    /// What was asked for and is not done.
    pub(super) warnings: Vec<String>,
}

pub(super) fn report(params: &Params, answer: &CodeAnswer, besides: ReportNotes, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let ReportNotes { mut remarks, warnings } = besides;
    let excerpt = answer.output.buffer.excerpt();
    remarks.splice(0..0, excerpt.notes());
    let is_cut = answer.spill.as_ref().is_some_and(|spill| spill.bytes < answer.output.buffer.total());
    let output = match excerpt.text(&kept_in(&excerpt, answer.spill.as_ref(), is_cut, cx)) {
        empty if empty.is_empty() => "(no output)".to_owned(),
        output => output,
    };
    let text = describe(params, &answer.ending);
    let mut details = details(params, answer, text.status);
    if let Some(direct) = &answer.direct {
        remarks.extend(undo_remarks(direct));
        details["changes"] = direct_details(direct);
    }
    if !warnings.is_empty() {
        details["warnings"] = warnings.into();
    }
    match (text.failure, text.words) {
        (None, None) => Ok(ToolOutput::text(with_remarks(output, &remarks)).with_details(details)),
        (None, Some(words)) => Ok(ToolOutput::text(with_remarks(format!("{output}\n\n{words}"), &remarks)).with_details(details)),
        (Some(kind), words) => {
            let text = format!("{}\n\n{output}", words.unwrap_or_default());
            Err(ToolError::new(kind, with_remarks(text, &remarks)).with_details(details))
        }
    }
}

fn describe(params: &Params, end: &CallEnd) -> ReportText {
    let limit = params.timeout().as_millis();
    match end {
        CallEnd::Answered(CodeOutcome::Done | CodeOutcome::Code(0)) => ReportText::well("completed", None),
        CallEnd::Answered(CodeOutcome::Code(code)) => ReportText::well("completed", Some(format!("Exit code: {code}"))),
        CallEnd::Answered(CodeOutcome::Raised) => {
            ReportText::well("raised", Some("The code raised an exception. What it had set up until then is kept.".to_owned()))
        }
        CallEnd::Answered(CodeOutcome::Interrupted) => ReportText::badly(
            "timed_out",
            ErrorKind::Timeout,
            format!("The code was interrupted after {limit} ms, its timeout. What it had set up until then is kept. It had written:"),
        ),
        CallEnd::TimedOut => ReportText::badly(
            "timed_out",
            ErrorKind::Timeout,
            format!(
                "The code did not stop after {limit} ms, its timeout, so its interpreter was ended, and everything in it is lost. The \
                 next call starts a new one. It had written:"
            ),
        ),
        CallEnd::Cancelled => ReportText::badly(
            "cancelled",
            ErrorKind::Cancelled,
            "The call was cancelled, and its interpreter ended: everything in it is lost. It had written:".to_owned(),
        ),
        CallEnd::Ended(end) => {
            let how = ending(end, "");
            let words = format!("The interpreter has ended, and everything in it is lost; the next call starts a new one. {how}.");
            match end.code {
                Some(0) => ReportText::well("ended", Some(words)),
                _ => ReportText::badly("ended", ErrorKind::ExecutionError, format!("{words} It had written:")),
            }
        }
    }
}

fn details(params: &Params, answer: &CodeAnswer, status: &str) -> Value {
    let code = match &answer.ending {
        CallEnd::Answered(CodeOutcome::Code(code)) => Some(*code),
        CallEnd::Ended(end) => end.code,
        _ => None,
    };
    json!({
        "status": status,
        "language": params.language().as_str(),
        "session": params.name(),
        "value": answer.output.value.as_ref().map(|value| String::from_utf8_lossy(value)),
        "exit_code": code,
        "duration_ms": u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX),
        "output_bytes": answer.output.buffer.total(),
        "spill": answer.spill.as_ref().map(|spill| spill.path.to_string_lossy()),
    })
}
