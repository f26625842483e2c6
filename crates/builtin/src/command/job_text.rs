//! Descriptions of jobs, for exec and process.

use std::time::{Duration, SystemTime};

use haft_contract::{Dialect, JobEnd, JobStatus, SpillFile, ToolContext};
use haft_text::numbers;
use serde_json::{Value, json};

use super::excerpt::OutputExcerpt;
use super::exit::is_success;
use crate::files::read_file::continue_at;
use crate::runtime::process::FORMS;

/// The state of a job, for programs.
fn state(status: &JobStatus) -> &'static str {
    match &status.end {
        None => "running",
        Some(end) if is_success(end, &status.command) => "completed",
        Some(_) => "failed",
    }
}

/// How long a job ran, or has been running.
fn duration(status: &JobStatus, now: SystemTime) -> Duration {
    let end = status.end.as_ref().map_or(now, |end| end.at);
    end.duration_since(status.started).unwrap_or_default()
}

/// The same in words: coarse, so that repeated polls give equal results for the loop guard.
pub(crate) fn running_time(status: &JobStatus, now: SystemTime) -> String {
    match duration(status, now).as_secs() / 60 {
        0 => "less than a minute".into(),
        minutes @ 1..60 => format!("{minutes} min"),
        minutes => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// The facts of a job, for programs.
pub(crate) fn details(status: &JobStatus, now: SystemTime) -> Value {
    let end = status.end.as_ref();
    let mut details = json!({
        "status": state(status),
        "exit_code": end.and_then(|end| end.code),
        "signal": end.and_then(|end| end.signal),
        "timed_out": end.is_some_and(|end| end.timed_out),
        "duration_ms": milliseconds(duration(status, now)),
        "cwd": status.directory.to_string_lossy(),
        "pid": status.pid,
        "job": status.id,
        "sandbox": status.sandbox,
        "output_bytes": status.bytes,
        "spill": end.and_then(|end| end.spill.as_ref()).map(|spill| spill.path.to_string_lossy()),
    });
    if let Some(usage) = end.and_then(|end| end.usage) {
        details["usage"] = json!({
            "max_memory_bytes": usage.max_memory,
            "user_ms": milliseconds(usage.user),
            "system_ms": milliseconds(usage.system),
        });
    }
    details
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The name of the job parameter in a dialect.
pub(crate) fn job_parameter(dialect: Dialect) -> &'static str {
    let form = FORMS.iter().find(|form| form.dialect == dialect);
    form.and_then(|form| form.find_canonical("job")).map_or("job", |parameter| parameter.name)
}

/// A note on the output that is left out, and where it is.
pub(crate) fn left_out(excerpt: &OutputExcerpt, end: Option<&JobEnd>, cx: &ToolContext) -> String {
    match end {
        None => format!("(… {} left out …)", numbers::size(excerpt.left_out)),
        Some(end) => kept_in(excerpt, end.spill.as_ref(), end.cut, cx),
    }
}

/// The same for a job that has ended: all output is in a file, if it could be written and was not cut.
pub(crate) fn kept_in(excerpt: &OutputExcerpt, spill: Option<&SpillFile>, cut: bool, cx: &ToolContext) -> String {
    let size = numbers::size(excerpt.left_out);
    let Some(spill) = spill else { return format!("(… {size} left out, and could not be kept …)") };
    let path = spill.path.display();
    // Output beyond the configured limit is not written.
    let kept = if cut { format!("The first {} of all", numbers::size(spill.bytes)) } else { "All of it".to_owned() };
    match excerpt.line {
        Some(line) => {
            let (reader, place) = continue_at(cx.dialect(), line);
            format!("(… {size} left out. {kept} is in '{path}': {reader} with {place} continues …)")
        }
        None => format!("(… {size} left out. {kept} is in '{path}' …)"),
    }
}

/// A text, and each remark below it in parentheses on a line of its own.
pub(crate) fn with_remarks(mut text: String, remarks: &[String]) -> String {
    for (place, remark) in remarks.iter().enumerate() {
        text.push_str(if place == 0 { "\n\n(" } else { "\n(" });
        text.push_str(remark);
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_stand_below_one_a_line() {
        assert_eq!(with_remarks("a".into(), &[]), "a");
        assert_eq!(with_remarks("a".into(), &["b.".into(), "c.".into()]), "a\n\n(b.)\n(c.)");
    }

    #[test]
    fn each_dialect_has_its_name_for_a_job() {
        assert_eq!(Dialect::ALL.iter().map(|dialect| job_parameter(*dialect)).collect::<Vec<_>>(), ["job", "job", "sessionId"]);
    }
}
