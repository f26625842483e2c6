//! The Unix sockets that programs of this machine listen at. A command that could connect to one would have left the sandbox.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;

/// The sockets of the network that this process is in.
const TABLE: &str = "/proc/net/unix";
/// Columns before the name: number, users, protocol, flags, type, state, inode.
const COLUMNS: usize = 7;

/// The sockets that are shown.
///
/// # Errors
/// The table of the kernel cannot be read.
pub(super) fn find(is_shown: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, SandboxError> {
    let table = fs::read(TABLE).map_err(|error| SandboxError::io("look for Unix sockets in", Path::new(TABLE), error))?;
    let (whole, relative): (Vec<&Path>, Vec<&Path>) = names(&table).partition(|name| name.is_absolute());
    let mut paths: Vec<PathBuf> = whole.into_iter().map(Path::to_owned).collect();
    if !relative.is_empty() {
        paths.extend(working_directories().iter().flat_map(|folder| relative.iter().map(|name| folder.join(name))));
    }
    // Many are in one folder, and hardly any folder is shown.
    let mut folders: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
    let mut real = |path: PathBuf| -> Option<PathBuf> {
        let find = |folder: &Path| folder.canonicalize().ok().filter(|real| is_shown(real));
        let folder = path.parent()?;
        let known = folders.entry(folder.to_owned()).or_insert_with(|| find(folder));
        Some(known.as_ref()?.join(path.file_name()?))
    };
    let is_socket = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    let mut found: Vec<PathBuf> = paths.into_iter().filter_map(&mut real).filter(is_socket).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The names in the table that are paths, as the programs gave them.
fn names(table: &[u8]) -> impl Iterator<Item = &Path> {
    let name = |line| Some(Path::new(OsStr::from_bytes(last_column(line)?)));
    table.split(|byte| *byte == b'\n').skip(1).filter_map(name)
}

/// Of a line that has one: abstract sockets, which begin with `@`, are of one network alone.
fn last_column(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..COLUMNS {
        rest = rest.trim_ascii_start();
        rest = &rest[rest.iter().position(u8::is_ascii_whitespace)?..];
    }
    rest.strip_prefix(b" ").filter(|name| !name.is_empty() && !name.starts_with(b"@"))
}

/// Of the processes that this user may look at.
fn working_directories() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &OsStr| name.as_bytes().iter().all(u8::is_ascii_digit);
    let mut found: Vec<PathBuf> =
        entries.filter(|entry| is_process(&entry.file_name())).filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn sockets_are_found_by_whole_and_relative_paths_and_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("shown")).unwrap();
        std::os::unix::fs::symlink("shown", root.join("link")).unwrap();
        let shown = root.join("shown");
        let listeners =
            [shown.join("of a program"), root.join("link/linked"), root.join("hidden")].map(|path| UnixListener::bind(path).unwrap());
        let script =
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('relative'); s.listen(); print(flush=True); sys.stdin.read()";
        let mut program = Command::new("python3");
        let mut program = program.args(["-c", script]).current_dir(&shown).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Read::read_exact(program.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let is_shown = |path: &Path| path.starts_with(&shown);
        assert_eq!(find(is_shown).unwrap(), ["linked", "of a program", "relative"].map(|name| shown.join(name)));
        assert_eq!(find(|_| false).unwrap(), Vec::<PathBuf>::new());
        drop((program.stdin.take(), listeners));
        program.wait().unwrap();
        assert_eq!(find(is_shown).unwrap(), Vec::<PathBuf>::new(), "nobody listens any more");
    }

    #[test]
    fn names_are_the_last_column() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01     5 @/tmp/x\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12345\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12345 /a b/\xff\n\
            0000000000000000: 00000002 00000000 00010000 0001 01    77 relative\n";
        let expected: Vec<&OsStr> = vec![OsStr::from_bytes(b"/a b/\xff"), OsStr::new("relative")];
        assert_eq!(names(table).map(Path::as_os_str).collect::<Vec<_>>(), expected);
    }
}
