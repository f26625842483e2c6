//! The browser beside Playwright on the same Chromium: start to first snapshot, a snapshot of 5,000 elements, a click, 100 actions.
//!
//! `cargo bench -p haft-browser --bench browser` installs Playwright to `~/.cache/haft/playwright` the first time. Without it, or without
//! npm, only our own times are printed.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and one that cannot continue says why")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_browser::{BrowserService, BrowserSettings, find_chromium};
use haft_contract::ports::{
    BrowserAction, BrowserControl, BrowserReply, BrowserRequest, EgressGate, MouseButton, PageAct, SnapshotFormat, SnapshotOptions,
};
use haft_contract::{BoxFuture, Connect, EgressRefusal};
use haft_host::{GuardedClient, LocalFiles, NetworkRules, WorkspaceOptions};
use haft_jobs::{LocalProcesses, ShellOptions};
use haft_sandbox::Launcher;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ROUNDS: usize = 5;
const CLICKS: usize = 100;
const PLAYWRIGHT: &str = "1.65.1";

struct Open;

impl EgressGate for Open {
    fn permit<'a>(&'a self, _: &'a Connect) -> BoxFuture<'a, Result<(), EgressRefusal>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn main() {
    haft_sandbox::launcher::main_if_asked();
    if find_chromium(None).is_err() {
        println!("Chromium is not installed: nothing to measure.");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let address = serve().await;
        let ours = measure_ours(&address).await;
        let theirs = tokio::task::spawn_blocking({
            let address = address.clone();
            move || measure_playwright(&address)
        });
        report(&ours, theirs.await.unwrap().as_ref());
    });
}

/// Milliseconds, and bytes of our process before and after the clicks.
struct Times {
    start: f64,
    snapshot: f64,
    click: f64,
    growth: Option<i64>,
}

fn report(ours: &Times, theirs: Option<&Times>) {
    println!("{:<28} {:>10} {:>12} {:>7}  budget", "", "haft", "playwright", "ratio");
    let rows = [
        ("start to first snapshot", ours.start, theirs.map(|times| times.start), "1.3 ×"),
        ("snapshot, 5,000 elements", ours.snapshot, theirs.map(|times| times.snapshot), "1.0 ×"),
        ("click", ours.click, theirs.map(|times| times.click), "1.0 ×"),
    ];
    for (name, own, other, budget) in rows {
        let other_text = other.map_or_else(|| "–".to_owned(), |other| format!("{other:.1} ms"));
        let ratio = other.map_or_else(|| "–".to_owned(), |other| format!("{:.2}", own / other));
        println!("{name:<28} {:>10} {other_text:>12} {ratio:>7}  {budget}", format!("{own:.1} ms"));
    }
    println!(
        "{:<28} {:>10}",
        format!("growth over {CLICKS} clicks"),
        ours.growth.map_or_else(|| "–".to_owned(), |bytes| format!("{} KB", bytes / 1024))
    );
}

fn page() -> String {
    let row = |at: usize| {
        format!(
            "<tr><td>Row {at}</td><td><a href='/x{at}'>Link {at}</a></td><td><button>Do {at}</button></td><td><input aria-label='in {at}'></td></tr>"
        )
    };
    format!(
        "<!doctype html><title>big</title><button id=first onclick='n.textContent=+n.textContent+1'>Count</button><p id=n>0</p><table>{}</table>",
        (0..714).map(row).collect::<Vec<_>>().concat()
    )
}

/// A server of one page, on an address that browsers in the sandbox reach through the proxy.
async fn serve() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.2:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let body = page();
        while let Ok((mut client, _)) = listener.accept().await {
            let body = body.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let Ok(_) = client.read(&mut request).await else { return };
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
                client.write_all(head.as_bytes()).await.ok();
                client.write_all(body.as_bytes()).await.ok();
                client.shutdown().await.ok();
            });
        }
    });
    address
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

async fn measure_ours(address: &str) -> Times {
    let folder = tempfile::tempdir().unwrap();
    let (root, data) = (folder.path().join("root"), folder.path().join("data"));
    std::fs::create_dir_all(&root).unwrap();
    std::fs::create_dir_all(&data).unwrap();
    let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
    let http = Arc::new(GuardedClient::new(NetworkRules::parse(&["127.0.0.2"], &[] as &[&str]).unwrap()));
    let processes = Arc::new(LocalProcesses::default().with_shell(ShellOptions::new(Launcher::current().unwrap(), &data), files, http));
    let service = BrowserService::new(processes, BrowserSettings::default());
    let mut starts = Vec::new();
    for round in 0..ROUNDS {
        let began = Instant::now();
        perform(&service, BrowserAction::Open(address.to_owned())).await;
        perform(&service, snapshot()).await;
        starts.push(milliseconds(began));
        if round + 1 < ROUNDS {
            service.end_session("bench");
        }
    }
    let mut snapshots = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        perform(&service, snapshot()).await;
        snapshots.push(milliseconds(began));
    }
    let page = perform(&service, snapshot()).await.page.unwrap_or_default();
    let element = page.split_once("\"Count\" [ref=").and_then(|(_, rest)| rest.split_once(']')).unwrap().0.to_owned();
    let click =
        || BrowserAction::Act(PageAct::Click { element: element.clone(), button: MouseButton::Left, double: false, modifiers: Vec::new() });
    perform(&service, click()).await;
    let before = resident();
    let mut clicks = Vec::new();
    for _ in 0..CLICKS {
        let began = Instant::now();
        perform(&service, click()).await;
        clicks.push(milliseconds(began));
    }
    let growth = before.zip(resident()).map(|(before, after)| after - before);
    Times { start: median(starts), snapshot: median(snapshots), click: median(clicks), growth }
}

fn snapshot() -> BrowserAction {
    BrowserAction::Snapshot(SnapshotOptions {
        format: SnapshotFormat::Ai,
        interactive: false,
        compact: false,
        depth: None,
        selector: None,
        frame: None,
        labels: false,
        limit: None,
        max_chars: 400_000,
    })
}

async fn perform(service: &BrowserService, action: BrowserAction) -> BrowserReply {
    let (session, timeout, gate) = ("bench".to_owned(), Duration::from_mins(1), Some(Arc::new(Open) as _));
    service.perform(BrowserRequest { session, call: String::new(), tab: None, action, timeout, hosts: Vec::new(), gate }).await.unwrap()
}

/// Resident bytes of this process.
fn resident() -> Option<i64> {
    let pages: i64 = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// Playwright on the same program, with its own way of describing a page for models.
const SCRIPT: &str = r"
const { chromium } = require(process.argv[2] + '/node_modules/playwright-core');
const [address, program, rounds, clicks] = [process.argv[3], process.argv[4], +process.argv[5], +process.argv[6]];
const median = (times) => times.sort((one, other) => one - other)[times.length >> 1];
(async () => {
  const describe = async (page) => (page._snapshotForAI ? page._snapshotForAI() : page.locator('body').ariaSnapshot());
  const starts = [];
  let browser, page;
  for (let round = 0; round < rounds; round++) {
    await browser?.close();
    const began = performance.now();
    browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], headless: true });
    page = await browser.newPage();
    await page.goto(address);
    await describe(page);
    starts.push(performance.now() - began);
  }
  const snapshots = [], all = [];
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    await describe(page);
    snapshots.push(performance.now() - began);
  }
  for (let click = 0; click < clicks; click++) {
    const began = performance.now();
    await page.locator('#first').click();
    all.push(performance.now() - began);
  }
  await browser.close();
  console.log(JSON.stringify({ start: median(starts), snapshot: median(snapshots), click: median(all) }));
})();
";

fn measure_playwright(address: &str) -> Option<Times> {
    let folder = install_playwright()?;
    let script = folder.join("measure.cjs");
    std::fs::write(&script, SCRIPT).ok()?;
    let program = find_chromium(None).ok()?;
    let (rounds, clicks) = (ROUNDS.to_string(), CLICKS.to_string());
    let arguments = [script.as_os_str(), folder.as_os_str(), address.as_ref(), program.as_os_str(), rounds.as_ref(), clicks.as_ref()];
    let output = Command::new("node").args(arguments).output().ok()?;
    let Ok(times) = serde_json::from_slice::<Value>(&output.stdout) else {
        println!("Playwright failed: {}", String::from_utf8_lossy(&output.stderr).lines().take(5).collect::<Vec<_>>().join(" "));
        return None;
    };
    let time = |key: &str| times[key].as_f64();
    Some(Times { start: time("start")?, snapshot: time("snapshot")?, click: time("click")?, growth: None })
}

fn install_playwright() -> Option<PathBuf> {
    let folder = std::env::home_dir()?.join(".cache/haft/playwright");
    if !Path::new(&folder).join("node_modules/playwright-core").is_dir() {
        std::fs::create_dir_all(&folder).ok()?;
        let package = format!("playwright-core@{PLAYWRIGHT}");
        let installed =
            Command::new("npm").args(["install", "--silent", "--no-audit", "--no-fund", &package]).current_dir(&folder).status();
        if !installed.is_ok_and(|status| status.success()) {
            println!("Playwright cannot be installed here: only our own times follow.");
            return None;
        }
    }
    Some(folder)
}
