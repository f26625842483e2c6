//! Reading a page of a file of 1 GB, beside counting lines up to it and nothing else.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bench::Bench;
use crate::measure::{ROUNDS, middle, row};
use crate::memory::measure_growth;

const LIMIT: usize = 100;

/// Pages near the start, in the middle and near the end of a file with so many lines.
pub(crate) async fn page_rows(bench: &Bench, name: &str, lines: usize) {
    for (where_, offset) in [("near the start", 1_000), ("in the middle", lines / 2), ("near the end", lines - LIMIT - 1)] {
        // Shown again, or it would only say that it was shown before.
        let arguments = json!({"path": name, "offset": offset, "limit": LIMIT, "again": true});
        let (mut ours, mut plain, mut again) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (elapsed, details) = bench.call(("read_file", &arguments)).await;
            assert_eq!(details["last_line"], offset + LIMIT - 1, "{details}");
            ours.push(elapsed);
            plain.push(scan(&bench.workspace.join(name), offset));
            again.push(scan(&bench.workspace.join(name), offset));
        }
        let (reference, memory) = (middle(plain), measure_growth(&bench.workspace, ("read_file", &arguments)));
        row(&format!("read 1 GB: a page {where_}"), middle(ours), reference, &format!("plain scan; memory {memory:.0} MB"));
        row("  the same scan against itself (A/A)", middle(again), reference, "plain scan");
    }
}

/// Skips lines as fast as the standard library can, and reads the page behind them.
fn scan(path: &Path, offset: usize) -> Duration {
    let started = Instant::now();
    let mut file = BufReader::with_capacity(256 << 10, File::open(path).expect("the file"));
    for _ in 1..offset {
        file.skip_until(b'\n').expect("a line");
    }
    let page: Vec<String> = file.lines().take(LIMIT).map(|line| line.expect("a line")).collect();
    assert_eq!(page.len(), LIMIT);
    started.elapsed()
}
