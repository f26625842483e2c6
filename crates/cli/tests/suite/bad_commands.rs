//! Commands that no good program would be: each has one exact outcome, in bounded time and memory, and leaves nothing.

use std::fs;
use std::time::{Duration, Instant};

use haft_contract::{CommandLimits, ExecHost, JobOptions};
use serde_json::json;

use super::harness::{World, is_root};
use super::jobs::{Shop, ended, marker, text, until};
use super::processes::processes_with;

const MIB: u64 = 1 << 20;

/// A command that misbehaves, and what comes of it.
struct Bad {
    name: &'static str,
    line: &'static str,
    /// For the lines that are Python.
    script: &'static str,
    limits: fn(CommandLimits) -> CommandLimits,
    seconds: u64,
    /// The exit code; none where its time has to end it.
    code: Option<i32>,
    /// The end of what it wrote.
    said: &'static str,
    /// The same where an ordinary user has no control group, and each process is limited by itself.
    alone: Option<(i32, &'static str)>,
}

impl Bad {
    const fn new(name: &'static str, line: &'static str, code: i32, said: &'static str) -> Self {
        Self { name, line, script: "", limits: |limits| limits, seconds: 20, code: Some(code), said, alone: None }
    }
    const fn python(name: &'static str, script: &'static str, code: i32, said: &'static str) -> Self {
        Self { script, ..Self::new(name, "python3 bad.py", code, said) }
    }
    const fn with(self, limits: fn(CommandLimits) -> CommandLimits) -> Self {
        Self { limits, ..self }
    }
    const fn alone(self, code: i32, said: &'static str) -> Self {
        Self { alone: Some((code, said)), ..self }
    }
    const fn ended_after(self, seconds: u64) -> Self {
        Self { seconds, code: None, ..self }
    }
}

const BAD: &[Bad] = &[
    Bad::new("closes its output and continues", "echo a; exec >&- 2>&-; sleep 0.2; exit 4", 4, "a\n"),
    Bad::new("leaves a child with the pipe", "sleep N & echo b", 0, "b\n"),
    Bad::new("leaves a child in another session", "setsid --fork sleep N; echo c", 0, "c\n"),
    Bad::new("reads where nothing is", "cat; echo d", 0, "d\n"),
    Bad::new("ends itself by a signal", "kill -SEGV $$", 139, ""),
    Bad::new("writes too large a file", "exec head -c 9000000 /dev/zero > large", 153, "")
        .with(|limits| CommandLimits { file_size: Some(MIB), ..limits }),
    Bad::new("prints for ever", "yes", 0, "y\n").ended_after(1),
    Bad::python("uses the processor for ever", "while True: pass\n", 137, "")
        .with(|limits| CommandLimits { cpu_seconds: Some(1), ..limits }),
    Bad::python(
        "takes all memory",
        "held = []\nwhile True: held.append(bytearray(16 << 20))\n",
        137,
        "[haft: the command met its limit of memory]\n",
    )
    .alone(1, "MemoryError\n")
    .with(|limits| CommandLimits { memory: Some(256 * MIB), ..limits }),
    Bad::python(
        "is a fork bomb",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
        0,
        "[haft: the command met its limit of processes]\n",
    )
    .alone(0, "")
    .with(|limits| CommandLimits { processes: Some(64), ..limits })
    .ended_after(2),
    Bad::python("opens too much", "held = []\nwhile True: held.append(open('bad.py'))\n", 1, "Too many open files: 'bad.py'\n")
        .with(|limits| CommandLimits { open_files: Some(64), ..limits }),
];

#[tokio::test]
async fn each_has_its_outcome_and_leaves_nothing() {
    for bad in BAD {
        let Bad { name, line, script, limits, seconds, code, .. } = bad;
        let (shop, marker) = (Shop::with_limits(limits(CommandLimits::STANDARD)), marker());
        shop.write("bad.py", script);
        let options = JobOptions { timeout: Some(Duration::from_secs(*seconds)), ..JobOptions::default() };
        let job = shop.start(&line.replace('N', &marker), ExecHost::Sandbox, options).await;
        let end = ended(&job).await;
        assert_eq!((end.timed_out, end.killed, end.not_run.clone()), (code.is_none(), false, None), "{name}: {}", text(&job));
        let (from, bytes) = job.output(job.status().bytes.saturating_sub(200), 200);
        let shown = String::from_utf8_lossy(&bytes);
        let is = |(code, said): (Option<i32>, &str)| {
            let ended = bad.code.is_none() || (end.code, end.signal) == (code, None);
            ended && shown.ends_with(said) && (!said.is_empty() || from + bytes.len() as u64 == 0)
        };
        let alone = bad.alone.filter(|_| !is_root()).map(|(code, said)| (Some(code), said));
        assert!(is((*code, bad.said)) || alone.is_some_and(is), "{name}: {end:?}: {shown}");
        assert_eq!([processes_with(&marker), processes_with("bad.py")].concat(), Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn command_that_fills_its_tmp_is_ended_and_told() {
    let shop = Shop::with_limits(CommandLimits { tmp_size: Some(MIB), ..CommandLimits::STANDARD });
    let line = "while :; do head -c 1000000 /dev/zero >> /tmp/full; sleep 0.1; done";
    let job = shop.start(line, ExecHost::Sandbox, JobOptions { timeout: Some(Duration::from_mins(1)), ..JobOptions::default() }).await;
    let end = ended(&job).await;
    assert_eq!((end.killed, end.timed_out), (true, false), "{end:?}");
    assert!(text(&job).ends_with("[haft: the command met its limit of temporary files]\n"), "{}", text(&job));
}

/// The most memory that this process had at a time, in bytes.
fn own_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn memory_does_not_grow_with_the_output() {
    let shop = Shop::new();
    let before = own_peak();
    let job = shop.start("head -c 400000000 /dev/zero", ExecHost::Sandbox, JobOptions::default()).await;
    assert_eq!(ended(&job).await.code, Some(0));
    assert_eq!(job.status().bytes, 400_000_000);
    let grown = own_peak() - before;
    assert!(grown < 16 * MIB, "it grew by {grown} bytes");
}

#[tokio::test]
async fn one_that_never_reads_holds_nobody_up() {
    let shop = Shop::new();
    let marker = marker();
    let options = JobOptions { input: true, ..JobOptions::default() };
    let job = shop.start(&format!("sleep {marker}"), ExecHost::Sandbox, options).await;
    until("it sleeps", || processes_with(&marker).len() == 1).await;
    let began = Instant::now();
    let refused = job.write(&vec![b'x'; 8 << 20], false).await.unwrap_err();
    assert!(refused.message().contains("does not read its input"), "{}", refused.message());
    assert!(began.elapsed() < Duration::from_secs(20));
    job.kill().await;
    assert_eq!(processes_with(&marker), Vec::<String>::new());
}

#[tokio::test]
async fn bytes_that_are_no_text_come_as_they_are() {
    let shop = Shop::new();
    let job = shop.start(r"printf '\377\376\0ok\n'", ExecHost::Sandbox, JobOptions::default()).await;
    assert_eq!((ended(&job).await.code, job.output(0, 100).1), (Some(0), b"\xff\xfe\0ok\n".to_vec()));
}

#[test]
fn of_more_than_is_kept_the_call_says_so() {
    let world = World::with_config("[limits]\nspill_bytes = 1000000\n");
    let (code, result) = world.call("exec", &json!({ "command": "seq 1 1000000" }));
    let text = result["result"].as_str().unwrap();
    assert!(code == 0 && text.starts_with("1\n2\n3\n") && text.ends_with("999999\n1000000"), "{text}");
    assert!(text.contains(" left out. The first 976.6 KB of all is in '"), "{text}");
    let kept = fs::read_to_string(world.path(&result["details"]["spill"].as_str().unwrap().replace("[world]/", ""))).unwrap();
    assert!(kept.ends_with("\n(cut here: a spill holds at most 1000000 bytes)\n"), "{}", &kept[kept.len() - 100..]);
}
