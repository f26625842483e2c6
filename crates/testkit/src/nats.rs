//! A queue of the test's own, on a port of loopback and a temporary folder. It ends with the test in every case.
#![allow(clippy::expect_used, reason = "a test without its server ends")]

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server that takes longer to start does not start.
const START: Duration = Duration::from_secs(90);

/// A server of NATS with JetStream.
#[derive(Debug)]
pub struct NatsServer {
    folder: TempDir,
    port: u16,
    /// More words of its command line.
    words: Vec<String>,
    running: Option<Child>,
}

impl NatsServer {
    /// Starts a new server.
    ///
    /// # Panics
    /// If it cannot: nats-server must be installed (`./check` does).
    pub fn start() -> Self {
        Self::start_with(Vec::new())
    }

    /// Starts a new server with more words on its command line.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_with(words: Vec<String>) -> Self {
        let mut server = Self { folder: tempfile::tempdir().expect("a folder for the queue"), port: free_port(), words, running: None };
        server.resume();
        server
    }

    /// Three servers that keep everything on a majority of them.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn cluster() -> [Self; 3] {
        let routes: [u16; 3] = std::array::from_fn(|_| free_port());
        let all = routes.map(|port| format!("nats://127.0.0.1:{port}")).join(",");
        std::array::from_fn(|number| {
            let words = ["-server_name", &format!("queue-{number}"), "-cluster_name", "test", "-cluster"].map(str::to_owned);
            let own = [format!("nats://127.0.0.1:{}", routes[number]), "-routes".to_owned(), all.clone()];
            Self::start_with(words.into_iter().chain(own).collect())
        })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Starts it with what it had.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn resume(&mut self) {
        // The system ends it with this thread's process, also when the test is killed.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "nats-server", "-js", "-a", "127.0.0.1", "-p", &self.port.to_string(), "-sd"]);
        command.arg(self.folder.path().join("data")).args(&self.words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin");
        self.running = Some(command.spawn().expect("nats-server is installed (./check does)"));
        let deadline = Instant::now() + START;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "the queue does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it at once; it keeps what it has on its disk, or not.
    pub fn kill(&mut self, keeps: bool) {
        if let Some(mut running) = self.running.take() {
            running.kill().ok();
            running.wait().ok();
        }
        if !keeps {
            std::fs::remove_dir_all(self.folder.path().join("data")).ok();
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill(true);
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}
