//! The host paths that a container sees: the workspace, and nothing that gives access to the host itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::mounts::{MountKind, MountPlan};

/// Paths of the system, its keys and its services.
const REFUSED: &[&str] = &["/etc", "/proc", "/sys", "/dev", "/root", "/boot", "/run", "/var/run", "/var/lib/docker", "/var/lib/containers"];
/// Access to the socket of an engine is control of the host.
const SOCKETS: &[&str] = &["docker.sock", "podman.sock", "containerd.sock", "crio.sock"];
const PRIVATE: &[&str] = &["/tmp", "/var/tmp", "/run"];

/// Options for the mounts of the plan, and for private temporary directories.
///
/// The launcher is mounted from any path: programs may be in the home folder, and it is no secret.
///
/// Podman copies the covered files into a tmpfs unless `notmpcopyup` is set; Docker does not know that option.
pub(super) fn arguments(plan: &MountPlan, tmp_size: u64, podman: bool, launcher: &Path) -> Result<Vec<OsString>, SandboxError> {
    let empty = if podman { ",notmpcopyup" } else { "" };
    let mut arguments: Vec<OsString> = Vec::new();
    for folder in PRIVATE {
        arguments.extend(["--tmpfs".into(), format!("{folder}:rw,nosuid,nodev,size={tmp_size}{empty}").into()]);
    }
    for (path, mount) in plan.shared() {
        match mount {
            MountKind::Memory(_) => {}
            MountKind::Writable => bind(&mut arguments, &checked(path)?, "rw")?,
            MountKind::ReadOnly if path == launcher => bind(&mut arguments, path, "ro")?,
            MountKind::ReadOnly => bind(&mut arguments, &checked(path)?, "ro")?,
            MountKind::Pinned => bind(&mut arguments, path, "rw")?,
            MountKind::Protected => bind(&mut arguments, path, "ro")?,
            MountKind::Hidden if path.is_dir() => {
                arguments.extend(["--tmpfs".into(), format!("{}:ro,size=4k,mode=0000{empty}", text(path)?).into()]);
            }
            MountKind::Hidden => arguments.extend(["--volume".into(), format!("/dev/null:{}:ro", text(path)?).into()]),
        }
    }
    Ok(arguments)
}

fn bind(arguments: &mut Vec<OsString>, path: &Path, mode: &str) -> Result<(), SandboxError> {
    let path = text(path)?;
    arguments.extend(["--volume".into(), format!("{path}:{path}:{mode}").into()]);
    Ok(())
}

/// Engines split at `:` and `,`, so a path that contains one would mount something else.
pub(super) fn text(path: &Path) -> Result<&str, SandboxError> {
    let plain = path.to_str().filter(|text| !text.contains([':', ',']) && !text.chars().any(char::is_control));
    plain.ok_or_else(|| {
        SandboxError::policy(format!("{} cannot be mounted into a container; rename it without ':' and ','", path.display()))
    })
}

/// The real path, after symlinks, if it may be mounted.
fn checked(path: &Path) -> Result<PathBuf, SandboxError> {
    if !path.is_absolute() {
        return Err(SandboxError::policy(format!("{} is not absolute; containers mount absolute paths only", path.display())));
    }
    let real = path.canonicalize().map_err(|error| SandboxError::io("mount", path, error))?;
    let refused = real == Path::new("/") || REFUSED.iter().any(|root| real.starts_with(root) || Path::new(root).starts_with(&real));
    let socket = real.file_name().is_some_and(|name| SOCKETS.iter().any(|socket| name == *socket));
    if refused || socket {
        let what = format!("{} must not be mounted into a container: it is part of the host, or gives access to it", real.display());
        return Err(SandboxError::policy(what));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::RootFolder;
    use crate::policy::SandboxPolicy;

    #[test]
    fn host_paths_are_never_mounted() {
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
    fn path_with_separators_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a:b");
        std::fs::create_dir(&odd).unwrap();
        let plan = MountPlan::new(RootFolder::Image, &SandboxPolicy { writable: vec![odd], ..SandboxPolicy::default() }, &[]).unwrap();
        assert!(arguments(&plan, 1, true, Path::new("/no/launcher")).is_err());
    }

    #[test]
    fn launcher_is_mounted_from_any_path_and_nothing_else_is() {
        let hostname = Path::new("/etc/hostname");
        let plan =
            MountPlan::new(RootFolder::Image, &SandboxPolicy { read_only: vec![hostname.to_owned()], ..SandboxPolicy::default() }, &[])
                .unwrap();
        let as_launcher = arguments(&plan, 1, true, hostname).unwrap();
        assert!(as_launcher.contains(&"/etc/hostname:/etc/hostname:ro".into()), "{as_launcher:?}");
        assert!(arguments(&plan, 1, true, Path::new("/etc")).is_err());
    }
}
