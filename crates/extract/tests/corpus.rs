//! Extraction, scored on pages in the shapes of real sites.
//!
//! Each page of `corpus/` has the text that a reader of it would keep. The score is that of the words: precision (of what was
//! extracted, how much belongs there), recall (of what belongs there, how much was extracted), and F1 of both. The table is kept
//! in `corpus/SCORES.md`; `UPDATE_SCORES=1` writes it.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use haft_extract::{Style, decode, read_page};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn names() -> Vec<String> {
    let files = fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = files.filter_map(|name| Some(name.strip_suffix(".html")?.to_owned())).collect();
    names.sort();
    names
}

fn extracted(name: &str) -> String {
    let bytes = fs::read(corpus().join(format!("{name}.html"))).unwrap();
    let (text, _) = decode(&bytes, None);
    read_page(&text, "https://site.test/page", Style::Text).content
}

fn expected(name: &str) -> String {
    fs::read_to_string(corpus().join(format!("{name}.txt"))).unwrap()
}

/// Words in lower case; scripts without blanks by character.
fn words(text: &str) -> BTreeMap<String, i64> {
    let mut words = BTreeMap::new();
    for word in text.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.chars().any(|ch| ('\u{3040}'..='\u{9fff}').contains(&ch)) {
            word.chars().for_each(|ch| *words.entry(ch.to_string()).or_insert(0) += 1);
        } else {
            *words.entry(word.to_lowercase()).or_insert(0) += 1;
        }
    }
    words
}

/// Precision, recall and F1.
#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn score(found: &str, wanted: &str) -> [f64; 3] {
    let (found, wanted) = (words(found), words(wanted));
    let common: i64 = found.iter().map(|(word, count)| *count.min(wanted.get(word).unwrap_or(&0))).sum();
    let total = |words: &BTreeMap<String, i64>| words.values().sum::<i64>().max(1) as f64;
    let (precision, recall) = (common as f64 / total(&found), common as f64 / total(&wanted));
    let both = if common == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
    [precision, recall, both]
}

#[test]
fn scores_are_those_that_are_kept() {
    let mut table = String::from("# Extraction scores\n\n| page | precision | recall | F1 |\n|---|---|---|---|\n");
    let mut sums = [0.0; 3];
    let names = names();
    for name in &names {
        let scores = score(&extracted(name), &expected(name));
        writeln!(table, "| {name} | {:.3} | {:.3} | {:.3} |", scores[0], scores[1], scores[2]).unwrap();
        sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
    }
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    let [precision, recall, both] = sums.map(|sum| sum / names.len() as f64);
    writeln!(table, "| **mean of {}** | {precision:.3} | {recall:.3} | {both:.3} |", names.len()).unwrap();
    println!("{table}");
    let kept = corpus().join("SCORES.md");
    if std::env::var_os("UPDATE_SCORES").is_some() {
        fs::write(&kept, &table).unwrap();
    }
    assert_eq!(fs::read_to_string(kept).unwrap_or_default(), table, "accept with UPDATE_SCORES=1, if it is better");
    assert!(names.len() >= 30 && both > 0.95);
}

#[test]
fn hidden_instructions_are_never_extracted() {
    let text = extracted("27-hidden-instructions");
    for hidden in ["ignore", "reveal", "http_request", "command", "white", "as I say", "delete"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}
