//! Which sandbox is used: the one that was asked for, or the best that works here. Never a weaker one without a word.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use crate::bubblewrap::Bubblewrap;
use crate::container::{Container, ContainerOptions};
use crate::error::SandboxError;
#[cfg(target_os = "linux")]
use crate::landlock::Landlock;
use crate::launcher::Launcher;
use crate::policy::Policy;
use crate::sandbox::Sandbox;
use crate::seatbelt::Seatbelt;
use crate::unconfined::Unconfined;

/// What the person's configuration asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The best that works.
    #[default]
    Auto,
    /// Namespaces.
    Bubblewrap,
    /// Landlock alone.
    Landlock,
    /// Docker or Podman.
    Container,
    /// macOS.
    Seatbelt,
    /// No sandbox.
    None,
}

const NAMES: &[(&str, Choice)] = &[
    ("auto", Choice::Auto),
    ("bubblewrap", Choice::Bubblewrap),
    ("landlock", Choice::Landlock),
    ("container", Choice::Container),
    ("seatbelt", Choice::Seatbelt),
    ("none", Choice::None),
];

impl FromStr for Choice {
    type Err = SandboxError;

    fn from_str(text: &str) -> Result<Self, SandboxError> {
        let found = NAMES.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
        let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
        found.ok_or_else(|| SandboxError::policy(format!("there is no sandbox '{text}'; choose one of {}", names.join(", "))))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, choice)| choice == self).map_or("auto", |(name, _)| name);
        formatter.write_str(name)
    }
}

/// What to pick from, and how strictly.
#[derive(Debug, Clone)]
pub struct Request {
    /// Which one.
    pub choice: Choice,
    /// Refuse one that leaves gaps in the policy.
    pub required: bool,
    /// The program that the stages are started from.
    pub launcher: Launcher,
    /// What containers are made from; without that there are none.
    pub container: ContainerOptions,
}

/// What was picked.
pub struct Picked {
    /// The sandbox.
    pub sandbox: Arc<dyn Sandbox>,
    /// What of the policy it does not hold.
    pub gaps: Vec<String>,
    /// Those that come before it, each with why it was not taken.
    pub passed: Vec<SandboxError>,
}

impl fmt::Debug for Picked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sandbox, gaps, passed } = self;
        formatter.debug_struct("Picked").field("sandbox", &sandbox.name()).field("gaps", gaps).field("passed", passed).finish()
    }
}

/// Picks a sandbox. `None` is never picked by itself: it must be asked for by name.
///
/// # Errors
/// Where the one that was asked for does not work, where none does, or where the one that does leaves gaps although it is
/// required. All reasons are in the message.
pub fn pick(request: &Request, policy: &Policy) -> Result<Picked, SandboxError> {
    let rungs: &[Choice] = match request.choice {
        Choice::Auto if cfg!(target_os = "macos") => &[Choice::Seatbelt, Choice::Container],
        Choice::Auto => &[Choice::Bubblewrap, Choice::Container, Choice::Landlock],
        _ => std::slice::from_ref(&request.choice),
    };
    climb(rungs, request, policy, |rung| detect(rung, request))
}

#[cfg(not(target_os = "linux"))]
const NOT_LINUX: &str = "it is a part of Linux";
#[cfg(not(target_os = "linux"))]
const ANOTHER: &str = "use 'seatbelt' or 'container'";

type Found = Result<Arc<dyn Sandbox>, SandboxError>;

fn climb(rungs: &[Choice], request: &Request, policy: &Policy, detect: impl Fn(Choice) -> Found) -> Result<Picked, SandboxError> {
    let mut passed = Vec::new();
    for rung in rungs {
        let judged = |sandbox: Arc<dyn Sandbox>| Ok((judge(&*sandbox, policy, request.required)?, sandbox));
        match detect(*rung).and_then(judged) {
            Ok((gaps, sandbox)) => return Ok(Picked { sandbox, gaps, passed }),
            Err(error) => passed.push(error),
        }
    }
    if let [_] = rungs {
        return Err(passed.remove(0));
    }
    let reasons: Vec<_> = passed.iter().map(ToString::to_string).collect();
    Err(SandboxError::unavailable(
        "auto",
        format!("none works: {}", reasons.join("; ")),
        "install bubblewrap, or set the sandbox to 'none'",
    ))
}

/// What of the policy a sandbox does not hold.
///
/// # Errors
/// Where there is something, although everything is required.
pub fn judge(sandbox: &dyn Sandbox, policy: &Policy, required: bool) -> Result<Vec<String>, SandboxError> {
    let gaps = sandbox.gaps(policy);
    if required && !gaps.is_empty() {
        let remedy = "use bubblewrap, or set sandbox.mode = \"preferred\" to accept that";
        return Err(SandboxError::unsupported(sandbox.name(), gaps.join(", "), remedy));
    }
    Ok(gaps)
}

fn detect(choice: Choice, request: &Request) -> Found {
    Ok(match choice {
        #[cfg(target_os = "linux")]
        Choice::Auto | Choice::Bubblewrap => Arc::new(Bubblewrap::detect(request.launcher.clone())?),
        #[cfg(target_os = "linux")]
        Choice::Landlock => Arc::new(Landlock::detect(request.launcher.clone())?),
        #[cfg(not(target_os = "linux"))]
        Choice::Auto | Choice::Bubblewrap => return Err(SandboxError::unavailable("bubblewrap", NOT_LINUX, ANOTHER)),
        #[cfg(not(target_os = "linux"))]
        Choice::Landlock => return Err(SandboxError::unavailable("landlock", NOT_LINUX, ANOTHER)),
        Choice::Seatbelt => Arc::new(Seatbelt::detect()?),
        Choice::None => Arc::new(Unconfined),
        Choice::Container => Container::detect(&request.container, request.launcher.clone())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(choice: Choice, required: bool) -> Request {
        Request { choice, required, launcher: Launcher::at("/launcher"), container: ContainerOptions::default() }
    }

    fn missing(name: &'static str) -> SandboxError {
        SandboxError::unavailable(name, "not here", "install it")
    }

    #[test]
    fn goes_down_the_ladder_and_says_why() {
        let rungs = [Choice::Bubblewrap, Choice::Landlock];
        let detect =
            |rung| if rung == Choice::Bubblewrap { Err(missing("bubblewrap")) } else { Ok(Arc::new(Unconfined) as Arc<dyn Sandbox>) };
        let picked = climb(&rungs, &request(Choice::Auto, false), &Policy::default(), detect).unwrap();
        assert_eq!(picked.gaps, ["commands run without any confinement"]);
        assert_eq!(picked.passed.len(), 1);
        let refused = climb(&rungs, &request(Choice::Auto, true), &Policy::default(), detect).unwrap_err().to_string();
        assert!(refused.contains("'bubblewrap' cannot be used") && refused.contains("'none' cannot hold"), "{refused}");
    }

    #[test]
    fn nothing_that_works_is_a_refusal_and_never_no_sandbox() {
        let all = [Choice::Bubblewrap, Choice::Container, Choice::Landlock];
        let refused = climb(&all, &request(Choice::Auto, false), &Policy::default(), |_| Err(missing("x")));
        assert!(matches!(refused, Err(SandboxError::Unavailable { backend: "auto", .. })), "{refused:?}");
        let asked = climb(&[Choice::Landlock], &request(Choice::Landlock, false), &Policy::default(), |_| Err(missing("landlock")));
        assert!(matches!(asked, Err(SandboxError::Unavailable { backend: "landlock", .. })), "{asked:?}");
    }

    #[test]
    fn no_sandbox_only_by_its_name_and_never_where_one_is_required() {
        let picked = pick(&request(Choice::None, false), &Policy::default()).unwrap();
        assert_eq!((picked.sandbox.name(), picked.gaps.len()), ("none", 1));
        assert!(pick(&request(Choice::None, true), &Policy::default()).is_err());
    }

    #[test]
    fn names_are_read_and_written_alike() {
        for (name, choice) in NAMES {
            assert_eq!((name.parse::<Choice>().unwrap(), choice.to_string().as_str()), (*choice, *name));
        }
        let refused = "docker".parse::<Choice>().unwrap_err().to_string();
        assert!(refused.contains("'docker'") && refused.contains("container"), "{refused}");
    }
}
