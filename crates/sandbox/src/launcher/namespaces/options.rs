//! The arguments of the step: those of bubblewrap that describe mounts, and nothing else. Each path is an argument of its own, because
//! the kernel bounds the length of one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::launcher::step::StepFailure;

/// A network namespace of its own.
pub(crate) const NETWORK: &str = "--unshare-net";

/// What is mounted on a file that is hidden, and the modes of a folder on one: closed, or open to those who know a name in it.
const NOTHING: &str = "/dev/null";
const CLOSED: [&str; 2] = ["0000", "0111"];

/// One mount, in the order of the arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ViewMount<'a> {
    /// A small `/dev`.
    Devices(&'a Path),
    /// The processes of the namespace.
    Processes(&'a Path),
    Bind {
        source: &'a Path,
        at: &'a Path,
        is_writable: bool,
    },
    Memory {
        at: &'a Path,
        mode: &'a OsStr,
        /// In bytes.
        size: Option<&'a OsStr>,
    },
    Link {
        target: &'a OsStr,
        at: &'a Path,
    },
    /// Makes a mount read-only that was writable until all mount points were there.
    ReadOnly(&'a Path),
}

impl ViewMount<'_> {
    /// The path that it only covers, if it does: where nothing is, there is nothing to cover, and a mount point would be a new file in a
    /// folder of the user.
    pub(super) fn covered(&self) -> Option<&Path> {
        match self {
            Self::Bind { source, at, .. } if *source == Path::new(NOTHING) => Some(at),
            Self::Memory { at, mode, .. } if CLOSED.iter().any(|closed| mode == closed) => Some(at),
            Self::ReadOnly(at) => Some(at),
            _ => None,
        }
    }
}

/// All that the step is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamespaceOptions<'a> {
    pub(super) has_network: bool,
    pub(super) mounts: Vec<ViewMount<'a>>,
    pub(super) directory: &'a Path,
    pub(super) command: &'a [OsString],
}

impl<'a> NamespaceOptions<'a> {
    pub(super) fn parse(arguments: &'a [OsString]) -> Result<Self, StepFailure> {
        let (mut has_network, mut mounts, mut directory) = (false, Vec::new(), Path::new("/"));
        let (mut mode, mut size) = (None, None);
        let mut rest = arguments;
        while let Some((option, after)) = rest.split_first() {
            rest = after;
            let mut next = || -> Result<&'a OsString, StepFailure> {
                let (value, after) = rest.split_first().ok_or_else(|| format!("the option {} has no value", option.display()))?;
                rest = after;
                Ok(value)
            };
            match option.to_str() {
                Some("--") => return Ok(Self { has_network, mounts, directory, command: rest }),
                Some(NETWORK) => has_network = true,
                Some("--chdir") => directory = Path::new(next()?),
                Some("--perms") => mode = Some(next()?.as_os_str()),
                Some("--size") => size = Some(next()?.as_os_str()),
                Some("--dev") => mounts.push(ViewMount::Devices(Path::new(next()?))),
                Some("--proc") => mounts.push(ViewMount::Processes(Path::new(next()?))),
                Some("--remount-ro") => mounts.push(ViewMount::ReadOnly(Path::new(next()?))),
                Some("--symlink") => mounts.push(ViewMount::Link { target: next()?, at: Path::new(next()?) }),
                Some("--tmpfs") => {
                    let at = Path::new(next()?);
                    mounts.push(ViewMount::Memory { at, mode: mode.take().unwrap_or(OsStr::new("0755")), size: size.take() });
                }
                Some(kind @ ("--bind" | "--ro-bind")) => {
                    let (source, at) = (Path::new(next()?), Path::new(next()?));
                    mounts.push(ViewMount::Bind { source, at, is_writable: kind == "--bind" });
                }
                _ => return Err(format!("the option {} is unknown", option.display()).into()),
            }
        }
        Err("the options of the sandbox have no command".to_owned().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(Into::into).collect()
    }

    #[test]
    fn options_are_mounts_in_their_order() {
        let line = words(
            "--unshare-net --dev /dev --proc /proc --ro-bind /a /b --bind /c /c --perms 0000 --size 5 --tmpfs /t --tmpfs /u \
                          --symlink usr/bin /bin --remount-ro / --chdir /c -- run x --bind",
        );
        let expected = NamespaceOptions {
            has_network: true,
            mounts: vec![
                ViewMount::Devices(Path::new("/dev")),
                ViewMount::Processes(Path::new("/proc")),
                ViewMount::Bind { source: Path::new("/a"), at: Path::new("/b"), is_writable: false },
                ViewMount::Bind { source: Path::new("/c"), at: Path::new("/c"), is_writable: true },
                ViewMount::Memory { at: Path::new("/t"), mode: OsStr::new("0000"), size: Some(OsStr::new("5")) },
                ViewMount::Memory { at: Path::new("/u"), mode: OsStr::new("0755"), size: None },
                ViewMount::Link { target: OsStr::new("usr/bin"), at: Path::new("/bin") },
                ViewMount::ReadOnly(Path::new("/")),
            ],
            directory: Path::new("/c"),
            command: &words("run x --bind"),
        };
        assert_eq!(NamespaceOptions::parse(&line).unwrap(), expected);
    }

    #[test]
    fn unknown_and_unfinished_options_are_refused() {
        for (line, said) in [
            ("--dev-bind / / -- x", "the option --dev-bind is unknown"),
            ("--bind /a", "the option --bind has no value"),
            ("--proc /proc", "the options of the sandbox have no command"),
        ] {
            assert_eq!(NamespaceOptions::parse(&words(line)).unwrap_err().message, said);
        }
    }
}
