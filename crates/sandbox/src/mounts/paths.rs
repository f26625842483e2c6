//! Paths of the policy, resolved.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::error::SandboxError;
use crate::policy::SandboxPolicy;

/// System paths, never a workspace.
const NEVER_WRITABLE: &[&str] = &["/", "/proc", "/sys", "/dev", "/boot", "/etc", "/usr", "/run"];

/// The real path of a writable root.
pub(super) fn writable(path: &Path) -> Result<PathBuf, SandboxError> {
    let real = path.canonicalize().map_err(|error| SandboxError::io("make writable", path, error))?;
    if NEVER_WRITABLE.iter().any(|never| real == Path::new(never)) {
        return Err(SandboxError::policy(format!("{} must not be writable; name the workspace", real.display())));
    }
    Ok(real)
}

/// The path of a source without symlinks, through which nothing is mounted. In a writable root it must be without already: one that is
/// there now was put there by a command, and leads where the command likes.
pub(super) fn real_source(path: &Path, policy: &SandboxPolicy) -> PathBuf {
    let is_writable = policy.writable.iter().any(|root| path.starts_with(root));
    let real = if is_writable { None } else { path.canonicalize().ok() };
    real.unwrap_or_else(|| path.to_owned())
}

/// The path with the symlinks above it resolved, as far as it exists.
pub(super) fn resolve_above(path: &Path) -> PathBuf {
    let parent_of = |path: &Path| path.parent().map(Path::to_path_buf);
    let mut above = parent_of(path);
    while let Some(folder) = above {
        if let Ok(real) = folder.canonicalize() {
            return path.strip_prefix(&folder).map_or_else(|_| path.to_path_buf(), |rest| real.join(rest));
        }
        above = parent_of(&folder);
    }
    path.to_path_buf()
}

/// The path, or a file in place of a directory above it, such as `.git` of a worktree; `None` if it is missing. Symlinks are
/// refused: they could be replaced.
pub(super) fn reach(root: &Path, path: &Path) -> Result<Option<PathBuf>, SandboxError> {
    let mut reached = root.to_path_buf();
    for component in path.strip_prefix(root).into_iter().flat_map(Path::components) {
        if !matches!(component, Component::Normal(_)) {
            return Err(SandboxError::policy(format!("the protected path {} contains '.' or '..'", path.display())));
        }
        reached.push(component);
        match fs::symlink_metadata(&reached) {
            Ok(metadata) if metadata.is_symlink() => {
                let what = format!("{} is protected and a symlink, which cannot be enforced; name its target", reached.display());
                return Err(SandboxError::policy(what));
            }
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => break,
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(reached))
}
