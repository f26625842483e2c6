//! Text that is no plain text, and edits that do not fit it: what is not changed stays as it is, down to the byte.

use haft::ErrorKind;
use serde_json::{Value, json};

use crate::snapshot;
use crate::world::{World, everything_of, failure, plain, text};

/// What is in a file, the call, and what is in it then.
type Row = (&'static [u8], &'static str, fn() -> Value, &'static [u8]);

fn edit(old: &str, new: &str) -> Value {
    json!({"path": "f.txt", "old_string": old, "new_string": new})
}

fn patch(hunk: &str) -> Value {
    json!({"input": format!("*** Begin Patch\n*** Update File: f.txt\n@@\n{hunk}*** End Patch\n")})
}

#[test]
fn what_an_edit_does_not_touch_stays_byte_for_byte() {
    let rows: &[Row] = &[
        (b"one\r\ntwo\nthree\r\n", "edit_file", || edit("two", "2"), b"one\r\n2\nthree\r\n"),
        (b"one\r\ntwo\r\n", "edit_file", || edit("two", "2\n3"), b"one\r\n2\r\n3\r\n"),
        (b"one\r\ntwo\nthree", "apply_patch", || patch("-two\n+2\n"), b"one\r\n2\nthree"),
        (b"one\r\ntwo\r\n", "apply_patch", || patch("-two\n+2\n"), b"one\r\n2\r\n"),
        (b"one\ntwo", "edit_file", || edit("two", "2"), b"one\n2"),
        (b"one\ntwo", "apply_patch", || patch("-one\n+1\n"), b"1\ntwo"),
        (b"\xef\xbb\xbfone\ntwo\n", "edit_file", || edit("one", "1"), b"\xef\xbb\xbf1\ntwo\n"),
        (b"\xef\xbb\xbfone\ntwo\n", "apply_patch", || patch("-one\n+1\n"), b"\xef\xbb\xbf1\ntwo\n"),
        (b"one\n\xff\xfe\ntwo\n", "edit_file", || edit("two", "2"), b"one\n\xff\xfe\n2\n"),
        (b"one\n\xff\xfe\ntwo\n", "apply_patch", || patch("-two\n+2\n"), b"one\n\xff\xfe\n2\n"),
        (b"a\rb\rc", "edit_file", || edit("b", "B"), b"a\rB\rc"),
        (b"", "write_file", || json!({"path": "f.txt", "content": "\u{feff}x\r\n"}), b"\xef\xbb\xbfx\r\n"),
        (b"one", "write_file", || json!({"path": "f.txt", "content": "two", "mode": "append"}), b"onetwo"),
        (b"\xff", "write_file", || json!({"path": "f.txt", "content": "x", "mode": "append"}), b"\xffx"),
    ];
    let world = World::new(plain);
    for (before, tool, arguments, after) in rows {
        world.put("f.txt", before);
        let result = world.call(tool, arguments());
        assert!(result.is_success(), "{tool} {} on {before:?}: {}", arguments(), everything_of(&result));
        assert_eq!(world.content("f.txt"), *after, "{tool} {} on {before:?}", arguments());
    }
}

#[test]
fn edits_that_do_not_fit_change_nothing() {
    let several = |edits: &[(&str, &str)]| {
        let edits: Vec<_> = edits.iter().map(|(old, new)| json!({"old_string": old, "new_string": new})).collect();
        json!({"path": "f.txt", "edits": edits})
    };
    let world = World::new(plain);
    let content = "alpha beta gamma\nbeta\ndelta\n";
    world.put("f.txt", content);
    let before = snapshot::of(&world.ws, &[]);
    for (tool, arguments) in [
        // They overlap, contain each other, or are the same.
        ("edit_file", several(&[("alpha beta", "x"), ("beta gamma", "y")])),
        ("edit_file", several(&[("alpha beta gamma", "x"), ("beta gamma", "y")])),
        ("edit_file", several(&[("delta", "x"), ("delta", "y")])),
        // The second would be there only when the first is made.
        ("edit_file", several(&[("delta", "epsilon"), ("epsilon", "zeta")])),
        ("edit_file", several(&[("alpha", "new"), ("nothing like it", "x")])),
        // There are two places.
        ("edit_file", edit("beta", "x")),
        ("edit_file", edit("missing", "x")),
        ("edit_file", edit("", "x")),
        ("edit_file", edit("alpha", "alpha")),
        ("edit_file", several(&[])),
        (
            "edit_file",
            json!({"path": "f.txt", "old_string": "alpha", "new_string": "x", "edits": [{"old_string": "delta", "new_string": "y"}]}),
        ),
        ("apply_patch", patch("-missing\n+x\n")),
        ("apply_patch", patch("-delta\n+epsilon\n@@\n-epsilon\n+zeta\n")),
        ("apply_patch", patch("-delta\n+x\n@@\n-delta\n+y\n")),
        ("apply_patch", patch(" delta\n")),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Update File: f.txt\n@@\n-delta\n+x\n*** Update File: ./f.txt\n@@\n-beta\n+y\n*** End Patch\n"}),
        ),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Update File: f.txt\n@@\n-delta\n+x\n*** Delete File: none.txt\n*** End Patch\n"}),
        ),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Update File: f.txt\n*** Move to: mine.txt\n@@\n-delta\n+x\n*** End Patch\n"}),
        ),
        ("apply_patch", json!({"input": "not a patch"})),
        ("apply_patch", json!({"input": ""})),
    ] {
        let (kind, message) = failure(&world.call(tool, arguments.clone()));
        assert_eq!(kind, ErrorKind::ValidationError, "{tool} {arguments}: {message}");
        assert_eq!(snapshot::of(&world.ws, &[]), before, "{tool} {arguments}");
    }
}

/// Tools that show or change text refuse a file that is not text; searches skip it.
#[test]
fn what_is_no_text_is_not_taken_for_it() {
    let world = World::new(plain);
    for (name, content) in
        [("nul.bin", &b"needle\0needle\n"[..]), ("random.bin", b"\x7fELF\x02\x01\x01\0\0\0\0needle"), ("late.bin", &late())]
    {
        world.put(name, content);
        let (kind, message) = failure(&world.call("read_file", json!({"path": name})));
        assert_eq!(kind, ErrorKind::NotText, "{name}: {message}");
        let before = world.content(name);
        for (tool, arguments) in [
            ("edit_file", json!({"path": name, "old_string": "absent", "new_string": "x"})),
            ("apply_patch", json!({"input": format!("*** Begin Patch\n*** Update File: {name}\n@@\n-absent\n+x\n*** End Patch\n")})),
        ] {
            assert!(!world.call(tool, arguments).is_success(), "{tool} {name}");
            assert_eq!(world.content(name), before, "{tool} {name}");
        }
    }
    let found = text(&world.call("grep_search", json!({"pattern": "needle", "output_mode": "content"})));
    assert!(!found.contains("ELF") && !found.contains('\0'), "{found:?}");
    world.put("broken.ipynb", b"{\"cells\": [\xff]}");
    let (kind, _) = failure(&world.call("notebook_edit", json!({"notebook_path": "broken.ipynb", "cell_id": "c", "new_source": "x"})));
    assert!([ErrorKind::NotText, ErrorKind::ValidationError].contains(&kind), "{kind}");
}

/// Text that turns out to be none on its first page.
fn late() -> Vec<u8> {
    [b"needle\n".repeat(500), vec![0; 10]].concat()
}
