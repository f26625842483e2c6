//! Every request in a golden file of an adapter is one that the official SDK could have sent.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::sdks::{assert_valid, entry};
use super::simulation::PROTOCOLS;

#[test]
fn golden_requests_are_as_the_sdks_have_them() {
    let golden: Vec<(&str, Value)> = files().iter().map(|file| read(file)).collect();
    for protocol in PROTOCOLS.map(|protocol| protocol.name) {
        let count = golden.iter().filter(|(name, _)| *name == protocol).count();
        assert!(count >= 5, "{protocol}: {count} golden requests are too few to be all of them");
    }
    assert_valid(&golden.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>());
}

/// The golden files of requests; those of streams and of schemas hold none.
fn files() -> Vec<PathBuf> {
    let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../provider/tests")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path().join("snapshots")).filter(|folder| folder.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let (requests, others): (Vec<_>, Vec<_>) = files.partition(|file| name(file).contains("__requests__"));
    let overlooked: Vec<_> = others.iter().filter(|file| content(file).contains("\n  \"body\": {")).collect();
    assert!(overlooked.is_empty(), "these hold requests as well, it seems: {overlooked:?}");
    requests
}

fn name(file: &Path) -> &str {
    file.file_name().unwrap().to_str().unwrap()
}

/// The content of a golden file after its header.
fn content(file: &Path) -> String {
    fs::read_to_string(file).unwrap().splitn(3, "---\n").nth(2).unwrap().to_owned()
}

fn read(file: &Path) -> (&'static str, Value) {
    let case = name(file).split("__requests__").nth(1).unwrap();
    // The two protocols of one provider share a folder.
    let protocol = match name(file).split("__").next().unwrap() {
        "anthropic" => "anthropic",
        "gemini" => "gemini",
        _ if case.starts_with("openai-responses_") => "openai-responses",
        _ if case.starts_with("openai_") => "openai",
        other => panic!("{other}: whose request is {case}?"),
    };
    let golden: Value = serde_json::from_str(&content(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    (protocol, entry(protocol, name(file), &golden["body"]))
}
