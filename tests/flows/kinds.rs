//! What is not plain text, on a real disk: pictures, notebooks, directories, and what was seen before.

use haft::{Content, ErrorKind};
use serde_json::json;

use crate::support::{World, failure, text};

/// One pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f,
    0x15, 0xc4, 0x89, 0, 0, 0, 13, b'I', b'D', b'A', b'T', 0x78, 0xda, 0x63, 0x64, 0xf8, 0xcf, 0x50, 0x0f, 0, 0x03, 0x86, 0x01, 0x80, 0x5a,
    0x34, 0x7d, 0x6b, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "aa",
   "metadata": {},
   "outputs": [],
   "source": [
    "x = 1"
   ]
  },
  {
   "cell_type": "markdown",
   "id": "bb",
   "metadata": {"n": 1.0e3},
   "source": "# \u00fcber"
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

#[tokio::test]
async fn a_picture_is_seen_and_a_broken_one_refused() {
    let world = World::new();
    std::fs::write(world.file("p.txt"), PIXEL).unwrap();
    std::fs::write(world.file("q.png"), &PIXEL[..50]).unwrap();
    let output = world.call("read_file", json!({"path": "p.txt"})).await.outcome.unwrap();
    let expected = [
        Content::Text("p.txt: image/png, 1x1 pixels, 70 bytes.".into()),
        Content::Image { mime: "image/png".into(), data: PIXEL.to_vec() },
    ];
    assert_eq!(output.content, expected);
    let (kind, message) = failure(&world.call("read_file", json!({"path": "q.png"})).await);
    assert!(kind == ErrorKind::NotText && message.starts_with("Damaged image: q.png (50 bytes) begins like a PNG image"), "{message}");
}

#[tokio::test]
async fn a_notebook_is_read_changed_in_one_cell_and_put_back() {
    let world = World::new();
    std::fs::write(world.file("n.ipynb"), NOTEBOOK).unwrap();
    let cells =
        "<cell id=\"aa\" type=\"code\" execution_count=\"3\">\nx = 1\n</cell>\n<cell id=\"bb\" type=\"markdown\">\n# über\n</cell>\n";
    assert_eq!(text(&world.call("read_file", json!({"path": "n.ipynb"})).await), cells);
    let said = text(&world.call("NotebookEdit", json!({"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "x = 2"})).await);
    assert_eq!(said, "Replaced cell 'aa' (code) of n.ipynb.\n\n@@ -1 +1 @@\n-x = 1\n+x = 2");
    let after = NOTEBOOK.replace("\"x = 1\"", "\"x = 2\"").replace("\"execution_count\": 3", "\"execution_count\": null");
    assert_eq!(world.content("n.ipynb"), after);
    // Its own change is known; someone else's is not.
    text(&world.call("notebook_edit", json!({"path": "n.ipynb", "cell_number": 1, "edit_mode": "delete"})).await);
    std::fs::write(world.file("n.ipynb"), NOTEBOOK).unwrap();
    let refused = world.call("notebook_edit", json!({"path": "n.ipynb", "cell_id": "bb", "new_source": "lost"})).await;
    assert_eq!(failure(&refused).0, ErrorKind::ExecutionError);
    assert_eq!(world.content("n.ipynb"), NOTEBOOK);
    text(&world.call("read_file", json!({"path": "n.ipynb"})).await);
    text(&world.call("notebook_edit", json!({"path": "n.ipynb", "cell_id": "bb", "new_source": "kept"})).await);
    assert_eq!(world.content("n.ipynb"), NOTEBOOK.replace("\"# \\u00fcber\"", "\"kept\""));
    world.toolbox.undo_last().await.unwrap();
    assert_eq!(world.content("n.ipynb"), NOTEBOOK);
}

#[tokio::test]
async fn a_directory_shows_its_names_and_what_may_not_be_read_is_not_among_them() {
    let world = World::new();
    std::fs::create_dir_all(world.file("d/sub/deeper")).unwrap();
    for (name, content) in
        [("d/b.txt", "12345"), ("d/.env", "KEY=S3CRET"), ("d/sub/c", ""), ("d/ignored", ""), ("d/.gitignore", "ignored\n")]
    {
        std::fs::write(world.file(name), content).unwrap();
    }
    let listing = text(&world.call("read_file", json!({"path": "d"})).await);
    let lines: Vec<&str> = listing.lines().collect();
    let expected = [
        "d is a directory and has 4 entries:",
        ".gitignore (8 bytes)",
        "b.txt (5 bytes)",
        "ignored (0 bytes)",
        "sub/",
        "",
        "(Name a file to read it. To find files by their names, also in the folders beneath, use glob_search.)",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn what_was_shown_and_has_not_changed_is_not_shown_again() {
    let world = World::new();
    std::fs::write(world.file("a"), "one\n").unwrap();
    assert_eq!(text(&world.call("read_file", json!({"path": "a"})).await), "one\n");
    let brief = text(&world.call("read_file", json!({"path": "a"})).await);
    assert!(brief.starts_with("(Unchanged: the call '") && brief.ends_with("again=true shows it once more.)"), "{brief}");
    assert_eq!(text(&world.call("read_file", json!({"path": "a", "force": true})).await), "one\n");
    std::fs::write(world.file("a"), "two\n").unwrap();
    assert_eq!(text(&world.call("read_file", json!({"path": "a"})).await), "two\n");
}
