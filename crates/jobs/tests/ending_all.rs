//! `end_all_processes`. In a test binary of its own, because no program can start after it.
#![allow(clippy::unwrap_used)] // helpers of a test may panic, as the test itself

use std::time::Duration;

use haft_contract::{CommandSpec, Exec, ports::ProcessRunner};
use haft_jobs::{LocalProcesses, end_all_processes};
use tokio_util::sync::CancellationToken;

fn shell(script: &str) -> CommandSpec {
    CommandSpec {
        exec: Exec::new("/bin/sh", vec!["-c".into(), script.into()], "/"),
        environment: Vec::new(),
        input: None,
        output_limit: 1024,
        timeout: Duration::from_mins(1),
    }
}

#[tokio::test]
async fn end_all_processes_ends_every_tree_and_lets_no_program_start() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let script = format!("trap '' TERM; exec 9>'{}'; sleep 60 & sleep 60", pipe.display());
    let running = tokio::spawn(async move { LocalProcesses::default().run(shell(&script), CancellationToken::new()).await });
    // Opens when the script opens it, and ends with the last process that holds it.
    let mut reader = tokio::task::spawn_blocking(move || std::fs::File::open(pipe)).await.unwrap().unwrap();
    end_all_processes();
    let gone = tokio::task::spawn_blocking(move || std::io::copy(&mut reader, &mut std::io::sink()).unwrap());
    assert_eq!(tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap().unwrap(), 0);
    assert_eq!(running.await.unwrap().unwrap().signal, Some(9));
    let refused = LocalProcesses::default().run(shell("exit 0"), CancellationToken::new()).await.unwrap_err();
    assert_eq!(refused.message(), "Cannot run '/bin/sh': this process is about to exit.");
}
