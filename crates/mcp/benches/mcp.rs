//! What the MCP server costs beside a minimal server of the same SDK, in the same run, because machines are noisy.
//!
//! `cargo bench -p haft-mcp` starts both as processes and drives both the same way. It prints medians of five rounds, and the reference
//! beside itself. Where there are two processors, the servers are pinned to one and this program to another. It wants `haft` of the same
//! profile: `cargo build --release -p haft-cli` first. It ends after ten minutes at the latest. Nothing here fails a test run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

#[path = "mcp/driver.rs"]
mod driver;
#[path = "mcp/minimal.rs"]
mod minimal;

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::driver::{HttpDriver, StdioDriver};

const ROUNDS: usize = 5;
/// Calls of one round.
const CALLS: u32 = 2000;
const AT_ONCE: u32 = 64;
/// Calls between two looks at the memory.
const MANY: u32 = 100_000;
/// A server that does not answer must not hold this up.
const LONGEST: Duration = Duration::from_mins(10);
/// Set once this program is pinned.
const PINNED: &str = "HAFT_BENCH_PINNED";
const TASKSET: &str = "/usr/bin/taskset";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(minimal::STDIO) => return minimal::serve_stdio(None),
        Some(minimal::RECORDING) => return minimal::serve_stdio(Some(Path::new("."))),
        Some(minimal::HTTP) => return minimal::serve_http(),
        _ => {}
    }
    pin_driver();
    std::thread::spawn(end_in_time);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page.txt"), "0123456789abcde\n".repeat(256)).unwrap();
    let world = World { folder: folder.path().to_owned() };
    println!("{:<40} {:>12} {:>12} {:>8}", "what", "ours", "minimal", "ratio");
    world.start();
    world.stdio();
    world.http();
    world.memory();
}

/// Starts this program again on the first processor, with all its threads.
fn pin_driver() {
    if can_pin() && std::env::var_os(PINNED).is_none() {
        let program = std::env::current_exe().unwrap();
        let error = Command::new(TASKSET).args(["-c", "0"]).arg(program).args(std::env::args_os().skip(1)).env(PINNED, "1").exec();
        println!("not pinned: {error}");
    }
}

fn can_pin() -> bool {
    Path::new(TASKSET).exists() && std::thread::available_parallelism().is_ok_and(|count| count.get() > 1)
        || std::env::var_os(PINNED).is_some()
}

/// A server on the second processor.
fn server(program: impl AsRef<OsStr>) -> Command {
    if !can_pin() {
        return Command::new(program);
    }
    let mut command = Command::new(TASKSET);
    command.args(["-c", "1"]).arg(program);
    command
}

fn end_in_time() {
    std::thread::sleep(LONGEST);
    println!("ended after {} minutes; what is above is all", LONGEST.as_secs() / 60);
    #[allow(clippy::exit, reason = "the process of a benchmark")]
    std::process::exit(1);
}

struct World {
    folder: PathBuf,
}

impl World {
    fn ours(&self, words: &[&str]) -> Command {
        let program = std::env::var_os("HAFT_BINARY").map(PathBuf::from);
        let program = program.unwrap_or_else(|| std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("haft"));
        assert!(program.exists(), "there is no '{}': build it in the same profile first", program.display());
        let mut command = server(program);
        command.arg("mcp").args(words).current_dir(&self.folder);
        command.env("HAFT_HOME", self.folder.join("state")).env("XDG_CONFIG_HOME", self.folder.join("config"));
        // Of this program: a server would look for what the user meant by them.
        command.env_remove("HAFT_BINARY").env_remove(PINNED);
        command
    }

    fn minimal(&self, kind: &str) -> Command {
        let mut command = server(std::env::current_exe().unwrap());
        command.arg(kind).current_dir(&self.folder);
        command
    }

    /// From the start of the process to the list of its tools.
    fn start(&self) {
        let time = |command: &mut Command| {
            let started = std::time::Instant::now();
            let mut driver = StdioDriver::start(command);
            driver.list();
            started.elapsed()
        };
        let [ours, first, second] =
            in_turn([&mut || time(&mut self.ours(&[])), &mut || time(&mut self.minimal(minimal::STDIO)), &mut || {
                time(&mut self.minimal(minimal::STDIO))
            }]);
        row("start to tools/list", ours, first);
        row("  A/A", second, first);
    }

    fn stdio(&self) {
        let mut ours = StdioDriver::start(&mut self.ours(&[]));
        let mut minimal = StdioDriver::start(&mut self.minimal(minimal::STDIO));
        let mut again = StdioDriver::start(&mut self.minimal(minimal::STDIO));
        let mut recording = StdioDriver::start(&mut self.minimal(minimal::RECORDING));
        let [a, b, c, d] =
            in_turn([&mut || ours.latency(CALLS), &mut || minimal.latency(CALLS), &mut || again.latency(CALLS), &mut || {
                recording.latency(CALLS)
            }]);
        row("tools/call of 4 KB, p50", a, b);
        row("  A/A", c, b);
        row("  beside minimal with a durable record", a, d);
        row("  the record alone", d, b);
        let [a, b, c, d] = in_turn([
            &mut || ours.flight(CALLS, AT_ONCE),
            &mut || minimal.flight(CALLS, AT_ONCE),
            &mut || again.flight(CALLS, AT_ONCE),
            &mut || recording.flight(CALLS, AT_ONCE),
        ]);
        row("tools/call, 64 in flight, each", a, b);
        row("  A/A", c, b);
        row("  beside minimal with a durable record", a, d);
        row("  the record alone", d, b);
    }

    fn http(&self) {
        let mut ours = HttpDriver::start(&mut self.ours(&["--http", "127.0.0.1:0", "--json"]));
        let mut minimal = HttpDriver::start(&mut self.minimal(minimal::HTTP));
        let mut again = HttpDriver::start(&mut self.minimal(minimal::HTTP));
        let calls = CALLS / 4;
        let [a, b, c] = in_turn([&mut || ours.latency(calls), &mut || minimal.latency(calls), &mut || again.latency(calls)]);
        row("tools/call of 4 KB over HTTP, p50", a, b);
        row("  A/A", c, b);
    }

    fn memory(&self) {
        let (mut ours, mut minimal) = (StdioDriver::start(&mut self.ours(&[])), StdioDriver::start(&mut self.minimal(minimal::STDIO)));
        for (name, driver) in [("ours", &mut ours), ("minimal", &mut minimal)] {
            driver.list();
            let idle = driver.memory();
            driver.latency(100);
            let before = driver.memory();
            driver.flight(MANY, AT_ONCE);
            let growth = driver.memory().saturating_sub(before);
            println!("{:<40} {idle:>9} KB {growth:>9} KB after {MANY} calls", format!("memory, idle; growth; {name}"));
        }
    }
}

/// The median of each of several things that are done in turn, so that all meet the same noise.
fn in_turn<const N: usize>(mut works: [&mut dyn FnMut() -> Duration; N]) -> [Duration; N] {
    let mut times = vec![Vec::new(); N];
    for _ in 0..ROUNDS {
        works.iter_mut().zip(&mut times).for_each(|(work, times)| times.push(work()));
    }
    std::array::from_fn(|place| {
        times[place].sort();
        times[place][ROUNDS / 2]
    })
}

fn row(what: &str, ours: Duration, reference: Duration) {
    let micros = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
    println!("{what:<40} {:>12} {:>12} {:>7.2}x", micros(ours), micros(reference), ours.as_secs_f64() / reference.as_secs_f64());
}
