//! Patches with many hunks on large files, beside GNU patch and git.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::content::lines;
use crate::measure::{ROUNDS, middle, row};
use crate::memory::measure_growth;
use crate::rivals::Rivals;

/// Lines around each change.
const CONTEXT: usize = 3;

pub(crate) async fn patch_rows(bench: &Bench, rivals: &Rivals) {
    for (megabytes, hunks) in [(5, 100), (50, 1_000)] {
        let case = Case::new(megabytes << 20, hunks);
        let label = format!("patch {megabytes} MB, {hunks} hunks");
        let memory = grown_by(bench, &case);
        rounds(bench, &case, &label, memory, rivals.patch.as_deref()).await;
        match &rivals.git {
            Some(git) => once(bench, &case, &label, git),
            None => println!("{label:<46} git is not here"),
        }
    }
}

/// A file, and the same file with one line in every so many changed.
struct Case {
    before: String,
    after: String,
    unified: String,
    /// The patch as a model writes it, and the one that takes it back.
    forward: Value,
    backward: Value,
}

impl Case {
    fn new(bytes: usize, hunks: usize) -> Self {
        let before = lines(bytes, 4);
        let old: Vec<&str> = before.lines().collect();
        let step = old.len() / hunks;
        let changed: Vec<String> = (0..hunks).map(|hunk| format!("the new line of hunk {hunk}")).collect();
        let mut new = old.clone();
        for (hunk, line) in changed.iter().enumerate() {
            new[hunk * step + step / 2] = line;
        }
        let at: Vec<usize> = (0..hunks).map(|hunk| hunk * step + step / 2).collect();
        let call = |old: &[&str], new: &[&str]| json!({"input": envelope(&at, old, new)});
        let (forward, backward) = (call(&old, &new), call(&new, &old));
        let (unified, after) = (unified(&at, &old, &new), new.join("\n") + "\n");
        Self { before, after, unified, forward, backward }
    }

    /// Makes the file under a name.
    fn put(&self, bench: &Bench, name: &str) {
        std::fs::write(bench.workspace.join(name), &self.before).expect("disk space for 50 MB");
    }
}

/// Each line that changes, with the lines around it.
fn body(text: &mut String, at: usize, old: &[&str], new: &[&str]) {
    for (mark, lines) in [(' ', &old[at - CONTEXT..at]), ('-', &old[at..=at]), ('+', &new[at..=at]), (' ', &old[at + 1..=at + CONTEXT])] {
        for line in lines {
            writeln!(text, "{mark}{line}").expect("memory");
        }
    }
}

fn envelope(at: &[usize], old: &[&str], new: &[&str]) -> String {
    let mut text = "*** Begin Patch\n*** Update File: ours.txt\n".to_owned();
    for at in at {
        text.push_str("@@\n");
        body(&mut text, *at, old, new);
    }
    text + "*** End Patch\n"
}

fn unified(at: &[usize], old: &[&str], new: &[&str]) -> String {
    let mut text = "--- a/theirs.txt\n+++ b/theirs.txt\n".to_owned();
    for at in at {
        let (first, count) = (at - CONTEXT + 1, 2 * CONTEXT + 1);
        writeln!(text, "@@ -{first},{count} +{first},{count} @@").expect("memory");
        body(&mut text, *at, old, new);
    }
    text
}

fn grown_by(bench: &Bench, case: &Case) -> f64 {
    case.put(bench, "ours.txt");
    measure_growth(&bench.workspace, ("apply_patch", &case.forward))
}

/// There and back again, both in turn.
async fn rounds(bench: &Bench, case: &Case, label: &str, memory: f64, patch: Option<&Path>) {
    case.put(bench, "ours.txt");
    case.put(bench, "theirs.txt");
    std::fs::write(bench.workspace.join("unified.patch"), &case.unified).expect("disk space for a patch");
    let mut times = [const { Vec::new() }; 3];
    for round in 0..=ROUNDS {
        let arguments = if round % 2 == 0 { &case.forward } else { &case.backward };
        let ours = bench.call(("apply_patch", arguments)).await.0;
        let theirs = patch.map(|patch| {
            let there = bench.run(patch, &["-s", "-p1", "-i", "unified.patch"]).0;
            check(bench, "theirs.txt", &case.after);
            (there, bench.run(patch, &["-s", "-p1", "-R", "-i", "unified.patch"]).0)
        });
        check(bench, "ours.txt", if round % 2 == 0 { &case.after } else { &case.before });
        // The first of each fills the caches.
        if round > 0 {
            times[0].push(ours);
            times[1].extend(theirs.map(|theirs| theirs.0));
            times[2].extend(theirs.map(|theirs| theirs.1));
        }
    }
    show(label, memory, times);
}

fn show(label: &str, memory: f64, [ours, there, back]: [Vec<Duration>; 3]) {
    if there.is_empty() {
        let ours = middle(ours).as_secs_f64() * 1e3;
        return println!("{label:<46} {ours:>9.2} ms {:>12} {:>8}  patch is not here; memory {memory:.0} MB", "-", "-");
    }
    let reference = middle(there);
    row(label, middle(ours), reference, &format!("patch, without undo or fsync; memory {memory:.0} MB"));
    row("  the same program against itself (A/A)", middle(back), reference, "patch, there and back");
}

/// One run alone: git needs a minute for a file of 50 MB.
fn once(bench: &Bench, case: &Case, label: &str, git: &Path) {
    case.put(bench, "theirs.txt");
    let elapsed = bench.run(git, &["apply", "unified.patch"]).0;
    check(bench, "theirs.txt", &case.after);
    println!("{label:<46} {:>12} {:>9.2} ms {:>8}  git apply, one round", "", elapsed.as_secs_f64() * 1e3, "");
}

fn check(bench: &Bench, name: &str, expected: &str) {
    let content = std::fs::read_to_string(bench.workspace.join(name)).expect("the file");
    assert!(content == expected, "{name} is not what the patch makes of it");
}
