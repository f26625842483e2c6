//! The walls around commands: which stand, and whether they hold when something inside tries to get out.

use haft_host::ShellOptions;
use haft_host::sandbox::probe::{self, Finding, Outcome};
use haft_host::sandbox::{Choice, Picked, Policy, Request, pick};
use serde_json::{Value, json};

use super::Check;

const NAME: &str = "sandbox";
const INSTALL: &str = "install bubblewrap (for example: sudo apt-get install bubblewrap)";

/// Starts the sandbox of this configuration, and every other that works here, and tries every way out of each.
pub(super) fn checks(options: &ShellOptions) -> Vec<Check> {
    if options.sandbox == Choice::None {
        return vec![Check::care(NAME, "switched off: commands run on this machine itself", "set sandbox.mode = \"required\"")];
    }
    let mut checks = vec![chosen(options)];
    let used = checks[0].details.as_ref().and_then(|details| details["backend"].as_str()).unwrap_or_default().to_owned();
    checks.extend(others(options, &used));
    checks.push(limits());
    checks
}

fn chosen(options: &ShellOptions) -> Check {
    let tried = pick(&request(options, options.sandbox, options.required), &Policy::default());
    let tried = tried.and_then(|picked| Ok((probe::run(&*picked.sandbox, &options.launcher)?, picked)));
    match tried {
        Ok((findings, picked)) => judged(NAME, &picked, &findings),
        Err(error) => Check::bad(NAME, format!("commands do not run: {error}"), INSTALL),
    }
}

fn request(options: &ShellOptions, choice: Choice, required: bool) -> Request {
    Request { choice, required, launcher: options.launcher.clone(), container: options.container.clone() }
}

/// What a call may ask for, or what would be taken if the first were missing. That one is not there is no fault.
fn others(options: &ShellOptions, used: &str) -> Vec<Check> {
    let known = [(Choice::Bubblewrap, "bubblewrap"), (Choice::Container, "container"), (Choice::Landlock, "landlock")];
    let other = |(choice, name): (Choice, &'static str)| {
        let picked = pick(&request(options, choice, false), &Policy::default());
        let tried = picked.and_then(|picked| Ok((probe::run(&*picked.sandbox, &options.launcher)?, picked)));
        match tried {
            Ok((findings, picked)) => Check { state: super::State::Good, fix: None, ..judged("also here", &picked, &findings) },
            Err(error) => Check::good("not here", format!("{name}: {error}")),
        }
    };
    known.into_iter().filter(|(_, name)| *name != used).map(other).collect()
}

fn judged(check: &'static str, picked: &Picked, findings: &[Finding]) -> Check {
    let name = picked.sandbox.name();
    let with = |wanted: Outcome| findings.iter().filter(move |finding| finding.outcome == wanted);
    let (held, tried) = (with(Outcome::Held).count(), findings.len() - with(Outcome::NotTried).count());
    let shown = |finding: &Finding| format!("{} ({})", finding.probe, finding.evidence);
    let escaped: Vec<String> = with(Outcome::Escaped).map(shown).collect();
    let mut message = format!("{name}: {held} of {tried} attempts to get out were held");
    let lacks: Vec<String> = picked.gaps.iter().cloned().chain(picked.passed.iter().map(ToString::to_string)).collect();
    if !lacks.is_empty() {
        message = format!("{message}; it does not hold everything: {}", lacks.join("; "));
    }
    let made = match (escaped.is_empty(), lacks.is_empty()) {
        (true, true) => Check::good(check, message),
        (true, false) => Check::care(check, message, INSTALL),
        (false, _) => Check::bad(check, format!("{message}; these were not: {}", escaped.join("; ")), INSTALL),
    };
    let names = |wanted: Outcome| with(wanted).map(|finding| finding.probe.clone()).collect::<Vec<_>>();
    let listed = [
        ("held", names(Outcome::Held)),
        ("not held", names(Outcome::Escaped)),
        ("not tried", with(Outcome::NotTried).map(shown).collect()),
    ];
    let more = listed.iter().filter(|(_, names)| !names.is_empty()).map(|(word, names)| format!("{word}: {}", names.join(", "))).collect();
    Check {
        more,
        details: Some(json!({ "backend": name, "gaps": picked.gaps, "probes": findings.iter().map(probe_json).collect::<Vec<_>>() })),
        ..made
    }
}

fn probe_json(finding: &Finding) -> Value {
    let outcome = match finding.outcome {
        Outcome::Held => "held",
        Outcome::Escaped => "escaped",
        Outcome::NotTried => "not_tried",
    };
    json!({ "probe": finding.probe, "outcome": outcome, "evidence": finding.evidence })
}

fn limits() -> Check {
    use haft_host::sandbox::limits::{Means, means};
    let (memory, processes) = means();
    let words = |means: Means| match means {
        Means::ControlGroup => "for the whole command, by a control group",
        Means::Process => "for each process",
    };
    let message = format!("memory {}; processes {}; time, files and file sizes for each process", words(memory), words(processes));
    Check::good("limits", message)
}
