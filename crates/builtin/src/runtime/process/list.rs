//! The jobs of a session.

use haft_contract::{JobStatus, ToolContext, ToolError, ToolOutput};
use haft_text::display;
use serde_json::{Value, json};

use crate::command::job_text::{details, running_time, with_remarks};

/// How many are shown; there are rarely more than a few.
const SHOWN: usize = 100;
/// Characters of a derived name.
const NAME: usize = 48;

/// All jobs, newest first.
pub(super) fn list_jobs(cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let now = cx.clock().now();
    let mut jobs: Vec<JobStatus> = cx.process().jobs()?;
    jobs.reverse();
    let facts: Vec<Value> = jobs.iter().take(SHOWN).map(|job| facts_of(job, details(job, now))).collect();
    let rows: Vec<[String; 4]> = jobs
        .iter()
        .zip(&facts)
        .map(|(job, facts)| {
            [job.id.clone(), facts["status"].as_str().unwrap_or_default().to_owned(), running_time(job, now), name(&job.command)]
        })
        .collect();
    let text = if rows.is_empty() { "There are no jobs in this session.".to_owned() } else { aligned(&rows) };
    let older = jobs.len().checked_sub(SHOWN + 1).map(|more| format!("{} older ones are not shown.", more + 1));
    Ok(ToolOutput::text(with_remarks(text, older.as_slice())).with_details(json!({"jobs": facts})))
}

fn facts_of(job: &JobStatus, mut facts: Value) -> Value {
    facts["command"] = job.command.as_str().into();
    facts["name"] = name(&job.command).into();
    facts
}

/// Columns as wide as their widest cell, except the last.
fn aligned(rows: &[[String; 4]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (id, state, time) = (width(0), width(1), width(2));
    let line = |row: &[String; 4]| format!("{:id$}  {:state$}  {:time$}  {}", row[0], row[1], row[2], row[3]);
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The name of a command in a list: its program and first argument.
fn name(line: &str) -> String {
    let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains(['-', '/']));
    let mut words = line.split_whitespace().skip_while(is_assignment);
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or(program);
    let about = words.find(|word| !word.starts_with('-')).map(|word| format!(" {word}")).unwrap_or_default();
    display::shorten(&format!("{program}{about}"), NAME).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_called_by_its_program_and_what_it_is_about() {
        for (line, called) in [
            ("npm run dev -- --port 1", "npm run"),
            ("PORT=1 /usr/bin/python3 -u -m server", "python3 server"),
            ("sleep", "sleep"),
            ("  ", ""),
            ("tail -f\u{1b}[2J a\u{1b}b", "tail a\\u{1b}b"),
        ] {
            assert_eq!(name(line), called);
        }
        assert_eq!(name(&format!("cat {}", "x".repeat(60))), format!("cat {}…", "x".repeat(44)));
    }
}
