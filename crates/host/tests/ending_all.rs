//! A process that leaves at once takes its programs along. Its own binary, because afterwards no program starts here.
#![allow(clippy::unwrap_used)] // helpers of a test stop at the first surprise, as the test itself does

use std::time::Duration;

use haft_contract::{CommandSpec, Exec, ProcessRunner};
use haft_host::{LocalProcesses, end_all_processes};
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
async fn every_program_and_what_it_started_ends_and_no_other_starts() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let script = format!("trap '' TERM; exec 9>'{}'; sleep 60 & sleep 60", pipe.display());
    let running = tokio::spawn(async move { LocalProcesses::default().run(shell(&script), CancellationToken::new()).await });
    // Opened when the script opens it, and at its end when the last of the programs is gone.
    let mut reader = tokio::task::spawn_blocking(move || std::fs::File::open(pipe)).await.unwrap().unwrap();
    end_all_processes();
    let gone = tokio::task::spawn_blocking(move || std::io::copy(&mut reader, &mut std::io::sink()).unwrap());
    assert_eq!(tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap().unwrap(), 0);
    assert_eq!(running.await.unwrap().unwrap().signal, Some(9));
    let refused = LocalProcesses::default().run(shell("exit 0"), CancellationToken::new()).await.unwrap_err();
    assert_eq!(refused.message(), "Cannot run '/bin/sh': this process is about to exit.");
}
