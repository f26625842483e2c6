//! What a diff says.

use haft_patch::diff::{SHOWN_LINES, counts, unified};

fn numbered(lines: std::ops::RangeInclusive<usize>) -> String {
    lines.map(|number| format!("{number}\n")).collect()
}

#[test]
fn changes_are_shown_with_the_lines_around_them() {
    let old = numbered(1..=30);
    let new = old.replace("\n3\n", "\nthree\n").replace("\n9\n", "\n9\n9.5\n").replace("\n25\n", "\n");
    let expected = "--- a/f\n+++ b/f\n@@ -1,12 +1,13 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n 7\n 8\n 9\n+9.5\n 10\n 11\n 12\n@@ -22,7 +23,6 @@\n \
                    22\n 23\n 24\n-25\n 26\n 27\n 28\n";
    assert_eq!(unified(old.as_bytes(), new.as_bytes(), "f", 3), expected);
    assert_eq!(counts(old.as_bytes(), new.as_bytes()), (2, 2));
}

#[test]
fn diffs_at_every_edge_of_a_file() {
    for (old, new, expected, count) in [
        ("", "", "", (0, 0)),
        ("a\n", "a\n", "", (0, 0)),
        ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n", (2, 0)),
        ("a\n", "", "@@ -1 +0,0 @@\n-a\n", (0, 1)),
        ("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", (1, 1)),
        ("a\nb", "a\nb\nc", "@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n\\ No newline at end of file\n", (2, 1)),
        ("x\na\n", "a\n", "@@ -1,2 +1 @@\n-x\n a\n", (0, 1)),
        ("a\nb\n", "a\nx\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", (1, 0)),
        ("a\na\n", "a\n", "@@ -1,2 +1 @@\n a\n-a\n", (0, 1)),
        ("xa\nb\n", "a\nb\n", "@@ -1,2 +1,2 @@\n-xa\n+a\n b\n", (1, 1)),
    ] {
        let head = if expected.is_empty() { "" } else { "--- a/f\n+++ b/f\n" };
        assert_eq!(unified(old.as_bytes(), new.as_bytes(), "f", 1), format!("{head}{expected}"), "{old:?} {new:?}");
        assert_eq!(counts(old.as_bytes(), new.as_bytes()), count, "{old:?} {new:?}");
    }
    assert_eq!(unified(b"a\nb\nc\n", b"a\nx\nc\n", "f", 0), "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+x\n");
}

#[test]
fn unprintable_bytes_are_escaped() {
    let (old, new) = (b"\xff\x1b[31m\ta\n", b"\xff\0\ta\xe2\x80\xae\n");
    assert_eq!(unified(old, new, "f\n", 3), "--- a/f\\n\n+++ b/f\\n\n@@ -1 +1 @@\n-\\xff\\u{1b}[31m\ta\n+\\xff\\u{0}\ta\\u{202e}\n");
}

#[test]
fn carriage_returns_are_shown_where_lines_differ() {
    assert_eq!(unified(b"a\r\nb\r\n", b"a\r\nc\r\n", "f", 1), "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    assert_eq!(unified(b"a\nb\n", b"a\r\nb\n", "f", 0), "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\\r\n");
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let (old, new) = (numbered(1..=5000), numbered(10_001..=15_000));
    let text = unified(old.as_bytes(), new.as_bytes(), "f", 3);
    assert_eq!(text.lines().count(), 3 + SHOWN_LINES + 1);
    assert!(text.ends_with("-2000\n… 5,000 lines added and 3,000 lines removed are not shown\n"), "{}", &text[text.len() - 200..]);
    assert_eq!(counts(old.as_bytes(), new.as_bytes()), (5000, 5000));
    let wide = "x".repeat(3_000) + "\n";
    let text = unified(b"", wide.repeat(500).as_bytes(), "f", 3);
    assert!(text.len() < 300_000 && text.ends_with("… 369 lines added and 0 lines removed are not shown\n"), "{}", text.len());
    // Changes far apart are counted as well.
    let new = (1..=9000).map(|number| format!("{number}{}\n", if number % 3 == 0 { "x" } else { "" })).collect::<String>();
    let text = unified(numbered(1..=9000).as_bytes(), new.as_bytes(), "f", 0);
    assert!(text.ends_with("… 2,000 lines added and 2,000 lines removed are not shown\n"), "{}", &text[text.len() - 200..]);
}
