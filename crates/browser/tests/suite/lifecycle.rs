//! Browsers start, and end with everything that they had.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use haft_contract::ports::{BrowserAction, BrowserControl};

use crate::server::{Page, Server};
use crate::world::World;

/// Names the folder of a process that is to be killed.
pub(crate) const VICTIM: &str = "HAFT_TEST_VICTIM";

/// Processes whose command line has these words.
pub(crate) fn processes_with(words: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(words)))
        .collect()
}

/// Kills a process that the test has started.
pub(crate) fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
}

pub(crate) async fn browser_starts_and_leaves_nothing_behind() {
    let world = World::new();
    let server = Server::of(&[("/", Page::html("<title>Hello</title><h1>Hi</h1>"))]).await;
    assert_eq!(world.perform(BrowserAction::Status).await.unwrap().text, "The browser does not run. Opening a page starts it.");
    world.open(&server.url("/")).await;
    assert_eq!(world.snapshot().await, "- heading \"Hi\" [level=1]");
    let words = world.data().join("run").to_string_lossy().into_owned();
    assert!(!processes_with(&words).is_empty());
    world.browsers.end_session("s");
    for _ in 0..200 {
        if processes_with(&words).is_empty() && std::fs::read_dir(world.data().join("run")).unwrap().count() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?} {:?}", processes_with(&words), std::fs::read_dir(world.data().join("run")).unwrap().collect::<Vec<_>>());
}

/// Opens a browser, says so, and waits for its end.
pub(crate) async fn wait_to_be_killed(folder: &std::path::Path) {
    let world = World::in_folder(folder);
    world.open("about:blank").await;
    println!("ready");
    std::future::pending::<()>().await;
}

pub(crate) async fn killed_program_leaves_no_process_and_its_folder_goes_with_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut victim = Command::new(program).env(VICTIM, folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(victim.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let run = folder.path().join("data/run");
    let words = run.to_string_lossy().into_owned();
    assert!(!processes_with(&words).is_empty());
    victim.kill().and_then(|()| victim.wait()).unwrap();
    for _ in 0..500 {
        if processes_with(&words).is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(processes_with(&words), Vec::<u32>::new());
    let own = |name: &str| name.starts_with(&format!("{}-", victim.id()));
    let left = || std::fs::read_dir(&run).unwrap().flatten().filter(|entry| own(&entry.file_name().to_string_lossy())).count();
    assert!(left() > 0, "the exchange folder, which a killed process cannot remove");
    let world = World::in_folder(folder.path());
    world.open("about:blank").await;
    assert_eq!(left(), 0);
}
