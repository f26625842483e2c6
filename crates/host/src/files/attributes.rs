//! Extended attributes of files.

use std::fs::File;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr, lgetxattr, llistxattr};

/// Attributes with this prefix belong to the user; the others are the system's.
const OF_USER: &str = "user.";
/// The access list of a file, which belongs to its permissions.
const ACCESS_LIST: &str = "system.posix_acl_access";
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

/// The same for an open file, with its access list.
pub(super) fn copy_open(from: &File, to: &File) {
    let mut list = vec![0; MOST_BYTES];
    let Ok(length) = flistxattr(from, &mut list[..]) else { return };
    let mut value = vec![0; if length > 0 { MOST_BYTES } else { 0 }];
    for name in filter_names(&list[..length], |name| is_of_user(name) || name == ACCESS_LIST) {
        if let Ok(length) = fgetxattr(from, &*name, &mut value[..]) {
            fsetxattr(to, &*name, &value[..length], XattrFlags::empty()).ok();
        }
    }
}

fn names(path: &Path) -> Vec<String> {
    let mut list = vec![0; MOST_BYTES];
    let Ok(length) = llistxattr(path, &mut list[..]) else { return Vec::new() };
    filter_names(&list[..length], is_of_user)
}

fn is_of_user(name: &str) -> bool {
    name.starts_with(OF_USER) && !name.starts_with(OF_OVERLAY)
}

/// The wanted ones of a list of names, each ended by a zero byte.
fn filter_names(list: &[u8], wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let names = list.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    names.filter(|name| wanted(name)).map(str::to_owned).collect()
}
