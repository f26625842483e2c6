//! Overlays: the file changes of a command go to a private folder instead of the folder that it sees.
//!
//! The outer step mounts them in a mount namespace of its own, and then executes the sandbox. The mounts of the sandbox come on
//! top, so that protected names and masked secrets are enforced there as well.

#[cfg(target_os = "linux")]
mod mounting;

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::SandboxError;

#[cfg(target_os = "linux")]
pub(crate) use mounting::mount;

/// The overlay layers of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    layers: Vec<OverlayLayer>,
}

/// A folder, and the private folder for its changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlayLayer {
    /// The folder, which stays unchanged.
    pub lower: PathBuf,
    /// New and changed files, and whiteouts for deleted ones.
    pub upper: PathBuf,
    /// Work folder of the kernel.
    work: PathBuf,
    /// Where the command sees both.
    pub target: PathBuf,
    /// Where the outer step mounts it, if that is not the target.
    staging: Option<PathBuf>,
}

impl Overlay {
    /// Prepares a folder for the changes to these roots. It must be empty and private, outside of the roots, and on a file system
    /// that supports the upper layer of an overlay.
    ///
    /// # Errors
    /// Names the root that cannot be used, and why.
    pub fn prepare(folder: &Path, roots: &[PathBuf]) -> Result<Self, SandboxError> {
        let real = |path: &Path| path.canonicalize().map_err(|error| SandboxError::io("mount an overlay on", path, error));
        let folder = real(folder)?;
        let mut layers = Vec::new();
        for root in roots {
            let lower = real(root)?;
            if folder.starts_with(&lower) {
                let what = format!("the folder for changes, {}, lies in the writable root {}", folder.display(), lower.display());
                return Err(SandboxError::policy(format!("{what}; choose another data folder (HAFT_HOME)")));
            }
            layers.push(OverlayLayer::prepare(&folder.join(layers.len().to_string()), &lower)?);
        }
        // Deeper roots are mounted on top of those above them.
        layers.sort_by_key(|layer| layer.lower.components().count());
        Ok(Self { layers })
    }

    /// The layers, one for each root, outermost first.
    pub fn layers(&self) -> &[OverlayLayer] {
        &self.layers
    }

    /// Removes the work folders of the kernel. What cannot be removed goes with the folder.
    pub fn remove_work_folders(&self) {
        self.layers.iter().for_each(OverlayLayer::remove_work_folder);
    }
}

impl OverlayLayer {
    /// Creates a folder for the changes to another folder during one run. It must be missing, its parent private and outside of
    /// the other folder, on a file system that supports the upper layer of an overlay.
    ///
    /// # Errors
    /// The folder cannot be created, or `lower` is no directory.
    pub fn prepare(folder: &Path, lower: &Path) -> Result<Self, SandboxError> {
        let below = directory(lower)?;
        let layer = Self::in_folder(folder, lower, "work", lower);
        let created = make_private(folder).and_then(|()| make_private(&layer.work));
        created.and_then(|()| create_like(&layer.upper, &below)).map_err(|error| SandboxError::io("create", folder, error))?;
        Ok(layer)
    }

    /// A cache that stays in this folder: the command sees `lower` and its own additions at `target`. Several runs may use it at
    /// the same time. Where the kernel refuses the overlay, the command sees its own additions only.
    ///
    /// # Errors
    /// The folder cannot be created, or `lower` is no directory.
    pub fn cache(folder: &Path, lower: &Path, target: &Path) -> Result<Self, SandboxError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        directory(lower)?;
        // The kernel clears the work folder when it mounts, so each run has its own.
        let work = format!("work-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let layer = Self { staging: Some(folder.join("merged")), ..Self::in_folder(folder, lower, &work, target) };
        // The others are there after the first run.
        let others = [folder, &layer.upper, layer.mount_point()];
        let make_all = || others.iter().try_for_each(|path| DirBuilder::new().mode(0o700).recursive(true).create(path));
        let made = make_private(&layer.work).or_else(|_| make_all().and_then(|()| make_private(&layer.work)));
        made.map_err(|error| SandboxError::io("create", folder, error))?;
        Ok(layer)
    }

    fn in_folder(folder: &Path, lower: &Path, work: &str, target: &Path) -> Self {
        let (lower, target) = (lower.to_owned(), target.to_owned());
        Self { lower, upper: folder.join("upper"), work: folder.join(work), target, staging: None }
    }

    /// Where the outer step mounts it.
    pub(crate) fn mount_point(&self) -> &Path {
        self.staging.as_deref().unwrap_or(&self.target)
    }

    /// Whether the command can do without the lower folder.
    pub(crate) fn is_cache(&self) -> bool {
        self.staging.is_some()
    }

    /// Removes the work folder of the kernel, when the run has ended.
    pub fn remove_work_folder(&self) {
        // The kernel creates it without permissions.
        fs::set_permissions(self.work.join("work"), Permissions::from_mode(0o700)).ok();
        fs::remove_dir_all(&self.work).ok();
    }
}

/// The work folders of caches, removed when the run has ended.
#[derive(Debug, Default)]
pub(crate) struct WorkFolders(pub(crate) Vec<OverlayLayer>);

impl Drop for WorkFolders {
    fn drop(&mut self) {
        self.0.iter().for_each(OverlayLayer::remove_work_folder);
    }
}

fn directory(lower: &Path) -> Result<Metadata, SandboxError> {
    let below = lower.metadata().map_err(|error| SandboxError::io("mount an overlay on", lower, error))?;
    if !below.is_dir() {
        return Err(SandboxError::policy(format!("{} is a file; an overlay needs a directory", lower.display())));
    }
    Ok(below)
}

fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Creates a directory with the owner and mode of another one: those of the upper layer are the visible ones.
fn create_like(path: &Path, other: &Metadata) -> io::Result<()> {
    make_private(path)?;
    // Only root can, and only root would appear as another owner.
    chown(path, Some(other.uid()), Some(other.gid())).ok();
    fs::set_permissions(path, Permissions::from_mode(other.mode() & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlay_needs_a_folder_outside_of_the_roots_and_directories_as_roots() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let refused = |folder: &str, lower: &str| {
            let roots = [root.join(lower)];
            Overlay::prepare(&root.join(folder), &roots).unwrap_err().to_string().replace(&*root.to_string_lossy(), "")
        };
        fs::create_dir_all(root.join("root/inside")).unwrap();
        fs::create_dir_all(root.join("changes")).unwrap();
        fs::write(root.join("file"), "x").unwrap();
        assert_eq!(
            refused("root/inside", "root"),
            "invalid sandbox policy: the folder for changes, /root/inside, lies in the writable root /root; choose another data folder \
             (HAFT_HOME)"
        );
        assert_eq!(refused("changes", "file"), "invalid sandbox policy: /file is a file; an overlay needs a directory");
    }
}
