//! What the file tools cost, each beside another program or a plain way to do the same in the same run, because machines are
//! noisy.
//!
//! `cargo bench --bench files` makes a tree of 100,000 files, one file of 1 GB and some of 50 MB in temporary folders, and
//! prints medians of five rounds, the ratio, and the memory that one call takes in a process of its own; `-- tree` runs only
//! that part. `HAFT_RG`, `HAFT_FD`, `HAFT_PATCH` and `HAFT_GIT` name the programs to compare with; without them they are looked
//! for. Nothing here fails a test run.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a program that prints numbers")]

#[path = "files/bench.rs"]
mod bench;
#[path = "files/content.rs"]
mod content;
#[path = "files/edit.rs"]
mod edit;
mod measure;
#[path = "files/memory.rs"]
mod memory;
#[path = "files/page.rs"]
mod page;
#[path = "files/patch.rs"]
mod patch;
#[path = "files/rivals.rs"]
mod rivals;
#[path = "files/search.rs"]
mod search;

use crate::bench::{Bench, Place};
use crate::measure::head;
use crate::rivals::Rivals;

fn main() {
    if memory::is_alone() {
        return;
    }
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let runs = |part: &str| part.contains(&wanted);
    let rivals = Rivals::find();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    head();
    if runs("tree") {
        runtime.block_on(tree(&rivals));
    }
    if runs("gigabyte") {
        runtime.block_on(gigabyte(&rivals));
    }
    if runs("edit") {
        let place = Place::new();
        runtime.block_on(edit::edit_rows(&Bench::new(&place.workspace)));
    }
    if runs("patch") {
        let place = Place::new();
        runtime.block_on(patch::patch_rows(&Bench::new(&place.workspace), &rivals));
    }
}

async fn tree(rivals: &Rivals) {
    let place = Place::new();
    content::make_tree(&place.workspace);
    let bench = Bench::new(&place.workspace);
    search::glob_rows(&bench, rivals).await;
    search::grep_rows(&bench, rivals, "100,000 files", ".").await;
}

async fn gigabyte(rivals: &Rivals) {
    let place = Place::new();
    let lines = content::make_gigabyte(&place.workspace.join("huge.txt"));
    let bench = Bench::new(&place.workspace);
    search::grep_rows(&bench, rivals, "1 GB", "huge.txt").await;
    page::page_rows(&bench, "huge.txt", lines).await;
}
