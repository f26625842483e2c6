//! What a patch is read as.

use haft_patch::{FilePatch, Hunk, HunkLine, LineKind, Patch, PatchAction, parse};

fn lines(text: &str) -> Vec<HunkLine> {
    let kind = |mark: &str| match mark {
        "-" => LineKind::Remove,
        "+" => LineKind::Add,
        _ => LineKind::Context,
    };
    text.lines().map(|line| HunkLine::new(kind(&line[..1]), &line[1..])).collect()
}

fn update(path: &str, line: usize, hunks: Vec<Hunk>) -> FilePatch {
    FilePatch { path: path.to_owned(), action: PatchAction::Update { move_to: None, hunks }, line }
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn every_part_of_an_envelope_is_read() {
    let text = "*** Begin Patch\n*** Add File: new/n.txt\n+hello\n+\n*** Update File: a\n*** Move to: b\n one\n-two\n+2\n@@ class A\n@@   \
                def f\n x\n\n+y\n*** End of File\n*** Delete File: d\n*** End Patch\n";
    let hunks = vec![
        Hunk { lines: lines(" one\n-two\n+2"), line: 7, ..Hunk::default() },
        Hunk {
            headers: vec!["class A".to_owned(), "  def f".to_owned()],
            lines: lines(" x\n \n+y"),
            end_of_file: true,
            line: 10,
            ..Hunk::default()
        },
    ];
    let expected = Patch {
        files: vec![
            FilePatch { path: "new/n.txt".to_owned(), action: PatchAction::Add { text: "hello\n\n".to_owned() }, line: 2 },
            FilePatch { path: "a".to_owned(), action: PatchAction::Update { move_to: Some("b".to_owned()), hunks }, line: 5 },
            FilePatch { path: "d".to_owned(), action: PatchAction::Delete, line: 16 },
        ],
        notes: vec![],
    };
    assert_eq!(parse(text).unwrap(), expected);
}

#[test]
fn unified_diffs_are_read_alone_and_within_an_envelope() {
    let diff = "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn f()\n one\n-two\n+2\n@@ -9 +9,2 @@\n nine\n+ten\n\\ No newline at end of file\n";
    let mut hunks = vec![
        Hunk { lines: lines(" one\n-two\n+2"), near: Some(3), line: 3, ..Hunk::default() },
        Hunk { lines: lines(" nine\n+ten"), near: Some(9), line: 7, ..Hunk::default() },
    ];
    hunks[1].lines[1].unended = true;
    assert_eq!(parse(diff).unwrap(), Patch { files: vec![update("x", 1, hunks)], notes: vec![] });
    for text in [
        format!("*** Begin Patch\n{diff}*** End Patch"),
        format!("*** Begin Patch\n*** Update File: x\n{diff}*** End Patch"),
        format!("diff --git a/x b/x\nindex 12..34 100644\n{diff}\n*** End Patch\n"),
        diff.replace("a/x", "x").replace("b/x", "x\t2026-01-01 00:00:00"),
    ] {
        let patch = parse(&text).unwrap();
        let [FilePatch { path, action: PatchAction::Update { move_to: None, hunks }, .. }] = &*patch.files else {
            panic!("{text}: {patch:?}")
        };
        assert_eq!((&**path, hunks.len(), hunks[1].lines[1].unended, &patch.notes), ("x", 2, true, &vec![]), "{text}");
    }
}

#[test]
fn unified_diffs_make_remove_and_move_files() {
    let text = "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+1\n+2\ndiff --git a/d \
                b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/old b/new\nsimilarity index \
                100%\nrename from old\nrename to new\ndiff --git a/e b/e\nnew file mode 100644\nindex 0..0\ndiff --git a/m b/m\nold mode \
                100644\nnew mode 100755\ndiff --git a/-- x b/-- x\n--- a/-- x\n+++ b/-- x\n@@ -1,2 +1,2 @@\n---- \n++++ \n c\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n";
    let patch = parse(text).unwrap();
    let said: Vec<String> = patch.files.iter().map(|file| format!("{} {:?}", file.path, file.action)).collect();
    assert_eq!(said.len(), 6, "{said:#?}");
    assert_eq!(said[0], "n Add { text: \"1\\n2\\n\" }");
    assert_eq!(said[1], "d Delete");
    assert_eq!(said[2], "old Update { move_to: Some(\"new\"), hunks: [] }");
    assert_eq!(said[3], "e Add { text: \"\" }");
    assert_eq!(
        patch.files[4],
        update("-- x", 25, vec![Hunk { lines: lines("---- \n++++ \n c"), near: Some(1), line: 28, ..Hunk::default() }])
    );
    assert_eq!(patch.files[5].path, "y");
    assert_eq!(patch.notes, ["line 22: a change of the file's mode alone was left out"]);
}

#[test]
fn skipped_lines_are_noted() {
    let missing = "`*** End Patch` is missing: the patch may have been cut off";
    for (text, notes) in [
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch", &[][..]),
        ("*** Begin Patch\n*** Delete File: a", &[missing]),
        ("*** Delete File: a\n*** End Patch", &[]),
        (
            "Here it is:\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nDone.",
            &["line 1: text before the patch was left out", "line 5: text after the patch was left out"],
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\n\n*** Begin Patch\n*** Delete File: b\n*** End Patch",
            &["line 5: the patch after `*** End Patch` was left out: send it by itself"],
        ),
        ("*** Begin Patch\n  *** Delete File: a\n  *** End Patch  ", &[]),
        ("  *** Begin Patch\n  *** Delete File: a\n  *** End Patch", &[]),
        ("*** Begin Patch\r*** Delete File: a\r*** End Patch\r", &[]),
        ("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\n", &[]),
        ("```\n  *** Begin Patch\n\n*** Delete File: a\n\n*** End Patch\n```\n", &[]),
        ("*** Begin Patch\r\n*** Delete File: a\r\n*** End Patch\r\n", &[]),
    ] {
        let patch = parse(text).unwrap();
        assert_eq!(patch.notes, notes, "{text}");
        assert_eq!(patch.files.last().map(|file| (&*file.path, &file.action)), Some(("a", &PatchAction::Delete)), "{text}");
    }
}

#[test]
fn blank_lines_for_looks_change_nothing() {
    let text = "*** Begin Patch\n*** Update File: a\n@@\n one\n\n-two\n+2\n\n\n*** Add File: n\n+1\n\n+2\n\n*** End Patch";
    let patch = parse(text).unwrap();
    assert_eq!(patch.files[0], update("a", 2, vec![Hunk { lines: lines(" one\n \n-two\n+2"), line: 3, ..Hunk::default() }]));
    assert_eq!(patch.files[1].action, PatchAction::Add { text: "1\n\n2\n".to_owned() });
}

#[test]
fn a_patch_that_cannot_be_read_says_where_and_what_was_expected() {
    let next = "`*** Add File: PATH`, `*** Update File: PATH`, `*** Delete File: PATH` or `*** End Patch`";
    for (text, line, shown, expected) in [
        ("some words", 1, "some words", "`*** Begin Patch`, or a unified diff"),
        ("*** Begin Patch\nwords\n*** End Patch", 2, "words", next),
        ("*** Begin Patch\n*** Move to: x\n*** End Patch", 2, "*** Move to: x", next),
        ("*** Begin Patch\n*** Update File:\n@@\n+x\n*** End Patch", 2, "*** Update File:", "the path of a file after the colon"),
        ("*** Begin Patch\n*** Update File: a\n*** Move to:\n*** End Patch", 3, "*** Move to:", "the new path of the file after the colon"),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            3,
            "*** End Patch",
            "a hunk: `@@`, then lines that start with ' ', '-' or '+'",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n*** End Patch",
            4,
            "*** End Patch",
            "lines of a hunk, each starting with ' ', '-' or '+'",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n one\ntwo\u{1b}\n*** End Patch",
            5,
            "two\\u{1b}",
            "a line that starts with ' ' (context), '-' (removed) or '+' (added), or `@@`, or the next `*** ` line",
        ),
        (
            "*** Begin Patch\n*** Add File: a\n+one\ntwo\n*** End Patch",
            4,
            "two",
            "a line of the new file after a '+', or the next `*** ` line",
        ),
        (
            "--- \"a/x\\n\"\n+++ \"b/x\\n\"\n@@ -1 +1 @@\n-1\n+2",
            1,
            "--- \"a/x\\n\"",
            "the name of a file without quotes: name others in `*** Update File: PATH`",
        ),
        (
            "diff --git a/x b/x\nBinary files a/x and b/x differ",
            2,
            "Binary files a/x and b/x differ",
            "changes to text: copies and binary files cannot be patched",
        ),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-1", 2, "+++ /dev/null", "the names of a file after `---` and `+++`"),
    ] {
        assert_eq!(error(text), format!("The patch cannot be read: line {line} is `{shown}`. Expected {expected}."), "{text}");
    }
    for text in ["", "\n\n", "*** Begin Patch\n*** End Patch"] {
        let expected = "`*** Begin Patch`, then `*** Add File: PATH`, `*** Update File: PATH` or `*** Delete File: PATH`";
        assert_eq!(error(text), format!("The patch cannot be read. Expected {expected}."), "{text:?}");
    }
}

#[test]
fn patches_are_bounded() {
    let files = "*** Delete File: a\n".repeat(10_001);
    assert_eq!(error(&files), "The patch cannot be read. Expected at most 10,000 files: send it in parts.");
    let hunks = format!("*** Update File: a\n{}", "@@\n-x\n".repeat(100_001));
    assert_eq!(error(&hunks), "The patch cannot be read. Expected at most 100,000 hunks: send it in parts.");
    let large = "x".repeat(haft_patch::envelope::MAX_PATCH + 1);
    assert_eq!(error(&large), "The patch cannot be read. Expected at most 16,777,216 bytes, and it has 16,777,217: send it in parts.");
    let prose = "words\n".repeat(1000) + "*** Delete File: a\n";
    assert_eq!(parse(&prose).unwrap().notes.len(), 20);
}
