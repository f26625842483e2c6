//! Mounts overlays in a mount namespace of its own.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use haft_contract::FileIdentity;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;

use super::OverlayLayer;
use crate::launcher::mount_target::{fail_as_moved, open_expected};
use crate::launcher::namespaces::{enter_user_namespace, unshare};
use crate::launcher::step::StepFailure;

/// Mounts the overlays in a mount namespace that ends with this process.
pub(crate) fn mount(layers: &[OverlayLayer]) -> Result<(), StepFailure> {
    if layers.is_empty() {
        return Ok(());
    }
    let is_unprivileged = match enter_namespace() {
        Ok(is_unprivileged) => is_unprivileged,
        Err(error) => {
            return Err(format!(
                "cannot create a namespace for an overlay: {error}; allow user namespaces, or run without an overlay (no dry run, \
                 exec.changes = \"direct\")"
            )
            .into());
        }
    };
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).map_err(|error| format!("cannot make mounts private: {error}"))?;
    // All are opened before the first is covered.
    let open = layers.iter().map(OpenLayer::open).collect::<Result<Vec<_>, _>>()?;
    let is_plain = |layer: &OverlayLayer| {
        !layers.iter().any(|other| layer.mount_point() != other.mount_point() && layer.mount_point().starts_with(other.mount_point()))
    };
    layers.iter().zip(&open).try_for_each(|(layer, open)| open.mount(layer, is_unprivileged, is_plain(layer)))
}

/// Enters a mount namespace of its own; whether this process is unprivileged outside of a user namespace.
fn enter_namespace() -> rustix::io::Result<bool> {
    let is_root = rustix::process::geteuid().is_root();
    // Also allowed in the user namespace of a session network, which this process may have joined.
    if unshare(UnshareFlags::NEWNS).is_ok() {
        return Ok(!is_root || !owns_host());
    }
    enter_user_namespace(UnshareFlags::NEWNS)?;
    Ok(true)
}

/// Whether this user namespace maps all users, as the first one does: only there are `trusted` attributes allowed.
fn owns_host() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Handles of a layer's folders: a path may contain separators of mount options.
struct OpenLayer {
    lower: OwnedFd,
    upper: OwnedFd,
    /// Of a writable layer.
    work: Option<OwnedFd>,
}

impl OpenLayer {
    fn open(layer: &OverlayLayer) -> Result<Self, StepFailure> {
        let work = layer.work.as_deref().map(open_private).transpose()?;
        let lower = open_checked(&layer.lower, layer.expected)?;
        Ok(Self { lower, upper: open_private(&layer.upper)?, work })
    }

    /// Within another overlay, where the folder has another number, it is not compared: nothing moves there yet.
    fn mount(&self, layer: &OverlayLayer, is_unprivileged: bool, is_plain: bool) -> Result<(), StepFailure> {
        // Opened only now: a layer above may cover it.
        let mount_point = match layer.mount_point() {
            path if layer.is_cache() => open_private(path)?,
            path => open_checked(path, layer.expected.filter(|_| is_plain))?,
        };
        let mount = |options: String| {
            let options = CString::new(options).map_err(|_| Errno::INVAL)?;
            rustix::mount::mount("overlay", path(&mount_point), "overlay", MountFlags::empty(), &*options)
        };
        let options = self.options(is_unprivileged);
        let mounted = if layer.is_volatile {
            // Older kernels have no such option.
            mount(format!("{options},volatile")).or_else(|_| mount(options))
        } else {
            mount(options)
        };
        match mounted {
            Err(_) if layer.is_cache() => rustix::mount::mount_bind(path(&self.upper), path(&mount_point))
                .map_err(|error| format!("cannot mount the cache {}: {error}", layer.upper.display()).into()),
            // The folder below was there when it was opened.
            Err(Errno::NOENT) => Err(fail_as_moved(&layer.lower)),
            other => other.map_err(|error| refusal(layer, error).into()),
        }
    }

    fn options(&self, is_unprivileged: bool) -> String {
        let (lower, upper) = (path(&self.lower), path(&self.upper));
        let layers = match &self.work {
            Some(work) => format!("lowerdir={lower},upperdir={upper},workdir={}", path(work)),
            None => format!("lowerdir={upper}:{lower}"),
        };
        // A renamed file is deleted and created, and every changed file is complete in the upper layer. Without an index the upper
        // layer of a cache may be in use by other runs.
        let kind = if is_unprivileged { ",userxattr" } else { "" };
        format!("{layers},redirect_dir=nofollow,metacopy=off,xino=off,index=off{kind}")
    }
}

/// Opens a folder that commands may write to, and follows no link: another one may put it there while this one is set up, or move the
/// folder.
fn open_checked(path: &Path, expected: Option<FileIdentity>) -> Result<OwnedFd, StepFailure> {
    match expected {
        Some(FileIdentity { device, inode, .. }) => open_expected(path, (device, inode), || open(path, ResolveFlags::NO_SYMLINKS)),
        None => open(path, ResolveFlags::NO_SYMLINKS).map_err(|error| cannot_open(path, error)),
    }
}

/// Opens a folder that no command sees.
fn open_private(path: &Path) -> Result<OwnedFd, StepFailure> {
    open(path, ResolveFlags::empty()).map_err(|error| cannot_open(path, error))
}

fn open(path: &Path, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn cannot_open(path: &Path, error: Errno) -> StepFailure {
    format!("cannot open {} for an overlay: {error}", path.display()).into()
}

fn path(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

fn refusal(layer: &OverlayLayer, error: Errno) -> String {
    format!(
        "cannot mount an overlay on {}: {error}; it needs Linux 5.11 or newer, and {} on a file system such as ext4, xfs or btrfs (not an \
         overlay): set HAFT_HOME to one, or run without an overlay (no dry run, exec.changes = \"direct\")",
        layer.lower.display(),
        layer.upper.display(),
    )
}
