//! The mounts as arguments of bubblewrap.

use std::ffi::OsString;
use std::path::Path;

use haft_contract::FileIdentity;

use super::{MountKind, MountPlan, system};
use crate::launcher::namespaces::{EXPECT, EXPECT_SOURCE};

/// Root can write here without any capability. Bubblewrap covers the other such paths itself.
const KERNEL: &str = "/proc/sys";
/// Keys of the whole machine, in every namespace.
const KEYS: &str = "/proc/keys";

impl MountPlan {
    /// Arguments that mount everything, and those that end the setup: by then all mount points are created.
    pub(crate) fn arguments(&self, size: u64) -> (Vec<OsString>, Vec<OsString>) {
        let mut arguments: Vec<OsString> = ["--dev", "/dev", "--proc", "/proc"].map(Into::into).into();
        if rustix::process::geteuid().is_root() {
            arguments.extend(["--ro-bind", KERNEL, KERNEL].map(Into::into));
        }
        if Path::new(KEYS).exists() {
            arguments.extend(["--ro-bind", "/dev/null", KEYS].map(Into::into));
        }
        for ((_, at, mount), source) in &self.mounts {
            arguments.extend(self.expectation(at, *mount, source));
            arguments.extend(self.mount(at, *mount, source, size));
        }
        // After the mounts: a link may lie in `/run`.
        for (link, target) in &system::paths().links {
            if !self.mounts.keys().any(|(_, at, _)| at.starts_with(link)) {
                arguments.extend(["--symlink".into(), target.into(), link.into()]);
            }
        }
        let hidden = self.mounts.keys().filter(|(_, at, mount)| *mount == MountKind::Hidden && self.is_folder(at));
        let read_only = ["/run", "/dev", "/"].map(Path::new).into_iter().chain(hidden.map(|(_, at, _)| at.as_path()));
        (arguments, read_only.flat_map(|path| ["--remount-ro".into(), path.into()]).collect())
    }

    /// What must be at the path, or at the source of a root.
    fn expectation(&self, at: &Path, mount: MountKind, source: &Path) -> Vec<OsString> {
        let Some(FileIdentity { device, inode, .. }) = self.identities.get(at).filter(|_| at == source) else { return Vec::new() };
        let option = match mount {
            MountKind::Protected | MountKind::Hidden => EXPECT,
            MountKind::ReadOnly | MountKind::Writable => EXPECT_SOURCE,
            MountKind::Memory(_) | MountKind::Pinned => return Vec::new(),
        };
        vec![option.into(), format!("{device}:{inode}").into()]
    }

    fn mount(&self, at: &Path, mount: MountKind, source: &Path, size: u64) -> Vec<OsString> {
        let bind = |kind: &str| vec![kind.into(), source.into(), at.into()];
        match mount {
            MountKind::Memory(mode) => {
                vec!["--perms".into(), mode.into(), "--size".into(), size.to_string().into(), "--tmpfs".into(), at.into()]
            }
            MountKind::ReadOnly | MountKind::Protected => bind("--ro-bind"),
            MountKind::Writable | MountKind::Pinned => bind("--bind"),
            MountKind::Hidden if self.is_folder(source) => {
                // A root may lie in a hidden folder, such as the spill files in the data folder.
                let leads_to_root = self.mounts.keys().any(|(_, other, _)| other != at && other.starts_with(at));
                let mode = if leads_to_root { "0111" } else { "0000" };
                vec!["--perms".into(), mode.into(), "--tmpfs".into(), at.into()]
            }
            // A device file on a mount without devices cannot even be opened.
            MountKind::Hidden => vec!["--ro-bind".into(), "/dev/null".into(), at.into()],
        }
    }
}
