//! Real attempts to break out of a sandbox, from inside it: what `doctor` shows, and what the tests build on.
//!
//! The attempts are made by the launcher itself, so nothing needs to be installed for them.

mod attempts;
mod elf;
mod stage;
mod system_calls;

use std::io::{self, Read};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use attempts::attempt;

use crate::command::Command;
use crate::error::SandboxError;
use crate::launcher::Launcher;
use crate::policy::Policy;
use crate::sandbox::{Sandbox, Wrapped};
use stage::Stage;

const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(2);
/// Longer answers than this come from no attempt of ours.
const LONGEST_ANSWER: u64 = 64 * 1024;

/// Arguments of the launcher for which it does nothing, to see whether anything runs at all.
pub(crate) const HARMLESS: [&str; 2] = [crate::launcher::PROBE, attempts::NOTHING];

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The sandbox held.
    Held,
    /// The attempt got through.
    Escaped,
    /// It could not be made; the evidence says why.
    NotTried,
}

/// One attempt, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub probe: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was seen: an error of the kernel, a signal, what was read.
    pub evidence: String,
}

impl Finding {
    fn new(probe: &str, outcome: Outcome, evidence: impl Into<String>) -> Self {
        Self { probe: probe.to_owned(), outcome, evidence: evidence.into() }
    }

    /// Whether the sandbox held.
    pub fn held(&self) -> bool {
        self.outcome == Outcome::Held
    }
}

/// Tries to break out of this sandbox in every way we know. Nothing is harmed if it works.
///
/// # Errors
/// Where the attempts cannot be prepared.
pub fn run(sandbox: &dyn Sandbox, launcher: &Launcher) -> Result<Vec<Finding>, SandboxError> {
    let stage = Stage::new(launcher)?;
    let policy = stage.policy();
    let mut findings = walls(sandbox, &stage, &policy)?;
    for limit in attempts::LIMITS {
        findings.push(limited(sandbox, &stage, &policy, limit)?);
    }
    Ok(findings)
}

fn walls(sandbox: &dyn Sandbox, stage: &Stage, policy: &Policy) -> Result<Vec<Finding>, SandboxError> {
    let ended = end(sandbox.wrap(stage.command(attempts::WALLS), policy)?, stage)?;
    let mut findings: Vec<Finding> = ended.stdout.lines().filter_map(parse).collect();
    if findings.is_empty() {
        return Ok(vec![Finding::new("start", Outcome::NotTried, format!("{}: {}", ended.status, ended.stderr.trim()))]);
    }
    findings.push(stage.seen_from_outside());
    Ok(findings)
}

/// An attempt that meets its limit is often killed, and then says nothing.
fn limited(sandbox: &dyn Sandbox, stage: &Stage, policy: &Policy, limit: &str) -> Result<Finding, SandboxError> {
    let ended = end(sandbox.wrap(stage.command(limit), policy)?, stage)?;
    let said = ended.stdout.lines().find_map(parse);
    let failed = crate::launcher::setup_failure(ended.status.code(), ended.stderr.as_bytes());
    Ok(match (said, failed) {
        (Some(finding), _) => finding,
        (None, Some(message)) => Finding::new(limit, Outcome::NotTried, message),
        (None, None) if ended.status.success() => Finding::new(limit, Outcome::NotTried, "it said nothing"),
        (None, None) => Finding::new(limit, Outcome::Held, format!("ended by {}", ended.status)),
    })
}

/// A line as `attempts` prints it.
fn parse(line: &str) -> Option<Finding> {
    let mut parts = line.splitn(3, '\t');
    let outcome = match parts.next()? {
        "held" => Outcome::Held,
        "escaped" => Outcome::Escaped,
        "untried" => Outcome::NotTried,
        _ => return None,
    };
    Some(Finding::new(parts.next()?, outcome, parts.next()?))
}

struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

fn end(wrapped: Wrapped, stage: &Stage) -> Result<Ended, SandboxError> {
    let Wrapped { command, guard } = wrapped;
    let ended = wait(&command).map_err(|error| SandboxError::io("probe the sandbox in", stage.folder(), error));
    drop(guard);
    ended
}

fn wait(command: &Command) -> io::Result<Ended> {
    let mut child = command.to_std().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let status = wait_at_most(&mut child)?;
    let (mut stdout, mut stderr) = (String::new(), String::new());
    // A process that was killed may have been in the middle of a letter.
    child.stdout.take().map(|pipe| pipe.take(LONGEST_ANSWER).read_to_string(&mut stdout).ok());
    child.stderr.take().map(|pipe| pipe.take(LONGEST_ANSWER).read_to_string(&mut stderr).ok());
    Ok(Ended { status, stdout, stderr })
}

fn wait_at_most(child: &mut Child) -> io::Result<ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(PAUSE);
    }
    child.kill()?;
    child.wait()
}
