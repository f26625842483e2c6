//! What reading a line costs, beside the parser alone in the same run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use haft_shell::analyse;
use tree_sitter::Parser;

const ROUNDS: u32 = 2_000;

/// Lines as models write them; the last one has 200 characters.
const LINES: &[&str] = &[
    "git status -s",
    "ls -la src | head -20",
    "cd crates/shell && timeout 120 cargo test -p haft-shell --test all 2>&1 | grep -E 'result|FAILED' | head -20 > out.txt; \
     git status -s && echo \"done in $(pwd)\" || rm -f build/tmp.log build/old.log",
];

fn main() {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the grammar fits");
    println!("{:>8}  {:>10}  {:>10}  {:>6}", "chars", "analyse", "parse", "ratio");
    for line in LINES {
        let whole = median(|| drop(black_box(analyse(black_box(line)))));
        let alone = median(|| drop(black_box(parser.parse(black_box(line), None))));
        let ratio = whole.as_secs_f64() / alone.as_secs_f64();
        println!("{:>8}  {:>10.1?}  {:>10.1?}  {ratio:>6.2}", line.chars().count(), whole, alone);
    }
}

/// The median of five runs, for one call.
fn median(mut call: impl FnMut()) -> Duration {
    let mut runs: Vec<Duration> = (0..5).map(|_| time(&mut call)).collect();
    runs.sort_unstable();
    runs[2]
}

fn time(call: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        call();
    }
    start.elapsed() / ROUNDS
}
