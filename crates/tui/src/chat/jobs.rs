//! Commands in the background: one line for each above the prompt, and `/jobs`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::ports::Host;
use haft_contract::{Job, JobStatus};
use haft_text::display;

use super::chat_session::ChatSession;
use super::editor::LiveLines;
use crate::failure::Failure;
use crate::output::{note, print};
use crate::table::{ColumnFit, Table, TableCell};
use crate::time::duration;

/// How many characters of a command and of its output a line shows.
const SHOWN_CHARACTERS: usize = 60;
/// How much of the end of the output is searched for its last line.
const TAIL_BYTES: usize = 4_096;
/// How many jobs have a line above the prompt.
const MOST_LINES: usize = 3;

/// A job with the last line of its output.
#[derive(Debug, Clone)]
pub(super) struct JobLine {
    pub(super) status: JobStatus,
    pub(super) last: String,
}

impl JobLine {
    fn new(job: &dyn Job) -> Self {
        let status = job.status();
        let (_, tail) = job.output(status.bytes.saturating_sub(TAIL_BYTES as u64), TAIL_BYTES);
        let text = String::from_utf8_lossy(&tail);
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        Self { last: display::shorten(last, SHOWN_CHARACTERS).into_owned(), status }
    }

    fn age(&self, now: SystemTime) -> String {
        let age = now.duration_since(self.status.started).unwrap_or_default();
        // Nobody counts the tenths of a job's seconds.
        match age.as_secs() {
            seconds @ 0..60 => format!("{seconds} s"),
            seconds => duration(Duration::from_secs(seconds)),
        }
    }

    /// `◐ job 'build-1' runs 12 s: cargo test · Compiling haft`.
    pub(super) fn line(&self, now: SystemTime) -> String {
        // The last line of the output says more than the end of a long command.
        let most = if self.last.is_empty() { SHOWN_CHARACTERS } else { SHOWN_CHARACTERS / 2 };
        let command = display::shorten(self.status.command.trim(), most);
        let last = if self.last.is_empty() { String::new() } else { format!(" · {}", self.last) };
        format!("◐ job '{}' runs {}: {command}{last}", display::escape_line(&self.status.id), self.age(now))
    }
}

/// All jobs as a table.
pub(super) fn table(jobs: &[JobLine], now: SystemTime) -> Table {
    let columns = [
        ("JOB", ColumnFit::Keep),
        ("STATE", ColumnFit::Keep),
        ("TIME", ColumnFit::Drop(1)),
        ("COMMAND", ColumnFit::Cut),
        ("LAST LINE", ColumnFit::Cut),
    ];
    let mut table = Table::new(&columns);
    for job in jobs {
        let state = job.status.end.as_ref().map_or_else(|| "runs".to_owned(), ToString::to_string);
        let cells = [job.status.id.as_str(), &state, &job.age(now), job.status.command.trim(), &job.last];
        table.row(cells.into_iter().map(TableCell::new).collect());
    }
    table
}

/// The jobs of a session.
fn jobs_of(host: &Arc<dyn Host>, session: &str) -> Vec<JobLine> {
    host.processes().jobs(session).iter().map(|job| JobLine::new(&**job)).collect()
}

/// A line for each job that runs.
fn running_lines(jobs: Vec<JobLine>) -> Vec<String> {
    let (running, now) = (jobs.into_iter().filter(|job| job.status.end.is_none()).collect::<Vec<_>>(), SystemTime::now());
    let mut lines: Vec<String> = running.iter().take(MOST_LINES).map(|job| job.line(now)).collect();
    if running.len() > MOST_LINES {
        lines.push(format!("{} more jobs run; /jobs lists them", running.len() - MOST_LINES));
    }
    lines
}

impl ChatSession<'_> {
    /// What is shown above the prompt while commands run in the background.
    pub(super) fn job_lines(&self) -> LiveLines {
        let session = &self.conversation.runner.session;
        let (host, id) = (Arc::clone(session.host()), session.id().to_owned());
        Arc::new(move || running_lines(jobs_of(&host, &id)))
    }

    /// Prints the commands in the background.
    pub(super) fn jobs(&self) -> Result<(), Failure> {
        let session = &self.conversation.runner.session;
        let jobs = jobs_of(session.host(), session.id());
        if jobs.is_empty() {
            note("no command runs in the background");
            return Ok(());
        }
        print(&table(&jobs, SystemTime::now()).render(self.output.width))
    }
}
