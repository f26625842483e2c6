//! A signal between processes of one user: a file that one of them writes and the others watch. Nobody looks at it meanwhile.

use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use tokio::io::unix::AsyncFd;

use crate::files::waitable;

/// Sends a signal to every process that watches the file; creates it, private to the user, if it is not there.
pub fn send_signal(path: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(b".")
}

/// A watched file.
#[derive(Debug)]
pub struct FileSignal {
    queue: AsyncFd<OwnedFd>,
    path: PathBuf,
}

impl FileSignal {
    /// Watches a file; creates it if it is not there.
    pub fn watch(path: &Path) -> io::Result<Self> {
        if !path.exists() {
            send_signal(path)?;
        }
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        inotify::add_watch(&queue, path, WatchFlags::CLOSE_WRITE)?;
        Ok(Self { queue: waitable(queue)?, path: path.to_owned() })
    }

    /// Resolves when a process has sent the signal since the last time.
    pub async fn received(&self) -> io::Result<()> {
        loop {
            let mut ready = self.queue.readable().await?;
            let mut buffer = [MaybeUninit::uninit(); 1024];
            let mut reader = Reader::new(self.queue.get_ref(), &mut buffer);
            let mut has_signal = false;
            loop {
                match reader.next() {
                    Ok(_) => has_signal = true,
                    Err(rustix::io::Errno::AGAIN) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            ready.clear_ready();
            if has_signal {
                return Ok(());
            }
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn signal_of_another_process_is_received_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signal");
        let signal = FileSignal::watch(&path).unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(50), signal.received()).await.is_err(), "nothing was sent");
        send_signal(&path).unwrap();
        send_signal(&path).unwrap();
        signal.received().await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(50), signal.received()).await.is_err(), "both are one");
    }
}
