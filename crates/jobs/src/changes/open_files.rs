//! Files that other programs have open for writing: a database must not be replaced under its server.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haft_contract::{ChangeKind, ChangeSet, EntryKind};

/// Access mode of an open file in `/proc/PID/fdinfo`: the last octal digit of its flags.
const READ_ONLY: u32 = 0;

/// The first file of a set that a commit would replace or delete while another program has it open for writing, and that program.
pub(super) fn find_writer(set: &ChangeSet) -> Option<(PathBuf, String)> {
    let replaced = set.changes.iter().filter(|change| change.kind != ChangeKind::Created && change.entry == EntryKind::File);
    let files: HashMap<(u64, u64), &PathBuf> = replaced.filter_map(|change| Some((identity(&change.path)?, &change.path))).collect();
    if files.is_empty() {
        return None;
    }
    // Other users' programs cannot be looked at, and cannot write the user's files.
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_other = |path: &PathBuf| {
        let pid = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        pid.is_some_and(|pid| pid != std::process::id())
    };
    processes.filter(is_other).find_map(|process| {
        let path = written_by(&process, &files)?;
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        Some((path, format!("{} (pid {})", name.trim(), process.file_name()?.to_string_lossy())))
    })
}

fn written_by(process: &Path, files: &HashMap<(u64, u64), &PathBuf>) -> Option<PathBuf> {
    let descriptors = fs::read_dir(process.join("fd")).ok()?.flatten();
    descriptors.filter_map(|entry| Some((files.get(&identity_of_open(&entry.path())?)?, entry.file_name()))).find_map(|(path, number)| {
        let info = fs::read_to_string(process.join("fdinfo").join(number)).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let mode = u32::from_str_radix(flags.trim(), 8).ok()? & 3;
        (mode != READ_ONLY).then(|| (*path).clone())
    })
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Follows the link to the open file itself.
fn identity_of_open(descriptor: &Path) -> Option<(u64, u64)> {
    fs::metadata(descriptor).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
