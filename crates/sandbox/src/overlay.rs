//! Overlays: a command changes what is writable as ever, and all of it lands in a private folder instead.
//!
//! The outer stage lays one upon each writable root, in a mount namespace of its own, and then becomes the sandbox. What a
//! sandbox mounts comes above it, so that protected names and masked secrets hold there as well.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SandboxError;

/// What holds a protected name that is missing: an empty directory of a mode that no other program makes.
const PLACEHOLDER: u32 = 0o1500;

/// Where the changes of one run go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    layers: Vec<Layer>,
}

/// A writable root, and the folder that takes its changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The root, which stays as it is.
    pub lower: PathBuf,
    /// What is changed: new and changed files, and marks for those that are gone.
    pub upper: PathBuf,
    /// The kernel's own.
    work: PathBuf,
}

impl Overlay {
    /// Prepares a folder for the changes to these roots. It must be empty and private, on a file system that can hold the upper
    /// layer of an overlay, and apart from the roots.
    ///
    /// # Errors
    /// Says which root cannot be had, and why.
    pub fn prepare(folder: &Path, roots: &[PathBuf]) -> Result<Self, SandboxError> {
        let real = |path: &Path| path.canonicalize().map_err(|error| SandboxError::io("lay an overlay upon", path, error));
        let folder = real(folder)?;
        let mut layers = Vec::new();
        for root in roots {
            let lower = real(root)?;
            if folder.starts_with(&lower) {
                let what =
                    format!("the folder for changes, {}, lies in {}, which it is to hold the changes of", show(&folder), show(&lower));
                return Err(SandboxError::policy(format!("{what}; choose another data folder (HAFT_HOME)")));
            }
            layers.push(Layer::prepare(&folder.join(layers.len().to_string()), lower)?);
        }
        // What lies deeper is laid upon what lies above it.
        layers.sort_by_key(|layer| layer.lower.components().count());
        Ok(Self { layers })
    }

    /// One for each root, the outermost first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Takes what only the kernel needed away. What cannot be removed goes with the folder.
    pub fn settle(&self) {
        for layer in &self.layers {
            // The kernel shuts it.
            fs::set_permissions(layer.work.join("work"), Permissions::from_mode(0o700)).ok();
            fs::remove_dir_all(&layer.work).ok();
        }
    }

    /// Makes something to mount upon where a protected name is missing: above the root, which stays as it is. `false` if no
    /// layer covers the path.
    pub(crate) fn hold(&self, target: &Path) -> io::Result<bool> {
        let Some(layer) = self.layers.iter().rev().find(|layer| target.starts_with(&layer.lower)) else { return Ok(false) };
        let (mut lower, mut upper) = (layer.lower.clone(), layer.upper.clone());
        for name in target.strip_prefix(&layer.lower).into_iter().flatten() {
            lower.push(name);
            upper.push(name);
            match (fs::symlink_metadata(&upper), fs::symlink_metadata(&lower)) {
                (Ok(_), _) => {}
                (Err(_), Ok(below)) => like(&upper, &below)?,
                (Err(_), Err(_)) => DirBuilder::new().mode(PLACEHOLDER).create(&upper)?,
            }
        }
        Ok(true)
    }
}

impl Layer {
    fn prepare(folder: &Path, lower: PathBuf) -> Result<Self, SandboxError> {
        let below = lower.metadata().map_err(|error| SandboxError::io("lay an overlay upon", &lower, error))?;
        if !below.is_dir() {
            return Err(SandboxError::policy(format!("{} is a file, and an overlay is laid upon directories; name one", show(&lower))));
        }
        let layer = Self { lower, upper: folder.join("upper"), work: folder.join("work") };
        let made = DirBuilder::new().mode(0o700).create(folder).and_then(|()| DirBuilder::new().mode(0o700).create(&layer.work));
        made.and_then(|()| like(&layer.upper, &below)).map_err(|error| SandboxError::io("make", folder, error))?;
        Ok(layer)
    }

    /// Whether an entry of the upper layer only holds the place of a protected name.
    pub fn is_placeholder(metadata: &Metadata) -> bool {
        metadata.is_dir() && metadata.mode() & 0o7777 == PLACEHOLDER
    }
}

/// A directory with the owner and mode of another one, since those of the upper layer are the ones that are seen.
fn like(path: &Path, other: &Metadata) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    // Only root can, and only root would be seen as another owner.
    chown(path, Some(other.uid()), Some(other.gid())).ok();
    fs::set_permissions(path, Permissions::from_mode(other.mode() & 0o7777))
}

fn show(path: &Path) -> String {
    path.display().to_string()
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

    use super::{Layer, show};

    /// Lays the overlays in a namespace that ends with this process and all that it becomes.
    pub(crate) fn mount(layers: &[Layer]) -> Result<(), String> {
        if layers.is_empty() {
            return Ok(());
        }
        let is_ordinary = leave().map_err(|error| {
            format!(
                "cannot make a namespace for an overlay: {error}; allow user namespaces, or run without one (no dry run, exec.changes = \
                 \"direct\")"
            )
        })?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        rustix::mount::mount_change("/", private).map_err(|error| format!("cannot keep mounts from the host: {error}"))?;
        // All are opened before the first is covered.
        let opened = layers.iter().map(Opened::open).collect::<Result<Vec<_>, _>>()?;
        layers.iter().zip(&opened).try_for_each(|(layer, opened)| opened.mount(layer, is_ordinary))
    }

    /// Leaves the host's mounts; whether that took a namespace of users as well.
    fn leave() -> rustix::io::Result<bool> {
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

    #[expect(deprecated, reason = "the one that needs no unsafe: a stage has one thread, and the table of descriptors stays shared")]
    fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
        rustix::thread::unshare(flags)
    }

    /// By handle, since a path may hold what separates options.
    struct Opened {
        lower: OwnedFd,
        upper: OwnedFd,
        work: OwnedFd,
    }

    impl Opened {
        fn open(layer: &Layer) -> Result<Self, String> {
            let open = |path: &Path| {
                rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                    .map_err(|error| format!("cannot open {} for an overlay: {error}", path.display()))
            };
            Ok(Self { lower: open(&layer.lower)?, upper: open(&layer.upper)?, work: open(&layer.work)? })
        }

        fn mount(&self, layer: &Layer, is_ordinary: bool) -> Result<(), String> {
            let at = |handle: &OwnedFd| format!("/proc/self/fd/{}", handle.as_raw_fd());
            let (lower, upper, work) = (at(&self.lower), at(&self.upper), at(&self.work));
            let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
            // Names stay where they are: what is renamed is gone here and new there, and all of a file is in the upper layer.
            let kind = if is_ordinary { "userxattr" } else { "index=off" };
            let options = format!("{layers},redirect_dir=nofollow,metacopy=off,xino=off,{kind}");
            let options = CString::new(options).map_err(|error| error.to_string())?;
            rustix::mount::mount("overlay", &layer.lower, "overlay", MountFlags::empty(), &*options).map_err(|error| {
                format!(
                    "cannot lay an overlay upon {}: {error}; Linux 5.11 or newer is needed, and {} must lie on a file system that can hold \
                     its upper layer, such as ext4, xfs or btrfs, and no overlay itself: set HAFT_HOME to one, or run without an overlay \
                     (no dry run, exec.changes = \"direct\")",
                    show(&layer.lower),
                    show(&layer.upper),
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_must_lie_apart_and_a_root_must_be_a_directory() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let refused = |folder: &str, lower: &str| {
            let roots = [root.join(lower)];
            Overlay::prepare(&root.join(folder), &roots).unwrap_err().to_string().replace(&*root.to_string_lossy(), "")
        };
        fs::create_dir_all(root.join("place/inside")).unwrap();
        fs::create_dir_all(root.join("apart")).unwrap();
        fs::write(root.join("file"), "x").unwrap();
        assert_eq!(
            refused("place/inside", "place"),
            "the policy of the sandbox is wrong: the folder for changes, /place/inside, lies in /place, which it is to hold the changes of; \
             choose another data folder (HAFT_HOME)"
        );
        assert_eq!(
            refused("apart", "file"),
            "the policy of the sandbox is wrong: /file is a file, and an overlay is laid upon directories; name one"
        );
    }

    #[test]
    fn a_missing_name_is_held_above_the_root_and_not_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (lower, apart) = (root.join("work"), root.join("apart"));
        fs::create_dir_all(lower.join(".git")).unwrap();
        fs::set_permissions(lower.join(".git"), Permissions::from_mode(0o750)).unwrap();
        fs::create_dir(&apart).unwrap();
        let overlay = Overlay::prepare(&apart, std::slice::from_ref(&lower)).unwrap();
        assert!(overlay.hold(&lower.join(".git/hooks")).unwrap());
        assert!(!overlay.hold(&root.join("elsewhere")).unwrap());
        let upper = &overlay.layers()[0].upper;
        let above = fs::metadata(upper.join(".git")).unwrap();
        assert_eq!((above.mode() & 0o7777, Layer::is_placeholder(&above)), (0o750, false));
        assert!(Layer::is_placeholder(&fs::metadata(upper.join(".git/hooks")).unwrap()));
        assert!(!lower.join(".git/hooks").exists());
    }
}
