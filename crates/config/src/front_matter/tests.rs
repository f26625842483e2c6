use super::{FrontMatter, FrontMatterValue};

fn text(head: &str) -> Result<String, String> {
    let file = format!("---\nname: x\ndescription: {head}\n---\nbody\n");
    let parsed = FrontMatter::parse(&file).map_err(|error| error.to_string())?;
    parsed.text("description").map(|text| text.unwrap_or_default().to_owned()).map_err(|error| error.to_string())
}

#[test]
fn text_is_read_as_people_write_it() {
    let table = [
        ("plain", "plain"),
        ("Use when: the user asks. Note: a colon", "Use when: the user asks. Note: a colon"),
        ("a\n  second line: with a colon\n\n  and a paragraph", "a second line: with a colon\nand a paragraph"),
        ("\n  begins on\n  the next line", "begins on the next line"),
        ("text # a comment", "text"),
        ("C# and F#", "C# and F#"),
        ("\"quoted: \\\"inner\\\" \\u00e4\\n\"", "quoted: \"inner\" ä"),
        ("'it''s'", "it's"),
        ("\"two\n  lines\"", "two lines"),
        ("|\n  one\n    two\n\n  three", "one\n  two\n\nthree"),
        (">-\n  one\n  two\n\n  three", "one two\nthree"),
        (">\n  one", "one"),
        ("", ""),
        ("*", "*"),
        ("--- dashes", "--- dashes"),
        ("|-\n  # not a comment", "# not a comment"),
    ];
    for (written, expected) in table {
        assert_eq!(text(written).as_deref(), Ok(expected), "{written:?}");
    }
}

#[test]
fn broken_front_matter_names_line_and_remedy() {
    let table = [
        ("---\nname: a\n", "line 1: the front matter has no end: write a line --- after its last field"),
        ("---\nname: a\nname: b\n---\n", "line 3: 'name' is there twice: remove one"),
        ("---\nno field\n---\n", "line 2: this is not 'key: value': indent it if it continues the line above"),
        ("---\na: 1\n  \tb: 2\n---\n", "line 3: the indentation has a tab: use blanks"),
        ("---\na: \"open\n---\n", "line 2: the value has no closing \""),
        ("---\na: [one, two\n---\n", "line 2: the value has no closing ]"),
        ("---\na: {\"b\": 1\n---\n", "line 2: the value has no closing }"),
        ("---\na: &anchor b\n---\n", "line 2: a value must not start with &: put it in quotation marks"),
        ("---\na: *alias\n---\n", "line 2: a value must not start with *: put it in quotation marks"),
        ("---\na: !!binary b\n---\n", "line 2: a value must not start with !: put it in quotation marks"),
        ("---\na: \"b\" c\n---\n", "line 2: there is text after the closing \": remove it, or quote it, too"),
        ("---\na: \"\\q\"\n---\n", "line 2: \\q is no escape: write \\\\q, or use ' instead of \""),
        ("---\na: | text\n---\n", "line 2: text after | or > belongs on the next line, indented"),
        ("---\n  a: 1\nb: 2\n---\n", "line 3: a field was expected here: write 'key: value' without indentation"),
    ];
    for (file, expected) in table {
        assert_eq!(FrontMatter::parse(file).map_err(|error| error.to_string()), Err(expected.to_owned()), "{file:?}");
    }
}

#[test]
fn entries_come_from_lists_and_from_text() {
    let expected = ["Read".to_owned(), "Bash(git status, *)".to_owned()];
    for written in [
        "Read, Bash(git status, *)",
        "Read Bash(git status, *)",
        "[Read, \"Bash(git status, *)\"]",
        "\n  - Read\n  - Bash(git status, *)",
        "\n- Read\n- 'Bash(git status, *)'",
    ] {
        let file = format!("---\nallowed-tools: {written}\n---\n");
        let parsed = FrontMatter::parse(&file).unwrap();
        assert_eq!(parsed.entries("allowed-tools").unwrap().unwrap(), expected, "{written:?}");
    }
    let none = FrontMatter::parse("---\nallowed-tools:\n---\n").unwrap();
    assert_eq!((none.entries("allowed-tools").unwrap(), none.entries("missing").unwrap()), (Some(Vec::new()), None));
}

#[test]
fn nested_fields_and_braces_are_kept_and_are_no_text() {
    let file = "---\nmetadata:\n  author: someone\n  list:\n    - when: a\n      then: b\n    - plain\nopen: {\"claw\": {\"emoji\": \"}\"}}\nlater:\n  {\n    \"a\": [1]\n  }\nlast: true\n---\nrest";
    let parsed = FrontMatter::parse(file).unwrap();
    let keys: Vec<&str> = parsed.fields.iter().map(|field| field.key.as_str()).collect();
    assert_eq!(keys, ["metadata", "open", "later", "last"]);
    assert_eq!(parsed.field("open").unwrap().value, FrontMatterValue::Braces("{\"claw\": {\"emoji\": \"}\"}}".into()));
    assert_eq!(parsed.flag("last").unwrap(), Some(true));
    assert_eq!(parsed.text("metadata").unwrap_err().to_string(), "line 2: 'metadata' must be text: put it in quotation marks");
    assert_eq!(parsed.body, "rest");
    let FrontMatterValue::Fields(fields) = &parsed.field("metadata").unwrap().value else { panic!("fields") };
    let FrontMatterValue::List(items) = &fields[1].value else { panic!("list") };
    assert_eq!(items.len(), 2);
    assert_eq!(items[1], FrontMatterValue::Text("plain".into()));
}

#[test]
fn line_ends_byte_order_mark_and_files_without_front_matter_are_read() {
    let windows = FrontMatter::parse("\u{feff}---\r\nname: a\r\ntext: |\r\n  b\r\n---\r\nbody\r\n").unwrap();
    assert_eq!((windows.text("name").unwrap(), windows.text("text").unwrap(), windows.body), (Some("a"), Some("b"), "body\r\n"));
    for (file, body) in [("", ""), ("# Title\n---\n", "# Title\n---\n"), ("---\n---\nbody", "body"), ("----\nx", "----\nx")] {
        let parsed = FrontMatter::parse(file).unwrap();
        assert_eq!((parsed.fields.len(), parsed.body), (0, body), "{file:?}");
    }
}

#[test]
fn huge_and_deep_front_matter_is_refused() {
    let huge = format!("---\nname: {}\n---\n", "x".repeat(super::MAX_BYTES));
    assert!(FrontMatter::parse(&huge).unwrap_err().to_string().contains("at most 65536 are read"));
    let deep = (0..200).map(|level| format!("{}k:", " ".repeat(level))).collect::<Vec<_>>().join("\n");
    assert!(FrontMatter::parse(&format!("---\n{deep}\n---\n")).unwrap_err().to_string().contains("levels"));
    let deep_list = format!("---\na:\n{}\n---\n", (0..200).map(|level| format!("{}-", " ".repeat(level))).collect::<Vec<_>>().join("\n"));
    assert!(FrontMatter::parse(&deep_list).unwrap_err().to_string().contains("levels"));
    let many_lines = format!("---\na: \"\n{}---\n", " b\n".repeat(super::MAX_LINES));
    assert!(FrontMatter::parse(&many_lines).unwrap_err().to_string().contains("at most 2000 are read"));
    assert!(FrontMatter::parse(&format!("---\na: {}{}\n---\n", "[".repeat(30_000), "]".repeat(30_000))).is_ok());
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed_or_refused_without_a_panic(text in "(---\n)?([a-c]: ?|- |  |[\"'\\[\\]{}|>#&*\\\\\n:ä-])*(---\n)?.*") {
        let _ = FrontMatter::parse(&text);
    }
}
