//! Servers that misbehave: every call gets one answer in bounded time, and nothing of a server outlives the test.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the bans are for tools")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft_contract::{BoxFuture, ErrorKind, ToolError};
use haft_engine::Registry;
use haft_mcp::client::{
    ClientParts, McpServer, McpServers, QuarantineReason, ServerLauncher, ServerProcess, ServerSettings, ServerStreams, ServerTimeouts,
    ServerTransport, StdioServer,
};
use haft_testkit::{FakeHost, Trial};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

struct PlainLauncher;

impl ServerLauncher for PlainLauncher {
    fn launch<'a>(&'a self, _: &'a str, server: &'a StdioServer) -> BoxFuture<'a, Result<ServerStreams, String>> {
        Box::pin(async move {
            let mut command = Command::new(&server.program);
            command.args(&server.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
            let mut child = command.spawn().map_err(|error| error.to_string())?;
            Ok(ServerStreams {
                input: Box::new(child.stdin.take().unwrap()),
                output: Box::new(child.stdout.take().unwrap()),
                errors: Box::new(child.stderr.take().unwrap()),
                process: Box::new(PlainProcess(child)),
            })
        })
    }
}

struct PlainProcess(Child);

impl ServerProcess for PlainProcess {
    fn ended(&mut self) -> BoxFuture<'_, String> {
        Box::pin(async { format!("it ended: {}", self.0.wait().await.unwrap()) })
    }
}

/// One hostile server with a registry of its own.
struct Setup {
    folder: TempDir,
    registry: Arc<Registry>,
    servers: Arc<McpServers>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Setup {
    fn new(mode: &str) -> Self {
        Self::within(mode, TempDir::new().unwrap())
    }

    fn within(mode: &str, folder: TempDir) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/server.py");
        let arguments = vec![script.display().to_string(), mode.to_owned(), folder.path().display().to_string()];
        let directory = PathBuf::from("/");
        let server = StdioServer { program: "python3".into(), arguments, environment: Vec::new(), directory, sandbox: None };
        let mut settings = ServerSettings::new("hub", ServerTransport::Stdio(server));
        // Python may take seconds to start on a busy machine.
        settings.timeouts = ServerTimeouts { start: Duration::from_secs(20), idle: Duration::from_secs(1), total: Duration::from_secs(4) };
        match mode {
            "never" => settings.timeouts.start = Duration::from_secs(1),
            // A busy machine must have time to read so many messages.
            "flood" => (settings.timeouts.idle, settings.timeouts.total) = (Duration::from_mins(1), Duration::from_mins(1)),
            _ => {}
        }
        let (registry, warnings) = (Arc::new(Registry::new()), Arc::new(Mutex::new(Vec::new())));
        let heard = Arc::clone(&warnings);
        let warn = move |text: &str| heard.lock().unwrap().push(text.to_owned());
        let parts = ClientParts {
            launcher: Arc::new(PlainLauncher),
            elicitor: None,
            sampler: None,
            data_folder: folder.path().join("data"),
            warn: Arc::new(warn),
        };
        let servers = McpServers::new(vec![settings], &parts, &registry);
        Self { folder, registry, servers, warnings }
    }

    fn server(&self) -> &Arc<McpServer> {
        self.servers.find("hub").unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<String, ToolError> {
        self.call_in(&Trial::new(FakeHost::new()), tool, arguments).await
    }

    async fn call_in(&self, trial: &Trial, tool: &str, arguments: Value) -> Result<String, ToolError> {
        let entry = self.registry.get(tool).unwrap_or_else(|| panic!("{tool} is not registered: {:?}", self.registry.names()));
        let output = trial.run(&**entry.tool(), arguments).await?;
        Ok(output.texts().collect::<Vec<_>>().join("\n"))
    }

    fn starts(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("starts")).unwrap_or_default().lines().count()
    }
}

/// Until something is so; a test that never sees it fails.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn every_call_gets_one_answer_whatever_the_server_does() {
    // What the call gives: a text in its result, or the kind of its error and a text in that.
    let text = Ok::<&str, (ErrorKind, &str)>;
    let failed = |text: &'static str| Err((ErrorKind::ExecutionError, text));
    let cases = [
        ("good", text("done {'n': 1}")),
        ("silent", Err((ErrorKind::Timeout, "did not answer in 1 s"))),
        ("late", Err((ErrorKind::Timeout, "mcp.servers.hub.idle_seconds"))),
        ("progress", text("done")),
        ("endless", Err((ErrorKind::Timeout, "mcp.servers.hub.total_seconds"))),
        ("twice", text("first")),
        ("stray_answer", text("done")),
        ("batch", text("from a batch")),
        ("garbage", text("done")),
        ("logs", text("done")),
        ("flood", failed("messages that nobody asked for")),
        ("huge", failed("a message of more than 16 MB")),
        ("dies", failed("out of luck")),
        ("stdout", failed("lines that are no messages")),
        ("nonsense", failed("not a result of a tool")),
        ("unreadable", failed("none that the protocol has")),
        ("bottomless", failed("none that the protocol has")),
        ("new_kind", text("[content of an unknown kind, not shown]\nfine")),
        ("failure", failed("the disk is full")),
        // Neither is answered: the declined question has no content, and there is no model for servers.
        ("asks", text(r#"[{"action": "decline"}, true]"#)),
    ];
    for (mode, expected) in cases {
        let setup = Setup::new(mode);
        setup.server().start().await.unwrap_or_else(|failure| panic!("{mode}: {failure}"));
        let began = Instant::now();
        let answer = setup.call("mcp__hub__work", json!({"n": 1})).await;
        assert!(began.elapsed() < Duration::from_secs(50), "{mode} took {:?}", began.elapsed());
        match (&answer, expected) {
            (Ok(text), Ok(wanted)) => assert!(text.contains(wanted) && !text.contains("second"), "{mode}: {text}"),
            (Err(error), Err((kind, wanted))) => {
                assert_eq!(error.kind(), kind, "{mode}: {error}");
                assert!(error.message().contains(wanted), "{mode}: {error}");
            }
            other => panic!("{mode}: {other:?}"),
        }
        setup.servers.close().await;
    }
}

#[tokio::test]
async fn servers_that_cannot_start_say_why() {
    for (mode, wanted) in [
        ("never", "did not answer in 1 s"),
        ("exits", "no configuration"),
        ("refuses", "it refused to begin: not today"),
        ("misgreets", "its greeting is not one of the protocol"),
        ("version", "the protocol version '2099-01-01', which Haft does not know"),
    ] {
        let setup = Setup::new(mode);
        let failure = setup.server().start().await.unwrap_err().to_string();
        assert!(failure.contains(wanted), "{mode}: {failure}");
        assert!(setup.registry.get("mcp__hub__work").is_none());
        setup.servers.close().await;
    }
}

#[tokio::test]
async fn crashed_server_is_started_again_and_waits_grow() {
    let setup = Setup::new("dies_once");
    setup.server().start().await.unwrap();
    let error = setup.call("mcp__hub__work", json!({})).await.unwrap_err();
    assert!(error.message().contains("It may have had effects"), "{error}");
    assert!(setup.call("mcp__hub__work", json!({})).await.unwrap().contains("done"));
    assert_eq!(setup.starts(), 2);
    setup.servers.close().await;

    let setup = Setup::new("exits");
    for _ in 0..4 {
        setup.server().start().await.unwrap_err();
    }
    let starts = setup.starts();
    let failure = setup.server().start().await.unwrap_err();
    assert!(failure.advice.contains("it is started again in"), "{failure}");
    assert_eq!(setup.starts(), starts, "it is not started before its time");
}

#[tokio::test]
async fn tools_are_known_without_the_server_and_it_starts_with_the_first_call() {
    let setup = Setup::new("good");
    assert!(!setup.server().is_known());
    setup.server().start().await.unwrap();
    setup.servers.close().await;
    let Setup { folder, .. } = setup;
    let setup = Setup::within("good", folder);
    assert_eq!(setup.server().tool_names(), ["mcp__hub__stable", "mcp__hub__work"]);
    assert_eq!(setup.starts(), 1, "nothing was started to know them");
    assert!(setup.call("mcp__hub__work", json!({})).await.unwrap().contains("done"));
    assert_eq!(setup.starts(), 2);
    setup.servers.close().await;
}

#[tokio::test]
async fn list_without_end_is_cut_and_the_user_told() {
    for (mode, tools) in [("many", 1_000), ("heavy", 5), ("same", 1)] {
        let setup = Setup::new(mode);
        setup.server().start().await.unwrap();
        assert_eq!(setup.server().tool_names().len(), tools, "{mode}");
        let warnings = setup.warnings.lock().unwrap().clone();
        assert!(
            warnings.iter().any(|text| text.contains("a server has at most 1000 of 16 MB, each with a name of its own")),
            "{warnings:?}"
        );
        setup.servers.close().await;
    }
}

#[tokio::test]
async fn server_hears_the_version_that_a_handshake_can_name() {
    let setup = Setup::new("good");
    setup.server().start().await.unwrap();
    setup.servers.close().await;
    let asked = std::fs::read_to_string(setup.folder.path().join("asked")).unwrap();
    assert_eq!(asked, "2025-11-25");
}

#[tokio::test]
async fn changed_tools_are_quarantined_until_the_user_approves() {
    let setup = Setup::new("good");
    setup.server().start().await.unwrap();
    setup.servers.close().await;
    let Setup { folder, .. } = setup;
    std::fs::write(folder.path().join("changed"), "").unwrap();
    let setup = Setup::within("good", folder);
    // The old list still offers the tool; the call itself finds out.
    let error = setup.call("mcp__hub__work", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.message().contains("it has changed since you approved the server"), "{error}");
    assert!(setup.call("mcp__hub__stable", json!({})).await.unwrap().contains("stable was called"));
    assert_eq!(setup.server().tool_names(), ["mcp__hub__stable"]);
    let waiting: Vec<(String, QuarantineReason)> = setup.server().quarantined().into_iter().map(|tool| (tool.name, tool.why)).collect();
    assert_eq!(waiting, [("work".to_owned(), QuarantineReason::Changed), ("added".to_owned(), QuarantineReason::New)]);
    assert!(setup.warnings.lock().unwrap()[0].contains("run `haft mcp trust hub`"), "{:?}", setup.warnings);
    let server = setup.server();
    server.approve(&server.quarantined()).unwrap();
    assert_eq!(setup.server().tool_names(), ["mcp__hub__added", "mcp__hub__stable", "mcp__hub__work"]);
    assert!(setup.call("mcp__hub__work", json!({})).await.unwrap().contains("done"));
    setup.servers.close().await;
}

#[tokio::test]
async fn list_changed_quarantines_while_the_server_runs() {
    let setup = Setup::new("changes");
    setup.server().start().await.unwrap();
    eventually("the changed tool waits", || setup.server().quarantined().len() == 2).await;
    assert_eq!(setup.server().tool_names(), ["mcp__hub__stable"]);
    assert!(setup.registry.get("mcp__hub__work").is_none());
    setup.servers.close().await;
}

#[tokio::test]
async fn hidden_characters_and_clashing_names_are_handled() {
    let setup = Setup::new("hidden");
    setup.server().start().await.unwrap();
    assert_eq!(setup.server().tool_names(), ["mcp__hub__plain"]);
    assert_eq!(setup.server().quarantined()[0].why, QuarantineReason::HiddenCharacters);
    setup.servers.close().await;
    let setup = Setup::new("names");
    setup.server().start().await.unwrap();
    let names = setup.server().tool_names();
    assert_eq!(names.len(), 3, "{names:?}");
    for (name, remote) in names.iter().zip(["a_b", "A.B", "a-b"].iter().cycle()) {
        let answer = setup.call(name, json!({})).await.unwrap();
        assert!(["a_b", "a-b", "A.B"].iter().any(|own| answer.contains(&format!("{own} was called"))), "{name} {remote}: {answer}");
    }
    setup.servers.close().await;
}

#[tokio::test]
async fn tool_that_cannot_be_read_takes_no_other_away() {
    let setup = Setup::new("malformed");
    setup.server().start().await.unwrap();
    assert_eq!(setup.server().tool_names(), ["mcp__hub__plain"]);
    assert!(setup.call("mcp__hub__plain", json!({})).await.unwrap().contains("plain was called"));
    let warnings = setup.warnings.lock().unwrap().clone();
    assert_eq!(warnings, ["3 tools of the MCP server 'hub' are left out: what it says of them cannot be read"]);
    setup.servers.close().await;
}

#[tokio::test]
async fn cancelled_call_ends_at_once_and_the_server_is_told() {
    let setup = Setup::new("silent");
    setup.server().start().await.unwrap();
    let trial = Trial::new(FakeHost::new());
    let cancel = trial.cancel.clone();
    let (answer, ()) = tokio::join!(setup.call_in(&trial, "mcp__hub__work", json!({})), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    });
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Cancelled);
    eventually("the server hears of it", || setup.folder.path().join("cancelled").exists()).await;
    setup.servers.close().await;
}
