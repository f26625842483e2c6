//! Running a planned command: the call waits for a while, then the command continues in the background.

mod change_report;
mod direct_report;
mod follow;
mod protection_report;
mod report;
mod time;

use std::time::Duration;

use haft_contract::{Form, Job, JobHandle, JobOptions, ToolContext, ToolError, ToolOutput};

pub(crate) use self::change_report::{ChangeReport, counted, lost_changes_message};
pub(crate) use self::direct_report::{direct_details, undo_remarks};
use self::report::CommandReport;
pub(crate) use self::time::timeout;
use crate::runtime::exec::NamedShell;

/// Columns and rows of the terminal.
const TERMINAL: (u16, u16) = (120, 30);

/// How to run a command.
pub(crate) struct CommandRun<'a> {
    /// The command; its last program tells the meaning of an exit code.
    pub(crate) command: &'a str,
    /// Its purpose.
    pub(crate) description: Option<&'a str>,
    /// Its timeout.
    pub(crate) timeout: Option<Duration>,
    /// After how long it continues in the background, if the call sets it.
    pub(crate) yield_ms: Option<u64>,
    /// Whether the call does not wait at all, and the input stays open.
    pub(crate) background: bool,
    /// Whether it gets a terminal.
    pub(crate) terminal: bool,
    /// Parameters that were ignored.
    pub(crate) warnings: Vec<String>,
    /// The shell that remembers where it ends.
    pub(crate) shell: Option<NamedShell>,
    /// The forms of the tool, for parameter names.
    pub(crate) forms: &'static [Form],
}

impl CommandRun<'_> {
    /// Starts it, waits, and reports.
    pub(crate) async fn execute(self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (job, remarks) = self.started(cx).await?;
        let patience = time::patience(self.yield_ms, cx.process().waits_for_exit());
        let has_ended = if self.background { job.status().end.is_some() } else { follow::wait_for_end(&job, patience, cx).await? };
        let mut report = CommandReport::new(&self, cx);
        report.remarks.extend(remarks);
        if has_ended {
            report.follow_shell(&job);
            report.handle_changes(&job).await?;
            return report.ended(&job);
        }
        let (job, direct) = cx.process().keep(job).await?;
        report.set_direct(direct.as_ref());
        Ok(report.running(&job))
    }

    /// Starts the command, and notes what is missing. It also runs when the disk is full, since a command may be what frees it.
    async fn started(&self, cx: &ToolContext) -> Result<(JobHandle, Vec<String>), ToolError> {
        let mut remarks = Vec::new();
        let unspilled = |error: ToolError| remarks.push(format!("All of the output could not be kept: {}", error.message()));
        let options = JobOptions {
            timeout: self.timeout,
            terminal: self.terminal.then_some(TERMINAL),
            input: self.terminal || self.background,
            background: self.background,
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
