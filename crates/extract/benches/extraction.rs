//! What reading a page costs: 1 MB of an article with its site around it, beside a loop that only leaves out the tags.
//!
//! `cargo bench -p haft-extract --features htmd` compares with that library, and with Python's trafilatura where it is installed.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a program that prints numbers")]

use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft_extract::{Style, find_passages, read_page};

const PAGE: &str = include_str!("../tests/corpus/01-news-article.html");
const ROUNDS: u32 = 15;

fn main() {
    let page = article(1_000_000);
    let mb = page.len() as f64 / 1e6;
    println!("{:<44} {:>10} {:>12}", "1 MB article", "ms", "MB/s");
    let row = |what: &str, time: Duration| println!("{what:<44} {:>10.2} {:>12.1}", time.as_secs_f64() * 1e3, mb / time.as_secs_f64());
    row("tags left out (reference)", fastest(|| strip(&page).len()));
    row("read_page, Markdown", fastest(|| read_page(&page, "https://a.test/", Style::Markdown).content.len()));
    row("read_page, text", fastest(|| read_page(&page, "https://a.test/", Style::Text).content.len()));
    others(&page, row);
    let text = read_page(&page, "https://a.test/", Style::Markdown).content;
    row("find_passages in its Markdown", fastest(|| find_passages(&text, "Which wood is the wheel made of?", 6000).len()));
    let nested = "<div>".repeat(100_000);
    row("100,000 nested elements (0.5 MB)", fastest(|| read_page(&nested, "https://a.test/", Style::Markdown).content.len()));
}

/// Other libraries on the same page, and how to get those that are missing.
fn others(page: &str, row: impl Fn(&str, Duration)) {
    #[cfg(feature = "htmd")]
    row("htmd, the whole page", fastest(|| htmd::convert(page).map_or(0, |text| text.len())));
    #[cfg(not(feature = "htmd"))]
    println!("{:<44} not compared: give --features htmd", "htmd, the whole page");
    match trafilatura(page) {
        Some(time) => row("trafilatura (Python)", time),
        None => println!("{:<44} not compared: pip install trafilatura", "trafilatura (Python)"),
    }
}

/// The fastest of five extractions, timed inside Python.
fn trafilatura(page: &str) -> Option<Duration> {
    const SCRIPT: &str = "import sys, time, trafilatura\n\
        page, times = sys.stdin.read(), []\n\
        for _ in range(5):\n    start = time.perf_counter(); trafilatura.extract(page); times.append(time.perf_counter() - start)\n\
        print(min(times))";
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = python.spawn().ok()?;
    // Without the module it ends before it reads.
    child.stdin.take()?.write_all(page.as_bytes()).ok();
    let seconds = String::from_utf8(child.wait_with_output().ok()?.stdout).ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs_f64)
}

/// The article with its paragraphs repeated.
fn article(size: usize) -> String {
    let (head, rest) = PAGE.split_once("<div class=\"article-body\">").unwrap_or((PAGE, ""));
    let (body, tail) = rest.split_once("<footer class=\"tags\">").unwrap_or((rest, ""));
    format!("{head}<div class=\"article-body\">{}<footer class=\"tags\">{tail}", body.repeat(size / body.len().max(1)))
}

fn strip(html: &str) -> String {
    let mut inside = false;
    html.chars()
        .filter(|ch| {
            let shown = !inside && *ch != '<';
            inside = *ch == '<' || (inside && *ch != '>');
            shown
        })
        .collect()
}

fn fastest(work: impl Fn() -> usize) -> Duration {
    let once = || {
        let started = Instant::now();
        black_box(work());
        started.elapsed()
    };
    (0..ROUNDS).map(|_| once()).min().unwrap_or_default()
}
