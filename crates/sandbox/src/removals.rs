//! Removals of repositories: a command that deletes a folder with a repository in it asks the host, because the `.git` there is a
//! mount, which the kernel does not remove.
//!
//! The inner step of the launcher asks for one path after the other. It connects before the command runs, and the socket answers nobody
//! else: a command sees it, and may ask for what it likes otherwise.

use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

/// As the kernel has it.
pub(crate) const LONGEST_PATH: usize = 4096;
pub(crate) const REMOVED: [u8; 1] = *b"+";
const REFUSED: [u8; 1] = *b"-";

/// Answers the removals of one run, until it is dropped.
#[derive(Debug)]
pub struct RemovalServer {
    socket: PathBuf,
}

impl RemovalServer {
    /// Listens at this path, in a private folder. `remove` says whether it removed the folder at a path.
    ///
    /// # Errors
    /// The socket cannot be created, or no thread be started.
    pub fn start(socket: &Path, remove: impl Fn(&Path) -> bool + Send + 'static) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
        let serve = move || {
            let first = listener.accept();
            drop(listener);
            // A launcher that has ended asks nothing more.
            first.and_then(|(mut client, _)| answer(&mut client, &remove)).ok();
        };
        thread::Builder::new().name("removals".into()).spawn(serve)?;
        Ok(Self { socket: socket.to_owned() })
    }

    /// The path of its socket on the host.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for RemovalServer {
    /// Wakes the thread, should no launcher have connected; else it ends with that connection.
    fn drop(&mut self) {
        UnixStream::connect(&self.socket).ok();
        std::fs::remove_file(&self.socket).ok();
    }
}

fn answer(client: &mut UnixStream, remove: &impl Fn(&Path) -> bool) -> io::Result<()> {
    loop {
        let mut length = [0; 2];
        client.read_exact(&mut length)?;
        let length = usize::from(u16::from_be_bytes(length));
        if length > LONGEST_PATH {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut path = vec![0; length];
        client.read_exact(&mut path)?;
        let is_removed = remove(Path::new(std::ffi::OsStr::from_bytes(&path)));
        client.write_all(if is_removed { &REMOVED } else { &REFUSED })?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_answers_each_path_of_one_client_and_ends_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let server = RemovalServer::start(&socket, |path| path == Path::new("/a")).unwrap();
        let mut client = UnixStream::connect(server.socket()).unwrap();
        for (path, expected) in [("/a", REMOVED), ("/b", REFUSED), ("", REFUSED)] {
            let length = u16::try_from(path.len()).unwrap();
            client.write_all(&[&length.to_be_bytes(), path.as_bytes()].concat()).unwrap();
            let mut answer = [0];
            client.read_exact(&mut answer).unwrap();
            assert_eq!(answer, expected, "{path}");
        }
        assert!(UnixStream::connect(server.socket()).is_err(), "the command does not reach it");
        client.write_all(&u16::MAX.to_be_bytes()).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "too long: the connection is closed");
        drop(server);
        assert!(!socket.exists());
        drop(RemovalServer::start(&socket, |_| false).unwrap());
        assert!(!socket.exists());
    }
}
