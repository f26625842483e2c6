//! Parameters as flags, against the tools that are really there.

use serde_json::json;

use super::harness::World;

#[test]
fn flags_reach_the_tool() {
    let world = World::new();
    world.write("a.txt", "1\n2\n3\n4\n");
    for (words, result) in [
        (&["read_file", "--path", "a.txt", "--offset", "2", "--limit", "1"][..], "2"),
        (&["read_file", "--path=a.txt", "--offset=4"], "4"),
        (&["read_file", "--file_path", "a.txt", "--offset=4"], "4"),
        (&["read_file", "--file-path", "a.txt", "--offset=4"], "4"),
        (&["read_file", r#"{"path":"nope","offset":4}"#, "--path", "a.txt"], "4"),
    ] {
        let ran = world.run(&[&["call"], words, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        assert!(ran.json()["result"].as_str().unwrap().starts_with(result), "{words:?}: {ran:?}");
    }
}

#[test]
fn text_that_looks_like_a_flag_is_text() {
    let world = World::new();
    let ran = world.run(&["call", "write_file", "--path", "-x.txt", "--content", "--json", "--mode", "overwrite"]);
    assert_eq!((ran.code, world.read("-x.txt").as_str()), (0, "--json"));
}

#[test]
fn a_wrong_value_is_the_tools_to_refuse() {
    let world = World::new();
    world.write("a.txt", "x");
    for words in [&["--path", "a.txt", "--offset", "many"][..], &["--path", "a.txt", "--limit", "-1"], &["--path", ""]] {
        let ran = world.run(&[&["call", "read_file"], words, &["--json"]].concat());
        assert_eq!((ran.code, &ran.json()["error_type"]), (1, &json!("validation_error")), "{words:?}: {ran:?}");
    }
}

#[test]
fn objects_are_pairs_or_json() {
    let world = World::new();
    for headers in [&["--headers", "X-A=1", "--headers", "X-B=a=b"][..], &["--headers", r#"{"X-A":"1","X-B":"a=b"}"#]] {
        let words = [&["call", "http_request", "--url", "http://127.0.0.1:9/"][..], headers].concat();
        world.run(&words);
        let newest = world.run(&["history", "--limit", "1", "--json"]).json();
        assert_eq!(newest[0]["arguments"]["headers"], json!({"X-A": "1", "X-B": "a=b"}), "{headers:?}");
    }
}
