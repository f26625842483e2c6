//! The report of the launcher that everything is mounted.

use std::io;
use std::path::{Path, PathBuf};

use haft_sandbox::launcher;
use tokio::net::unix::pipe;

use crate::process_group::GroupLeader;

/// A FIFO that the launcher writes to right before the command starts. Without a report nothing of the command has run.
#[derive(Debug)]
pub(crate) struct SetupReport {
    path: PathBuf,
    receiver: pipe::Receiver,
}

/// How the setup of a command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetupEnd {
    /// It runs, or did not start for another reason, which its exit tells.
    Over,
    /// Something else was where the launcher was to mount.
    Moved,
}

impl SetupReport {
    /// Creates the FIFO in a private folder.
    #[cfg(target_os = "linux")]
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
        match pipe::OpenOptions::new().open_receiver(&path) {
            Ok(receiver) => Ok(Self { path, receiver }),
            Err(error) => {
                std::fs::remove_file(&path).ok();
                Err(error)
            }
        }
    }

    /// No launcher reports elsewhere.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn create(_: PathBuf) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until everything is mounted, or the launcher has ended.
    pub(crate) async fn wait(&self, leader: &GroupLeader) -> SetupEnd {
        tokio::select! {
            biased;
            // Every event is a report, or the end of the launcher.
            _ = self.receiver.readable() => {}
            () = leader.wait_for_exit() => {}
        }
        let mut report = [0];
        if self.receiver.try_read(&mut report).is_ok_and(|count| count > 0) {
            return SetupEnd::Over;
        }
        // It has closed the FIFO and is about to end.
        leader.wait_for_exit().await;
        if leader.exit_code() == Some(launcher::MOVED) { SetupEnd::Moved } else { SetupEnd::Over }
    }
}

impl Drop for SetupReport {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}
