//! What memory costs: the first index of 10,000 files with 100 MB, a search, a change of one file; beside `rg` and bare FTS5 in the same
//! run. `cargo bench -p haft-memory -- 1000` does it with fewer files. Nothing here fails a test run.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::format_push_string,
    reason = "a program that prints numbers"
)]

#[path = "../../../benches/measure/mod.rs"]
mod measure;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use haft_contract::BoxFuture;
use haft_contract::ports::{FileSystem, MemoryIndex, MemoryQuery, MemoryScope};
use haft_host::{LocalFiles, WorkspaceOptions};
use haft_memory::{Embedder, EmbedderError, MemoryService, MemorySettings};

use crate::measure::{head, middle, row};

const FILES: usize = 10_000;
const FILE_BYTES: usize = 10_000;
const QUERIES: [&str; 6] =
    ["word12 word345", "word4001 word77 word1203", "word9 deadline", "2026-03-12", "note word8888", "what did we decide about word501"];

fn main() {
    let files = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(FILES);
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = folder.path().join("workspace");
    write_notes(&workspace, files);
    head();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let local = LocalFiles::open(WorkspaceOptions::new(&workspace)).expect("files");
    let memory = MemoryService::new(settings(folder.path().join("data")), None, None);
    let counting = words_by_rg(&workspace);
    let started = Instant::now();
    runtime.block_on(search(&memory, &local, "word1"));
    let first = started.elapsed();
    row(&format!("first index of {files} files"), first, counting * 30, "30 times rg counting words (the budget)");
    let bare = bare_index(&workspace, &folder.path().join("bare.db"));
    row("first index", first, bare.1, "bare FTS5 over whole files");
    for query in QUERIES {
        let ours = middle((0..21).map(|_| timed(|| assert!(black_box(runtime.block_on(search(&memory, &local, query))) <= 6))).collect());
        let reference = middle((0..21).map(|_| timed(|| bare_search(&bare.0, query))).collect());
        row(&format!("search: {query}"), ours, reference, "bare FTS5 (budget: 15 ms)");
    }
    let mut number = 0;
    let update = middle(
        (0..11)
            .map(|_| {
                number += 1;
                std::fs::write(workspace.join("memory/0/0.md"), format!("# Changed\n\nchanged{number}\n")).expect("a file");
                timed(|| assert_eq!(runtime.block_on(search(&memory, &local, &format!("changed{number}"))), 1))
            })
            .collect(),
    );
    row("change of one file, until it is found", update, Duration::from_millis(50), "the budget");
    let fresh = || {
        let memory = MemoryService::new(settings(folder.path().join("data")), None, None);
        timed(|| assert!(runtime.block_on(search(&memory, &local, QUERIES[0])) <= 6))
    };
    row("search in a new process, all files compared", middle((0..11).map(|_| fresh()).collect()), Duration::from_millis(15), "the budget");
    println!("{:<46} {:>12}", "memory of this process until here", peak());
    write_short_notes(&workspace, files * 4);
    vectors(&runtime, folder.path(), &local);
    println!("{:<46} {:>12}", "memory of this process", peak());
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

/// Words by a distribution like that of texts, the same in every run.
fn write_notes(workspace: &Path, files: usize) {
    let mut seed = 1_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(u32::MAX >> 1)
    };
    for number in 0..files {
        let mut text = format!("# Note {number}\n\n");
        while text.len() < FILE_BYTES {
            for _ in 0..12 {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number below 20,000")]
                let word = (random().powi(4) * 20_000.0) as u32;
                text += &format!("word{word} ");
            }
            text += if random() < 0.1 { "\n\n" } else { "\n" };
        }
        let path = workspace.join(format!("memory/{}/{number}.md", number % 100));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
}

/// As many notes of a line as make up 100,000 parts with the others.
fn write_short_notes(workspace: &Path, notes: usize) {
    for file in 0..notes / 100 {
        let notes: Vec<String> = (0..100).map(|note| format!("# Short {file} {note}\n\nword{note} word{file} is short\n\n")).collect();
        let text = notes.concat();
        std::fs::write(workspace.join(format!("memory/0/short{file}.md")), text).expect("a file");
    }
}

fn settings(data_folder: PathBuf) -> MemorySettings {
    MemorySettings {
        roots: vec!["memory".into()],
        sessions: false,
        half_life_days: 0.0,
        diversity: 0.0,
        indexing_time: None,
        data_folder,
        server: None,
        name: "bench".into(),
        calendar: Arc::new(|| (SystemTime::now(), jiff::Zoned::now().date())),
    }
}

async fn search(memory: &MemoryService, files: &LocalFiles, query: &str) -> usize {
    let roots = vec![files.locate(Path::new("memory")).expect("a folder")];
    let query = MemoryQuery { query: query.into(), max_results: 6, min_score: 0.0 };
    memory.search(query, MemoryScope { files, roots, sessions: None }).await.expect("an answer").hits.len()
}

fn words_by_rg(workspace: &Path) -> Duration {
    let count = || Command::new("rg").args(["--count-matches", "--no-filename", r"\w+", "memory"]).current_dir(workspace).output();
    middle((0..5).map(|_| timed(|| drop(count().expect("ripgrep is installed")))).collect())
}

/// One row for each file, in one transaction.
fn bare_index(workspace: &Path, path: &Path) -> (rusqlite::Connection, Duration) {
    let connection = rusqlite::Connection::open(path).expect("a database");
    let started = Instant::now();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE notes USING fts5(text, tokenize='porter unicode61'); BEGIN")
        .expect("a table");
    for folder in std::fs::read_dir(workspace.join("memory")).expect("a folder").flatten() {
        for file in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
            let text = std::fs::read_to_string(file.path()).expect("a text");
            connection.execute("INSERT INTO notes (text) VALUES (?1)", [text]).expect("a row");
        }
    }
    connection.execute_batch("COMMIT").expect("a commit");
    (connection, started.elapsed())
}

fn bare_search(connection: &rusqlite::Connection, query: &str) {
    let words: Vec<String> = query.split(' ').map(|word| format!("\"{word}\"")).collect();
    let sql = "SELECT rowid, snippet(notes, 0, '', '', '', 60) FROM notes WHERE notes MATCH ?1 ORDER BY rank LIMIT 6";
    let mut statement = connection.prepare_cached(sql).expect("a statement");
    let rows = statement.query_map([words.join(" OR ")], |row| row.get::<_, String>(1)).expect("rows");
    black_box(rows.flatten().count());
}

/// Vectors of 256 numbers, made from the text.
struct Hashed;

impl Embedder for Hashed {
    fn model(&self) -> &'static str {
        "bench/hashed"
    }
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedderError>> {
        let vector = |text: &String| {
            let mut numbers = vec![0.01_f32; 256];
            for word in text.split_whitespace().take(64) {
                let hash = word.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
                numbers[hash % 256] += 1.0;
            }
            numbers
        };
        let vectors = texts.iter().map(vector).collect();
        Box::pin(async { Ok(vectors) })
    }
}

/// A search with the vectors of all chunks, as many as there are after some searches.
fn vectors(runtime: &tokio::runtime::Runtime, folder: &Path, files: &LocalFiles) {
    let memory = MemoryService::new(settings(folder.join("data")), None, Some(Arc::new(Hashed)));
    let database = haft_store::MemoryDatabase::open(&folder.join("data"), "bench").expect("an index").database;
    let started = Instant::now();
    while database.count_missing("bench/hashed").expect("a count") > 0 || started.elapsed().is_zero() {
        runtime.block_on(search(&memory, files, "word1"));
    }
    println!("{:<46} {:>12.2?}", "the vectors of all parts, once", started.elapsed());
    let chunks = database.count().expect("a count");
    let ours =
        middle((0..21).map(|_| timed(|| assert!(black_box(runtime.block_on(search(&memory, files, "word12 word345"))) <= 6))).collect());
    row(&format!("search with {chunks} vectors of 256"), ours, Duration::from_millis(40), "the budget for 100,000");
}

/// The most memory that this process had.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned()
}
