//! What reading a page costs: 1 MB of an article with its site around it, beside a loop that only leaves out the tags.
//!
//! `cargo bench -p haft-extract`. How it compares with other libraries was measured once: docs/WEB.md.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a program that prints numbers")]

use std::hint::black_box;
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
    let text = read_page(&page, "https://a.test/", Style::Markdown).content;
    row("find_passages in its Markdown", fastest(|| find_passages(&text, "Which wood is the wheel made of?", 6000).len()));
    let nested = "<div>".repeat(100_000);
    row("100,000 nested elements (0.5 MB)", fastest(|| read_page(&nested, "https://a.test/", Style::Markdown).content.len()));
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
