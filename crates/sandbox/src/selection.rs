//! Backend selection: the configured backend, or the strongest that works on this machine. A weaker one is never silent.

use std::sync::Arc;

#[cfg(target_os = "linux")]
use crate::bubblewrap::Bubblewrap;
use crate::container::{Container, ContainerOptions};
use crate::error::SandboxError;
#[cfg(target_os = "linux")]
use crate::landlock::Landlock;
use crate::launcher::Launcher;
use crate::policy::SandboxPolicy;
use crate::sandbox::{Sandbox, Unconfined};
use crate::seatbelt::Seatbelt;
use haft_contract::SandboxBackend;

/// What to select, and how strictly.
#[derive(Debug, Clone)]
pub struct SelectionRequest {
    /// The configured backend.
    pub choice: SandboxBackend,
    /// Refuse a backend that does not enforce the whole policy.
    pub required: bool,
    /// The program that runs the launcher steps.
    pub launcher: Launcher,
    /// Container settings; without an image no container is used.
    pub container: ContainerOptions,
}

/// The selected backend.
#[derive(Debug)]
pub struct Selection {
    /// The backend.
    pub sandbox: Arc<dyn Sandbox>,
    /// Parts of the policy that it does not enforce.
    pub gaps: Vec<String>,
    /// Stronger backends that were skipped, with the reason.
    pub skipped: Vec<SandboxError>,
}

/// Selects a backend. `None` is never selected automatically: it must be configured by name.
///
/// # Errors
/// The configured backend does not work, no backend works, or the working one leaves gaps although `required` is set. The
/// message has all reasons.
pub fn select(request: &SelectionRequest, policy: &SandboxPolicy) -> Result<Selection, SandboxError> {
    let candidates: &[SandboxBackend] = match request.choice {
        SandboxBackend::Auto if cfg!(target_os = "macos") => &[SandboxBackend::Seatbelt, SandboxBackend::Container],
        SandboxBackend::Auto => &[SandboxBackend::Bubblewrap, SandboxBackend::Container, SandboxBackend::Landlock],
        _ => std::slice::from_ref(&request.choice),
    };
    first_usable(candidates, request, policy, |candidate| detect(candidate, request))
}

#[cfg(not(target_os = "linux"))]
const NOT_LINUX: &str = "it is a part of Linux";
#[cfg(not(target_os = "linux"))]
const ANOTHER: &str = "use 'seatbelt' or 'container'";

type DetectResult = Result<Arc<dyn Sandbox>, SandboxError>;

fn first_usable(
    candidates: &[SandboxBackend],
    request: &SelectionRequest,
    policy: &SandboxPolicy,
    detect: impl Fn(SandboxBackend) -> DetectResult,
) -> Result<Selection, SandboxError> {
    let mut skipped = Vec::new();
    for candidate in candidates {
        let checked = |sandbox: Arc<dyn Sandbox>| Ok((check_gaps(&*sandbox, policy, request.required)?, sandbox));
        match detect(*candidate).and_then(checked) {
            Ok((gaps, sandbox)) => return Ok(Selection { sandbox, gaps, skipped }),
            Err(error) => skipped.push(error),
        }
    }
    // The preferred one is what the user should repair; `haft doctor` lists the others.
    Err(skipped.remove(0))
}

/// The parts of a policy that a backend does not enforce.
///
/// # Errors
/// There are some, although `required` is set.
pub fn check_gaps(sandbox: &dyn Sandbox, policy: &SandboxPolicy, required: bool) -> Result<Vec<String>, SandboxError> {
    let gaps = sandbox.gaps(policy);
    if required && !gaps.is_empty() {
        let remedy = "use bubblewrap, or set sandbox.mode = \"preferred\" to accept that";
        return Err(SandboxError::unsupported(sandbox.name(), gaps.join(", "), remedy));
    }
    Ok(gaps)
}

fn detect(choice: SandboxBackend, request: &SelectionRequest) -> DetectResult {
    Ok(match choice {
        #[cfg(target_os = "linux")]
        SandboxBackend::Auto | SandboxBackend::Bubblewrap => Arc::new(Bubblewrap::detect(request.launcher.clone())?),
        #[cfg(target_os = "linux")]
        SandboxBackend::Landlock => Arc::new(Landlock::detect(request.launcher.clone())?),
        #[cfg(not(target_os = "linux"))]
        SandboxBackend::Auto | SandboxBackend::Bubblewrap => return Err(SandboxError::unavailable("bubblewrap", NOT_LINUX, ANOTHER)),
        #[cfg(not(target_os = "linux"))]
        SandboxBackend::Landlock => return Err(SandboxError::unavailable("landlock", NOT_LINUX, ANOTHER)),
        SandboxBackend::Seatbelt => Arc::new(Seatbelt::detect()?),
        SandboxBackend::None => Arc::new(Unconfined),
        SandboxBackend::Container => Container::detect(&request.container, request.launcher.clone())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(choice: SandboxBackend, required: bool) -> SelectionRequest {
        SelectionRequest { choice, required, launcher: Launcher::at("/launcher"), container: ContainerOptions::default() }
    }

    fn missing(name: &'static str) -> SandboxError {
        SandboxError::unavailable(name, "not here", "install it")
    }

    #[test]
    fn selection_falls_back_and_gives_the_reason() {
        let candidates = [SandboxBackend::Bubblewrap, SandboxBackend::Landlock];
        let detect = |candidate| {
            if candidate == SandboxBackend::Bubblewrap { Err(missing("bubblewrap")) } else { Ok(Arc::new(Unconfined) as Arc<dyn Sandbox>) }
        };
        let selection = first_usable(&candidates, &request(SandboxBackend::Auto, false), &SandboxPolicy::default(), detect).unwrap();
        assert_eq!(selection.gaps, ["commands run without any confinement"]);
        assert_eq!(selection.skipped.len(), 1);
        let refused =
            first_usable(&candidates, &request(SandboxBackend::Auto, true), &SandboxPolicy::default(), detect).unwrap_err().to_string();
        assert_eq!(refused, "the sandbox 'bubblewrap' cannot be used here: not here; install it");
    }

    #[test]
    fn selection_without_a_working_backend_is_an_error() {
        let all = [SandboxBackend::Bubblewrap, SandboxBackend::Container, SandboxBackend::Landlock];
        let refused = first_usable(&all, &request(SandboxBackend::Auto, false), &SandboxPolicy::default(), |_| Err(missing("x")));
        assert!(matches!(refused, Err(SandboxError::Unavailable { backend: "x", .. })), "{refused:?}");
        let asked = first_usable(&[SandboxBackend::Landlock], &request(SandboxBackend::Landlock, false), &SandboxPolicy::default(), |_| {
            Err(missing("landlock"))
        });
        assert!(matches!(asked, Err(SandboxError::Unavailable { backend: "landlock", .. })), "{asked:?}");
    }

    #[test]
    fn unconfined_is_selected_only_by_name_and_never_when_required() {
        let selection = select(&request(SandboxBackend::None, false), &SandboxPolicy::default()).unwrap();
        assert_eq!((selection.sandbox.name(), selection.gaps.len()), ("none", 1));
        assert!(select(&request(SandboxBackend::None, true), &SandboxPolicy::default()).is_err());
    }
}
