//! The alert log: one line for each notice, readable by the user alone.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::{Notice, ToolError};
use haft_text::display;
use rustix::fs::{Mode, OFlags};

/// A log this long is set aside, and a new one begun: together they stay below twice this.
const MAX_LOG_BYTES: u64 = 4 * 1024 * 1024;
const MAX_MESSAGE_CHARACTERS: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct AlertLog {
    path: PathBuf,
}

impl AlertLog {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Adds one line, and says where.
    pub(super) async fn append(&self, notice: &Notice, now: SystemTime) -> Result<&Path, ToolError> {
        let (path, line) = (self.path.clone(), line(notice, now));
        let written =
            tokio::task::spawn_blocking(move || write_line(&path, &line)).await.unwrap_or_else(|panic| Err(io::Error::other(panic)));
        match written {
            Ok(()) => Ok(&self.path),
            Err(error) => Err(ToolError::execution(format!(
                "The notice could not be delivered: there is no desktop, and the alert log {} cannot be written: {error}. \
                 Tell the user in the answer instead.",
                self.path.display()
            ))
            .with_source(error)),
        }
    }
}

fn line(notice: &Notice, now: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(now).map_or_else(|_| "-".into(), |time| format!("{time:.0}"));
    format!(
        "{time} [{}] {}: {}\n",
        display::shorten(&notice.urgency, 20),
        display::shorten(&notice.recipient, 100),
        display::shorten(&notice.message, MAX_MESSAGE_CHARACTERS)
    )
}

fn write_line(path: &Path, line: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut log = open(path)?;
    if log.metadata()?.len() > MAX_LOG_BYTES {
        std::fs::rename(path, path.with_extension("log.old"))?;
        log = open(path)?;
    }
    // One write, so that lines of several processes do not mix.
    log.write_all(line.as_bytes())
}

fn open(path: &Path) -> io::Result<File> {
    // A link in its place could lead anywhere, and a pipe would block.
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    fn notice(message: &str) -> Notice {
        Notice { message: message.into(), urgency: "high".into(), recipient: "owner".into() }
    }

    fn moment() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
    }

    #[tokio::test]
    async fn notices_are_lines_of_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/alerts.log");
        let log = AlertLog::new(path.clone());
        log.append(&notice("disk\nfull\u{1b}[2J"), moment()).await.unwrap();
        assert_eq!(log.append(&notice("again"), moment()).await.unwrap(), path);
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "2023-11-14T22:13:20Z [high] owner: disk\\nfull\\u{1b}[2J\n2023-11-14T22:13:20Z [high] owner: again\n"
        );
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[tokio::test]
    async fn a_full_log_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alerts.log");
        File::create(&path).unwrap().set_len(MAX_LOG_BYTES + 1).unwrap();
        AlertLog::new(path.clone()).append(&notice("new"), moment()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "2023-11-14T22:13:20Z [high] owner: new\n");
        assert_eq!(std::fs::metadata(folder.path().join("alerts.log.old")).unwrap().len(), MAX_LOG_BYTES + 1);
    }

    #[tokio::test]
    async fn a_log_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        let link = folder.path().join("alerts.log");
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let error = AlertLog::new(link.clone()).append(&notice("x"), moment()).await.unwrap_err();
        let expected = format!(
            "The notice could not be delivered: there is no desktop, and the alert log {} cannot be written: \
             Too many levels of symbolic links (os error 40). Tell the user in the answer instead.",
            link.display()
        );
        assert_eq!(error.message(), expected);
        assert!(!elsewhere.exists());
    }
}
