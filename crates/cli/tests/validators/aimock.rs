//! The simulator of providers. One port speaks all protocols; what it answers is in its fixtures, what it was asked in its journal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::installed::folder;

/// Timeout of its start and of its journal.
const PATIENCE: Duration = Duration::from_secs(30);
/// Its input is ours: when we end, however that happens, it does.
const ENDS_WITH_ITS_PARENT: &str = "data:text/javascript,process.stdin.resume().on('end',()=>process.exit())";

/// The process; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Aimock {
    process: Child,
    pub(super) address: SocketAddr,
    _fixtures: TempDir,
}

impl Aimock {
    /// Strict: what no fixture answers is refused, and so is a history whose signed thoughts were changed.
    pub(super) fn start(fixtures: &[Value], flags: &[&str]) -> Self {
        let files = TempDir::new().unwrap();
        // Any other request fails permanently, so that a failing test ends at once.
        let refusal = json!({"message": "not expected by the test", "type": "invalid_request_error"});
        let unexpected = json!({"match": {}, "response": {"error": refusal, "status": 400}});
        let fixtures: Vec<&Value> = fixtures.iter().chain([&unexpected]).collect();
        std::fs::write(files.path().join("fixtures.json"), json!({"fixtures": fixtures}).to_string()).unwrap();
        let mut process = command(files.path(), flags).spawn().unwrap();
        let (sender, receiver) = channel();
        let output = process.stdout.take().unwrap();
        std::thread::spawn(move || find_address(output, &sender));
        let address = receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            process.kill().ok();
            panic!("aimock did not start: {}", std::fs::read_to_string(files.path().join("errors")).unwrap_or_default())
        });
        Self { process, address, _fixtures: files }
    }

    /// Its requests in the form of Chat Completions, to which it converts every protocol.
    pub(super) fn journal(&self) -> Vec<Value> {
        let Value::Array(entries) = self.ask("/__aimock/journal") else { panic!("the journal is no list") };
        entries
    }

    fn ask(&self, path: &str) -> Value {
        let mut connection = TcpStream::connect(self.address).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(connection, "GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n", self.address).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        serde_json::from_str(body).unwrap()
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn command(files: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(folder().join("bin/node"));
    command.arg("--import").arg(ENDS_WITH_ITS_PARENT).arg(folder().join("node_modules/@copilotkit/aimock/dist/cli.js"));
    command.args(["--port", "0", "--strict", "--validate-on-load", "--fixtures"]).arg(files.join("fixtures.json")).args(flags);
    let errors = std::fs::File::create(files.join("errors")).unwrap();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
    command
}

/// Reads to the end, so that it can always write.
fn find_address(output: impl Read, sender: &Sender<SocketAddr>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(address) = line.split("listening on http://").nth(1).and_then(|address| address.parse().ok()) {
            // Nobody waits any more if it took too long.
            sender.send(address).ok();
        }
    }
}
