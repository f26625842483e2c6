//! Real escape attempts from inside a sandbox, for `doctor` and for the tests. The launcher makes them, so they need no other
//! program.

mod attempts;
mod elf;
mod setup;
mod system_calls;

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use attempts::attempt;

use crate::command::ProcessSpec;
use crate::error::SandboxError;
use crate::launcher::Launcher;
use crate::policy::SandboxPolicy;
use crate::sandbox::{ConfinedCommand, Sandbox};
use setup::ProbeSetup;

const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(2);
/// No attempt prints more.
const LONGEST_OUTPUT: u64 = 64 * 1024;

/// Arguments with which the launcher does nothing, to test whether it runs at all.
pub(crate) const HARMLESS: [&str; 2] = [crate::launcher::step::PROBE, attempts::NOTHING];

/// How an escape attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The sandbox blocked it.
    Blocked,
    /// It succeeded.
    Escaped,
    /// It could not be made; the evidence says why.
    NotTried,
}

/// One escape attempt and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the attempt.
    pub probe: String,
    /// How it ended.
    pub outcome: ProbeOutcome,
    /// The observation: an error of the kernel, a signal, the content read.
    pub evidence: String,
}

impl Finding {
    fn new(probe: &str, outcome: ProbeOutcome, evidence: impl Into<String>) -> Self {
        Self { probe: probe.to_owned(), outcome, evidence: evidence.into() }
    }

    /// Whether the sandbox blocked the attempt.
    pub fn is_blocked(&self) -> bool {
        self.outcome == ProbeOutcome::Blocked
    }
}

/// Makes every known escape attempt in this sandbox. They do no harm if they succeed. `private` are folders that must not be
/// visible, such as the data folder.
///
/// # Errors
/// The attempts cannot be prepared.
pub fn run(sandbox: &dyn Sandbox, launcher: &Launcher, private: &[PathBuf]) -> Result<Vec<Finding>, SandboxError> {
    let setup = ProbeSetup::new(launcher, private)?;
    let policy = setup.policy();
    let mut findings = confinement(sandbox, &setup, &policy)?;
    for limit in attempts::LIMITS {
        findings.push(limited(sandbox, &setup, &policy, limit)?);
    }
    Ok(findings)
}

fn confinement(sandbox: &dyn Sandbox, setup: &ProbeSetup, policy: &SandboxPolicy) -> Result<Vec<Finding>, SandboxError> {
    let output = run_attempt(sandbox.wrap(setup.command(attempts::CONFINEMENT), policy)?, setup)?;
    let mut findings: Vec<Finding> = output.stdout.lines().filter_map(parse).collect();
    if findings.is_empty() {
        return Ok(vec![Finding::new("start", ProbeOutcome::NotTried, format!("{}: {}", output.status, output.stderr.trim()))]);
    }
    findings.push(setup.observe_host());
    Ok(findings)
}

/// An attempt that exceeds its limit is often killed, and then prints nothing.
fn limited(sandbox: &dyn Sandbox, setup: &ProbeSetup, policy: &SandboxPolicy, limit: &str) -> Result<Finding, SandboxError> {
    let output = run_attempt(sandbox.wrap(setup.command(limit), policy)?, setup)?;
    let reported = output.stdout.lines().find_map(parse);
    let failed = crate::launcher::setup_failure(output.status.code(), output.stderr.as_bytes());
    Ok(match (reported, failed) {
        (Some(finding), _) => finding,
        (None, Some(message)) => Finding::new(limit, ProbeOutcome::NotTried, message),
        (None, None) if output.status.success() => Finding::new(limit, ProbeOutcome::NotTried, "no output"),
        (None, None) => Finding::new(limit, ProbeOutcome::Blocked, format!("ended by {}", output.status)),
    })
}

/// Parses a line that `attempts` prints.
fn parse(line: &str) -> Option<Finding> {
    let mut parts = line.splitn(3, '\t');
    let outcome = match parts.next()? {
        "blocked" => ProbeOutcome::Blocked,
        "escaped" => ProbeOutcome::Escaped,
        _ => return None,
    };
    Some(Finding::new(parts.next()?, outcome, parts.next()?))
}

struct ProbeOutput {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

fn run_attempt(confined: ConfinedCommand, setup: &ProbeSetup) -> Result<ProbeOutput, SandboxError> {
    let ConfinedCommand { command, guard } = confined;
    let output = wait(&command).map_err(|error| SandboxError::io("probe the sandbox in", setup.folder(), error));
    drop(guard);
    output
}

fn wait(command: &ProcessSpec) -> io::Result<ProbeOutput> {
    let mut child = command.to_std().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let status = wait_at_most(&mut child)?;
    let (mut stdout, mut stderr) = (String::new(), String::new());
    // The output of a killed process may end within a character.
    child.stdout.take().map(|pipe| pipe.take(LONGEST_OUTPUT).read_to_string(&mut stdout).ok());
    child.stderr.take().map(|pipe| pipe.take(LONGEST_OUTPUT).read_to_string(&mut stderr).ok());
    Ok(ProbeOutput { status, stdout, stderr })
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
