//! The arguments of the step: those of bubblewrap that describe mounts, and nothing else. Each path is an argument of its own, because
//! the kernel bounds the length of one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::launcher::mount_target::TargetIdentity;
use crate::launcher::step::StepFailure;

/// A network namespace of its own.
pub(crate) const NETWORK: &str = "--unshare-net";
/// What must be where the next mount is made, and what its source must be: `device:inode`. Bubblewrap does not know these.
pub(crate) const EXPECT: &str = "--expect";
pub(crate) const EXPECT_SOURCE: &str = "--expect-source";
/// The FIFO that is told when everything is mounted.
pub(crate) const REPORT: &str = "--report";

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
    /// Where it is mounted, if it is.
    pub(super) fn target(&self) -> Option<&Path> {
        match self {
            Self::Devices(at) | Self::Processes(at) | Self::Bind { at, .. } | Self::Memory { at, .. } => Some(at),
            Self::Link { .. } | Self::ReadOnly(_) => None,
        }
    }

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

/// A mount, and what must be there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlannedMount<'a> {
    pub(super) mount: ViewMount<'a>,
    pub(super) expectation: Option<Expectation>,
}

/// What was there when the workspace was searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expectation {
    /// Where it is mounted.
    Target(TargetIdentity),
    /// What is mounted.
    Source(TargetIdentity),
}

/// All that the step is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamespaceOptions<'a> {
    pub(super) has_network: bool,
    pub(super) mounts: Vec<PlannedMount<'a>>,
    pub(super) directory: &'a Path,
    pub(super) report: Option<&'a Path>,
    pub(super) command: &'a [OsString],
}

impl<'a> NamespaceOptions<'a> {
    pub(super) fn parse(arguments: &'a [OsString]) -> Result<Self, StepFailure> {
        let mut options = Self { has_network: false, mounts: Vec::new(), directory: Path::new("/"), report: None, command: &[] };
        let (mut mode, mut size, mut expectation) = (None, None, None);
        let mut rest = arguments;
        while let Some((option, after)) = rest.split_first() {
            rest = after;
            let mut next = || -> Result<&'a OsString, StepFailure> {
                let (value, after) = rest.split_first().ok_or_else(|| format!("the option {} has no value", option.display()))?;
                rest = after;
                Ok(value)
            };
            match option.to_str() {
                Some("--") => return Ok(Self { command: rest, ..options }),
                Some(NETWORK) => options.has_network = true,
                Some("--chdir") => options.directory = Path::new(next()?),
                Some(REPORT) => options.report = Some(Path::new(next()?)),
                Some("--perms") => mode = Some(next()?.as_os_str()),
                Some("--size") => size = Some(next()?.as_os_str()),
                Some(EXPECT) => expectation = Some(Expectation::Target(parse_identity(next()?)?)),
                Some(EXPECT_SOURCE) => expectation = Some(Expectation::Source(parse_identity(next()?)?)),
                Some(kind) => {
                    let mount = match kind {
                        "--dev" => ViewMount::Devices(Path::new(next()?)),
                        "--proc" => ViewMount::Processes(Path::new(next()?)),
                        "--remount-ro" => ViewMount::ReadOnly(Path::new(next()?)),
                        "--symlink" => ViewMount::Link { target: next()?, at: Path::new(next()?) },
                        "--tmpfs" => {
                            let at = Path::new(next()?);
                            ViewMount::Memory { at, mode: mode.take().unwrap_or(OsStr::new("0755")), size: size.take() }
                        }
                        "--bind" | "--ro-bind" => {
                            let (source, at) = (Path::new(next()?), Path::new(next()?));
                            ViewMount::Bind { source, at, is_writable: kind == "--bind" }
                        }
                        _ => return Err(unknown(option)),
                    };
                    options.mounts.push(PlannedMount { mount, expectation: expectation.take() });
                }
                None => return Err(unknown(option)),
            }
        }
        Err("the options of the sandbox have no command".to_owned().into())
    }
}

fn unknown(option: &OsStr) -> StepFailure {
    format!("the option {} is unknown", option.display()).into()
}

/// `device:inode`.
fn parse_identity(text: &OsStr) -> Result<TargetIdentity, StepFailure> {
    let numbers = text.to_str().and_then(|text| text.split_once(':'));
    let identity = numbers.and_then(|(device, inode)| Some((device.parse().ok()?, inode.parse().ok()?)));
    identity.ok_or_else(|| format!("{} is no device and inode", text.display()).into())
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
            "--unshare-net --dev /dev --proc /proc --ro-bind /a /b --expect-source 1:2 --bind /c /c --expect 3:4 --perms 0000 --size 5 \
             --tmpfs /t --tmpfs /u --symlink usr/bin /bin --remount-ro / --report /r --chdir /c -- run x --bind",
        );
        let mounts = [
            (ViewMount::Devices(Path::new("/dev")), None),
            (ViewMount::Processes(Path::new("/proc")), None),
            (ViewMount::Bind { source: Path::new("/a"), at: Path::new("/b"), is_writable: false }, None),
            (ViewMount::Bind { source: Path::new("/c"), at: Path::new("/c"), is_writable: true }, Some(Expectation::Source((1, 2)))),
            (
                ViewMount::Memory { at: Path::new("/t"), mode: OsStr::new("0000"), size: Some(OsStr::new("5")) },
                Some(Expectation::Target((3, 4))),
            ),
            (ViewMount::Memory { at: Path::new("/u"), mode: OsStr::new("0755"), size: None }, None),
            (ViewMount::Link { target: OsStr::new("usr/bin"), at: Path::new("/bin") }, None),
            (ViewMount::ReadOnly(Path::new("/")), None),
        ];
        let expected = NamespaceOptions {
            has_network: true,
            mounts: mounts.into_iter().map(|(mount, expectation)| PlannedMount { mount, expectation }).collect(),
            directory: Path::new("/c"),
            report: Some(Path::new("/r")),
            command: &words("run x --bind"),
        };
        assert_eq!(NamespaceOptions::parse(&line).unwrap(), expected);
    }

    #[test]
    fn unknown_and_unfinished_options_are_refused() {
        for (line, said) in [
            ("--dev-bind / / -- x", "the option --dev-bind is unknown"),
            ("--bind /a", "the option --bind has no value"),
            ("--expect 12 --bind /a /a -- x", "12 is no device and inode"),
            ("--proc /proc", "the options of the sandbox have no command"),
        ] {
            assert_eq!(NamespaceOptions::parse(&words(line)).unwrap_err().message, said);
        }
    }
}
