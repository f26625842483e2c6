//! Seatbelt: the sandbox of macOS, told by a profile what to allow.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::command::Command;
use crate::error::SandboxError;
use crate::policy::{Network, Policy};
use crate::sandbox::{Guard, Sandbox, Wrapped};

const NAME: &str = "seatbelt";
/// The system's own: one found in the `PATH` could be anyone's.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What every program needs to start at all.
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
    /// Whether this is macOS.
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

    fn wrap(&self, command: Command, policy: &Policy) -> Result<Wrapped, SandboxError> {
        policy.refuse_overlay(self.name())?;
        let mut arguments: Vec<OsString> = vec!["-p".into(), profile(policy)?.into(), "--".into(), command.program.into()];
        arguments.extend(command.arguments);
        let command = Command { program: PROGRAM.into(), arguments, directory: command.directory, environment: command.environment };
        Ok(Wrapped { command, guard: Guard::default() })
    }

    fn gaps(&self, _policy: &Policy) -> Vec<String> {
        ["the temporary directories are shared", "there are no limits on memory and processes"].map(str::to_owned).into()
    }
}

/// The profile as text. Later rules win over earlier ones, so what is forbidden comes last.
///
/// # Errors
/// Where the policy names a proxy, or a path that cannot be written into a profile.
pub fn profile(policy: &Policy) -> Result<String, SandboxError> {
    let mut text = BASE.to_owned();
    for path in &policy.writable {
        rule(&mut text, "allow file-write*", path)?;
    }
    for path in &policy.protected {
        rule(&mut text, "deny file-write*", path)?;
    }
    for path in &policy.masked {
        rule(&mut text, "deny file-read* file-write*", path)?;
    }
    match &policy.network {
        Network::Off => {}
        Network::Host => text.push_str("(allow network* (remote ip))\n(allow network* (local ip))\n(allow system-socket)\n"),
        Network::Proxy { .. } => {
            let why = "a relay to the proxy needs a network of its own, which macOS does not give";
            return Err(SandboxError::unsupported(NAME, why, "set the network to 'off', or use a container"));
        }
    }
    Ok(text)
}

/// The path itself and all beneath it, under its real name: profiles know no links, and `/tmp` is one.
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
    fn the_profile_of_a_policy() {
        let policy = Policy {
            writable: vec!["/Users/a/work".into()],
            protected: vec!["/Users/a/work/.git/hooks".into()],
            masked: vec!["/Users/a/.ssh".into(), "/Users/a/odd \"name\\".into()],
            ..Policy::default()
        };
        let rules = "(allow file-write* (subpath \"/Users/a/work\"))
(deny file-write* (subpath \"/Users/a/work/.git/hooks\"))
(deny file-read* file-write* (subpath \"/Users/a/.ssh\"))
(deny file-read* file-write* (subpath \"/Users/a/odd \\\"name\\\\\"))
";
        assert_eq!(profile(&policy).unwrap(), format!("{BASE}{rules}"));
    }

    #[test]
    fn the_network_is_closed_until_it_is_opened() {
        let text = |network| profile(&Policy { network, ..Policy::default() });
        assert!(!text(Network::Off).unwrap().contains("network"));
        assert!(text(Network::Host).unwrap().ends_with("(allow network* (local ip))\n(allow system-socket)\n"));
        assert!(matches!(text(Network::Proxy { socket: "/s".into(), port: 1 }), Err(SandboxError::Unsupported { .. })));
    }

    #[test]
    fn a_path_cannot_end_a_rule() {
        let policy = Policy { writable: vec!["/a\n(allow default)".into()], ..Policy::default() };
        assert!(matches!(profile(&policy), Err(SandboxError::Policy { .. })));
    }

    #[test]
    fn wraps_the_command_behind_the_profile() {
        let command = Command::new("/bin/echo", "/w").argument("a b").variable("LANG", "C");
        let wrapped = Seatbelt { _detected: () }.wrap(command, &Policy::default()).unwrap();
        let expected = Command::new(PROGRAM, "/w").arguments(["-p", BASE, "--", "/bin/echo", "a b"]).variable("LANG", "C");
        assert_eq!(wrapped.command, expected);
    }
}
