//! What of the host a container sees: the workspace, and nothing that could be the host itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::mounts::{Mount, Plan};

/// Sources that are the machine, hold its keys, or lead to its services.
const REFUSED: &[&str] = &["/etc", "/proc", "/sys", "/dev", "/root", "/boot", "/run", "/var/run", "/var/lib/docker", "/var/lib/containers"];
/// The socket of an engine makes whoever reaches it master of the host.
const SOCKETS: &[&str] = &["docker.sock", "podman.sock", "containerd.sock", "crio.sock"];
const PRIVATE: &[&str] = &["/tmp", "/var/tmp", "/run"];

/// The options that mount what the plan says, and private directories for what is temporary.
///
/// The launcher goes in wherever it lies: people keep programs in their home, and it holds no secret.
///
/// Podman fills such a directory with what it hides, unless it is told not to; Docker does not know the word.
pub(super) fn arguments(plan: &Plan, tmp_size: u64, podman: bool, launcher: &Path) -> Result<Vec<OsString>, SandboxError> {
    let empty = if podman { ",notmpcopyup" } else { "" };
    let mut arguments: Vec<OsString> = Vec::new();
    for folder in PRIVATE {
        arguments.extend(["--tmpfs".into(), format!("{folder}:rw,nosuid,nodev,size={tmp_size}{empty}").into()]);
    }
    for (path, mount) in plan.shared() {
        match mount {
            Mount::Private(_) => {}
            Mount::Writable => bind(&mut arguments, &checked(path)?, "rw")?,
            Mount::ReadOnly if path == launcher => bind(&mut arguments, path, "ro")?,
            Mount::ReadOnly => bind(&mut arguments, &checked(path)?, "ro")?,
            Mount::Pinned => bind(&mut arguments, path, "rw")?,
            Mount::Protected => bind(&mut arguments, path, "ro")?,
            Mount::Hidden if path.is_dir() => {
                arguments.extend(["--tmpfs".into(), format!("{}:ro,size=4k,mode=0000{empty}", text(path)?).into()]);
            }
            Mount::Hidden => arguments.extend(["--volume".into(), format!("/dev/null:{}:ro", text(path)?).into()]),
        }
    }
    Ok(arguments)
}

fn bind(arguments: &mut Vec<OsString>, path: &Path, mode: &str) -> Result<(), SandboxError> {
    let path = text(path)?;
    arguments.extend(["--volume".into(), format!("{path}:{path}:{mode}").into()]);
    Ok(())
}

/// Engines split at `:` and `,`, so a path with one would mount something else.
pub(super) fn text(path: &Path) -> Result<&str, SandboxError> {
    let plain = path.to_str().filter(|text| !text.contains([':', ',']) && !text.chars().any(char::is_control));
    plain.ok_or_else(|| {
        SandboxError::policy(format!("{} cannot be mounted into a container; rename it without ':' and ','", path.display()))
    })
}

/// Judged by what it really is, after links.
fn checked(path: &Path) -> Result<PathBuf, SandboxError> {
    if !path.is_absolute() {
        return Err(SandboxError::policy(format!("{} is not absolute; containers mount absolute paths only", path.display())));
    }
    let real = path.canonicalize().map_err(|error| SandboxError::io("mount", path, error))?;
    let refused = real == Path::new("/") || REFUSED.iter().any(|root| real.starts_with(root) || Path::new(root).starts_with(&real));
    let socket = real.file_name().is_some_and(|name| SOCKETS.iter().any(|socket| name == *socket));
    if refused || socket {
        let what = format!("{} must not be mounted into a container: it is part of the machine, or leads to it", real.display());
        return Err(SandboxError::policy(what));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    #[test]
    fn the_machine_is_never_mounted() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("innocent");
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        let socket = folder.path().join("docker.sock");
        std::fs::write(&socket, "").unwrap();
        let paths = ["/", "/etc", "/etc/ssl", "/proc", "/sys", "/dev", "/var", "relative"].map(PathBuf::from);
        for path in paths.into_iter().chain([link, socket]) {
            let refused = checked(&path);
            assert!(matches!(refused, Err(SandboxError::Policy { .. })), "{}: {refused:?}", path.display());
        }
        assert!(checked(folder.path()).is_ok());
    }

    #[test]
    fn a_name_cannot_carry_options() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a:b");
        std::fs::create_dir(&odd).unwrap();
        let plan = Plan::new(&Policy { writable: vec![odd], ..Policy::default() }, &[]).unwrap();
        assert!(arguments(&plan, 1, true, Path::new("/no/launcher")).is_err());
    }

    #[test]
    fn the_launcher_goes_in_from_anywhere_and_nothing_else_does() {
        let hostname = Path::new("/etc/hostname");
        let plan = Plan::new(&Policy { read_only: vec![hostname.to_owned()], ..Policy::default() }, &[]).unwrap();
        let as_launcher = arguments(&plan, 1, true, hostname).unwrap();
        assert!(as_launcher.contains(&"/etc/hostname:/etc/hostname:ro".into()), "{as_launcher:?}");
        assert!(arguments(&plan, 1, true, Path::new("/etc")).is_err());
    }
}
