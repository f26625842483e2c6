//! What the documents say of files, links and dependencies.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Markdown files of the repository, relative to its root.
fn documents() -> Vec<String> {
    let files = ["", "docs/", "docs/internal/"].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        entries.map(move |entry| format!("{folder}{}", entry.unwrap().file_name().to_string_lossy()))
    });
    files.filter(|file| Path::new(file).extension().is_some_and(|extension| extension == "md")).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_path_and_link_in_the_documents_exists() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        let broken_links = links(&text).into_iter().filter(|link| !leads_somewhere(&document, link));
        broken.extend(broken_links.map(|link| format!("{document}: ({link})")));
        // The page on tools names files that a reader is to write.
        if document != "docs/ADDING_A_TOOL.md" {
            let missing = quoted(&text).into_iter().filter(|word| is_path(word) && !root().join(word).exists());
            broken.extend(missing.map(|word| format!("{document}: `{word}`")));
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// The targets of Markdown links.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

fn leads_somewhere(document: &str, link: &str) -> bool {
    if link.starts_with("https://") {
        return true;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let folder = Path::new(document).parent().unwrap();
    let path = if file.is_empty() { root().join(document) } else { root().join(folder).join(file) };
    path.exists() && anchor.is_none_or(|anchor| headings(&path).contains(&anchor.to_owned()))
}

/// The anchors of a page's headings, as code hosts make them.
fn headings(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let titles = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let anchor = |ch: char| match ch {
        ' ' => Some('-'),
        '-' | '_' => Some(ch),
        ch => ch.is_alphanumeric().then_some(ch),
    };
    titles.map(|title| title.chars().filter_map(anchor).collect()).collect()
}

/// What stands between single backticks, outside of code blocks.
fn quoted(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

/// Whether this names a file of the repository, and not a place that the reader fills in.
fn is_path(word: &str) -> bool {
    let inside = ["crates/", "src/", "tests/", "docs/", "benches/"].iter().any(|folder| word.starts_with(folder));
    let placeholder = |part: &str| part.trim_end_matches(".rs").chars().all(|ch| ch.is_ascii_uppercase());
    inside && !word.contains(' ') && !word.split('/').filter(|part| !part.is_empty()).any(placeholder)
}

#[test]
fn every_dependency_has_its_row_with_the_locked_version() {
    assert_eq!(described(), declared());
}

/// Names and versions in the tables of `docs/internal/DEPENDENCIES.md`; each row must say everything.
fn described() -> BTreeMap<String, String> {
    let page = read("docs/internal/DEPENDENCIES.md");
    let rows = page.lines().filter(|line| line.starts_with("| **"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 7 && cells[..6].iter().all(|cell| !cell.is_empty()), "a row is not complete: {row}");
        assert!(cells[3].parse::<u32>().is_ok(), "crates are counted: {row}");
        (cells[0].trim_matches('*').to_owned(), cells[1].to_owned())
    })
    .collect()
}

/// Names in `[workspace.dependencies]` that are used, with the versions in `Cargo.lock`; of several the newest, which is ours.
fn declared() -> BTreeMap<String, String> {
    let manifest = read("Cargo.toml");
    let table = manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names = table.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).filter(|name| !name.starts_with("haft"));
    let lock = read("Cargo.lock");
    // What no crate uses is not locked.
    names.filter_map(|name| Some((name.to_owned(), locked(&lock, name)?))).collect()
}

fn locked(lock: &str, name: &str) -> Option<String> {
    let entry = format!("name = \"{name}\"\nversion = \"");
    let versions = lock.split(&entry).skip(1).filter_map(|rest| rest.split('"').next());
    let newest = versions.max_by_key(|version| version.split(['.', '+']).map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>());
    // What stands behind the plus says which specification is meant, not which release.
    newest.and_then(|version| version.split('+').next()).map(str::to_owned)
}

#[test]
fn each_document_stays_within_its_lines() {
    for document in documents().into_iter().filter(|document| document != "docs/tools.md") {
        let text = read(&document);
        // A terminal's lines are as long as they are.
        let mut in_terminal = false;
        for line in text.lines() {
            in_terminal = line == "```console" || (in_terminal && line != "```");
            let is_long = line.chars().count() > 140 && !line.starts_with('|') && !line.starts_with('{');
            assert!(in_terminal || !is_long, "{document}: wrap this line: {line}");
        }
    }
}

#[test]
fn readme_has_at_most_130_lines() {
    assert!(read("README.md").lines().count() <= 130);
}

#[test]
fn glossary_is_sorted_and_names_a_file_for_each_word() {
    let page = read("docs/GLOSSARY.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| word |")).collect();
    let words: Vec<&str> = rows.iter().map(|row| row.split('|').nth(1).unwrap().trim()).collect();
    assert!(words.is_sorted() && words.len() > 20, "{words:?}");
    assert!(rows.iter().all(|row| quoted(row).into_iter().any(is_path)), "{rows:#?}");
}
