//! The walls around commands: which stand, and whether they hold when something inside tries to get out.

use haft_host::ShellOptions;
use haft_host::sandbox::probe::{self, Finding, Outcome};
use haft_host::sandbox::{Choice, Policy, Request, pick};

use super::Check;

const NAME: &str = "sandbox";
const INSTALL: &str = "install bubblewrap (for example: sudo apt-get install bubblewrap)";

/// Starts the sandbox of this configuration, and tries every way out of it.
pub(super) fn check(options: &ShellOptions) -> Check {
    if options.sandbox == Choice::None {
        return Check::care(NAME, "switched off: commands run on this machine itself", "set sandbox.mode = \"required\"");
    }
    let ShellOptions { sandbox: choice, required, launcher, container, .. } = options.clone();
    let request = Request { choice, required, launcher: launcher.clone(), container };
    let tried = pick(&request, &Policy::default()).and_then(|picked| {
        let findings = probe::run(&*picked.sandbox, &launcher)?;
        Ok(judged(picked.sandbox.name(), &picked.gaps, &findings))
    });
    tried.unwrap_or_else(|error| Check::bad(NAME, format!("commands do not run: {error}"), INSTALL))
}

fn judged(name: &str, gaps: &[String], findings: &[Finding]) -> Check {
    let count = |wanted: Outcome| findings.iter().filter(|finding| finding.outcome == wanted).count();
    let (held, tried) = (count(Outcome::Held), findings.len() - count(Outcome::NotTried));
    let escaped: Vec<String> = findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Escaped)
        .map(|finding| format!("{} ({})", finding.probe, finding.evidence))
        .collect();
    let message = format!("{name}: {held} of {tried} attempts to get out were held");
    match (escaped.is_empty(), gaps.is_empty()) {
        (true, true) => Check::good(NAME, message),
        (true, false) => Check::care(NAME, format!("{message}; it does not hold {}", gaps.join(", ")), INSTALL),
        (false, _) => Check::bad(NAME, format!("{message}; these were not: {}", escaped.join("; ")), INSTALL),
    }
}
