use std::sync::Arc;

use encoding_rs::SHIFT_JIS;
use haft_contract::{DynTool, Erased, ErrorKind};
use haft_testkit::{FakeHost, FileOperation, context_for, expect_error, expect_text, run_tool};
use serde_json::{Value, json};

use super::*;
use crate::shared::text_file::CHUNK;

/// What a page holds unless more is asked for.
const BYTES: usize = 100 * 1024;

pub(crate) async fn read(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(ReadFile), arguments, Arc::clone(host)).await
}

async fn read_content(content: impl Into<Vec<u8>>, mut arguments: Value) -> Result<ToolOutput, ToolError> {
    let host = FakeHost::new();
    host.files.put("f", content);
    arguments["path"] = "f".into();
    read(&host, arguments).await
}

fn utf_16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

fn numbered(lines: std::ops::RangeInclusive<usize>) -> String {
    lines.map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat()
}

/// Reads page after page, as the details say, and joins what is left without the notes.
async fn read_all(content: &[u8], mut arguments: Value) -> String {
    let host = FakeHost::new();
    host.files.put("f", content);
    arguments["path"] = "f".into();
    let mut all = String::new();
    loop {
        let output = read(&host, arguments.clone()).await.unwrap();
        let details = output.details.clone().unwrap();
        let text = expect_text(Ok(output));
        all.push_str(text.rfind("\n(Showing ").map_or(text.as_str(), |note| &text[..note]));
        if details["next_offset"].is_null() {
            return all;
        }
        if !details["next_column"].is_null() {
            all.pop();
        }
        arguments["offset"] = details["next_offset"].clone();
        arguments["column"] = details["next_column"].clone();
    }
}

#[tokio::test]
async fn a_small_file_comes_as_it_is() {
    let output = read_content("héllo\r\n\tworld", json!({})).await.unwrap();
    let details = json!({
        "path": "f", "kind": "text", "size": 14, "first_line": 1, "last_line": 2, "next_offset": null, "next_column": null, "total_lines": 2,
        "encoding": "UTF-8", "bom": false
    });
    assert_eq!(output, ToolOutput::text("héllo\r\n\tworld").with_details(details));
}

#[tokio::test]
async fn nothing_to_show_is_said_in_words() {
    for (content, arguments, note) in [
        ("", json!({}), "(The file is empty.)"),
        ("\u{feff}", json!({}), "(The file is empty.)"),
        ("", json!({"offset": 7}), "(The file is empty.)"),
        ("a\nb\nc", json!({"offset": 4}), "(Line 4 is past the end: the file has 3 lines.)"),
        ("a\n", json!({"offset": 2}), "(Line 2 is past the end: the file has 1 line.)"),
        ("abc", json!({"column": 9}), "(Column 9 is past the end of line 1.)"),
    ] {
        assert_eq!(expect_text(read_content(content, arguments).await), note, "{content:?}");
    }
}

#[tokio::test]
async fn a_large_file_comes_in_pages_of_whole_lines() {
    let content = numbered(1..=2500);
    let first = expect_text(read_content(content.as_str(), json!({})).await);
    assert_eq!(first, format!("{}\n(Showing lines 1-2000 of a file of 23.3 KB. Continue with offset=2001.)", numbered(1..=2000)));
    let second = expect_text(read_content(content.as_str(), json!({"offset": 2001})).await);
    assert_eq!(second, format!("{}\n(Showing lines 2001-2500, up to the end of the file.)", numbered(2001..=2500)));
    let few = expect_text(read_content(content.as_str(), json!({"offset": 0, "limit": 2})).await);
    assert_eq!(few, "line 1\nline 2\n\n(Showing lines 1-2 of a file of 23.3 KB. Continue with offset=3.)");
}

#[tokio::test]
async fn the_note_counts_as_the_model_does() {
    for (form, note) in [
        (None, "(Showing lines 1-2 of a file of 21 bytes. Continue with offset=3.)"),
        (Some(FORMS[0]), "(Showing lines 1-2 of a file of 21 bytes. Continue with offset=2.)"),
        (Some(FORMS[1]), "(Showing lines 1-2 of a file of 21 bytes. Continue with offset=3.)"),
    ] {
        let host = FakeHost::new();
        host.files.put("f", numbered(1..=3));
        let prepared = Erased::new(ReadFile).prepare(json!({"path": "f", "limit": 2}), &PlanContext::new(&*host)).unwrap();
        let (plan, run) = prepared.into_parts();
        let dialect = form.map(|form| form.dialect).unwrap_or_default();
        let text = expect_text(run(context_for(plan, host).called_as(dialect, form)).await);
        assert_eq!(text, format!("line 1\nline 2\n\n{note}"));
    }
}

#[tokio::test]
async fn a_page_holds_a_hundred_kilobytes_or_a_megabyte_on_request() {
    let content = format!("{}\n", "x".repeat(1023)).repeat(2000);
    let output = read_content(content.as_str(), json!({})).await.unwrap();
    assert_eq!(output.details.as_ref().unwrap()["next_offset"], 101);
    assert!(output.texts().next().unwrap().starts_with(&content[..100 * 1024]));
    let output = read_content(content.as_str(), json!({"limit": 1_000_000})).await.unwrap();
    assert_eq!(output.details.unwrap()["next_offset"], 1025);
}

#[tokio::test]
async fn a_line_longer_than_a_page_is_cut_and_can_be_continued() {
    let line = "€".repeat(50_000);
    let output = expect_text(read_content(line.as_str(), json!({})).await);
    let shown = BYTES / 3;
    let note = format!(
        "(Showing characters 1-{shown} of line 1, which is too long for one page of this 146.5 KB file. \
         Continue with offset=1 and column={}.)",
        shown + 1
    );
    assert_eq!(output, format!("{}\n\n{note}", "€".repeat(shown)));
    let content = format!("first\n{line}\nlast\n");
    assert_eq!(read_all(content.as_bytes(), json!({})).await, content);
}

#[tokio::test]
async fn every_page_together_is_the_file_in_any_encoding() {
    // Lines of many lengths, so that characters and line ends lie across the borders of chunks and pages.
    let lines = (0..4000).map(|number| format!("{number} {}\r\n", "日本é ".repeat(number % 23)));
    let content = lines.collect::<Vec<_>>().concat();
    assert!(content.len() > 400_000);
    assert_eq!(read_all(content.as_bytes(), json!({})).await, content);
    assert_eq!(read_all(&utf_16(&format!("\u{feff}{content}"), u16::to_le_bytes), json!({})).await, content);
    assert_eq!(read_all(&utf_16(&content, u16::to_be_bytes), json!({"encoding": "utf-16be"})).await, content);
    let japanese = content.replace('é', "e");
    let (bytes, _, _) = SHIFT_JIS.encode(&japanese);
    assert_eq!(read_all(&bytes, json!({"encoding": "Shift_JIS"})).await, japanese);
}

#[tokio::test]
async fn encodings_and_byte_order_marks_are_honoured() {
    let cases: [(Vec<u8>, Value, &str, bool); 6] = [
        (b"caf\xe9".to_vec(), json!({"encoding": "ISO-8859-1"}), "windows-1252", false),
        ("\u{feff}café".into(), json!({}), "UTF-8", true),
        (utf_16("\u{feff}café", u16::to_le_bytes), json!({}), "UTF-16LE", true),
        (utf_16("\u{feff}café", u16::to_be_bytes), json!({"encoding": "UTF-8"}), "UTF-16BE", true),
        (utf_16("café", u16::to_le_bytes), json!({"encoding": "utf-16le"}), "UTF-16LE", false),
        ("café".into(), json!({"encoding": "utf8"}), "UTF-8", false),
    ];
    for (content, arguments, encoding, bom) in cases {
        let output = read_content(content, arguments.clone()).await.unwrap();
        let details = output.details.clone().unwrap();
        assert_eq!((expect_text(Ok(output)).as_str(), &details["encoding"], &details["bom"]), ("café", &json!(encoding), &json!(bom)));
    }
    for unknown in ["EBCDIC-9", "", "iso-2022-kr"] {
        let hint = "Use a name such as 'UTF-8', 'UTF-16LE', 'ISO-8859-1', 'windows-1252', 'Shift_JIS' or 'GBK'.";
        let error = expect_error(read_content("x", json!({"encoding": unknown})).await);
        assert_eq!(error, (ErrorKind::ValidationError, format!("Unsupported encoding: '{unknown}'. {hint}")));
    }
    let long = expect_error(read_content("x", json!({"encoding": "x".repeat(100_000)})).await).1;
    assert!(long.len() < 500, "{} bytes", long.len());
}

#[tokio::test]
async fn what_is_not_text_is_refused_with_advice() {
    let latin = "e.g. encoding='ISO-8859-1'; otherwise use another tool.";
    for (content, message) in [
        (
            &b"ab\0c"[..],
            "Not a text file: f (4 bytes) contains NUL bytes and is most likely binary. If it is text in another encoding, name that, \
             e.g. encoding='UTF-16LE'; otherwise use another tool."
                .into(),
        ),
        (
            b"p\0l\0a\0i\0n\0",
            "Not UTF-8 text: f (10 bytes) looks like text in UTF-16 without a byte order mark. Try encoding='UTF-16LE'.".into(),
        ),
        (
            b"\xe9\xe8\xe0 au lait",
            format!(
                "Not UTF-8 text: f (11 bytes) has an invalid byte sequence at byte 0. If it is text in another encoding, name that, {latin}"
            ),
        ),
        (
            b"PK\x03\x04\0\0",
            "Not a text file: f (6 bytes) looks like a ZIP archive, or a document stored as one. Use a tool that is made for such files."
                .into(),
        ),
    ] {
        assert_eq!(expect_error(read_content(content, json!({})).await), (ErrorKind::NotText, message));
    }
    let binary: Vec<u8> = (0..=255).collect();
    assert_eq!(expect_error(read_content(binary, json!({"encoding": "latin1"})).await).0, ErrorKind::NotText);
}

#[tokio::test]
async fn a_bad_byte_spoils_only_its_own_page() {
    let mut content = "x".repeat(99).into_bytes();
    content.push(b'\n');
    let mut content = content.repeat(10_000);
    content[500_050] = 0xff;
    let outcomes = [json!({"limit": 10}), json!({"offset": 4999, "limit": 10}), json!({"offset": 5002, "limit": 10})];
    let [before, at, after] = outcomes.map(|arguments| read_content(content.clone(), arguments));
    assert!(before.await.is_ok());
    let text = expect_text(at.await);
    assert!(text.contains('\u{fffd}') && text.contains("the first at byte 500050:"), "{text}");
    assert!(!expect_text(after.await).contains('\u{fffd}'));
}

#[tokio::test]
async fn reads_are_small_and_no_more_than_needed() {
    let host = FakeHost::new();
    host.files.put("f", numbered(1..=200_000));
    let reads = async |arguments| {
        let before = host.files.reads().len();
        read(&host, arguments).await.unwrap();
        host.files.reads()[before..].iter().map(|read| (read.offset, read.length)).collect::<Vec<_>>()
    };
    assert_eq!(reads(json!({"path": "f"})).await, [(0, HEAD)]);
    let beginning = (0..4).map(|chunk| (chunk * HEAD as u64, HEAD));
    let all: Vec<_> = beginning.chain((1..9).map(|chunk| (chunk * CHUNK as u64, CHUNK))).collect();
    assert_eq!(reads(json!({"path": "f", "offset": 5000})).await, all[..2]);
    assert_eq!(reads(json!({"path": "f", "offset": 199_999})).await, all);
    host.files.put("small", "x");
    assert_eq!(reads(json!({"path": "small"})).await, [(0, HEAD)]);
}

#[tokio::test]
async fn what_the_host_refuses_is_passed_on() {
    let host = FakeHost::new();
    host.files.put("d/a", "x");
    host.files.fail(FileOperation::Read, "d/a", ErrorKind::ExecutionError, "bad sector");
    for (path, kind, message) in [
        ("nope.txt", ErrorKind::FileNotFound, "File not found: nope.txt"),
        ("d/a", ErrorKind::ExecutionError, "bad sector"),
        ("", ErrorKind::ValidationError, "Invalid path: ''. Name a file."),
    ] {
        assert_eq!(expect_error(read(&host, json!({"path": path})).await), (kind, message.to_owned()));
    }
}

#[tokio::test]
async fn lines_are_numbered_on_request() {
    for (content, arguments, expected) in [
        ("a\n\tb\r\n\nd", json!({}), "     1\ta\n     2\t\tb\r\n     3\t\n     4\td"),
        ("a\nb\nc\n", json!({"offset": 2, "limit": 1}), "     2\tb\n\n(Showing lines 2-2 of a file of 6 bytes. Continue with offset=3.)"),
        ("abc", json!({"column": 2}), "     1\tbc\n\n(Showing lines 1-1, up to the end of the file.)"),
        ("", json!({}), "(The file is empty.)"),
    ] {
        let mut arguments = arguments;
        arguments["line_numbers"] = true.into();
        assert_eq!(expect_text(read_content(content, arguments).await), expected, "{content:?}");
    }
    let many = read_content("\n".repeat(2_000_000), json!({"line_numbers": true, "limit": 2_000_000, "offset": 1_000_000})).await.unwrap();
    assert!(many.texts().next().unwrap().len() <= 1024 * 1024);
}

#[tokio::test]
async fn what_is_declared_as_text_is_read_as_text() {
    let pixel = crate::shared::picture::tests::sample(crate::shared::picture::PictureFormat::Png, 1, 1);
    for arguments in [json!({"raw": true}), json!({"encoding": "UTF-8"})] {
        let error = expect_error(read_content(pixel.clone(), arguments).await);
        let message = format!("Not a text file: f ({} bytes) looks like a PNG image. Use a tool that is made for such files.", pixel.len());
        assert_eq!(error, (ErrorKind::NotText, message));
    }
    let latin = read_content(b"%PDF-\xe9".to_vec(), json!({"encoding": "latin1"})).await;
    assert_eq!(expect_text(latin), "%PDF-\u{e9}");
}

#[test]
fn the_plan_reads_the_file_alone_and_checks_what_it_can() {
    let host = FakeHost::new();
    let planned = |arguments| Erased::new(ReadFile).prepare(arguments, &PlanContext::new(&*host));
    let prepared = planned(json!({"path": "a", "pages": "1-3"})).unwrap();
    assert_eq!(serde_json::to_value(prepared.plan().effects()).unwrap(), json!([{"effect": "read", "path": "/workspace/a"}]));
    let message = "Parameter 'pages' must be a page or a range of pages, such as '3', '1-5' or '7-', not 'all'.";
    let refused = planned(json!({"path": "a", "pages": "all"})).map(|_| ());
    assert_eq!(expect_error(refused), (ErrorKind::ValidationError, message.to_owned()));
}

#[test]
fn each_dialect_counts_lines_in_its_own_way() {
    for (dialect, name, argument) in
        [(Dialect::Haft, "read_file", "offset=7"), (Dialect::Claw, "read_file", "offset=6"), (Dialect::OpenClaw, "read", "offset=7")]
    {
        assert_eq!(continue_at(dialect, 7), (name, argument.to_owned()));
    }
}

#[tokio::test]
async fn invalid_bytes_of_a_text_are_shown_as_such_with_a_note() {
    let mut long = b"hello\n".repeat(50_000);
    long.extend_from_slice(b"bad \xff byte\nmore\n");
    let note = |count: &str, at: usize| {
        format!(
            "({count} not UTF-8, the first at byte {at}: shown as \u{fffd}. If the text has another encoding, name it, e.g. encoding='ISO-8859-1'.)"
        )
    };
    for (content, arguments, text, note) in [
        (b"caf\xe9 au lait".to_vec(), json!({}), "caf\u{fffd} au lait", note("1 byte sequence is", 3)),
        (b"caf\xc3".to_vec(), json!({}), "caf\u{fffd}", note("1 byte sequence is", 3)),
        (long.clone(), json!({"offset": 50_001}), "bad \u{fffd} byte\nmore\n", note("1 byte sequence is", 300_004)),
    ] {
        let host = FakeHost::new();
        host.files.put("f", content);
        let mut arguments = arguments;
        arguments["path"] = "f".into();
        let output = run_tool(&Erased::new(ReadFile), arguments, Arc::clone(&host)).await.unwrap();
        let shown = output.texts().next().unwrap();
        assert!(shown.starts_with(text) && shown.contains(&note), "{shown}");
        assert_eq!(output.details.unwrap()["invalid"], 1);
    }
    let host = FakeHost::new();
    host.files.put("f", long);
    let output = run_tool(&Erased::new(ReadFile), json!({"path": "f", "limit": 2}), Arc::clone(&host)).await.unwrap();
    assert_eq!(output.details.unwrap().get("invalid"), None, "a page without them has no note");
}
