//! The networks of sessions: the commands of one share a network namespace, so that a server in the background answers the next.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use haft_host::SandboxDialer;
use haft_sandbox::{Launcher, NetworkNamespace, SessionNetwork};

/// Each is two processes; commands of further sessions have a network of their own.
const MOST_NETWORKS: usize = 64;

/// The networks of sessions, each started with the first command that needs it.
#[derive(Debug, Default)]
pub struct SessionNetworks {
    /// `None` where it could not be started.
    all: Mutex<HashMap<String, Option<Arc<SessionNetwork>>>>,
}

impl SandboxDialer for SessionNetworks {
    fn connect(&self, session: &str, port: u16) -> io::Result<TcpStream> {
        let network = self.lock().get(session).cloned().flatten();
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no command of this session has a network");
        network.ok_or_else(missing)?.connect(port)
    }
}

impl SessionNetworks {
    /// The network of a session; `None` where the kernel refuses it. Starts it if needed, from a thread that must not end before
    /// the session.
    pub(crate) fn get_or_start(&self, session: &str, launcher: &Launcher) -> Option<NetworkNamespace> {
        let mut all = self.lock();
        if !all.contains_key(session) {
            if all.len() >= MOST_NETWORKS {
                return None;
            }
            all.insert(session.to_owned(), SessionNetwork::start(launcher).ok().map(Arc::new));
        }
        all.get(session)?.as_ref().map(|network| network.namespace().clone())
    }

    /// Ends the network of a session; commands that still run keep it.
    pub(crate) fn remove(&self, session: &str) {
        let removed = self.lock().remove(session);
        // Waits for the holder, without the lock.
        drop(removed);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Option<Arc<SessionNetwork>>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
