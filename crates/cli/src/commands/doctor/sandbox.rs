//! The sandbox of commands: which backends work, and whether they block escape attempts.

use std::path::{Path, PathBuf};

use haft_contract::SandboxBackend;
use haft_jobs::ShellOptions;
use haft_sandbox::probe::{self, Finding, ProbeOutcome};
use haft_sandbox::{SandboxPolicy, Selection, SelectionRequest, select};
use serde_json::{Value, json};

use super::DoctorCheck;
use super::packages::Package;

const NAME: &str = "sandbox";
const INSTALL: &str = "install bubblewrap (for example: sudo apt-get install bubblewrap)";

/// Starts the configured backend and every other that works here, and makes every escape attempt in each.
pub(super) fn checks(options: &ShellOptions) -> Vec<DoctorCheck> {
    if options.sandbox == SandboxBackend::None {
        return vec![DoctorCheck::warning(NAME, "switched off: commands run on this machine itself", "set sandbox.mode = \"required\"")];
    }
    let mut checks = vec![check_selected(options)];
    let used = checks[0].details.as_ref().and_then(|details| details["backend"].as_str()).unwrap_or_default().to_owned();
    checks.extend(others(options, &used));
    checks.push(limits());
    checks
}

fn check_selected(options: &ShellOptions) -> DoctorCheck {
    let tried = select(&request(options, options.sandbox, options.required), &SandboxPolicy::default());
    let tried = tried.and_then(|picked| Ok((probe::run(&*picked.sandbox, &options.launcher, &private(options))?, picked)));
    match tried {
        Ok((findings, picked)) => evaluate(NAME, &picked, &findings),
        Err(error) => DoctorCheck::error(NAME, format!("commands do not run: {error}"), INSTALL).install(Package::Bubblewrap),
    }
}

/// Haft's own data, which no command may see.
fn private(options: &ShellOptions) -> Vec<PathBuf> {
    options.view_folder.parent().map(Path::to_owned).into_iter().collect()
}

fn request(options: &ShellOptions, choice: SandboxBackend, required: bool) -> SelectionRequest {
    SelectionRequest { choice, required, launcher: options.launcher.clone(), container: options.container.clone() }
}

/// The other backends; a missing one is no error.
fn others(options: &ShellOptions, used: &str) -> Vec<DoctorCheck> {
    let known =
        [(SandboxBackend::Bubblewrap, "bubblewrap"), (SandboxBackend::Container, "container"), (SandboxBackend::Landlock, "landlock")];
    let other = |(choice, name): (SandboxBackend, &'static str)| {
        let picked = select(&request(options, choice, false), &SandboxPolicy::default());
        let tried = picked.and_then(|picked| Ok((probe::run(&*picked.sandbox, &options.launcher, &private(options))?, picked)));
        match tried {
            Ok((findings, picked)) => {
                DoctorCheck { state: super::CheckState::Good, fix: None, package: None, ..evaluate("also here", &picked, &findings) }
            }
            Err(error) => DoctorCheck::good("not here", format!("{name}: {error}")),
        }
    };
    known.into_iter().filter(|(_, name)| *name != used).map(other).collect()
}

fn evaluate(check: &'static str, picked: &Selection, findings: &[Finding]) -> DoctorCheck {
    let name = picked.sandbox.name();
    let with = |wanted: ProbeOutcome| findings.iter().filter(move |finding| finding.outcome == wanted);
    let (blocked, tried) = (with(ProbeOutcome::Blocked).count(), findings.len() - with(ProbeOutcome::NotTried).count());
    let shown = |finding: &Finding| format!("{} ({})", finding.probe, finding.evidence);
    let escaped: Vec<String> = with(ProbeOutcome::Escaped).map(shown).collect();
    let mut message = format!("{name}: {blocked} of {tried} escape attempts blocked");
    let lacks: Vec<String> = picked.gaps.iter().cloned().chain(picked.skipped.iter().map(ToString::to_string)).collect();
    if !lacks.is_empty() {
        message = format!("{message}; it does not enforce everything: {}", lacks.join("; "));
    }
    let made = match (escaped.is_empty(), lacks.is_empty()) {
        (true, true) => DoctorCheck::good(check, message),
        (true, false) => DoctorCheck::warning(check, message, INSTALL).install(Package::Bubblewrap),
        (false, _) => DoctorCheck::error(check, format!("{message}; not blocked: {}", escaped.join("; ")), INSTALL),
    };
    let names = |wanted: ProbeOutcome| with(wanted).map(|finding| finding.probe.clone()).collect::<Vec<_>>();
    let listed = [
        ("blocked", names(ProbeOutcome::Blocked)),
        ("not blocked", names(ProbeOutcome::Escaped)),
        ("not tried", with(ProbeOutcome::NotTried).map(shown).collect()),
    ];
    let more = listed.iter().filter(|(_, names)| !names.is_empty()).map(|(word, names)| format!("{word}: {}", names.join(", "))).collect();
    DoctorCheck {
        more,
        details: Some(json!({ "backend": name, "gaps": picked.gaps, "probes": findings.iter().map(probe_json).collect::<Vec<_>>() })),
        ..made
    }
}

fn probe_json(finding: &Finding) -> Value {
    let outcome = match finding.outcome {
        ProbeOutcome::Blocked => "blocked",
        ProbeOutcome::Escaped => "escaped",
        ProbeOutcome::NotTried => "not_tried",
    };
    json!({ "probe": finding.probe, "outcome": outcome, "evidence": finding.evidence })
}

fn limits() -> DoctorCheck {
    let limits = haft_sandbox::limits::cgroup_limits();
    let uncounted = if limits.memory { "" } else { ", without shared memory and memfd, which only a control group counts" };
    let scope = |by_cgroup: bool| if by_cgroup { "for the whole command, by a control group" } else { "for each process" };
    let message = format!(
        "memory {}{uncounted}; processes {}; time, files and file sizes for each process; temporary files for the session, looked at each \
         second",
        scope(limits.memory),
        scope(limits.processes)
    );
    DoctorCheck::good("limits", message)
}
