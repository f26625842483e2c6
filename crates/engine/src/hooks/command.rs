//! A hook that is a command: JSON on its standard input, its reply on standard output or in its exit code.
//!
//! Text that a model wrote reaches the command on standard input alone, never in its arguments or environment. A hook that fails is
//! not a refusal: its `on_failure` decides. Hooks of a project's file do not run before the user trusts that file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{BoxFuture, CommandSpec, Exec, ProcessOutput, ToolResult, ports::ProcessRunner};
use haft_policy::catalog::Vocabulary;
use tokio_util::sync::CancellationToken;

use super::input::HookInput;
use super::matcher::HookMatcher;
use super::{Hook, HookCall, HookDecision, HookEvent, OnFailure, PersistDecision, reply, shorten};

/// How much a command may print: enough to rewrite the largest call.
const OUTPUT_LIMIT: usize = 64 << 20;
/// How long the runner may take to end a command after its timeout; then it is dropped, which ends it at once.
const KILL_GRACE: Duration = Duration::from_secs(5);
/// The exit code of a command that blocks.
const BLOCKED: i32 = 2;
pub(super) const NO_REASON: &str = "it gave no reason";

/// A command hook as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHookSpec {
    /// Its name in messages.
    pub name: String,
    /// When it runs.
    pub event: HookEvent,
    /// Names, aliases and patterns of tools, `group:…`, `effect:…`; empty means every tool.
    pub matches: Vec<String>,
    /// The shell command.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// What follows when it cannot run.
    pub on_failure: OnFailure,
    /// Hooks with a higher number run first.
    pub priority: i64,
    /// Its working directory: the workspace.
    pub directory: PathBuf,
}

/// A hook that runs a command with `/bin/sh`, once for each call that it matches.
///
/// With exit code 0 its output decides, 2 blocks with standard error as the reason, and anything else (another code, a
/// signal, a timeout, output that is not understood) means that the hook could not run.
pub struct CommandHook {
    spec: CommandHookSpec,
    matcher: HookMatcher,
    runner: Arc<dyn ProcessRunner>,
}

haft_contract::opaque_debug!(CommandHook: spec = spec);

/// The outcome of a command.
enum CommandOutcome {
    /// Its standard output.
    Reply(Vec<u8>),
    /// It blocks, for this reason.
    Blocked(String),
}

impl CommandHook {
    /// Makes a hook of a command. `groups` are the user's own groups of tools: their names without `group:`, and their
    /// entries. Fails if an entry of `matches` names an effect that does not exist.
    pub fn new(
        spec: CommandHookSpec,
        runner: Arc<dyn ProcessRunner>,
        vocabulary: &Vocabulary,
        groups: &[(String, Vec<String>)],
    ) -> Result<Self, String> {
        let matcher = HookMatcher::new(&spec.matches, groups, vocabulary)?;
        Ok(Self { spec, matcher, runner })
    }

    async fn ask(&self, input: HookInput<'_>) -> Result<CommandOutcome, String> {
        let input = input.to_json()?;
        let output = self.runner.run(self.process(input), CancellationToken::new()).await;
        self.outcome(output.map_err(|error| error.message().trim_end_matches('.').to_owned())?)
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

    fn outcome(&self, output: ProcessOutput) -> Result<CommandOutcome, String> {
        let words = shorten(&String::from_utf8_lossy(&output.stderr));
        let how = match output {
            ProcessOutput { timed_out: true, .. } => return Err(format!("it took longer than {} s", self.spec.timeout.as_secs_f64())),
            ProcessOutput { code: Some(0), truncated: true, stdout, .. } if stdout.len() >= OUTPUT_LIMIT => {
                return Err(format!("it printed more than {} MB", OUTPUT_LIMIT >> 20));
            }
            ProcessOutput { code: Some(0), stdout, .. } => return Ok(CommandOutcome::Reply(stdout)),
            ProcessOutput { code: Some(BLOCKED), .. } => {
                return Ok(CommandOutcome::Blocked(if words.is_empty() { NO_REASON.to_owned() } else { words }));
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
        Some(self.spec.timeout.saturating_add(KILL_GRACE))
    }
    fn on_failure(&self, _event: HookEvent) -> OnFailure {
        self.spec.on_failure
    }
    fn needs_effects(&self) -> bool {
        self.spec.event == HookEvent::BeforeToolCall && self.matcher.needs_effects()
    }
    fn wants(&self, call: &HookCall<'_>, event: HookEvent) -> bool {
        event == self.spec.event && self.matcher.matches(call)
    }
    fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<HookDecision, String>> {
        Box::pin(async move {
            match self.ask(HookInput::before(&call)).await? {
                CommandOutcome::Reply(stdout) => reply::before(&stdout, call.arguments),
                CommandOutcome::Blocked(reason) => Ok(HookDecision::Block(reason)),
            }
        })
    }
    fn after<'a>(&'a self, call: HookCall<'a>, result: &'a ToolResult) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            match self.ask(HookInput::after(&call, result)).await? {
                CommandOutcome::Reply(stdout) => reply::after(&stdout),
                CommandOutcome::Blocked(reason) => Err(reply::too_late(&reason)),
            }
        })
    }
    fn persist<'a>(&'a self, call: HookCall<'a>, stored: &'a str) -> BoxFuture<'a, Result<PersistDecision, String>> {
        Box::pin(async move {
            match self.ask(HookInput::persist(&call, stored)).await? {
                CommandOutcome::Reply(stdout) => reply::persist(&stdout),
                CommandOutcome::Blocked(reason) => Ok(PersistDecision::Withhold(reason)),
            }
        })
    }
}
