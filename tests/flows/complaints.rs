//! What people complain of in tools for files, tried on a real disk. `docs/internal/COMPLAINTS.md` lists all of it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use haft::ErrorKind;
use serde_json::{Value, json};

use crate::support::{World, failure, text};

fn wide(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

/// Two lines copied from the output of a read can be replaced, and nothing else changes.
#[tokio::test]
async fn what_was_read_can_be_edited_whatever_the_file_is_made_of() {
    let plain = "fn a() {\n\tone();  \n\ttwo(“x”);\n}";
    let returns = plain.replace('\n', "\r\n");
    let files: [(&str, Vec<u8>); 6] = [
        ("line feeds, no final one", plain.into()),
        ("carriage returns", returns.clone().into()),
        ("a mark", format!("\u{feff}{returns}\r\n").into()),
        ("UTF-16, little end first", wide(&format!("\u{feff}{returns}"), u16::to_le_bytes)),
        ("UTF-16, big end first", wide(&format!("\u{feff}{plain}\n"), u16::to_be_bytes)),
        ("old returns", plain.replace('\n', "\r").into()),
    ];
    for (what, before) in files {
        let world = World::new();
        std::fs::write(world.file("f"), &before).unwrap();
        let read = text(&world.call("read_file", json!({"path": "f"})).await);
        let start = read.find("\tone();").unwrap_or_else(|| panic!("{what}: {read:?}"));
        let old = &read[start..read.find("\u{201c}x").unwrap()];
        let new = old.replace("one", "1");
        text(&world.call("edit_file", json!({"path": "f", "old_string": old, "new_string": new})).await);
        let expected = String::from_utf8_lossy(&before).replace("one", "1").into_bytes();
        let expected = match what {
            "UTF-16, little end first" => wide(&format!("\u{feff}{}", returns.replace("one", "1")), u16::to_le_bytes),
            "UTF-16, big end first" => wide(&format!("\u{feff}{}\n", plain.replace("one", "1")), u16::to_be_bytes),
            _ => expected,
        };
        assert_eq!(std::fs::read(world.file("f")).unwrap(), expected, "{what}");
    }
}

#[tokio::test]
async fn a_change_by_others_is_known_by_content_and_not_by_time() {
    let world = World::new();
    let put = |content: &str| std::fs::write(world.file("f"), content).unwrap();
    let edit = |old: &'static str, new: &'static str| world.call("edit_file", json!({"path": "f", "old_string": old, "new_string": new}));
    let write = |content: &'static str| world.call("write_file", json!({"path": "f", "content": content}));
    let others = "(Another program changed the file since you read it; its changes are kept.)";
    put("one\ntwo\n");
    text(&world.call("read_file", json!({"path": "f"})).await);
    // Saved again by an editor, by a clock that is wrong: nothing has changed.
    put("one\ntwo\n");
    let file = std::fs::File::options().write(true).open(world.file("f")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_hours(1)).unwrap();
    assert!(!text(&edit("one", "1").await).contains(others));
    // A formatter at work elsewhere in the file is no reason to refuse, and is told.
    put("1\ntwo\n\nthree\n");
    assert!(text(&edit("two", "2").await).contains(others));
    assert_eq!(world.content("f"), "1\n2\n\nthree\n");
    assert!(!text(&edit("three", "3").await).contains(others), "what it wrote itself it knows");
    // To replace all of it would undo what someone else did.
    put("theirs\n");
    let (kind, message) = failure(&write("ours\n").await);
    assert_eq!(kind, ErrorKind::ExecutionError);
    assert!(message.starts_with("f was changed by another program since you read it, so nothing was written. Read it again"), "{message}");
    assert_eq!(world.content("f"), "theirs\n");
    text(&world.call("read_file", json!({"path": "f"})).await);
    text(&write("ours\n").await);
    assert_eq!(world.content("f"), "ours\n");
}

fn patch(sections: &str) -> Value {
    json!({"input": format!("*** Begin Patch\n*** Update File: inside\n@@\n-in\n+changed\n{sections}\n*** End Patch\n")})
}

#[tokio::test]
async fn no_tool_for_files_leaves_the_workspace_by_any_path() {
    let world = World::new();
    let outside = world.file("../outside");
    std::fs::create_dir(&outside).unwrap();
    for (file, content) in [("f", "S3CRET\n"), ("n.ipynb", "{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}")] {
        std::fs::write(outside.join(file), content).unwrap();
    }
    std::fs::write(world.file("inside"), "in\n").unwrap();
    std::os::unix::fs::symlink(&outside, world.file("link")).unwrap();
    for way in ["../outside", "./missing/../../outside", "link", outside.to_str().unwrap()] {
        let at = |name: &str| format!("{way}/{name}");
        for (tool, arguments) in [
            ("read_file", json!({"path": at("f")})),
            ("write_file", json!({"path": at("new"), "content": "x"})),
            ("write_file", json!({"path": at("deep/er/new"), "content": "x"})),
            ("write_file", json!({"path": at("f"), "content": "x", "mode": "append"})),
            ("edit_file", json!({"path": at("f"), "old_string": "S3CRET", "new_string": "x"})),
            ("edit_file", json!({"path": at("new"), "old_string": "", "new_string": "x"})),
            ("apply_patch", patch(&format!("*** Add File: {}\n+x", at("new")))),
            ("apply_patch", patch(&format!("*** Delete File: {}", at("f")))),
            ("apply_patch", patch(&format!("*** Update File: {}\n@@\n-S3CRET\n+x", at("f")))),
            ("apply_patch", patch(&format!("*** Update File: m\n*** Move to: {}\n@@\n-a\n+b", at("new")))),
            ("glob_search", json!({"pattern": "*", "path": way})),
            ("glob_search", json!({"pattern": at("*")})),
            ("grep_search", json!({"pattern": "S", "path": way})),
            ("notebook_edit", json!({"notebook_path": at("n.ipynb"), "new_source": "x", "edit_mode": "insert"})),
        ] {
            let (kind, message) = failure(&world.call(tool, arguments.clone()).await);
            let named = message.contains("path is outside the workspace: '");
            assert!(kind == ErrorKind::PathNotAllowed && named && !message.contains("S3CRET"), "{tool}({arguments}): {kind} {message}");
        }
    }
    assert_eq!(world.content("inside"), "in\n", "a patch is made whole or not at all");
    assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"S3CRET\n");
    assert_eq!(names(&outside), ["f", "n.ipynb"]);
    assert_eq!(names(&world.file("")), ["inside", "link"]);
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Each says what is wrong, with which value, and what to do; and nothing has changed.
#[tokio::test]
async fn every_refusal_says_what_is_wrong_and_what_to_do() {
    let world = World::new();
    std::fs::create_dir(world.file("folder")).unwrap();
    let notebook = "{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}";
    for (path, content) in [("f", "one\ntwo\none\n"), ("n.ipynb", notebook), ("bad.ipynb", "{")] {
        std::fs::write(world.file(path), content).unwrap();
    }
    let rows: [(&str, Value, &[&str]); 17] = [
        ("read_file", json!({"path": "none"}), &["File not found: none"]),
        ("read_file", json!({"path": "f", "limit": 0}), &["'limit'", "0 is less than the minimum of 1"]),
        ("read_file", json!({}), &["Missing required parameter: 'path'", "Expected: read_file(path: string"]),
        ("write_file", json!({"path": "f", "content": "x", "mode": "prepend"}), &["'mode'", "overwrite, append", "\"prepend\""]),
        ("write_file", json!({"path": "f"}), &["Missing required parameter: 'content'"]),
        ("write_file", json!({"path": "folder", "content": "x"}), &["folder", "directory"]),
        ("edit_file", json!({"path": "f", "old_string": "one", "new_string": "1"}), &["2 places", "lines 1, 3", "Add lines around it"]),
        ("edit_file", json!({"path": "f", "old_string": "twoo", "new_string": "1"}), &["line 2", "     2 | two", "First difference"]),
        ("edit_file", json!({"path": "f", "old_string": "", "new_string": "1"}), &["old text is empty", "give the text"]),
        ("edit_file", json!({"path": "f", "edits": [{"oldText": "two"}]}), &["Missing required parameter: 'edits.0.new_string'"]),
        ("apply_patch", json!({"input": "x"}), &["*** Begin Patch"]),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Update File: f\n@@\n-twoo\n+2\n*** End Patch"}), &["f: ", "hunk 1", "two"]),
        ("glob_search", json!({"pattern": "[a"}), &["'[a'", "unclosed set of characters"]),
        ("grep_search", json!({"pattern": "a("}), &["'a('", "unclosed group", "put '\\' before"]),
        ("grep_search", json!({"pattern": "a", "output_mode": "lines"}), &["files_with_matches, content, count", "\"lines\""]),
        ("notebook_edit", json!({"path": "bad.ipynb", "new_source": "x", "cell_id": "a"}), &["bad.ipynb"]),
        ("notebook_edit", json!({"path": "n.ipynb", "new_source": "x", "cell_id": "zz"}), &["'zz'", "edit_mode='insert'"]),
    ];
    for (tool, arguments, words) in rows {
        let (_, message) = failure(&world.call(tool, arguments.clone()).await);
        let missing: Vec<_> = words.iter().filter(|word| !message.contains(**word)).collect();
        assert!(missing.is_empty(), "{tool}({arguments}) does not say {missing:?}: {message}");
    }
    assert_eq!((world.content("f"), world.content("n.ipynb")), ("one\ntwo\none\n".into(), notebook.into()));
    assert_eq!(names(&world.file("")), ["bad.ipynb", "f", "folder", "n.ipynb"]);
}
