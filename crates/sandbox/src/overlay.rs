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

use haft_contract::FileIdentity;
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
    /// Work folder of the kernel; `None` if the command may not write here.
    work: Option<PathBuf>,
    /// Where the command sees both.
    pub target: PathBuf,
    /// Where the outer step mounts it, if that is not the target.
    staging: Option<PathBuf>,
    /// What the folder must be when it is mounted.
    #[serde(default)]
    expected: Option<FileIdentity>,
    /// Whether nothing is written to the disk early: neither on request of a program, nor when the run ends.
    is_volatile: bool,
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
        let work = folder.join("work");
        let created = make_private(folder).and_then(|()| make_private(&work));
        let layer = Self::in_folder(folder, lower, Some(work), lower);
        created.and_then(|()| create_like(&layer.upper, &below)).map_err(|error| SandboxError::io("create", folder, error))?;
        Ok(layer)
    }

    /// The same without writing to the disk early, which takes time: the end of a run waits until the whole file system of the
    /// upper layer is written otherwise. Who applies the changes must write to the disk what has to be there after a crash.
    #[must_use]
    pub fn without_sync(self) -> Self {
        Self { is_volatile: true, ..self }
    }

    /// A cache that stays in this folder: the command sees `lower` and its own additions at `target`. Several runs may use it at
    /// the same time. Where the kernel refuses the overlay, the command sees its own additions only.
    ///
    /// # Errors
    /// The folder cannot be created, or `lower` is no directory.
    pub fn cache(folder: &Path, lower: &Path, target: &Path) -> Result<Self, SandboxError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // The kernel clears the work folder when it mounts, so each run has its own.
        let work = folder.join(format!("work-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let layer = Self::read_only_cache(folder, lower, target)?;
        make_private(&work).map_err(|error| SandboxError::io("create", folder, error))?;
        Ok(Self { work: Some(work), ..layer }.without_sync())
    }

    /// The same for a command that adds nothing to it.
    ///
    /// # Errors
    /// The folder cannot be created, or `lower` is no directory.
    pub fn read_only_cache(folder: &Path, lower: &Path, target: &Path) -> Result<Self, SandboxError> {
        directory(lower)?;
        let merged = folder.join("merged");
        let layer = Self { staging: Some(merged.clone()), ..Self::in_folder(folder, lower, None, target) };
        // It is the last that is created, so the others are there after the first run.
        let others = [folder, &layer.upper, &merged];
        let make_all = || others.iter().try_for_each(|path| DirBuilder::new().mode(0o700).recursive(true).create(path));
        if !merged.is_dir() {
            make_all().map_err(|error| SandboxError::io("create", folder, error))?;
        }
        Ok(layer)
    }

    fn in_folder(folder: &Path, lower: &Path, work: Option<PathBuf>, target: &Path) -> Self {
        let (lower, target) = (lower.to_owned(), target.to_owned());
        Self { lower, upper: folder.join("upper"), work, target, staging: None, expected: None, is_volatile: false }
    }

    /// The same for a folder that must be this one when it is mounted.
    pub(crate) fn expecting(self, expected: Option<FileIdentity>) -> Self {
        Self { expected: expected.or(self.expected), ..self }
    }

    /// Where the outer step mounts it.
    pub(crate) fn mount_point(&self) -> &Path {
        self.staging.as_deref().unwrap_or(&self.target)
    }

    /// Whether the command can do without the lower folder.
    pub(crate) fn is_cache(&self) -> bool {
        self.staging.is_some()
    }

    /// Whether both layers together are the lower one: nothing was changed so far.
    pub fn is_unchanged(&self) -> bool {
        fs::read_dir(&self.upper).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Whether the command may change what it sees.
    pub(crate) fn is_writable(&self) -> bool {
        self.work.is_some()
    }

    /// Removes the work folder of the kernel, when the run has ended.
    pub fn remove_work_folder(&self) {
        let Some(work) = &self.work else { return };
        // The kernel creates these without permissions; the inner ones without a sync.
        let inner = ["work", "work/incompat", "work/incompat/volatile"];
        for folder in &inner[..if self.is_volatile { inner.len() } else { 1 }] {
            fs::set_permissions(work.join(folder), Permissions::from_mode(0o700)).ok();
        }
        fs::remove_dir_all(work).ok();
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
    // Only root appears as another owner. The sandbox of a user knows no group but the user's own, and nobody can make anything in a
    // directory of an unknown one.
    if rustix::process::geteuid().is_root() {
        chown(path, Some(other.uid()), Some(other.gid())).ok();
    }
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
        fs::create_dir_all(root.join("project/inside")).unwrap();
        fs::create_dir_all(root.join("changes")).unwrap();
        fs::write(root.join("file"), "x").unwrap();
        assert_eq!(
            refused("project/inside", "project"),
            "invalid sandbox policy: the folder for changes, /project/inside, lies in the writable root /project; choose another data folder \
             (HAFT_HOME)"
        );
        assert_eq!(refused("changes", "file"), "invalid sandbox policy: /file is a file; an overlay needs a directory");
    }
}
