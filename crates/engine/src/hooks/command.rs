//! A hook that is a command: JSON on its standard input, its word on standard output or in its exit code.
//!
//! Nothing that a model wrote gets into the command's words or its environment: it comes on standard input alone.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{BoxFuture, CommandSpec, Exec, ProcessOutput, ProcessRunner, ToolResult};
use haft_policy::catalog::Vocabulary;
use tokio_util::sync::CancellationToken;

use super::input::Input;
use super::matcher::Matcher;
use super::{Before, Hook, HookCall, HookEvent, OnFailure, Persist, in_short, reply};

/// How much a command may print: enough to rewrite the largest call that anybody makes.
const OUTPUT_LIMIT: usize = 64 << 20;
/// How long the runner may take to end a command whose time is up; past that, it is dropped, which ends it at once.
const ENDING: Duration = Duration::from_secs(5);
/// The exit code of a command that blocks.
const BLOCKED: i32 = 2;
pub(super) const NO_REASON: &str = "it gave no reason";

/// A command hook, as a person configures it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHookSpec {
    /// What it is called in messages.
    pub name: String,
    /// When it runs.
    pub event: HookEvent,
    /// Names, aliases and patterns of tools, `group:…`, `effect:…`; none at all means every tool.
    pub matches: Vec<String>,
    /// What the shell runs.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// What follows when it cannot run.
    pub on_failure: OnFailure,
    /// Those with a higher number run first.
    pub priority: i64,
    /// The folder it runs in: the workspace.
    pub directory: PathBuf,
}

/// A hook that runs a command with `/bin/sh`, once for each call that it is about.
///
/// Exit code 0 means as its output says, 2 blocks with standard error as the reason, and anything else (another code, a
/// signal, a timeout, output that is not understood) means that the hook could not run.
pub struct CommandHook {
    spec: CommandHookSpec,
    matcher: Matcher,
    runner: Arc<dyn ProcessRunner>,
}

impl std::fmt::Debug for CommandHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandHook").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// What a command said.
enum Said {
    /// This, on standard output.
    Reply(Vec<u8>),
    /// No, for this reason.
    Blocked(String),
}

impl CommandHook {
    /// Makes a hook of a command. `groups` are the person's own groups of tools: their names without `group:`, and what is
    /// in them. Fails if an entry of `matches` names an effect that does not exist.
    pub fn new(
        spec: CommandHookSpec,
        runner: Arc<dyn ProcessRunner>,
        vocabulary: &Vocabulary,
        groups: &[(String, Vec<String>)],
    ) -> Result<Self, String> {
        let matcher = Matcher::new(&spec.matches, groups, vocabulary)?;
        Ok(Self { spec, matcher, runner })
    }

    async fn ask(&self, input: Input<'_>) -> Result<Said, String> {
        let input = input.to_json()?;
        let output = self.runner.run(self.process(input), CancellationToken::new()).await;
        self.said(output.map_err(|error| error.message().trim_end_matches('.').to_owned())?)
    }

    fn process(&self, input: Vec<u8>) -> CommandSpec {
        CommandSpec {
            exec: Exec::new("/bin/sh", vec!["-c".to_owned(), self.spec.command.clone()], self.spec.directory.clone()),
            environment: Vec::new(),
            input: Some(input),
            output_limit: OUTPUT_LIMIT,
            timeout: self.spec.timeout,
        }
    }

    fn said(&self, output: ProcessOutput) -> Result<Said, String> {
        let words = in_short(&String::from_utf8_lossy(&output.stderr));
        let how = match output {
            ProcessOutput { timed_out: true, .. } => return Err(format!("it took longer than {} s", self.spec.timeout.as_secs_f64())),
            ProcessOutput { code: Some(0), truncated: true, stdout, .. } if stdout.len() >= OUTPUT_LIMIT => {
                return Err(format!("it printed more than {} MB", OUTPUT_LIMIT >> 20));
            }
            ProcessOutput { code: Some(0), stdout, .. } => return Ok(Said::Reply(stdout)),
            ProcessOutput { code: Some(BLOCKED), .. } => {
                return Ok(Said::Blocked(if words.is_empty() { NO_REASON.to_owned() } else { words }));
            }
            ProcessOutput { code: Some(code), .. } => format!("it ended with exit code {code}"),
            ProcessOutput { signal: Some(signal), .. } => format!("signal {signal} ended it"),
            ProcessOutput { .. } => "it ended in an unknown way".to_owned(),
        };
        Err(if words.is_empty() { how } else { format!("{how}: {words}") })
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.spec.name
    }
    fn priority(&self) -> i64 {
        self.spec.priority
    }
    fn time_limit(&self) -> Option<Duration> {
        Some(self.spec.timeout.saturating_add(ENDING))
    }
    fn on_failure(&self, _event: HookEvent) -> OnFailure {
        self.spec.on_failure
    }
    fn needs_effects(&self) -> bool {
        self.spec.event == HookEvent::BeforeToolCall && self.matcher.needs_effects()
    }
    fn wants(&self, call: &HookCall<'_>, event: HookEvent) -> bool {
        event == self.spec.event && self.matcher.speaks_of(call)
    }
    fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<Before, String>> {
        Box::pin(async move {
            match self.ask(Input::before(&call)).await? {
                Said::Reply(stdout) => reply::before(&stdout, call.arguments),
                Said::Blocked(reason) => Ok(Before::Block(reason)),
            }
        })
    }
    fn after<'a>(&'a self, call: HookCall<'a>, result: &'a ToolResult) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            match self.ask(Input::after(&call, result)).await? {
                Said::Reply(stdout) => reply::after(&stdout),
                Said::Blocked(reason) => Err(reply::too_late(&reason)),
            }
        })
    }
    fn persist<'a>(&'a self, call: HookCall<'a>, stored: &'a str) -> BoxFuture<'a, Result<Persist, String>> {
        Box::pin(async move {
            match self.ask(Input::persist(&call, stored)).await? {
                Said::Reply(stdout) => reply::persist(&stdout),
                Said::Blocked(reason) => Ok(Persist::Withhold(reason)),
            }
        })
    }
}
