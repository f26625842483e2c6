//! What is configured of a server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde_json::json;

use super::sampling::{Sampling, SamplingLimits};

/// The longest name of a server, so that names of tools have space.
const MAX_NAME: usize = 24;

/// One server, as it is configured.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Its name: lower-case letters, digits and `_`.
    pub name: String,
    /// How it is reached.
    pub transport: ServerTransport,
    /// How long it may take.
    pub timeouts: ServerTimeouts,
    /// The only tools that are used, as patterns on its own names; `None` means all.
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that are never used, as patterns on its own names.
    pub denied_tools: Vec<String>,
    /// What it may ask of us.
    pub requests: ServerRequests,
    /// The lifecycle that is used with it.
    pub lifecycle: Lifecycle,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum ServerTransport {
    /// A program that is started, and spoken to over its standard input and output.
    Stdio(StdioServer),
    /// An address.
    Http(HttpServer),
}

/// A program that is a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdioServer {
    /// The program, by name or path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its variables, besides the few that every program gets.
    pub environment: Vec<(String, String)>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Its sandbox; `None` means that it runs as any program of the user does.
    pub sandbox: Option<ServerSandbox>,
}

/// What a sandboxed server may reach, besides the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSandbox {
    /// Hosts, as in `network.allow`.
    pub hosts: Vec<String>,
    /// Folders that it may change; without any it changes nothing but its own private files.
    pub folders: Vec<PathBuf>,
}

/// A server at an address.
#[derive(Debug, Clone)]
pub struct HttpServer {
    /// The address.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// The bearer token.
    pub token: Option<BearerToken>,
    /// Who Haft is when the user signs in.
    pub oauth: OAuthClient,
}

/// The client that the user has registered with an authorization server; nothing, unless it is configured.
#[derive(Debug, Clone, Default)]
pub struct OAuthClient {
    /// Its name, or the address of the document that describes it.
    pub id: Option<String>,
    /// Its secret.
    pub secret: Option<BearerToken>,
    /// The only authorization server that is used.
    pub issuer: Option<String>,
}

/// A secret that is never printed.
#[derive(Clone)]
pub struct BearerToken(pub String);

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(…)")
    }
}

/// How long a server may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTimeouts {
    /// To start and to list its tools.
    pub start: Duration,
    /// Between two signs of life of a call: its result, or progress.
    pub idle: Duration,
    /// For a whole call, whatever progress it reports.
    pub total: Duration,
}

impl Default for ServerTimeouts {
    fn default() -> Self {
        Self { start: Duration::from_secs(30), idle: Duration::from_mins(1), total: Duration::from_mins(10) }
    }
}

/// What a server may ask of us; nothing, unless it is configured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerRequests {
    /// Questions to the user.
    pub elicitation: Elicitation,
    /// Answers of the user's model.
    pub sampling: Sampling,
    /// How many of them.
    pub sampling_limits: SamplingLimits,
}

/// What becomes of questions that a server asks the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Elicitation {
    /// They are declined.
    #[default]
    Off,
    /// They are answered with the values that the server itself proposes.
    Defaults,
    /// The user is asked.
    Ask,
}

/// How a connection begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// The handshake of all versions up to 2025-11-25.
    #[default]
    Initialize,
    /// The discovery of 2026-07-28.
    Discover,
    /// Discovery, and the handshake with a server that does not know it.
    Auto,
}

impl ServerSettings {
    /// Settings with the usual values.
    pub fn new(name: impl Into<String>, transport: ServerTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            timeouts: ServerTimeouts::default(),
            allowed_tools: None,
            denied_tools: Vec::new(),
            requests: ServerRequests::default(),
            lifecycle: Lifecycle::default(),
        }
    }

    /// Whether it runs in the sandbox.
    pub fn is_sandboxed(&self) -> bool {
        matches!(&self.transport, ServerTransport::Stdio(StdioServer { sandbox: Some(_), .. }))
    }

    /// What it is, in 64 hexadecimal digits: another program, folder or address is another server. Secrets are not part of it.
    pub(crate) fn identity(&self) -> String {
        let facts = match &self.transport {
            ServerTransport::Stdio(StdioServer { program, arguments, directory, sandbox, .. }) => {
                json!(["stdio", program, arguments, directory, sandbox.is_some()])
            }
            ServerTransport::Http(HttpServer { url, .. }) => json!(["http", url]),
        };
        haft_text::hex::encode(digest(&SHA256, facts.to_string().as_bytes()))
    }

    /// What a program is wherever it runs, in 64 hexadecimal digits; `None` for an address.
    pub(crate) fn program_identity(&self) -> Option<String> {
        let ServerTransport::Stdio(StdioServer { program, arguments, sandbox, .. }) = &self.transport else { return None };
        let facts = json!(["stdio", program, arguments, sandbox.is_some()]);
        Some(haft_text::hex::encode(digest(&SHA256, facts.to_string().as_bytes())))
    }

    /// Whether its command names a file of the folder that it runs in: in another folder that is another program.
    pub(crate) fn is_of_folder(&self) -> bool {
        let ServerTransport::Stdio(StdioServer { program, arguments, directory, .. }) = &self.transport else { return false };
        let is_in_folder = |word: &String| !word.starts_with(['/', '-']) && directory.join(word).is_file();
        program.contains('/') && is_in_folder(program) || arguments.iter().any(is_in_folder)
    }

    /// What it is, for the user.
    pub fn describe(&self) -> String {
        match &self.transport {
            ServerTransport::Stdio(StdioServer { program, arguments, .. }) => {
                std::iter::once(program).chain(arguments).cloned().collect::<Vec<_>>().join(" ")
            }
            ServerTransport::Http(HttpServer { url, .. }) => url.clone(),
        }
    }
}

/// The name of a server as tools, rules and files have it; the fault, if it cannot be one.
pub fn server_name(written: &str) -> Result<String, String> {
    let name = written.trim().to_ascii_lowercase().replace(['-', '.', ' '], "_");
    let starts = name.starts_with(|ch: char| ch.is_ascii_lowercase());
    let fits = name.len() <= MAX_NAME && name.chars().all(|ch| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '_');
    if starts && fits && !name.contains("__") && !name.ends_with('_') {
        return Ok(name);
    }
    Err(format!("the name of a server has 1 to {MAX_NAME} letters, digits and single '_' or '-', and begins with a letter"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_are_folded_or_refused() {
        for (written, expected) in [("files", "files"), (" My-Server ", "my_server"), ("a.b", "a_b"), ("x1", "x1")] {
            assert_eq!(server_name(written).as_deref(), Ok(expected), "{written}");
        }
        for written in ["", "1a", "a__b", "a_", "ä", "a/b", "a\u{200b}", &"x".repeat(25)] {
            assert!(server_name(written).is_err(), "{written}");
        }
    }

    #[test]
    fn identity_changes_with_the_program_and_not_with_secrets() {
        let stdio = |argument: &str, value: &str| {
            let server = StdioServer {
                program: "npx".into(),
                arguments: vec![argument.into()],
                environment: vec![("TOKEN".into(), value.into())],
                directory: "/w".into(),
                sandbox: None,
            };
            ServerSettings::new("a", ServerTransport::Stdio(server)).identity()
        };
        assert_eq!(stdio("x", "1"), stdio("x", "2"));
        assert_ne!(stdio("x", "1"), stdio("y", "1"));
    }
}
