//! What is said of a line that ended, or goes on.

use haft_contract::{ChangeSet, Changes, ErrorKind, Job, JobEnd, JobStatus, ToolContext, ToolError, ToolOutput, Trigger, visible};
use serde_json::{Value, json};

use super::super::excerpt::{self, Excerpt};
use super::super::exit::{ending, not_run};
use super::super::words::{self as said, job_parameter, left_out, remarked};
use super::Run;
use super::changes::{self, Told, lost};
use crate::shared::words;

/// How much is shown of the output of what goes on, in bytes.
const TAIL: usize = 2_000;

/// Everything that a report needs besides the job.
pub(super) struct Report<'a> {
    run: &'a Run<'a>,
    cx: &'a ToolContext,
    pub(super) remarks: Vec<String>,
    /// What is said of its changes, and what programs are told of them.
    changes: Option<(String, Value)>,
    triggers: Vec<Trigger>,
    /// Where its shell is now.
    directory: Option<String>,
}

/// What an end comes to.
enum Verdict {
    /// A result, with something to say if it is not plainly good.
    Done(Option<String>),
    /// A failure.
    Failed(ErrorKind, String),
}

impl<'a> Report<'a> {
    pub(super) fn new(run: &'a Run<'a>, cx: &'a ToolContext) -> Self {
        let notes = cx.plan().planned_line().map(|line| line.notes().to_vec()).unwrap_or_default();
        Self { run, cx, remarks: notes, changes: None, triggers: Vec::new(), directory: None }
    }

    /// Has a named shell remember where the line ended, and says so where that is somewhere else.
    pub(super) fn follow_shell(&mut self, job: &dyn Job) {
        let (Some(shell), Some(directory)) = (&self.run.shell, job.left_in()) else { return };
        shell.moved(&directory);
        let shown = visible::line(&directory.to_string_lossy()).into_owned();
        if directory != job.status().directory {
            self.remarks.push(format!("Shell '{}' is now in '{shown}'.", shell.name()));
        }
        self.directory = Some(shown);
    }

    /// Looks at what a line has changed. Where that is to be applied with the call, it is now.
    pub(super) async fn look_at_changes(&mut self, job: &dyn Job) -> Result<(), ToolError> {
        let Some(aftermath) = job.aftermath() else { return Ok(()) };
        self.triggers.clone_from(&aftermath.triggers);
        self.remarks.extend(changes::warned(&aftermath.triggers));
        let set = match &aftermath.changes {
            None => return Ok(()),
            Some(Err(why)) => return Err(ToolError::execution(lost(why))),
            Some(Ok(set)) if set.changes.is_empty() => {
                self.changes = Some(("It changed nothing.".into(), json!({"id": null, "applied": false, "files": []})));
                return Ok(());
            }
            Some(Ok(set)) => set,
        };
        let told = Told::of(set, self.cx).await;
        let is_applied = self.applies(job);
        if is_applied {
            self.cx.process().apply(set).await.map_err(|error| not_applied(&error, set, job))?;
        }
        let text = if is_applied { format!("Changed {}.", told.counted()) } else { waiting(&told, set) };
        self.changes = Some((text, told.details(is_applied)));
        Ok(())
    }

    /// Whether its changes are applied with the call: not those of a line that did not come to its end.
    fn applies(&self, job: &dyn Job) -> bool {
        let is_undoable = self.cx.plan().planned_line().is_some_and(|line| line.changes() == Changes::Undo);
        is_undoable && matches!(self.verdict(job.status().end.as_ref()), Verdict::Done(_))
    }

    /// Of a line that has ended.
    pub(super) fn ended(mut self, job: &dyn Job) -> Result<ToolOutput, ToolError> {
        let (status, excerpt) = (job.status(), Excerpt::of(job, 0));
        self.remarks.splice(0..0, excerpt.notes());
        let output = match excerpt.text(&left_out(&excerpt, status.end.as_ref(), self.cx)) {
            empty if empty.is_empty() => "(no output)".to_owned(),
            output => output,
        };
        let output = match &self.changes {
            Some((said, _)) => format!("{output}\n\n{said}"),
            None => output,
        };
        let details = self.details(&status);
        match self.verdict(status.end.as_ref()) {
            Verdict::Done(None) => Ok(ToolOutput::text(remarked(output, &self.remarks)).with_details(details)),
            Verdict::Done(Some(said)) => Ok(ToolOutput::text(remarked(format!("{output}\n\n{said}"), &self.remarks)).with_details(details)),
            // What is wrong stands first: the output behind it may be long.
            Verdict::Failed(kind, why) => {
                Err(ToolError::new(kind, remarked(format!("{why}\n\n{output}"), &self.remarks)).with_details(details))
            }
        }
    }

    fn verdict(&self, end: Option<&JobEnd>) -> Verdict {
        let Some(end) = end else { return Verdict::Done(None) };
        if let Some(why) = not_run(end) {
            return Verdict::Failed(ErrorKind::SandboxUnavailable, format!("{why}. It said:"));
        }
        match end.code {
            _ if end.timed_out => Verdict::Failed(ErrorKind::Timeout, self.timed_out()),
            _ if end.killed => Verdict::Failed(ErrorKind::Cancelled, "The command was ended before it was done. It had written:".into()),
            Some(0) => Verdict::Done(None),
            Some(126) => Verdict::Failed(
                ErrorKind::ExecutionError,
                "Exit code: 126. A program was found but cannot be run: it may not be executable ('chmod +x'), or the walls keep it away."
                    .into(),
            ),
            Some(127) => Verdict::Failed(
                ErrorKind::ExecutionError,
                "Exit code: 127. A program was not found: check its name with 'command -v NAME', give its path, or install it.".into(),
            ),
            _ => Verdict::Done(Some(ending(end, self.run.line))),
        }
    }

    fn timed_out(&self) -> String {
        let timeout = self.run.timeout.unwrap_or_default();
        let (seconds, longer) = (timeout.as_secs_f64(), self.cx.written("timeout", (timeout * 2).as_secs().max(1)));
        format!(
            "The command was ended after {seconds} s, its timeout. Give more time, such as {longer}, or put it into the background \
             ({}=true) and follow it with process. It had written:",
            self.background()
        )
    }

    /// What the model calls the parameter.
    fn background(&self) -> &'static str {
        let form = self.run.forms.iter().find(|form| form.dialect == self.cx.dialect());
        form.and_then(|form| form.of("background")).map_or("background", |parameter| parameter.name)
    }

    /// Of a line that goes on in the background.
    pub(super) fn running(self, job: &dyn Job) -> ToolOutput {
        let status = job.status();
        let (id, parameter) = (&status.id, job_parameter(self.cx.dialect()));
        let pid = status.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
        let ended = match self.run.timeout {
            Some(timeout) => format!(" It is ended {} s after its start.", timeout.as_secs_f64()),
            None => String::new(),
        };
        let written = match (status.bytes, excerpt::tail(job, TAIL)) {
            (0, _) => "It has written nothing yet.".to_owned(),
            (bytes, tail) if bytes <= TAIL as u64 => format!("It has written:\n\n{tail}"),
            (bytes, tail) => format!("It has written {}, of which this is the end:\n\n{tail}", words::size(bytes)),
        };
        let text = format!(
            "The command goes on in the background as job '{id}'{pid}.{ended} Follow it with process: action=poll, {parameter}={id} \
             waits for more; log, write and kill are other actions. {written}"
        );
        let mut remarks = self.remarks.clone();
        if self.cx.plan().planned_line().is_some_and(|line| line.changes() != Changes::Direct) {
            remarks.push("What it changes is kept apart until it has ended; then poll says how to commit it.".into());
        }
        ToolOutput::text(remarked(text, &remarks)).with_details(self.details(&status))
    }

    fn details(&self, status: &JobStatus) -> Value {
        let mut details = said::details(status, self.cx.clock().now());
        if let Some(description) = self.run.description {
            details["description"] = description.into();
        }
        if let (Some(shell), Some(directory)) = (&self.run.shell, &self.directory) {
            details["shell"] = json!({"name": shell.name(), "directory": directory});
        }
        if let Some((_, changes)) = &self.changes {
            details["changes"] = changes.clone();
        }
        if !self.triggers.is_empty() {
            details["triggers"] = json!(self.triggers);
        }
        if !self.run.warnings.is_empty() {
            details["warnings"] = self.run.warnings.clone().into();
        }
        details
    }
}

fn waiting(told: &Told<'_>, set: &ChangeSet) -> String {
    let how = match &set.refused {
        Some(why) => format!("It cannot be committed: {why}. Change less at once."),
        None => format!("To do exactly this, call exec with commit={} and nothing else.", set.id),
    };
    format!("Nothing was changed yet. It would change {}:\n\n{}\n\n{how}", told.counted(), told.text())
}

fn not_applied(error: &ToolError, set: &ChangeSet, job: &dyn Job) -> ToolError {
    let output = Excerpt::of(job, 0).text("(…)");
    let message = format!("{} Its changes are kept: commit={} applies them. It had written:\n\n{output}", error.message(), set.id);
    ToolError::new(error.kind(), message)
}
