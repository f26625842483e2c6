//! Other names of hidden files. A hard link is the file itself, so that hiding one name would hide nothing.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::SandboxPaths;
use super::scan::{MOST_ENTRIES, too_large};

/// Hides the other names in the roots of hidden files, and of those in hidden folders. Hardly any has some, so the roots are hardly
/// ever searched.
pub(super) fn hide(paths: &mut SandboxPaths) {
    let (mut hidden, mut missing) = (paths.masked.clone(), HashMap::new());
    hidden.sort_unstable();
    // Each name counts once.
    hidden.dedup_by(|deeper, above| deeper.starts_with(above));
    for path in &hidden {
        count_names(path, &mut missing, paths);
    }
    missing.retain(|_, (_, count)| *count > 0);
    let roots: Vec<PathBuf> = paths.writable.iter().chain(&paths.read_only).cloned().collect();
    for root in roots {
        if !missing.is_empty() {
            search(&root, &mut missing, paths);
        }
    }
    paths.masked.sort_unstable();
}

/// Adds the inodes of hidden files, with the device of each and how many names of it are not known yet.
fn count_names(hidden: &Path, missing: &mut HashMap<u64, (u64, u64)>, paths: &mut SandboxPaths) {
    let (mut left, mut seen) = (vec![hidden.to_owned()], 0);
    while let Some(path) = left.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_file() && found.nlink() > 1 {
            let (_, count) = missing.entry(found.ino()).or_insert((found.dev(), found.nlink()));
            *count = count.saturating_sub(1);
        }
        if !found.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            seen += 1;
            left.push(entry.path());
        }
        if seen > MOST_ENTRIES {
            return paths.uncovered.push(too_large(hidden));
        }
    }
}

fn search(root: &Path, missing: &mut HashMap<u64, (u64, u64)>, paths: &mut SandboxPaths) {
    let (mut folders, mut seen) = (vec![root.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return paths.uncovered.push(too_large(root));
            }
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            let Some((device, count)) = missing.get_mut(&entry.ino()) else { continue };
            let is_it = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && found.dev() == *device);
            if is_it && !is_hidden(&path, paths) {
                paths.masked.push(path);
                *count -= 1;
                if *count == 0 {
                    missing.remove(&entry.ino());
                }
            }
        }
    }
}

fn is_hidden(path: &Path, paths: &SandboxPaths) -> bool {
    path.ancestors().any(|above| paths.masked.iter().any(|masked| masked == above))
}
