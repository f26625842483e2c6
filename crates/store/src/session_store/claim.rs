//! Claims: one process at a time works on a session.

use std::time::SystemTime;

/// The process that claims a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOwner {
    /// Its process id, on its host.
    pub pid: u32,
    /// The name of its machine.
    pub host: String,
    /// Since when it works on the session.
    pub since: SystemTime,
}

impl SessionOwner {
    /// This process, from now on.
    pub fn this_process() -> Self {
        Self { pid: std::process::id(), host: machine_name(), since: SystemTime::now() }
    }
}

#[cfg(feature = "files")]
fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Without files, claims are known to this process alone.
#[cfg(not(feature = "files"))]
fn machine_name() -> String {
    "localhost".to_owned()
}

/// An exclusive claim of a session; dropping it releases the session.
pub struct SessionClaim {
    session: String,
    release: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl SessionClaim {
    /// For a backend: a claim that calls `release` when it is dropped.
    pub fn new(session: impl Into<String>, release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { session: session.into(), release: Some(Box::new(release)) }
    }

    /// The id of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// For a claim that was refused: there is nothing to release.
    #[cfg(feature = "sqlite")]
    pub(crate) fn forget(mut self) {
        self.release = None;
    }
}

haft_contract::opaque_debug!(SessionClaim: session = session);

impl Drop for SessionClaim {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}
