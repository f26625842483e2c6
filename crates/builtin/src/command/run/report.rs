//! The report on a command that has ended, or continues in the background.

use haft_contract::{
    ChangeMode, ChangeSet, DirectChanges, ErrorKind, Job, JobEnd, JobStatus, NetworkDecision, ToolContext, ToolError, ToolOutput, Trigger,
};
use haft_text::display;
use haft_text::numbers;
use serde_json::{Value, json};

use super::super::excerpt::{self, OutputExcerpt};
use super::super::exit::{ending, is_success, not_run};
use super::super::job_text::{self, job_parameter, left_out, with_remarks};
use super::CommandRun;
use super::change_report::{self, ChangeReport, lost_changes_message};
use super::direct_report::{direct_details, undo_remarks};
use super::protection_report;

/// How much output of a running command is shown, in bytes.
const TAIL: usize = 2_000;

/// The report on a job.
pub(super) struct CommandReport<'a> {
    run: &'a CommandRun<'a>,
    cx: &'a ToolContext,
    pub(super) remarks: Vec<String>,
    /// The description of its changes, and the details.
    changes: Option<(Option<String>, Value)>,
    triggers: Vec<Trigger>,
    network: Vec<NetworkDecision>,
    /// What was not applied, or taken back.
    refusals: Option<Value>,
    /// The current directory of its shell.
    directory: Option<String>,
}

/// How an end is reported.
enum EndVerdict {
    /// A result, with a remark if it is not a plain success.
    Done(Option<String>),
    /// A failure.
    Failed(ErrorKind, String),
}

impl<'a> CommandReport<'a> {
    pub(super) fn new(run: &'a CommandRun<'a>, cx: &'a ToolContext) -> Self {
        let notes = cx.plan().planned_command().map(|command| command.notes().to_vec()).unwrap_or_default();
        Self { run, cx, remarks: notes, changes: None, triggers: Vec::new(), network: Vec::new(), refusals: None, directory: None }
    }

    /// Tracks the directory of a named shell, and notes a change.
    pub(super) fn follow_shell(&mut self, job: &dyn Job) {
        let (Some(shell), Some(directory)) = (&self.run.shell, job.final_cwd()) else { return };
        shell.set_directory(&directory);
        let shown = display::escape_line(&directory.to_string_lossy()).into_owned();
        if directory != job.status().directory {
            self.remarks.push(format!("Shell '{}' is now in '{shown}'.", shell.name()));
        }
        self.directory = Some(shown);
    }

    /// Reports the changes of a command, and applies them if the call does.
    pub(super) async fn handle_changes(&mut self, job: &dyn Job) -> Result<(), ToolError> {
        let Some(effects) = job.run_effects() else { return Ok(()) };
        self.triggers.clone_from(&effects.triggers);
        self.network.clone_from(&effects.network);
        self.remarks.extend(change_report::trigger_warnings(&effects.triggers));
        self.set_direct(effects.direct.as_ref());
        self.refusals = protection_report::details(&effects);
        self.remarks.extend(protection_report::remarks(&effects));
        let has_moved = effects.changes.is_some() && effects.git.as_ref().is_some_and(|git| !git.moved.is_empty());
        self.remarks.extend(has_moved.then(|| "Undo does not cover branches of repositories: undo a commit with Git.".to_owned()));
        let set = match &effects.changes {
            None => return Ok(()),
            Some(Err(why)) => return Err(ToolError::execution(lost_changes_message(why))),
            Some(Ok(set)) if set.changes.is_empty() => {
                let is_shown = self.change_mode() == ChangeMode::Review;
                let text = is_shown.then(|| "It changed nothing.".to_owned());
                self.changes = Some((text, json!({"id": null, "applied": false, "files": []})));
                return Ok(());
            }
            Some(Ok(set)) => set,
        };
        let report = ChangeReport::new(set, self.cx).await;
        let is_applied = self.applies(job);
        let text = if is_applied {
            let applied = self.cx.process().apply(set).await.map_err(|error| not_applied(&error, set, job))?;
            self.remarks.extend(change_report::refused_changes(set, &applied.refused));
            self.remarks.extend(change_report::repository_remarks(&applied));
            report.applied(&applied.refused)
        } else {
            Some(not_applied_note(&report, set))
        };
        self.changes = Some((text, report.details(is_applied)));
        Ok(())
    }

    /// Lists what the command changed directly, and notes what undo does not cover.
    pub(super) fn set_direct(&mut self, direct: Option<&DirectChanges>) {
        if let Some(direct) = direct {
            self.remarks.extend(undo_remarks(direct));
            self.changes = Some((None, direct_details(direct)));
        }
    }

    fn change_mode(&self) -> ChangeMode {
        self.cx.plan().planned_command().map(haft_contract::ShellCommand::change_mode).unwrap_or_default()
    }

    /// Whether its changes are applied with the call: not if the command was interrupted, or did not run.
    fn applies(&self, job: &dyn Job) -> bool {
        self.change_mode() == ChangeMode::Staged && job.status().end.is_none_or(|end| end.has_completed())
    }

    /// The report on a command that has ended.
    pub(super) fn ended(mut self, job: &dyn Job) -> Result<ToolOutput, ToolError> {
        let (status, excerpt) = (job.status(), OutputExcerpt::from_job(job, 0));
        self.remarks.splice(0..0, excerpt.notes());
        let output = match excerpt.text(&left_out(&excerpt, status.end.as_ref(), self.cx)) {
            empty if empty.is_empty() => "(no output)".to_owned(),
            output => output,
        };
        let output = match &self.changes {
            Some((Some(changes), _)) => format!("{output}\n\n{changes}"),
            _ => output,
        };
        let details = self.details(&status);
        if status.end.as_ref().is_some_and(|end| end.code != Some(0)) {
            self.remarks.extend(self.cx.plan().planned_command().map(|command| command.hints().to_vec()).unwrap_or_default());
        }
        match self.verdict(status.end.as_ref()) {
            EndVerdict::Done(None) => Ok(ToolOutput::text(with_remarks(output, &self.remarks)).with_details(details)),
            EndVerdict::Done(Some(remark)) => {
                Ok(ToolOutput::text(with_remarks(format!("{output}\n\n{remark}"), &self.remarks)).with_details(details))
            }
            // The failure comes first: the output may be long.
            EndVerdict::Failed(kind, why) => {
                Err(ToolError::new(kind, with_remarks(format!("{why}\n\n{output}"), &self.remarks)).with_details(details))
            }
        }
    }

    fn verdict(&self, end: Option<&JobEnd>) -> EndVerdict {
        let Some(end) = end else { return EndVerdict::Done(None) };
        if let Some(why) = not_run(end) {
            return EndVerdict::Failed(ErrorKind::SandboxUnavailable, format!("{why}. Its output:"));
        }
        match end.code {
            _ if end.timed_out => EndVerdict::Failed(ErrorKind::Timeout, self.timed_out()),
            _ if end.killed => EndVerdict::Failed(ErrorKind::Cancelled, "The command was ended before it was done. It had written:".into()),
            Some(0) => EndVerdict::Done(None),
            Some(126) => EndVerdict::Failed(
                ErrorKind::ExecutionError,
                "Exit code: 126. A program was found but cannot be run: it may not be executable ('chmod +x'), or the sandbox does not let it run."
                    .into(),
            ),
            Some(127) => EndVerdict::Failed(
                ErrorKind::ExecutionError,
                "Exit code: 127. A program was not found: check its name with 'command -v NAME', give its path, or install it.".into(),
            ),
            _ if is_success(end, self.run.command) => EndVerdict::Done(Some(ending(end, self.run.command))),
            _ => EndVerdict::Failed(ErrorKind::ExecutionError, ending(end, self.run.command)),
        }
    }

    fn timed_out(&self) -> String {
        let timeout = self.run.timeout.unwrap_or_default();
        let (seconds, longer) = (timeout.as_secs_f64(), self.cx.write_parameter("timeout", (timeout * 2).as_secs().max(1)));
        format!(
            "The command was ended after {seconds} s, its timeout. Give more time, such as {longer}, or put it into the background \
             ({}=true) and follow it with process. It had written:",
            self.background()
        )
    }

    /// The name of the parameter in the dialect.
    fn background(&self) -> &'static str {
        let form = self.run.forms.iter().find(|form| form.dialect == self.cx.dialect());
        form.and_then(|form| form.find_canonical("background")).map_or("background", |parameter| parameter.name)
    }

    /// The report on a command that continues in the background.
    pub(super) fn running(self, job: &dyn Job) -> ToolOutput {
        let status = job.status();
        let (id, parameter) = (&status.id, job_parameter(self.cx.dialect()));
        let pid = status.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
        let ended = match self.run.timeout {
            Some(timeout) => format!(" Its timeout is {} s.", timeout.as_secs_f64()),
            None => String::new(),
        };
        let written = match (status.bytes, excerpt::tail(job, TAIL)) {
            (0, _) => "It has written nothing yet.".to_owned(),
            (bytes, tail) if bytes <= TAIL as u64 => format!("It has written:\n\n{tail}"),
            (bytes, tail) => format!("It has written {}, of which this is the end:\n\n{tail}", numbers::size(bytes)),
        };
        let text = format!(
            "The command continues in the background as job '{id}'{pid}.{ended} Follow it with process: action=poll, {parameter}={id} \
             waits for more; log, write and kill are other actions. {written}"
        );
        let mut remarks = self.remarks.clone();
        remarks.extend(staged_remark(self.change_mode()).map(str::to_owned));
        ToolOutput::text(with_remarks(text, &remarks)).with_details(self.details(&status))
    }

    fn details(&self, status: &JobStatus) -> Value {
        let mut details = job_text::details(status, self.cx.clock().now());
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
        if let Some(refusals) = &self.refusals {
            details["refused"] = refusals.clone();
        }
        if !self.network.is_empty() {
            details["network"] = json!(self.network);
        }
        if !self.run.warnings.is_empty() {
            details["warnings"] = self.run.warnings.clone().into();
        }
        details
    }
}

/// What becomes of the changes of a job.
fn staged_remark(mode: ChangeMode) -> Option<&'static str> {
    match mode {
        ChangeMode::Direct => None,
        ChangeMode::Staged => Some(
            "Its changes are staged: other commands see them when it has ended and they are applied, and it does not see what others \
             change meanwhile. Start servers and watchers in the background from the beginning.",
        ),
        ChangeMode::Review => Some("Its changes are staged until it has ended; then poll says how to commit them."),
    }
}

fn not_applied_note(report: &ChangeReport<'_>, set: &ChangeSet) -> String {
    let how = match &set.refused {
        Some(why) => format!("It cannot be committed: {why}. Change less at once."),
        None => format!("To do exactly this, call exec with commit={} and nothing else.", set.id),
    };
    format!("Nothing was changed yet. It would change {}:\n\n{}\n\n{how}", report.counted(), report.text())
}

fn not_applied(error: &ToolError, set: &ChangeSet, job: &dyn Job) -> ToolError {
    let output = OutputExcerpt::from_job(job, 0).text("(…)");
    let message = format!("{} Its changes are kept: commit={} applies them. It had written:\n\n{output}", error.message(), set.id);
    ToolError::new(error.kind(), message)
}
