//! Overlays: the file changes of a command go to a private folder instead of the writable roots.
//!
//! The outer step mounts one on each writable root, in a mount namespace of its own, and then executes the sandbox. The mounts of
//! the sandbox come on top, so that protected names and masked secrets are enforced there as well.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::placeholder::Placeholder;

/// The overlay layers of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    layers: Vec<OverlayLayer>,
}

/// A writable root, and the folder for its changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlayLayer {
    /// The root, which stays unchanged.
    pub lower: PathBuf,
    /// New and changed files, and whiteouts for deleted ones.
    pub upper: PathBuf,
    /// Work folder of the kernel.
    work: PathBuf,
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
            layers.push(OverlayLayer::prepare(&folder.join(layers.len().to_string()), lower)?);
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
        for layer in &self.layers {
            // The kernel creates it without permissions.
            fs::set_permissions(layer.work.join("work"), Permissions::from_mode(0o700)).ok();
            fs::remove_dir_all(&layer.work).ok();
        }
    }

    /// Creates a mount point for a missing protected path in the upper layer, not in the root. `false` if no layer covers the path.
    pub(crate) fn reserve(&self, target: &Path) -> io::Result<bool> {
        let Some(layer) = self.layers.iter().rev().find(|layer| target.starts_with(&layer.lower)) else { return Ok(false) };
        let (mut lower, mut upper) = (layer.lower.clone(), layer.upper.clone());
        for name in target.strip_prefix(&layer.lower).into_iter().flatten() {
            lower.push(name);
            upper.push(name);
            match (fs::symlink_metadata(&upper), fs::symlink_metadata(&lower)) {
                (Ok(_), _) => {}
                (Err(_), Ok(below)) => create_like(&upper, &below)?,
                (Err(_), Err(_)) => Placeholder::make_directory(&upper)?,
            }
        }
        Ok(true)
    }
}

impl OverlayLayer {
    fn prepare(folder: &Path, lower: PathBuf) -> Result<Self, SandboxError> {
        let below = lower.metadata().map_err(|error| SandboxError::io("mount an overlay on", &lower, error))?;
        if !below.is_dir() {
            return Err(SandboxError::policy(format!("{} is a file; an overlay needs a directory", lower.display())));
        }
        let layer = Self { lower, upper: folder.join("upper"), work: folder.join("work") };
        let created = DirBuilder::new().mode(0o700).create(folder).and_then(|()| DirBuilder::new().mode(0o700).create(&layer.work));
        created.and_then(|()| create_like(&layer.upper, &below)).map_err(|error| SandboxError::io("create", folder, error))?;
        Ok(layer)
    }

    /// Whether an entry of the upper layer is the placeholder of a protected name.
    pub fn is_placeholder(metadata: &Metadata) -> bool {
        Placeholder::is_one(metadata)
    }
}

/// Creates a directory with the owner and mode of another one: those of the upper layer are the visible ones.
fn create_like(path: &Path, other: &Metadata) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    // Only root can, and only root would appear as another owner.
    chown(path, Some(other.uid()), Some(other.gid())).ok();
    fs::set_permissions(path, Permissions::from_mode(other.mode() & 0o7777))
}

#[cfg(target_os = "linux")]
pub(crate) use mounting::mount;

#[cfg(target_os = "linux")]
mod mounting {
    use std::ffi::CString;
    use std::fs;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    use rustix::mount::{MountFlags, MountPropagationFlags};
    use rustix::thread::UnshareFlags;

    use super::OverlayLayer;

    /// Mounts the overlays in a mount namespace that ends with this process.
    pub(crate) fn mount(layers: &[OverlayLayer]) -> Result<(), String> {
        if layers.is_empty() {
            return Ok(());
        }
        let is_unprivileged = enter_namespace().map_err(|error| {
            format!(
                "cannot create a namespace for an overlay: {error}; allow user namespaces, or run without an overlay (no dry run, exec.changes = \
                 \"direct\")"
            )
        })?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        rustix::mount::mount_change("/", private).map_err(|error| format!("cannot make mounts private: {error}"))?;
        // All are opened before the first is covered.
        let open = layers.iter().map(OpenLayer::open).collect::<Result<Vec<_>, _>>()?;
        layers.iter().zip(&open).try_for_each(|(layer, open)| open.mount(layer, is_unprivileged))
    }

    /// Enters a mount namespace of its own; whether that took a user namespace as well.
    fn enter_namespace() -> rustix::io::Result<bool> {
        if rustix::process::geteuid().is_root() && unshare(UnshareFlags::NEWNS).is_ok() {
            return Ok(false);
        }
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
        let write = |file: &str, text: String| fs::write(file, text).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        write("/proc/self/setgroups", "deny".into())?;
        write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        Ok(true)
    }

    #[expect(deprecated, reason = "the one without unsafe: a launcher step has one thread, and the descriptor table stays shared")]
    fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
        rustix::thread::unshare(flags)
    }

    /// Handles of a layer's folders: a path may contain separators of mount options.
    struct OpenLayer {
        lower: OwnedFd,
        upper: OwnedFd,
        work: OwnedFd,
    }

    impl OpenLayer {
        fn open(layer: &OverlayLayer) -> Result<Self, String> {
            let open = |path: &Path| {
                rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                    .map_err(|error| format!("cannot open {} for an overlay: {error}", path.display()))
            };
            Ok(Self { lower: open(&layer.lower)?, upper: open(&layer.upper)?, work: open(&layer.work)? })
        }

        fn mount(&self, layer: &OverlayLayer, is_unprivileged: bool) -> Result<(), String> {
            let at = |handle: &OwnedFd| format!("/proc/self/fd/{}", handle.as_raw_fd());
            let (lower, upper, work) = (at(&self.lower), at(&self.upper), at(&self.work));
            let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
            // A renamed file is deleted and created, and every changed file is complete in the upper layer.
            let kind = if is_unprivileged { "userxattr" } else { "index=off" };
            let options = format!("{layers},redirect_dir=nofollow,metacopy=off,xino=off,{kind}");
            let options = CString::new(options).map_err(|error| error.to_string())?;
            rustix::mount::mount("overlay", &layer.lower, "overlay", MountFlags::empty(), &*options).map_err(|error| {
                format!(
                    "cannot mount an overlay on {}: {error}; it needs Linux 5.11 or newer, and {} on a file system such as ext4, xfs or \
                     btrfs (not an overlay): set HAFT_HOME to one, or run without an overlay (no dry run, exec.changes = \"direct\")",
                    layer.lower.display(),
                    layer.upper.display(),
                )
            })
        }
    }
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

    #[test]
    fn placeholder_of_a_missing_name_is_in_the_upper_layer_only() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (lower, changes) = (root.join("work"), root.join("changes"));
        fs::create_dir_all(lower.join(".git")).unwrap();
        fs::set_permissions(lower.join(".git"), Permissions::from_mode(0o750)).unwrap();
        fs::create_dir(&changes).unwrap();
        let overlay = Overlay::prepare(&changes, std::slice::from_ref(&lower)).unwrap();
        assert!(overlay.reserve(&lower.join(".git/hooks")).unwrap());
        assert!(!overlay.reserve(&root.join("elsewhere")).unwrap());
        let upper = &overlay.layers()[0].upper;
        let above = fs::metadata(upper.join(".git")).unwrap();
        assert_eq!((above.mode() & 0o7777, OverlayLayer::is_placeholder(&above)), (0o750, false));
        assert!(OverlayLayer::is_placeholder(&fs::metadata(upper.join(".git/hooks")).unwrap()));
        assert!(!lower.join(".git/hooks").exists());
    }
}
