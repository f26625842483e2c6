//! Extended attributes of files.

use std::fs::File;
use std::path::Path;

use rustix::fs::{XattrFlags, fsetxattr, lgetxattr, llistxattr};

/// Attributes with this prefix belong to the user; the others are the system's.
const OF_USER: &str = "user.";
/// Written by the kernel into the upper layer of an overlay.
const OF_OVERLAY: &str = "user.overlay.";
/// Longer lists and values are not carried over.
const MOST_BYTES: usize = 64 * 1024;

/// Copies the user's attributes of one file to another. A file system without attributes has none to lose.
pub(super) fn copy(from: &Path, to: &File) {
    for name in names(from) {
        let mut value = vec![0; MOST_BYTES];
        if let Ok(length) = lgetxattr(from, &*name, &mut value[..]) {
            fsetxattr(to, &*name, &value[..length], XattrFlags::empty()).ok();
        }
    }
}

fn names(path: &Path) -> Vec<String> {
    let mut list = vec![0; MOST_BYTES];
    let Ok(length) = llistxattr(path, &mut list[..]) else { return Vec::new() };
    let names = list[..length].split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    names.filter(|name| name.starts_with(OF_USER) && !name.starts_with(OF_OVERLAY)).map(str::to_owned).collect()
}
