//! What a path may look like before anything is looked up.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use haft_contract::{ErrorKind, ToolError};

/// The longest path, in bytes: what the kernel takes.
const LONGEST_PATH: usize = 4096;
/// The longest name in a path, in bytes.
const LONGEST_NAME: usize = 255;
/// The deepest path, in names: each costs a handle while it is resolved.
pub(super) const DEEPEST: usize = 256;

/// Refuses paths that cannot be meant, and spellings that mean something else elsewhere. Nothing is ever decoded:
/// `%2e%2e` is a name like any other.
pub(super) fn check(path: &Path) -> Result<(), ToolError> {
    check_bytes(path)?;
    check_size(path)?;
    check_meaning(path)
}

/// Refuses what no honest name holds.
pub(super) fn check_bytes(path: &Path) -> Result<(), ToolError> {
    if path.as_os_str().is_empty() {
        return Err(ToolError::validation("The path is empty: give the path of a file, relative to the workspace."));
    }
    let shown = path.to_string_lossy();
    match shown.chars().find(|ch| ch.is_control()) {
        Some(ch) => Err(ToolError::validation(format!(
            "The path {shown:?} holds the control character U+{:04X}: give a plain path, relative to the workspace.",
            u32::from(ch)
        ))),
        None => Ok(()),
    }
}

fn check_size(path: &Path) -> Result<(), ToolError> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() > LONGEST_PATH {
        return Err(ToolError::validation(format!(
            "The path is {} bytes long, and {LONGEST_PATH} is the most: give a shorter one.",
            bytes.len()
        )));
    }
    let depth = path.components().count();
    if depth > DEEPEST {
        return Err(ToolError::validation(format!("The path is {depth} names deep, and {DEEPEST} is the most: give a shorter one.")));
    }
    match path.components().map(|part| part.as_os_str().len()).find(|length| *length > LONGEST_NAME) {
        Some(length) => Err(ToolError::validation(format!(
            "A name in the path is {length} bytes long, and {LONGEST_NAME} is the most: give a shorter one."
        ))),
        None => Ok(()),
    }
}

fn check_meaning(path: &Path) -> Result<(), ToolError> {
    let shown = path.to_string_lossy();
    let Some(why) = shell_meaning(&shown).or_else(|| foreign_meaning(&shown)) else { return Ok(()) };
    Err(ToolError::new(
        ErrorKind::PathNotAllowed,
        format!(
            "'{shown}' is {why}, which is not understood here: write a plain path relative to the workspace, such as \
             'src/main.rs'. A file that is really named so can be written './{shown}'."
        ),
    ))
}

/// Spellings that a shell or a browser would turn into another path.
fn shell_meaning(path: &str) -> Option<&'static str> {
    if path.starts_with('~') {
        return Some("a path from a home folder");
    }
    if path.starts_with('$') {
        return Some("a path from an environment variable");
    }
    let scheme = path.get(..6)?;
    scheme.eq_ignore_ascii_case("file:/").then_some("a URL")
}

fn foreign_meaning(path: &str) -> Option<&'static str> {
    if cfg!(windows) { windows_hazard(path) } else { windows_path(path) }
}

/// Why a path is dangerous on Windows, if it is. On other systems only [`windows_path`] applies: the rest are
/// ordinary names there.
pub(super) fn windows_hazard(path: &str) -> Option<&'static str> {
    let path = path.replace('/', "\\");
    windows_path(&path).or_else(|| drive_relative(&path)).or_else(|| path.split('\\').find_map(name_hazard))
}

/// Spellings that are paths on Windows and honest names nowhere.
fn windows_path(path: &str) -> Option<&'static str> {
    if [r"\\?\", r"\\.\", r"\??\"].iter().any(|prefix| path.starts_with(prefix)) {
        return Some("a Windows device path");
    }
    if path.starts_with(r"\\") {
        return Some("a Windows network path");
    }
    let rest = without_drive(path)?;
    rest.starts_with(['\\', '/']).then_some("a Windows path with a drive")
}

/// `C:x` means `x` in whatever folder drive C is at.
fn drive_relative(path: &str) -> Option<&'static str> {
    without_drive(path).map(|_| "a Windows path relative to a drive")
}

fn without_drive(path: &str) -> Option<&str> {
    let (drive, rest) = path.split_at_checked(1)?;
    if drive.starts_with(|ch: char| ch.is_ascii_alphabetic()) { rest.strip_prefix(':') } else { None }
}

fn name_hazard(name: &str) -> Option<&'static str> {
    if matches!(name, "" | "." | "..") {
        return None;
    }
    if name.contains(':') {
        return Some("a Windows alternate data stream");
    }
    if is_device(name) {
        return Some("a Windows device name");
    }
    if name.ends_with(['.', ' ']) {
        return Some("a name with a dot or space at its end, which Windows drops");
    }
    is_short_name(name).then_some("a Windows short name")
}

/// `CON`, `nul.txt`, `COM1 .log`: devices with any extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_uppercase();
    if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT")).unwrap_or_default();
    let mut digits = number.chars();
    digits.next().is_some_and(|digit| digit.is_ascii_digit() || matches!(digit, '¹' | '²' | '³')) && digits.next().is_none()
}

/// `PROGRA~1`, `GIT~1`, `LONGFI~2.TXT`.
fn is_short_name(name: &str) -> bool {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let Some((start, number)) = stem.split_once('~') else { return false };
    stem.len() <= 8 && extension.len() <= 3 && !start.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &str) -> Option<(ErrorKind, String)> {
        check(Path::new(path)).err().map(|error| (error.kind(), error.message().to_owned()))
    }

    #[test]
    fn a03_spellings_of_shells_and_browsers_are_refused_with_advice() {
        for path in ["~", "~/x", "~root/x", "$HOME", "$HOME/x", "${HOME}/x", "file:///etc/passwd", "FILE:///x", "file:/x"] {
            let (kind, message) = refusal(path).unwrap();
            assert_eq!(kind, ErrorKind::PathNotAllowed, "{path}");
            assert!(message.contains("plain path relative to the workspace") && message.contains(path), "{message}");
        }
        for path in ["a~", "./~", "a$b", "./$HOME", "files", "file", "fil\u{e9}:x", "a/file:/x"] {
            assert_eq!(refusal(path), None, "{path}");
        }
    }

    #[test]
    fn a04_encodings_are_names_like_any_other() {
        for path in ["%2e%2e/x", "%2e%2e%2fx", "\u{ff0e}\u{ff0e}/x", "a./x", "a /x", "...", "..%00"] {
            assert_eq!(refusal(path), None, "{path}");
        }
    }

    #[test]
    fn a05_control_bytes_and_empty_paths_are_refused() {
        for path in ["", "a\0b", "\0", "a\nb", "a\rb", "a\tb", "a\u{1b}[2J", "a\u{7f}", "a\u{85}b"] {
            let (kind, message) = refusal(path).unwrap();
            assert_eq!(kind, ErrorKind::ValidationError, "{path:?}");
            assert!(!message.contains(|ch: char| ch.is_control()), "{message:?}");
        }
    }

    #[test]
    fn a27_long_and_deep_paths_are_refused_with_the_limit() {
        for (path, limit) in [("a/".repeat(2049), "4096"), ("a/".repeat(257), "256"), ("a".repeat(256), "255")] {
            let (kind, message) = refusal(&path).unwrap();
            assert_eq!(kind, ErrorKind::ValidationError);
            assert!(message.contains(limit) && message.len() < 200, "{message}");
        }
        assert_eq!(refusal(&"a/".repeat(256)), None);
        assert_eq!(refusal(&"a".repeat(255)), None);
    }

    #[test]
    fn a17_windows_forms_are_known_on_every_host() {
        for (path, hazard) in [
            (r"\\?\C:\x", "a Windows device path"),
            (r"\\.\PhysicalDrive0", "a Windows device path"),
            ("//?/C:/x", "a Windows device path"),
            (r"\??\C:\x", "a Windows device path"),
            (r"\\server\share\x", "a Windows network path"),
            ("//server/share", "a Windows network path"),
            (r"C:\x", "a Windows path with a drive"),
            ("c:/x", "a Windows path with a drive"),
            ("C:x", "a Windows path relative to a drive"),
            ("C:", "a Windows path relative to a drive"),
            ("a/file:stream", "a Windows alternate data stream"),
            (".git::$INDEX_ALLOCATION/config", "a Windows alternate data stream"),
            ("NUL", "a Windows device name"),
            ("a/con.txt", "a Windows device name"),
            ("aux .log", "a Windows device name"),
            ("COM1", "a Windows device name"),
            ("lpt\u{b9}.x", "a Windows device name"),
            ("CONIN$", "a Windows device name"),
            ("x/name.", "a name with a dot or space at its end, which Windows drops"),
            ("name /x", "a name with a dot or space at its end, which Windows drops"),
            ("PROGRA~1/x", "a Windows short name"),
            ("git~1", "a Windows short name"),
            ("LONGFI~2.TXT", "a Windows short name"),
        ] {
            assert_eq!(windows_hazard(path), Some(hazard), "{path}");
        }
        for path in ["a/b.txt", "..", "./a", "a/../b", "console", "com", "com10", "nulls", "a~b", "~1", "a~1b", ".env"] {
            assert_eq!(windows_hazard(path), None, "{path}");
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn a17_only_what_cannot_be_a_name_is_refused_elsewhere() {
        for path in [r"\\?\C:\x", r"\\.\x", r"\\server\share", r"C:\x", "C:/x"] {
            assert_eq!(refusal(path).map(|(kind, _)| kind), Some(ErrorKind::PathNotAllowed), "{path}");
        }
        for path in ["C:x", "file:stream", "NUL", "con.txt", "name.", "git~1", "//server/share"] {
            assert_eq!(refusal(path), None, "{path}");
        }
    }
}
