//! What the crate costs a program that depends on it.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;

use haft::Agent;
use haft::providers::{self, Protocol};
use haft_testkit::{ModelServer, Round};

/// The crates that a build of this crate needs with these features, as `cargo tree` lists them.
fn crates(features: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "-p", "haft", "--no-default-features", "--features", features])
        .args(["-e", "normal,build", "--prefix", "none", "--no-dedupe", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).filter(|line| !line.is_empty()).collect()
}

#[test]
fn without_features_it_needs_at_most_sixty_crates() {
    let needed = crates("");
    assert!(needed.len() <= 60, "{}: {needed:?}", needed.len());
    let has = |name: &str| needed.iter().any(|line| line.starts_with(&format!("{name} ")));
    for heavy in ["jsonschema", "reqwest", "rusqlite", "ring", "url", "mio"] {
        assert!(!has(heavy), "{heavy}");
    }
}

#[test]
fn features_bring_what_they_name() {
    for (features, crate_name, is_there) in [
        ("tools", "haft-builtin", true),
        ("tools", "haft-jobs", false),
        ("exec", "haft-sandbox", true),
        ("agent", "haft-agent", true),
        ("agent", "reqwest", false),
        ("providers", "reqwest", true),
        ("providers", "haft-agent", false),
        ("sqlite", "rusqlite", true),
        ("mcp", "rmcp", true),
    ] {
        let has = crates(features).iter().any(|line| line.starts_with(&format!("{crate_name} ")));
        assert_eq!(has, is_there, "{features}: {crate_name}");
    }
}

/// Tells the process that it is to measure.
const MEASURE: &str = "HAFT_TEST_IDLE_SESSIONS";
const SESSIONS: u64 = 100;

/// The memory of this process that is in use, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Not a test of its own: the process that [`idle_session_stays_within_its_memory`] starts, with nothing else in it.
#[tokio::test]
async fn idle_sessions_of_this_process() {
    let Some(kind) = std::env::var_os(MEASURE) else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = ModelServer::start((0..=SESSIONS).map(|_| Round::Text("Yes.".into())).collect()).unwrap();
    let log = haft::store::SqliteCallLog::open(&folder.path().join("state")).unwrap().log;
    let sessions: Arc<dyn haft::store::SessionStore> = Arc::new(log.sessions());
    let log: Arc<dyn haft::store::CallLog> = Arc::new(log);
    let begin = || async {
        let agent = Agent::builder().provider(providers::at(Protocol::OpenAi, server.url(), "m1"));
        let agent = match kind.to_str() {
            Some("bare") => agent,
            Some("tools") => agent.toolbox(|tools| tools.workspace(folder.path().join("work"))),
            _ => {
                let agent = agent.log(Arc::clone(&log)).session_store(Arc::clone(&sessions));
                agent.toolbox(|tools| tools.workspace(folder.path().join("work")))
            }
        };
        let agent = agent.build().await.unwrap();
        assert_eq!(agent.answer("Are you there?").await.text, "Yes.");
        agent
    };
    std::fs::create_dir(folder.path().join("work")).unwrap();
    // The first one brings in what all share.
    let mut agents = vec![begin().await];
    let before = memory();
    for _ in 0..SESSIONS {
        agents.push(begin().await);
    }
    println!("bytes={}", memory().saturating_sub(before) / SESSIONS);
    drop(agents);
}

/// A conversation that has had a turn and waits: with no tools, with the built-in tools, and with a database that all share. Definitions of
/// typed tools are made once in a process.
#[test]
fn idle_session_stays_within_its_memory() {
    for (kind, most_kb) in [("bare", 200), ("tools", 200), ("database", 200)] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cost::idle_sessions_of_this_process", "--nocapture"])
            .env(MEASURE, kind)
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let bytes = shown.lines().find_map(|line| line.rsplit_once("bytes=")?.1.trim().parse::<u64>().ok());
        let bytes = bytes.unwrap_or_else(|| panic!("{kind}: {shown}{}", String::from_utf8_lossy(&output.stderr)));
        println!("{kind}: {} KB for each idle session", bytes / 1024);
        assert!(bytes <= most_kb * 1024, "{kind}: {bytes} bytes for each idle session");
    }
}
