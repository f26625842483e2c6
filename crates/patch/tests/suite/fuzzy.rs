//! How an old text is found, and what of the file changes.

use haft_patch::{Edit, EditedFile, FuzzyLevel, Span, edit};

fn one(old: &str, new: &str) -> Edit {
    Edit { old: old.to_owned(), new: new.to_owned(), replace_all: false }
}

fn all(old: &str, new: &str) -> Edit {
    Edit { replace_all: true, ..one(old, new) }
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// The file, the old text, the new text, the file afterwards, the level that finds it.
type Row<'a> = (&'a [u8], &'a str, &'a str, &'a [u8], FuzzyLevel);

fn check(rows: &[Row<'_>]) {
    for (file, old, new, expected, level) in rows {
        let edited = edit(file, &[one(old, new)]).unwrap_or_else(|error| panic!("{} / {old:?}: {error}", text(file)));
        assert_eq!((text(&edited.bytes), edited.levels), (text(expected), vec![*level]), "{} / {old:?} / {new:?}", text(file));
    }
}

#[test]
fn exact_text_is_replaced_byte_for_byte() {
    check(&[
        (b"one two three\n", "two", "2", b"one 2 three\n", FuzzyLevel::Exact),
        (b"a\nb\nc", "b\n", "", b"a\nc", FuzzyLevel::Exact),
        (b"\xff\0a\xfe", "a", "b", b"\xff\0b\xfe", FuzzyLevel::Exact),
        (b"\xef\xbb\xbfone\r\n", "one", "1", b"\xef\xbb\xbf1\r\n", FuzzyLevel::Exact),
        ("“a” \u{a0}".as_bytes(), "“a” \u{a0}", "\"a\"", b"\"a\"", FuzzyLevel::Exact),
        (b"a  \n\tb\n", "a  \n\tb", "a\n    b", b"a\n    b\n", FuzzyLevel::Exact),
        (b"x", "x", "", b"", FuzzyLevel::Exact),
    ]);
}

#[test]
fn new_lines_take_the_ending_of_their_place() {
    check(&[
        // Of the file, where the place itself has none.
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n", FuzzyLevel::Exact),
        (b"a\rb\r", "b", "b\nc", b"a\rb\rc\r", FuzzyLevel::Exact),
        // Of the place, where it is another than that of the file.
        (b"a\r\nb\r\nc\nd\n", "c\nd", "c\nx\nd", b"a\r\nb\r\nc\nx\nd\n", FuzzyLevel::Exact),
        (b"a\nb\nc\nd\r\ne\r\nf", "d\ne\nf", "d\nx\nf", b"a\nb\nc\nd\r\nx\r\nf", FuzzyLevel::LineEndings),
        // Endings as written, where they are what is to change, or where the file has none.
        (b"a\r\nb\r\n", "a\r\nb", "a\nb", b"a\nb\r\n", FuzzyLevel::Exact),
        (b"a\nb\n", "a\nb", "a\r\nb", b"a\r\nb\n", FuzzyLevel::Exact),
        (b"a", "a", "a\r\nb", b"a\r\nb", FuzzyLevel::Exact),
        (b"a\nb\n", "a", "x\r\ny", b"x\ny\nb\n", FuzzyLevel::Exact),
    ]);
}

#[test]
fn line_endings_are_forgiven() {
    check(&[
        (b"\xef\xbb\xbfone\r\ntwo\r\nthree", "one\ntwo", "1\n2", b"\xef\xbb\xbf1\r\n2\r\nthree", FuzzyLevel::LineEndings),
        (b"a\nb\n", "a\r\nb", "a\r\nc", b"a\nc\n", FuzzyLevel::LineEndings),
        (b"a\rb\rc", "a\nb", "a\nx\nb", b"a\rx\rb\rc", FuzzyLevel::LineEndings),
        (b"a\r\nb\nc\r\n", "a\nb\nc", "a\nb\nx", b"a\r\nb\nx\r\n", FuzzyLevel::LineEndings),
        (b"x\r\ny", "\ny", "\nz", b"x\r\nz", FuzzyLevel::Exact),
        (b"x\r\ny\nz", "\ny\r\n", "\nw\r\n", b"x\r\nw\nz", FuzzyLevel::LineEndings),
        (b"a\r\nb\r\nc", "a\n", "", b"b\r\nc", FuzzyLevel::LineEndings),
        ("a\n".as_bytes(), "\u{feff}a", "\u{feff}b", b"b\n", FuzzyLevel::LineEndings),
    ]);
}

#[test]
fn a_final_ending_that_is_missing_stays_missing() {
    check(&[
        (b"a\nb", "b\n", "c\n", b"a\nc", FuzzyLevel::LineEndings),
        (b"a\nb", "b\n", "b\nc\n", b"a\nb\nc", FuzzyLevel::LineEndings),
        (b"a\r\nb", "a\nb\n", "a\nx\nb\n", b"a\r\nx\r\nb", FuzzyLevel::LineEndings),
        (b"a\nb", "b\n", "", b"a\n", FuzzyLevel::LineEndings),
        (b"\tb", "  b\n", "  c\n", b"\tc", FuzzyLevel::Indentation),
    ]);
}

#[test]
fn blanks_at_line_ends_are_forgiven_and_kept_where_nothing_changes() {
    check(&[
        (b"a  \nb\t\nc\n", "a\nb\nc", "a\nb\nx", b"a  \nb\t\nx\n", FuzzyLevel::TrailingBlanks),
        (b"a\nb\n", "a  \nb", "a  \nc", b"a\nc\n", FuzzyLevel::TrailingBlanks),
        (b"a \n\nb\n", "a\n   \nb", "a\n   \nc", b"a \n\nc\n", FuzzyLevel::TrailingBlanks),
        (b"call(x)\ncall(xy)\n", "call(x)  ", "call(z)", b"call(z)\ncall(xy)\n", FuzzyLevel::TrailingBlanks),
        (b"a \r\nb \r\n", "a\nb\n", "a\nb\nc\n", b"a \r\nb \r\nc\r\n", FuzzyLevel::TrailingBlanks),
        (b"if x:   \n  y\n", "if x:\n  y", "if z:\n  y", b"if z:   \n  y\n", FuzzyLevel::TrailingBlanks),
    ]);
}

#[test]
fn indentation_is_forgiven_and_the_new_text_follows_the_file() {
    check(&[
        (
            b"def f():\n\tif x:   \n\t\treturn 1\n\nkeep  \n",
            "if x:\n    return 1",
            "if y:\n    return 2",
            b"def f():\n\tif y:   \n\t\treturn 2\n\nkeep  \n",
            FuzzyLevel::Indentation,
        ),
        // Tabs for spaces, and lines that are deeper and shallower than any old one.
        (
            b"\tfn a() {\n\t\tb();\n\t}\n",
            "    fn a() {\n        b();\n    }",
            "    fn a() {\n        if c {\n            b();\n        }\n    }\nend",
            b"\tfn a() {\n\t\tif c {\n\t\t\tb();\n\t\t}\n\t}\nend\n",
            FuzzyLevel::Indentation,
        ),
        // The whole block deeper, or less deep.
        (
            b"        a\n          b\n",
            "    a\n      b",
            "    a\n      c\n    d",
            b"        a\n          c\n        d\n",
            FuzzyLevel::Indentation,
        ),
        (b"a\n  b\n", "    a\n      b", "    a\n      c", b"a\n  c\n", FuzzyLevel::Indentation),
        // Spaces for tabs.
        (b"  a\n    b\n", "\ta\n\t\tb", "\ta\n\t\tb\n\t\t\tc", b"  a\n    b\n      c\n", FuzzyLevel::Indentation),
        // One line alone.
        (b"x\n\treturn 1\n", "    return 1", "    return 2", b"x\n\treturn 2\n", FuzzyLevel::Indentation),
        // A block that begins behind other text.
        (
            b"let x = {\n\ta: 1,\n};\n",
            "x = {\n    a: 1,\n};",
            "x = {\n    a: 2,\n    b: 3,\n};",
            b"let x = {\n\ta: 2,\n\tb: 3,\n};\n",
            FuzzyLevel::Indentation,
        ),
        // Blank lines have no depth.
        (b"\ta\n\n\tb\n", "  a\n  \n  b", "  a\n\n  c", b"\ta\n\n\tc\n", FuzzyLevel::Indentation),
        // The old text ends with the indentation of the line behind it.
        (b"\ta\n\tb\n", "  a\n  ", "  c\n  ", b"\tc\n\tb\n", FuzzyLevel::Indentation),
        (b"\xef\xbb\xbf\ta\r\n\tb\r\n", "  a\n  b", "  a\n  c", b"\xef\xbb\xbf\ta\r\n\tc\r\n", FuzzyLevel::Indentation),
    ]);
}

#[test]
fn quotes_and_dashes_are_forgiven_and_kept_where_nothing_changes() {
    let rows: [(&str, &str, &str, &str); 6] = [
        ("say “hi” — or don’t\n", "say \"hi\" - or don't", "say \"ho\" - or don't", "say “ho” — or don’t\n"),
        ("it's\n", "it’s", "it’s not", "it's not\n"),
        ("a\u{a0}b\n", "a b", "a c", "a\u{a0}c\n"),
        ("x “a”\ny “b”\nz\n", "x \"a\"\ny \"b\"\nz", "x \"a\"\nw\nz", "x “a”\nw\nz\n"),
        ("\t“a”\n\tb\n", "  \"a\"\n  b", "  \"a\"\n  c", "\t“a”\n\tc\n"),
        ("“a” it's “b”\n", "“a” it’s “b”", "\"a\" it’s “b”", "\"a\" it's “b”\n"),
    ];
    for (file, old, new, expected) in rows {
        check(&[(file.as_bytes(), old, new, expected.as_bytes(), FuzzyLevel::Punctuation)]);
    }
}

#[test]
fn unicode_forms_are_forgiven_and_kept_where_nothing_changes() {
    let rows = [
        ("cafe\u{301} one\n", "café one", "café two", "cafe\u{301} two\n", FuzzyLevel::Canonical),
        ("café one\n", "cafe\u{301} one", "cafe\u{301} two", "café two\n", FuzzyLevel::Canonical),
        ("\tcafe\u{301}\n", "  café", "  café au lait", "\tcafe\u{301} au lait\n", FuzzyLevel::Canonical),
        ("\u{1112}\u{1161}\u{11ab} x\n", "한 x", "한 y", "\u{1112}\u{1161}\u{11ab} y\n", FuzzyLevel::Canonical),
        ("ﬁrst，one\n", "first,one", "first,two", "ﬁrst，two\n", FuzzyLevel::Compatible),
        ("  ﬁ\n  x\n", "\tfi\n\tx", "\tfi\n\ty", "  ﬁ\n  y\n", FuzzyLevel::Compatible),
        ("日本語ﬁ\n", "本語fi", "本語x", "日本語x\n", FuzzyLevel::Compatible),
    ];
    for (file, old, new, expected, level) in rows {
        check(&[(file.as_bytes(), old, new, expected.as_bytes(), level)]);
    }
}

#[test]
fn characters_are_never_torn() {
    // Half of a ligature, and a ch without its mark, are not there.
    for (file, old) in [("ﬁ x\n", "f x"), ("ﬁx\n", "ix y"), ("e\u{301}x", "éy")] {
        assert!(edit(file.as_bytes(), &[one(old, "z")]).is_err(), "{file} {old}");
    }
    check(&[("é\u{300}\n".as_bytes(), "e\u{301}\u{300}", "a", b"a\n", FuzzyLevel::Canonical)]);
}

#[test]
fn bytes_around_a_match_stay_even_if_they_are_not_text() {
    check(&[
        (b"\xff\r\na \r\n\tb\r\n\0\xfe", "a\n  b", "a\n  c", b"\xff\r\na \r\n\tc\r\n\0\xfe", FuzzyLevel::Indentation),
        (
            b"\xe2\x80\n\xe2\x80\x9cx\xe2\x80\x9d\n\xe2",
            "\"x\"",
            "\"y\"",
            b"\xe2\x80\n\xe2\x80\x9cy\xe2\x80\x9d\n\xe2",
            FuzzyLevel::Punctuation,
        ),
    ]);
}

#[test]
fn all_places_can_be_replaced() {
    let file = b"x = 1\ny = x\r\n\tx\n";
    let edited = edit(file, &[all("x", "zz")]).unwrap();
    let span = |old_range, new_range, line| Span { edit: 0, old_range, new_range, lines: (line, line) };
    let expected = EditedFile {
        bytes: b"zz = 1\ny = zz\r\n\tzz\n".to_vec(),
        spans: vec![span(0..1, 0..2, 1), span(10..11, 11..13, 2), span(14..15, 16..18, 3)],
        levels: vec![FuzzyLevel::Exact],
    };
    assert_eq!(edited, expected);
    let edited = edit(b"a \n\tb\n-\n  a\n    b\n", &[all("a\nb", "a\nc")]);
    assert!(edited.is_err(), "one of the blocks is shaped otherwise, and so is the other");
    let edited = edit(b"\ta\n\tb\n-\n  a\n  b\n", &[all("    a\n    b", "    a\n    c")]).unwrap();
    assert_eq!((text(&edited.bytes), edited.levels), (text(b"\ta\n\tc\n-\n  a\n  c\n"), vec![FuzzyLevel::Indentation]));
}

#[test]
fn places_that_overlap_themselves_are_replaced_from_the_left() {
    assert_eq!(edit(b"aaa", &[all("aa", "b")]).unwrap().bytes, b"ba");
}

#[test]
fn edits_are_all_matched_against_the_original() {
    let edits = [one("a", "b"), one("b", "3")];
    let edited = edit(b"a\nb\nc\n", &edits).unwrap();
    assert_eq!((text(&edited.bytes), edited.levels), (text(b"b\n3\nc\n"), vec![FuzzyLevel::Exact, FuzzyLevel::Exact]));
    // Each by its own level, in any order.
    let edits = [one("\"x\"", "\"y\""), one("c  \nd", "c\ne"), one("a", "1")];
    let edited = edit("a\nc\nd\n“x”\n".as_bytes(), &edits).unwrap();
    assert_eq!(edited.levels, [FuzzyLevel::Punctuation, FuzzyLevel::TrailingBlanks, FuzzyLevel::Exact]);
    assert_eq!(text(&edited.bytes), text("1\nc\ne\n“y”\n".as_bytes()));
    assert_eq!(edited.spans.iter().map(|span| (span.edit, span.lines)).collect::<Vec<_>>(), [(2, (1, 1)), (1, (2, 3)), (0, (4, 4))]);
}

#[test]
fn edits_may_touch() {
    assert_eq!(edit(b"ab", &[one("b", "y"), one("a", "x")]).unwrap().bytes, b"xy");
}

#[test]
fn lowest_matching_level_decides() {
    check(&[
        // Exactly once, and more often with blanks forgiven.
        (b"a\nb\na \nb\n", "a\nb", "x", b"x\na \nb\n", FuzzyLevel::Exact),
        // Once with the indentation as it is, and twice without.
        ("\t“a”\n  “a”\n".as_bytes(), "\t\"a\"\n", "\tb\n", "\tb\n  “a”\n".as_bytes(), FuzzyLevel::Punctuation),
    ]);
}
