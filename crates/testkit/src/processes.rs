//! Programs that are written down instead of started.

use std::collections::VecDeque;
use std::sync::Mutex;

use haft_contract::{BoxFuture, CommandSpec, ErrorKind, ProcessOutput, ProcessRunner, ToolError};
use tokio_util::sync::CancellationToken;

use crate::sync::lock;

/// Programs that are written down instead of started; each takes the next scripted output.
#[derive(Debug, Default)]
pub struct FakeProcesses {
    outputs: Mutex<VecDeque<ProcessOutput>>,
    started: Mutex<Vec<CommandSpec>>,
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
}
