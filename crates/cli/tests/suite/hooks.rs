//! Hooks as configured: what they keep out of the data folder, and hooks that are not trusted.

use std::fs;
use std::path::{Path, PathBuf};

use haft_testkit::Round;
use serde_json::json;

use super::harness::World;
use super::model::{Talk, done};

const SECRET: &str = "topsecretword";

/// Files of the data folder that hold the secret; checkpoints are copies of the workspace, which holds it too.
fn leaks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("checkpoints") {
            found.extend(leaks(&entry));
        } else if entry.is_file() && String::from_utf8_lossy(&fs::read(&entry).unwrap()).contains(SECRET) {
            found.push(entry);
        }
    }
    found
}

fn calls() -> Vec<Round> {
    let read = ("c1".to_owned(), "read_file".to_owned(), json!({"path": "small.txt"}));
    let long = ("c2".to_owned(), "exec".to_owned(), json!({"command": "cat long.txt"}));
    vec![Round::Calls(vec![read, long]), done()]
}

fn talk(hook: &str) -> Talk {
    let config = format!("[[hooks]]\nname = \"filter\"\nevent = \"tool_result_persist\"\ncommand = '''{hook}'''\n");
    let talk = Talk::with("openai", &config, calls());
    talk.world.write("small.txt", SECRET);
    talk.world.write("long.txt", format!("{SECRET}\n").repeat(20_000));
    talk
}

#[test]
fn what_a_hook_rewrites_is_in_no_file_of_the_data_folder_and_the_model_has_the_original() {
    let hook = r#"cat > /dev/null; echo '{"stored": "[rewritten]"}'"#;
    let talk = talk(hook);
    let turn = talk.turn(&["go"]);
    assert_eq!((turn.code, turn.ended()), (0, ("done", "All done.")), "{turn:?}");
    let live: Vec<bool> = talk.results().iter().map(|(_, result)| result.to_string().contains(SECRET)).collect();
    assert_eq!(live, [true, true], "{:?}", talk.results());
    assert_eq!(leaks(&talk.world.state()), Vec::<PathBuf>::new());
    let summaries = talk.world.run(&["history", "--json"]).json();
    assert!(summaries.as_array().unwrap().iter().all(|call| call["summary"] == "[rewritten]"), "{summaries}");
    // A resumed session has what was stored.
    let talk = talk.next(vec![done()]);
    assert_eq!(talk.resume("and now?").code, 0);
    let stored: Vec<String> = talk.results().into_iter().map(|(_, result)| result["result"].as_str().unwrap().to_owned()).collect();
    assert_eq!(stored, ["[rewritten]", "[rewritten]"]);
}

#[test]
fn what_a_hook_leaves_is_stored_as_it_is() {
    let talk = talk("cat > /dev/null");
    assert_eq!(talk.turn(&["go"]).code, 0);
    assert!(leaks(&talk.world.state()).len() >= 2, "the database and a spill hold it");
}

const GUARD: &str = "[[hooks]]\nname = \"guard\"\nevent = \"before_tool_call\"\nmatch = [\"write_file\"]\ncommand = \"exit 2\"\n";

#[test]
fn untrusted_or_changed_guard_says_so_on_every_call_that_it_would_have_guarded() {
    let world = World::new();
    world.write(".haft/config.toml", GUARD);
    let write = || world.run(&["call", "write_file", "--path", "a.txt", "--content", "x"]);
    for _ in 0..2 {
        let ran = write();
        assert_eq!(ran.code, 0);
        assert!(ran.stderr.contains("the hook 'guard' failed: it did not run, because you have not trusted this folder"), "{ran:?}");
    }
    let other = world.run(&["call", "noop"]);
    assert_eq!((other.code, other.stderr.as_str()), (0, ""), "it guards no other tool");
    assert_eq!(world.run(&["trust"]).code, 0);
    let blocked = write();
    assert!(blocked.code == 1 && blocked.stderr.contains("Blocked by the hook 'guard'"), "{blocked:?}");
    world.write(".haft/config.toml", format!("{GUARD}# changed\n"));
    let changed = write();
    assert_eq!(changed.code, 0);
    assert!(changed.stderr.contains("it did not run, because it changed since you trusted this folder"), "{changed:?}");
}
