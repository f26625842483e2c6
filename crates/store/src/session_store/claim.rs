//! Who works on a session: one at a time.

use std::fmt;
use std::time::SystemTime;

/// Who claims a session; what others are told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its process id, on its host.
    pub pid: u32,
    /// The name of its machine.
    pub host: String,
    /// Since when it works on the session.
    pub since: SystemTime,
}

impl Owner {
    /// This process, from now on.
    pub fn this_process() -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { pid: std::process::id(), host, since: SystemTime::now() }
    }
}

/// A session that nobody else may work on; dropping it lets others.
pub struct Claim {
    session: String,
    release: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Claim {
    /// For a backend: a claim that calls `release` when it is dropped.
    pub fn new(session: impl Into<String>, release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { session: session.into(), release: Some(Box::new(release)) }
    }

    /// The id of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// For a claim that was refused: there is nothing to release.
    pub(crate) fn forget(mut self) {
        self.release = None;
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}
