//! What running commands costs, each beside a plain way to do the same in the same run, because machines are noisy.
//!
//! `cargo bench --bench exec` starts commands in the sandbox and beside it, and prints medians of five rounds and the ratio;
//! `-- output` runs only that part. Commands start with the small launcher, which is built first. Nothing here fails a test run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

#[path = "exec/bare.rs"]
mod bare;
#[path = "exec/bench.rs"]
mod bench;
mod measure;

use std::path::Path;
use std::time::{Duration, Instant};

use haft::ExecHost;

use crate::bare::Bare;
use crate::bench::Bench;
use crate::measure::{ROUNDS, head, median, middle, row, time};

/// Starts in one round.
const STARTS: u32 = 20;
const AT_ONCE: usize = 64;
const GIGABYTE: u64 = 1_000_000_000;
/// Spills are cut here unless someone says otherwise.
const USUAL_SPILL: u64 = 64 << 20;
const COMMIT: &str = "git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m x";
/// A build: 5,000 files that Git ignores, anew each time, written by one process as fast as it can.
const BUILD: &str = "rm -rf out; mkdir out; seq 5000 | split -l 1 -a 4 - out/o.";
/// Of about 200 characters, as a model writes them.
const LINE: &str = "cd src && timeout 60 git log --oneline --since=yesterday | grep -v merge | sort | uniq -c > ../log.txt; \
                    cargo test --workspace 2>&1 | tail -n 40 && head -n 20 ../log.txt | cut -d ' ' -f 1 | sort -rn | uniq";

fn main() {
    // Started again by itself, it is a stage of a sandbox and nothing else.
    haft_sandbox::launcher::main_if_asked();
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let runs = |part: &str| part.contains(&wanted);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    head();
    if runs("start") {
        runtime.block_on(start(&Bench::new(USUAL_SPILL)));
    }
    if runs("plan") {
        plan(&Bench::new(USUAL_SPILL));
    }
    if runs("many") {
        runtime.block_on(many(&Bench::new(USUAL_SPILL)));
    }
    if runs("changes") {
        runtime.block_on(changes());
    }
    if runs("repository") {
        runtime.block_on(repository());
    }
    if runs("output") {
        runtime.block_on(output());
    }
}

/// The median of each of two things that are done in turn, so that both meet the same noise.
async fn in_turn(mut ours: impl AsyncFnMut(), mut reference: impl FnMut()) -> (Duration, Duration) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Instant::now();
        ours().await;
        first.push(started.elapsed());
        let started = Instant::now();
        reference();
        second.push(started.elapsed());
    }
    (middle(first), middle(second))
}

async fn start(bench: &Bench) {
    let bare = Bare::new(bench.bubblewrap().await, "true");
    let bubblewrap = || (0..STARTS).for_each(|_| bare.run());
    let plain = || (0..STARTS).for_each(|_| bare::shell("true"));
    let ours = async |host| {
        for _ in 0..STARTS {
            bench.run("true", host).await;
        }
    };
    let print = |what: &str, (took, reference): (Duration, Duration), beside: &str| {
        row(what, took / STARTS, reference / STARTS, beside);
    };
    // Whatever is done once is not counted.
    ours(ExecHost::Sandbox).await;
    print("A/A: bwrap, and bwrap again", in_turn(async || bubblewrap(), bubblewrap).await, "the same");
    print("sandboxed 'true'", in_turn(async || ours(ExecHost::Sandbox).await, bubblewrap).await, "bwrap with the same mounts");
    print("sandboxed 'true'", in_turn(async || ours(ExecHost::Sandbox).await, plain).await, "bash -c true");
    print("'true' outside", in_turn(async || ours(ExecHost::Host).await, plain).await, "bash -c true");
}

fn plan(bench: &Bench) {
    let read = median(|| time(500, || drop(haft_shell::analyse(LINE))));
    let words = median(|| time(500, || drop(LINE.split_whitespace().map(str::to_owned).collect::<Vec<_>>())));
    row(&format!("a line of {} characters, read", LINE.len()), read, words, "split into words");
    let planned = median(|| time(500, || bench.plan(LINE)));
    row("the same, with what it touches looked up", planned, read, "read");
}

async fn many(bench: &Bench) {
    let bare = Bare::new(bench.bubblewrap().await, "true");
    let together = async || {
        let started = (0..AT_ONCE).map(|_| bench.run("true", ExecHost::Sandbox));
        futures_util::future::join_all(started).await;
    };
    let times = in_turn(together, || bare.run_together(AT_ONCE)).await;
    row(&format!("{AT_ONCE} sandboxed at once"), times.0, times.1, "as many of bwrap");
}

/// What it costs that changes are found and can be undone.
async fn changes() {
    let empty = Bench::new(USUAL_SPILL);
    let bench = Bench::new(USUAL_SPILL);
    for folder in 0..100 {
        let folder = bench.workspace.join(format!("folder-{folder}"));
        std::fs::create_dir(&folder).expect("a folder");
        (0..100).for_each(|file| std::fs::write(folder.join(format!("{file}.txt")), "text\n").expect("a file"));
    }
    let bare = Bare::new(bench.bubblewrap().await, "touch x");
    bench.call("touch x").await;
    let times = in_turn(async || bench.call("touch x").await, || bare.run()).await;
    print_beside("a change beside 10,000 unchanged files", times);
    empty.call("touch x").await;
    let alone = in_turn(async || empty.call("touch x").await, || ()).await.0;
    println!("  and {:.1} ms more than in an empty workspace", times.0.saturating_sub(alone).as_secs_f64() * 1000.0);
}

/// What a repository costs: its `.git` is an overlay, and what it ignores is not recorded.
async fn repository() {
    let bench = Bench::new(USUAL_SPILL);
    let init = std::process::Command::new("git").args(["init", "-q"]).current_dir(&bench.workspace).status();
    assert!(init.is_ok_and(|status| status.success()), "git init");
    std::fs::write(bench.workspace.join(".gitignore"), "out\n").expect("a file");
    let in_repository = async |what: &str, line: &str| {
        let bare = Bare::new(bench.bubblewrap().await, line);
        bench.call(line).await;
        print_beside(what, in_turn(async || bench.call(line).await, || bare.run()).await);
    };
    let bare = Bare::new(bench.bubblewrap().await, COMMIT);
    print_beside("A/A: bwrap, git commit", in_turn(async || bare.run(), || bare.run()).await);
    in_repository("git commit", COMMIT).await;
    in_repository("5,000 ignored files", BUILD).await;
}

fn print_beside(what: &str, (took, reference): (Duration, Duration)) {
    row(what, took, reference, "bwrap with the same mounts");
}

async fn output() {
    let line = format!("yes 'One line of many, as a long build writes them' | head -c {GIGABYTE}");
    for (kept, what) in [(USUAL_SPILL, "1 GB of output, 64 MiB kept"), (2 * GIGABYTE, "1 GB of output, all kept")] {
        let bench = Bench::new(kept);
        bench.call("true").await;
        let before = bench::own_peak();
        let (took, reference) = in_turn(async || bench.call(&line).await, || into_a_file(&line, bench.state())).await;
        row(what, took, reference, "| cat > file");
        println!("  and {:.1} MB of memory more than before", (bench::own_peak() - before) / 1024.0);
    }
}

/// Each into a new one, as a spill is.
fn into_a_file(line: &str, folder: &Path) {
    let file = tempfile::NamedTempFile::new_in(folder).expect("a file");
    bare::shell(&format!("{line} | cat > '{}'", file.path().display()));
}
