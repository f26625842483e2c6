//! Seatbelt: the sandbox of macOS, configured by a profile.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::command::ProcessSpec;
use crate::error::SandboxError;
use crate::policy::{NetworkAccess, SandboxPolicy};
use crate::sandbox::{ConfinedCommand, Sandbox, SandboxGuard};

const NAME: &str = "seatbelt";
/// The program of the system; one in the `PATH` could be another.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What every program needs to start.
const BASE: &str = "(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))
(allow mach-lookup (global-name \"com.apple.logd\"))
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-read*)
(allow file-write-data (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\"))
(allow file-read* file-write* file-ioctl (literal \"/dev/ptmx\") (regex #\"^/dev/ttys[0-9]+$\"))
";

/// Confines by a profile of `sandbox-exec`.
#[derive(Debug, Clone, Copy)]
pub struct Seatbelt {
    _detected: (),
}

impl Seatbelt {
    /// Checks that this is macOS.
    ///
    /// # Errors
    /// `Unavailable` elsewhere.
    pub fn detect() -> Result<Self, SandboxError> {
        if Path::new(PROGRAM).is_file() {
            return Ok(Self { _detected: () });
        }
        Err(SandboxError::unavailable(NAME, format!("there is no {PROGRAM}: it is a part of macOS"), "use another sandbox"))
    }
}

impl Sandbox for Seatbelt {
    fn name(&self) -> &'static str {
        NAME
    }

    fn wrap(&self, command: ProcessSpec, policy: &SandboxPolicy) -> Result<ConfinedCommand, SandboxError> {
        policy.refuse_overlay(self.name())?;
        let mut arguments: Vec<OsString> = vec!["-p".into(), profile(policy)?.into(), "--".into(), command.program.into()];
        arguments.extend(command.arguments);
        let command = ProcessSpec { program: PROGRAM.into(), arguments, directory: command.directory, environment: command.environment };
        Ok(ConfinedCommand { command, guard: SandboxGuard::default() })
    }

    fn gaps(&self, _policy: &SandboxPolicy) -> Vec<String> {
        ["the temporary directories are shared", "there are no limits on memory and processes"].map(str::to_owned).into()
    }
}

/// The profile as text. Later rules override earlier ones, so denials come last.
///
/// # Errors
/// The policy names a proxy, or a path that cannot be written into a profile.
pub fn profile(policy: &SandboxPolicy) -> Result<String, SandboxError> {
    let mut text = BASE.to_owned();
    for path in &policy.writable {
        rule(&mut text, "allow file-write*", path)?;
    }
    for path in policy.protected_without_layers() {
        rule(&mut text, "deny file-write*", path)?;
    }
    for path in &policy.masked {
        rule(&mut text, "deny file-read* file-write*", path)?;
    }
    match &policy.network {
        NetworkAccess::Off => {}
        NetworkAccess::Host => text.push_str("(allow network* (remote ip))\n(allow network* (local ip))\n(allow system-socket)\n"),
        NetworkAccess::Proxy { .. } => {
            let why = "a relay to the proxy needs a network namespace, which macOS does not have";
            return Err(SandboxError::unsupported(NAME, why, "set the network to 'off', or use a container"));
        }
    }
    Ok(text)
}

/// Adds a rule for a path and all beneath it, by its real path: profiles do not follow symlinks, and `/tmp` is one.
fn rule(text: &mut String, what: &str, path: &Path) -> Result<(), SandboxError> {
    let real: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let name = real.to_str().filter(|name| !name.chars().any(char::is_control));
    let name =
        name.ok_or_else(|| SandboxError::policy(format!("the path {} cannot be written into a profile; rename it", real.display())))?;
    let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
    text.extend(["(", what, " (subpath \"", &quoted, "\"))\n"]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_follows_from_the_policy() {
        let policy = SandboxPolicy {
            writable: vec!["/Users/a/work".into()],
            protected: vec!["/Users/a/work/.git/hooks".into()],
            masked: vec!["/Users/a/.ssh".into(), "/Users/a/odd \"name\\".into()],
            ..SandboxPolicy::default()
        };
        let rules = "(allow file-write* (subpath \"/Users/a/work\"))
(deny file-write* (subpath \"/Users/a/work/.git/hooks\"))
(deny file-read* file-write* (subpath \"/Users/a/.ssh\"))
(deny file-read* file-write* (subpath \"/Users/a/odd \\\"name\\\\\"))
";
        assert_eq!(profile(&policy).unwrap(), format!("{BASE}{rules}"));
    }

    #[test]
    fn network_access_is_denied_by_default() {
        let text = |network| profile(&SandboxPolicy { network, ..SandboxPolicy::default() });
        assert!(!text(NetworkAccess::Off).unwrap().contains("network"));
        assert!(text(NetworkAccess::Host).unwrap().ends_with("(allow network* (local ip))\n(allow system-socket)\n"));
        assert!(matches!(text(NetworkAccess::Proxy { socket: "/s".into(), port: 1 }), Err(SandboxError::Unsupported { .. })));
    }

    #[test]
    fn path_cannot_end_a_rule() {
        let policy = SandboxPolicy { writable: vec!["/a\n(allow default)".into()], ..SandboxPolicy::default() };
        assert!(matches!(profile(&policy), Err(SandboxError::Policy { .. })));
    }

    #[test]
    fn command_is_wrapped_with_the_profile() {
        let command = ProcessSpec::new("/bin/echo", "/w").argument("a b").variable("LANG", "C");
        let wrapped = Seatbelt { _detected: () }.wrap(command, &SandboxPolicy::default()).unwrap();
        let expected = ProcessSpec::new(PROGRAM, "/w").arguments(["-p", BASE, "--", "/bin/echo", "a b"]).variable("LANG", "C");
        assert_eq!(wrapped.command, expected);
    }
}
