//! Browsers start, and end with everything that they had.

use haft_contract::ports::{BrowserAction, BrowserControl};

use crate::server::{Page, Server};
use crate::world::World;

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
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{:?} {:?}", processes_with(&words), std::fs::read_dir(world.data().join("run")).unwrap().collect::<Vec<_>>());
}
