//! What the machine said, in words a model can act on.

use haft_contract::{ConcurrentChange, ErrorKind, Location, ToolError, Zone};
use rustix::fs::FileType;
use rustix::io::Errno;

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAction {
    Look,
    Read,
    Write,
    Remove,
}

impl FileAction {
    fn cannot(self) -> &'static str {
        match self {
            Self::Look => "cannot look at",
            Self::Read => "cannot read",
            Self::Write => "cannot write to",
            Self::Remove => "cannot remove",
        }
    }
    /// What is true after it failed.
    fn reassurance(self) -> &'static str {
        if matches!(self, Self::Write | Self::Remove) { "; the file is unchanged" } else { "" }
    }
}

/// The error for an action that the operating system refused.
pub(super) fn failed(action: FileAction, at: &Location, errno: Errno) -> ToolError {
    let (path, cannot, unchanged) = (at.requested().display(), action.cannot(), action.reassurance());
    let (kind, message) = match errno {
        Errno::NOENT => (ErrorKind::FileNotFound, format!("File not found: {path}")),
        Errno::LOOP => return became_a_link(at),
        Errno::ACCESS | Errno::PERM => (ErrorKind::PermissionDenied, format!("Permission denied: {cannot} {path}")),
        Errno::ROFS => (ErrorKind::PermissionDenied, format!("Permission denied: {cannot} {path} (its file system is mounted read-only)")),
        Errno::NOSPC => {
            (ErrorKind::ExecutionError, format!("The disk is full: {cannot} {path}{unchanged}. Free some space, then try again."))
        }
        Errno::DQUOT => {
            (ErrorKind::ExecutionError, format!("The disk quota is used up: {cannot} {path}{unchanged}. Free some space, then try again."))
        }
        Errno::FBIG => (ErrorKind::FileTooLarge, format!("The content is larger than its disk allows: {cannot} {path}{unchanged}.")),
        Errno::NOTDIR => (ErrorKind::ValidationError, format!("A part of the path is a file, not a directory: {path}")),
        Errno::ISDIR => return not_a_file(at, FileType::Directory),
        Errno::NXIO => return not_a_file(at, FileType::Socket),
        Errno::NAMETOOLONG => (ErrorKind::ValidationError, format!("A name is longer than its disk allows: {path}. Give a shorter one.")),
        Errno::MFILE | Errno::NFILE => {
            (ErrorKind::ExecutionError, format!("Too many files are open: {cannot} {path}{unchanged}. Try again with fewer calls at once."))
        }
        Errno::CANCELED => (ErrorKind::Cancelled, format!("Stopped before it was done: {cannot} {path}{unchanged}.")),
        _ => (ErrorKind::ExecutionError, format!("The disk failed: {cannot} {path}: {errno}{unchanged}.")),
    };
    ToolError::new(kind, message).with_source(errno)
}

/// The path was free of links when it was checked, and is not any more.
pub(super) fn became_a_link(at: &Location) -> ToolError {
    let message = format!(
        "A part of '{}' changed into a symbolic link while the call was being prepared, so nothing was done. Look at the path again, then retry.",
        at.requested().display()
    );
    ToolError::new(ErrorKind::PathNotAllowed, message)
}

/// The file is not the one whose pre-image was kept.
pub(super) fn changed_meanwhile(at: &Location) -> ToolError {
    let message =
        format!("'{}' was changed while being written, so nothing was done. Read it again, then retry.", at.requested().display());
    ToolError::execution(message).with_source(ConcurrentChange)
}

/// The file is not what the change left that is taken back.
pub(super) fn changed_since(at: &Location) -> ToolError {
    let message = format!("'{}' was changed since, so it was not put back. Look at it, then decide again.", at.display());
    ToolError::execution(message)
}

/// The change was made, but may not survive a power cut.
pub(super) fn not_synced(at: &Location, errno: Errno) -> ToolError {
    let message =
        format!("'{}' was changed, but its folder could not be written to the disk for certain: {errno}.", at.requested().display());
    ToolError::execution(message).with_source(errno)
}

/// Not an ordinary file.
pub(super) fn not_a_file(at: &Location, kind: FileType) -> ToolError {
    let what = match kind {
        FileType::Directory => return ToolError::validation(format!("Path is a directory, not a file: {}", at.display())),
        FileType::Symlink => return became_a_link(at),
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        _ => "not an ordinary file",
    };
    ToolError::new(ErrorKind::PathNotAllowed, format!("'{}' is {what}: only ordinary files can be read or written.", at.display()))
}

/// What the kernel shows as files, wherever it is mounted.
pub(super) fn of_the_kernel(at: &Location) -> ToolError {
    let message =
        format!("'{}' is shown by the kernel and is no file of a disk: only ordinary files can be read or written.", at.display());
    ToolError::new(ErrorKind::PathNotAllowed, message)
}

/// Refuses what may not be read, even if nobody asked before.
pub(super) fn check_readable(at: &Location) -> Result<(), ToolError> {
    at.no_read().map_or(Ok(()), |why| Err(ToolError::new(ErrorKind::PathNotAllowed, why)))
}

/// Refuses what may not be written, even if nobody asked before.
pub(super) fn check_writable(at: &Location) -> Result<(), ToolError> {
    if let Some(why) = at.no_write() {
        return Err(ToolError::new(ErrorKind::PathNotAllowed, why));
    }
    if at.zone() == Zone::ReadOnlyRoot {
        return Err(ToolError::new(ErrorKind::PathNotAllowed, format!("'{}' lies in a folder that may only be read.", at.display())));
    }
    Ok(())
}

/// Whether a path is spelled as that of a folder.
pub(super) fn names_a_folder(at: &Location) -> bool {
    let spelled = at.requested().as_os_str().as_encoded_bytes();
    spelled.ends_with(b"/") || spelled.ends_with(b"/.")
}

/// Refuses to make a file where the path names a folder.
pub(super) fn check_file_name(at: &Location) -> Result<(), ToolError> {
    if !names_a_folder(at) {
        return Ok(());
    }
    let path = at.requested().display();
    Err(ToolError::validation(format!("'{path}' names a folder: give the name of a file in it, or leave out the '/' at its end.")))
}

/// The number behind an error of the standard library.
pub(super) fn number(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// A file whose pre-image would be too large.
pub(super) fn too_large_to_keep(at: &Location, size: u64, limit: u64) -> ToolError {
    ToolError::new(
        ErrorKind::FileTooLarge,
        format!(
            "File is too large to be changed undoably ({size} bytes; at most {limit} bytes are kept for undo): {}. Nothing was done. \
             Write to a new file instead, or ask the user to change this one.",
            at.requested().display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;

    fn at() -> Location {
        Location::new(PathBuf::from("./a"), PathBuf::from("/ws/a"), "a".into(), Zone::Workspace, Arc::new(()))
    }

    #[test]
    fn every_fault_of_a_disk_has_its_kind_and_words() {
        let table = [
            (FileAction::Read, Errno::NOENT, "file_not_found", "File not found: ./a"),
            (FileAction::Read, Errno::ACCESS, "permission_denied", "Permission denied: cannot read ./a"),
            (FileAction::Look, Errno::ACCESS, "permission_denied", "Permission denied: cannot look at ./a"),
            (FileAction::Write, Errno::ACCESS, "permission_denied", "Permission denied: cannot write to ./a"),
            (FileAction::Write, Errno::PERM, "permission_denied", "Permission denied: cannot write to ./a"),
            (FileAction::Remove, Errno::ACCESS, "permission_denied", "Permission denied: cannot remove ./a"),
            (
                FileAction::Write,
                Errno::ROFS,
                "permission_denied",
                "Permission denied: cannot write to ./a (its file system is mounted read-only)",
            ),
            (
                FileAction::Write,
                Errno::NOSPC,
                "execution_error",
                "The disk is full: cannot write to ./a; the file is unchanged. Free some space, then try again.",
            ),
            (
                FileAction::Write,
                Errno::DQUOT,
                "execution_error",
                "The disk quota is used up: cannot write to ./a; the file is unchanged. Free some space, then try again.",
            ),
            (
                FileAction::Write,
                Errno::FBIG,
                "file_too_large",
                "The content is larger than its disk allows: cannot write to ./a; the file is unchanged.",
            ),
            (FileAction::Read, Errno::ISDIR, "validation_error", "Path is a directory, not a file: a"),
            (FileAction::Read, Errno::NOTDIR, "validation_error", "A part of the path is a file, not a directory: ./a"),
            (FileAction::Read, Errno::NXIO, "path_not_allowed", "'a' is a socket: only ordinary files can be read or written."),
            (FileAction::Write, Errno::NAMETOOLONG, "validation_error", "A name is longer than its disk allows: ./a. Give a shorter one."),
            (
                FileAction::Read,
                Errno::MFILE,
                "execution_error",
                "Too many files are open: cannot read ./a. Try again with fewer calls at once.",
            ),
            (FileAction::Write, Errno::CANCELED, "cancelled", "Stopped before it was done: cannot write to ./a; the file is unchanged."),
        ];
        for (action, errno, kind, message) in table {
            let error = failed(action, &at(), errno);
            assert_eq!((error.kind().as_str(), error.message()), (kind, message));
        }
        let broken = failed(FileAction::Read, &at(), Errno::IO);
        assert_eq!(broken.kind(), ErrorKind::ExecutionError);
        assert!(broken.message().starts_with("The disk failed: cannot read ./a: "), "{broken}");
    }
}
