//! Each folder of `tests/scenarios` is a patch: the files before it, and the files after it or the reason why not.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_patch::{PlannedChange, parse, plan, reverse};

type Files = BTreeMap<String, Vec<u8>>;

fn folders() -> Vec<PathBuf> {
    let all = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios")).unwrap();
    let mut folders: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// The files beneath a folder; none if there is no folder.
fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop().filter(|_| folder.exists()) {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn planned(files: &Files, patch: &[u8]) -> Result<Vec<PlannedChange>, String> {
    let patch = parse(&String::from_utf8_lossy(patch)).map_err(|error| error.to_string())?;
    let mut read = |path: &str| Ok::<_, Infallible>(files.get(path.trim_start_matches("./")).cloned().map(Arc::new));
    plan(&patch, &mut read).map_err(|error| error.to_string())
}

fn make(files: &mut Files, changes: Vec<PlannedChange>) {
    for change in changes {
        match change {
            PlannedChange::Add { path, bytes } => assert_eq!(files.insert(path, bytes), None),
            PlannedChange::Delete { path, before } => assert_eq!(files.remove(&path).as_ref(), Some(&*before)),
            PlannedChange::Update { path, before, bytes, .. } => assert_eq!(files.insert(path, bytes).as_ref(), Some(&*before)),
            PlannedChange::Move { from, to, before, bytes, .. } => {
                assert_eq!(files.remove(&from).as_ref(), Some(&*before));
                assert_eq!(files.insert(to, bytes), None);
            }
        }
    }
}

fn shown(files: &Files) -> BTreeMap<&str, String> {
    files.iter().map(|(name, bytes)| (&**name, bytes.escape_ascii().to_string())).collect()
}

#[test]
fn every_scenario_ends_as_it_should() {
    let mut wrong = Vec::new();
    for folder in folders() {
        let (before, patch) = (files(&folder.join("before")), fs::read(folder.join("patch.txt")).unwrap());
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let expected = fs::read_to_string(folder.join("error.txt"));
        match (planned(&before, &patch), expected) {
            (Err(said), Ok(expected)) if said.trim_end() == expected.trim_end() => {}
            (Err(said), _) => wrong.push(format!("== {name} says:\n{said}\n")),
            (Ok(_), Ok(_)) => wrong.push(format!("== {name} should be refused\n")),
            (Ok(changes), Err(_)) => {
                let mut after = before.clone();
                make(&mut after, changes.clone());
                let expected = files(&folder.join("after"));
                if after != expected {
                    wrong.push(format!("== {name}:\n{:#?}\nshould be:\n{:#?}\n", shown(&after), shown(&expected)));
                }
                make(&mut after, reverse(changes));
                assert_eq!(shown(&after), shown(&before), "{name} cannot be taken back");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.concat());
}

#[test]
fn there_are_scenarios() {
    let all = folders();
    assert!(all.len() >= 45, "only {} scenarios", all.len());
    for folder in all {
        let ends = [folder.join("after").exists(), folder.join("error.txt").exists()];
        // A patch that leaves no file at all has neither.
        assert!(ends != [true, true], "{} ends in two ways", folder.display());
        assert!(ends != [false, false] || folder.ends_with("delete_file"), "{} does not end", folder.display());
    }
}
