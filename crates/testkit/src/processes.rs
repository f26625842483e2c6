//! Programs that are recorded instead of started.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use haft_contract::{
    BoxFuture, CodeInput, CommandLimits, CommandRequest, CommandSpec, Effect, ErrorKind, Exec, ExecHost, HelperLimits, HelperOutput,
    InterpreterSpec, Job, JobOptions, JobStatus, ProcessOutput, ShellCommand, ToolError,
    ports::{EgressGate, ProcessRunner},
};
use tokio_util::sync::CancellationToken;

use crate::jobs::{self, ScriptedJobCore};
use crate::sync::lock;
use crate::{FakeFiles, Script, StartedCommand};

/// A scripted helper process: its name, input and limits to its output.
type Helper = Box<dyn Fn(&'static str, Vec<u8>, HelperLimits) -> HelperOutput + Send + Sync>;

/// Records programs instead of starting them. Each program gets the next scripted output, each command the next script.
#[derive(Default)]
pub struct FakeProcesses {
    outputs: Mutex<VecDeque<ProcessOutput>>,
    started: Mutex<Vec<CommandSpec>>,
    scripts: Mutex<VecDeque<Script>>,
    planned: Mutex<Vec<CommandRequest>>,
    refusal: Mutex<Option<(ErrorKind, String)>>,
    exec_host: Mutex<Option<ExecHost>>,
    lines: Mutex<Vec<Arc<ScriptedJobCore>>>,
    kept: Mutex<Vec<Arc<dyn Job>>>,
    helper: Mutex<Option<Helper>>,
    waits: AtomicBool,
    ended: Mutex<Vec<JobStatus>>,
    gates: Mutex<Vec<Arc<dyn EgressGate>>>,
}

impl std::fmt::Debug for FakeProcesses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeProcesses").field("started", &self.started).field("lines", &self.lines()).finish_non_exhaustive()
    }
}

impl FakeProcesses {
    /// Scripts the output of the next program that has none yet.
    pub fn answer(&self, output: ProcessOutput) {
        lock(&self.outputs).push_back(output);
    }
    /// Scripts a success with this standard output.
    pub fn answer_with(&self, stdout: impl Into<Vec<u8>>) {
        self.answer(ProcessOutput {
            code: Some(0),
            signal: None,
            stdout: stdout.into(),
            stderr: Vec::new(),
            truncated: false,
            timed_out: false,
        });
    }
    /// What was started so far.
    pub fn started(&self) -> Vec<CommandSpec> {
        lock(&self.started).clone()
    }
    /// Does the work of helpers in this process; without it there are none.
    pub fn help_with(&self, helper: impl Fn(&'static str, Vec<u8>, HelperLimits) -> HelperOutput + Send + Sync + 'static) {
        *lock(&self.helper) = Some(Box::new(helper));
    }
    /// Scripts the next line of shell that has none yet.
    pub fn script(&self, script: Script) {
        lock(&self.scripts).push_back(script);
    }
    /// Refuses to plan lines from now on.
    pub fn refuse_commands(&self, kind: ErrorKind, message: impl Into<String>) {
        *lock(&self.refusal) = Some((kind, message.into()));
    }
    /// Where lines run that do not say; a sandbox, unless it is set.
    pub fn set_exec_host(&self, host: ExecHost) {
        *lock(&self.exec_host) = Some(host);
    }
    /// Lines are waited for to their end from now on.
    pub fn wait_for_exit_by_default(&self) {
        self.waits.store(true, Ordering::Relaxed);
    }
    /// A job has ended, and its session is to hear of it.
    pub fn notice(&self, job: JobStatus) {
        lock(&self.ended).push(job);
    }
    /// The lines that were planned so far.
    pub fn planned(&self) -> Vec<CommandRequest> {
        lock(&self.planned).clone()
    }
    /// Takes the gates that decide on connections of the lines that were started since the last time.
    pub fn take_egress_gates(&self) -> Vec<Arc<dyn EgressGate>> {
        std::mem::take(&mut lock(&self.gates))
    }
    /// The lines that were started so far, and what became of them.
    pub fn lines(&self) -> Vec<StartedCommand> {
        lock(&self.lines).iter().map(|core| core.record()).collect()
    }
}

/// What is said to run: every program that is asked for is installed here.
fn started(request: &CommandRequest, directory: PathBuf) -> Exec {
    let code = || request.command.clone();
    match &request.interpreter {
        None => Exec::new("/bin/sh", vec!["-c".into(), code()], directory),
        Some(InterpreterSpec { names, arguments, code_input, .. }) => {
            let code = (*code_input == CodeInput::Argument).then(code);
            Exec::new(format!("/usr/bin/{}", names[0]), arguments.iter().cloned().chain(code).collect(), directory)
        }
    }
}

impl ProcessRunner for FakeProcesses {
    fn run(&self, command: CommandSpec, cancel: CancellationToken) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(ToolError::new(ErrorKind::Cancelled, "cancelled before the program was started"));
            }
            let program = command.exec.program.display().to_string();
            lock(&self.started).push(command);
            lock(&self.outputs).pop_front().ok_or_else(|| ToolError::execution(format!("no output was scripted for '{program}'")))
        })
    }

    fn run_helper(
        &self,
        stage: &'static str,
        input: Vec<u8>,
        limits: HelperLimits,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<HelperOutput, ToolError>> {
        let output = lock(&self.helper).as_ref().map(|helper| helper(stage, input, limits));
        let none = || ToolError::new(ErrorKind::SandboxUnavailable, "This host starts no helpers.");
        Box::pin(std::future::ready(output.ok_or_else(none)))
    }

    fn plan(&self, request: &CommandRequest) -> Result<ShellCommand, ToolError> {
        if let Some((kind, message)) = lock(&self.refusal).clone() {
            return Err(ToolError::new(kind, message));
        }
        lock(&self.planned).push(request.clone());
        let directory = FakeFiles::WORKSPACE.as_ref();
        let directory = request.directory.as_ref().map_or_else(|| std::path::Path::to_owned(directory), |given| directory.join(given));
        let mut shell = started(request, directory);
        shell.host = request.host.or(*lock(&self.exec_host)).unwrap_or(ExecHost::Sandbox);
        let script = lock(&self.scripts).front().cloned();
        shell.nature = script.as_ref().map(|script| script.nature).unwrap_or_default();
        shell.read_only_view = request.read_only && shell.host.is_sandboxed();
        let (notes, hints) = script.map(|script| (script.notes, script.hints)).unwrap_or_default();
        let read_only = shell.read_only_view;
        let effects = vec![Effect::Exec(shell.clone())];
        let limits = if shell.host.is_sandboxed() { request.limits } else { CommandLimits::default() };
        let line = ShellCommand::new(shell, &request.command, effects).with_environment(request.environment.clone());
        let line = line.with_notes(notes).with_hints(hints).with_limits(limits);
        Ok(if read_only { line.with_read_only_view() } else { line })
    }

    fn start<'a>(&'a self, line: &'a ShellCommand, options: JobOptions) -> BoxFuture<'a, Result<Arc<dyn Job>, ToolError>> {
        Box::pin(async move {
            let script = lock(&self.scripts).pop_front();
            let script = script.ok_or_else(|| ToolError::execution(format!("no script was given for '{}'", line.text())))?;
            lock(&self.gates).extend(options.egress.clone());
            let mut lines = lock(&self.lines);
            let (job, core) = jobs::start(line, options, script, lines.len() + 1);
            lines.push(core);
            Ok(job)
        })
    }

    fn keep(&self, job: Arc<dyn Job>) -> BoxFuture<'_, Arc<dyn Job>> {
        lock(&self.kept).push(Arc::clone(&job));
        Box::pin(std::future::ready(job))
    }

    fn end_notices(&self, session: &str) -> Vec<JobStatus> {
        lock(&self.ended).extract_if(.., |job| job.session == session).collect()
    }

    fn waits_for_exit(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    fn jobs(&self, session: &str) -> Vec<Arc<dyn Job>> {
        lock(&self.kept).iter().filter(|job| job.status().session == session).cloned().collect()
    }

    fn forget<'a>(&'a self, session: &'a str, id: &'a str) -> BoxFuture<'a, ()> {
        lock(&self.kept).retain(|job| {
            let status = job.status();
            (status.session.as_str(), status.id.as_str()) != (session, id)
        });
        Box::pin(std::future::ready(()))
    }
}
