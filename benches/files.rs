//! What searches cost, beside ripgrep and fd in the same run, because machines are noisy.
//!
//! `cargo bench --bench files` makes a tree of 100,000 files and one file of 1 GB in a temporary folder, and prints medians of
//! five rounds and the ratio. `HAFT_RG` and `HAFT_FD` name the programs to compare with; without them `rg`, `fd` and `fdfind` are
//! looked for. Nothing here fails a test run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

mod measure;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::host::{HostOptions, LocalFiles, LocalHost, NetworkRules, WorkspaceOptions};
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{Access, Engine, Registry, Session, Source, ToolCall};
use serde_json::{Value, json};

use crate::measure::{ROUNDS, head, middle, row};

const FOLDERS: usize = 1000;
const FILES_IN_EACH: usize = 100;
const GIGABYTE: usize = 1 << 30;
const WORDS: [&str; 24] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "kappa", "lambda", "fn", "let", "mut", "return", "struct", "impl",
    "trait", "pub", "use", "crate", "self", "match", "while", "loop", "where",
];

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let runs = |part: &str| part.contains(&wanted);
    let rivals = Rivals::find();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    head();
    if runs("tree") {
        let bench = Bench::new();
        make_tree(&bench.workspace);
        runtime.block_on(async {
            glob_rows(&bench, &rivals).await;
            for search in SEARCHES {
                grep_row(&bench, &rivals, "100,000 files", search, ".").await;
            }
        });
    }
    if runs("gigabyte") {
        let bench = Bench::new();
        make_gigabyte(&bench.workspace.join("huge.txt"));
        runtime.block_on(async {
            for search in SEARCHES {
                grep_row(&bench, &rivals, "1 GB", search, "huge.txt").await;
            }
        });
    }
}

/// Something to look for, in our words and in ripgrep's.
#[derive(Clone, Copy)]
struct Search {
    what: &'static str,
    pattern: &'static str,
    mode: &'static str,
    case_insensitive: bool,
    flags: &'static [&'static str],
}

const SEARCHES: [Search; 6] = [
    Search {
        what: "files with a literal",
        pattern: "needle_in_haystack",
        mode: "files_with_matches",
        case_insensitive: false,
        flags: &["-l"],
    },
    Search { what: "a literal", pattern: "needle_in_haystack", mode: "content", case_insensitive: false, flags: &["-n"] },
    Search { what: "an expression", pattern: r"let \w+ trait \w+ fn", mode: "content", case_insensitive: false, flags: &["-n"] },
    Search { what: "a literal in any case", pattern: "NEEDLE_IN_hay", mode: "content", case_insensitive: true, flags: &["-n", "-i"] },
    Search { what: "nothing", pattern: "zzz_nowhere", mode: "content", case_insensitive: false, flags: &["-n"] },
    Search { what: "many matches", pattern: "kappa self", mode: "content", case_insensitive: false, flags: &["-n"] },
];

/// The programs to compare with.
struct Rivals {
    rg: Option<PathBuf>,
    fd: Option<PathBuf>,
}

impl Rivals {
    fn find() -> Self {
        let rivals = Self { rg: program("HAFT_RG", &["rg"]), fd: program("HAFT_FD", &["fd", "fdfind"]) };
        for (name, found) in [("ripgrep", &rivals.rg), ("fd", &rivals.fd)] {
            match found {
                Some(path) => println!("{name}: {} ({})", version(path), path.display()),
                None => println!("{name} is not here, so there is nothing to compare with"),
            }
        }
        rivals
    }
}

fn program(variable: &str, names: &[&str]) -> Option<PathBuf> {
    let chosen = std::env::var_os(variable).map(PathBuf::from);
    let mut all = chosen.into_iter().chain(names.iter().map(PathBuf::from));
    all.find(|program| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()))
}

fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output().expect("it ran before");
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}

struct Bench {
    engine: Engine,
    session: Session,
    workspace: PathBuf,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (state, workspace) = (folder.path().join("state"), folder.path().join("workspace"));
        std::fs::create_dir_all(&workspace).expect("a workspace");
        let registry = Registry::new();
        for tool in haft::builtin::all() {
            registry.register(tool, Source::BuiltIn).expect("every tool registers");
        }
        let blobs = FileBlobs::open(&state).expect("a blob folder");
        let engine = Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).build();
        let files = LocalFiles::open(WorkspaceOptions::new(&workspace)).expect("an open workspace");
        let host = LocalHost::new(Arc::new(files), HostOptions { alert_log: state.join("alerts.log"), network: NetworkRules::default() });
        let session = Session::builder(Arc::new(host)).access(Access::FullAccess).loop_limits(None).build();
        Self { engine, session, workspace, _folder: folder }
    }

    /// One call, as a model would make it.
    async fn call(&self, tool: &str, arguments: &Value) -> (Duration, Value) {
        let started = Instant::now();
        let result = self.engine.run(ToolCall::new("1", tool, arguments.to_string()), &self.session).await;
        let elapsed = started.elapsed();
        assert!(result.is_success(), "{}", result.to_json());
        (elapsed, result.outcome.expect("a success").details.unwrap_or_default())
    }

    /// One run of another program in the workspace, until all of its output was read.
    fn run(&self, program: &Path, arguments: &[&str]) -> (Duration, usize) {
        let started = Instant::now();
        let output = Command::new(program).args(arguments).current_dir(&self.workspace).output().expect("it runs");
        (started.elapsed(), output.stdout.split(|byte| *byte == b'\n').count() - 1)
    }
}

async fn grep_row(bench: &Bench, rivals: &Rivals, place: &str, search: Search, path: &str) {
    let Search { what, pattern, mode, case_insensitive, flags } = search;
    let arguments = json!({"pattern": pattern, "path": path, "output_mode": mode, "case_insensitive": case_insensitive});
    let beside: Vec<&str> = ["--no-config"].into_iter().chain(flags.iter().copied()).chain([pattern, path]).collect();
    let label = format!("grep {place}: {what}");
    compare(bench, &label, ("grep_search", &arguments), rivals.rg.as_deref().map(|rg| (rg, beside.as_slice())), "rg").await;
}

async fn glob_rows(bench: &Bench, rivals: &Rivals) {
    let arguments = json!({"pattern": "**/*.rs"});
    let files = ["--no-config", "--files", "-g", "**/*.rs"];
    compare(bench, "glob **/*.rs", ("glob_search", &arguments), rivals.rg.as_deref().map(|rg| (rg, &files[..])), "rg --files").await;
    let ending = ["-e", "rs"];
    compare(bench, "glob **/*.rs", ("glob_search", &arguments), rivals.fd.as_deref().map(|fd| (fd, &ending[..])), "fd").await;
}

/// Both in turn, so that what disturbs one disturbs the other; and the other program against itself.
async fn compare(bench: &Bench, label: &str, (tool, arguments): (&str, &Value), rival: Option<(&Path, &[&str])>, name: &str) {
    let (mut ours, mut theirs, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let (mut grown, mut counts) = (0, (Value::Null, 0));
    // The first of each fills the caches.
    for round in 0..=ROUNDS {
        let before = forget_peak();
        let (elapsed, details) = bench.call(tool, arguments).await;
        grown = grown.max(peak().saturating_sub(before));
        counts.0 = ["total_lines", "total_files", "total"]
            .iter()
            .map(|key| details[*key].clone())
            .find(|count| !count.is_null())
            .unwrap_or_default();
        let others = rival.map(|(program, arguments)| (bench.run(program, arguments), bench.run(program, arguments)));
        if round == 0 {
            continue;
        }
        ours.push(elapsed);
        if let Some(((first, count), (second, _))) = others {
            theirs.push(first);
            again.push(second);
            counts.1 = count;
        }
    }
    let ours = middle(ours);
    if theirs.is_empty() {
        println!("{label:<46} {:>9.2} ms {:>12} {:>8}  {name} is not here", ours.as_secs_f64() * 1e3, "-", "-");
    } else {
        let reference = middle(theirs);
        row(label, ours, reference, &format!("{name}; found {} and {}; memory {grown} KB", counts.0, counts.1));
        row("  the same program against itself (A/A)", middle(again), reference, name);
    }
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % below
    }
    fn line(&mut self, into: &mut String) {
        for _ in 0..3 + self.roll(8) {
            into.push_str(WORDS[self.roll(WORDS.len())]);
            into.push(' ');
        }
        into.pop();
        into.push('\n');
    }
}

fn make_tree(workspace: &Path) {
    let mut dice = Dice(1);
    let mut text = String::new();
    for folder in 0..FOLDERS {
        let path = workspace.join(format!("part{}/module{folder}", folder / 25));
        std::fs::create_dir_all(&path).expect("a folder");
        for number in 0..FILES_IN_EACH {
            text.clear();
            for _ in 0..10 + dice.roll(50) {
                dice.line(&mut text);
            }
            if dice.roll(50) == 0 {
                let _ = writeln!(text, "a needle_in_haystack found");
            }
            let ending = ["rs", "rs", "ts", "md", "txt"][number % 5];
            std::fs::write(path.join(format!("file{number}.{ending}")), &text).expect("a file");
        }
    }
    std::fs::create_dir(workspace.join(".git")).expect("a repository");
    std::fs::write(workspace.join(".gitignore"), "target/\n*.log\nnode_modules\n").expect("an ignore file");
}

fn make_gigabyte(path: &Path) {
    let mut dice = Dice(2);
    let mut block = String::new();
    while block.len() < 8 << 20 {
        dice.line(&mut block);
    }
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    for _ in 0..GIGABYTE / block.len() {
        file.write_all(block.as_bytes()).expect("room for 1 GB");
    }
    file.write_all(b"a needle_in_haystack found\n").expect("room for a line");
    file.flush().expect("room for 1 GB");
}

/// Kilobytes in use now; from here on the peak counts anew, where the system can do that.
fn forget_peak() -> usize {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

/// Kilobytes in use at most.
fn peak() -> usize {
    status("VmHWM:")
}

fn status(key: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
