//! Running what was planned: the call waits for a while, then it goes on in the background.

mod changes;
mod follow;
mod report;
mod time;

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Form, Job, JobOptions, ToolContext, ToolError, ToolOutput};

pub(super) use self::changes::{Told, counted, lost};
use self::report::Report;
pub(super) use self::time::timeout;
use super::exec::Named;

/// Columns and rows of a terminal.
const TERMINAL: (u16, u16) = (120, 30);

/// How a call wants its line to be run.
pub(super) struct Run<'a> {
    /// The line, whose last program says what an exit code means.
    pub(super) line: &'a str,
    /// What it is for.
    pub(super) description: Option<&'a str>,
    /// When it is ended.
    pub(super) timeout: Option<Duration>,
    /// After how long it goes on in the background, if the call says so.
    pub(super) yield_ms: Option<u64>,
    /// Whether the call does not wait at all, and the input stays open.
    pub(super) background: bool,
    /// Whether it is given a terminal.
    pub(super) terminal: bool,
    /// What was asked for and is not done.
    pub(super) warnings: Vec<String>,
    /// The shell that remembers where it ends.
    pub(super) shell: Option<Named>,
    /// What dialects call the parameters of the tool.
    pub(super) forms: &'static [Form],
}

impl Run<'_> {
    /// Starts it, waits, and says what became of it.
    pub(super) async fn carried_out(self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (job, remarks) = self.started(cx).await?;
        let patience = time::patience(self.yield_ms, cx.process().waits());
        let has_ended = if self.background { job.status().end.is_some() } else { follow::to_its_end(&*job, patience, cx).await? };
        let mut report = Report::new(&self, cx);
        report.remarks.extend(remarks);
        if has_ended {
            report.follow_shell(&*job);
            report.look_at_changes(&*job).await?;
            return report.ended(&*job);
        }
        let job = cx.process().keep(job).await;
        Ok(report.running(&*job))
    }

    /// Starts the line, and says what it goes without. A full disk does not keep it from running, since running something may
    /// be what frees it.
    async fn started(&self, cx: &ToolContext) -> Result<(Arc<dyn Job>, Vec<String>), ToolError> {
        let mut remarks = Vec::new();
        let unspilled = |error: ToolError| remarks.push(format!("All of the output could not be kept: {}", error.message()));
        let options = JobOptions {
            timeout: self.timeout,
            terminal: self.terminal.then_some(TERMINAL),
            input: self.terminal || self.background,
            spill: cx.spills().create("txt").await.map_err(unspilled).ok(),
            ..JobOptions::default()
        };
        let job = cx.process().start(options).await?;
        if self.terminal && !job.has_terminal() {
            remarks.push("It was given no terminal, because there is none to give here.".to_owned());
        }
        Ok((job, remarks))
    }
}
