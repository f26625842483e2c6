//! Replacing a text in a large file, beside doing the same without any promise.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bench::Bench;
use crate::content::lines;
use crate::measure::{ROUNDS, middle, row};
use crate::memory::measure_growth;

const LARGE: usize = 50 << 20;

/// One replacement in the middle of a file of 50 MB, there and back again.
pub(crate) async fn edit_rows(bench: &Bench) {
    let (half, texts) = (lines(LARGE / 2, 3), ["let it be old", "let it be new"]);
    let content = format!("{half}{}\n{half}", texts[0]);
    let [ours, plain, kept] = ["ours.txt", "plain.txt", "kept.txt"].map(|name| bench.workspace.join(name));
    for path in [&ours, &plain, &kept] {
        std::fs::write(path, &content).expect("disk space for 50 MB");
    }
    let edit = |old: &str, new: &str| json!({"path": "ours.txt", "old_string": old, "new_string": new});
    let mut times = [const { Vec::new() }; 4];
    for round in 0..=ROUNDS {
        let (old, new) = if round % 2 == 0 { (texts[0], texts[1]) } else { (texts[1], texts[0]) };
        let measured = [
            bench.call(("edit_file", &edit(old, new))).await.0,
            timed(|| replace(&plain, old, new)),
            timed(|| {
                keep(&kept);
                replace(&kept, old, new);
            }),
            timed(|| replace(&plain, new, old)),
        ];
        // The fourth put it back, so that the second finds it; the first round fills the caches.
        replace(&plain, old, new);
        if round > 0 {
            times.iter_mut().zip(measured).for_each(|(times, measured)| times.push(measured));
        }
    }
    let [ours, plain, kept, again] = times.map(middle);
    let memory = measure_growth(&bench.workspace, ("edit_file", &edit(texts[(ROUNDS + 1) % 2], "let it be last")));
    row("edit 50 MB", ours, plain, &format!("read, replace, write, fsync, rename; memory {memory:.0} MB"));
    row("edit 50 MB", ours, kept, "the same, after a copy of the old file is on the disk");
    row("  the same against itself (A/A)", again, plain, "read, replace, write, fsync, rename");
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

/// What an edit comes to when nothing is looked at but the bytes.
fn replace(path: &Path, old: &str, new: &str) {
    let text = std::fs::read_to_string(path).expect("the file");
    let temporary = path.with_extension("temporary");
    write_synced(&temporary, text.replacen(old, new, 1).as_bytes());
    std::fs::rename(temporary, path).expect("its place");
}

/// A copy, as undo needs one.
fn keep(path: &Path) {
    write_synced(&path.with_extension("copy"), &std::fs::read(path).expect("the file"));
}

fn write_synced(path: &Path, bytes: &[u8]) {
    let mut file = File::create(path).expect("a file");
    file.write_all(bytes).expect("disk space for 50 MB");
    file.sync_all().expect("a disk");
}
