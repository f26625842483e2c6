use std::sync::Arc;

use haft_contract::{Plan, PlanContext, ProcessOutput};
use haft_testkit::{FakeHost, context_for, expect_error};

use super::helper::{Document, Open, Refusal};
use super::*;

/// A document as a test wants it: each page is what the file's lines say.
struct Script(Vec<String>);

impl Document for Script {
    fn pages(&self) -> Result<usize, String> {
        Ok(self.0.len())
    }
    fn text(&self, page: usize) -> Result<String, String> {
        match self.0[page].as_str() {
            "panic" => panic!("the library is not sound"),
            "bad" => Err("no such font".into()),
            "long" => Ok("é".repeat(60_000)),
            text => Ok(text.to_owned()),
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as the library's own")]
fn script(data: Vec<u8>) -> Result<Box<dyn Document>, Refusal> {
    let text = String::from_utf8(data).unwrap();
    Ok(Box::new(Script(text.lines().skip(1).map(str::to_owned).collect())))
}

fn ended(code: i32, stdout: Vec<u8>) -> ProcessOutput {
    ProcessOutput { code: Some(code), signal: None, stdout, stderr: Vec::new(), truncated: false, timed_out: false }
}

fn walled(output: ProcessOutput) -> Helped {
    Helped { output, walls: "bubblewrap".into(), lacks: Vec::new() }
}

/// A host whose helpers are in this process, and read with this library.
pub(in super::super) fn helped_by(library: Open) -> Arc<FakeHost> {
    let host = FakeHost::new();
    host.processes.help_with(move |stage, input, limits| {
        assert_eq!((stage, limits.memory, limits.time), (STAGE, MEMORY, PATIENCE));
        let mut said = Vec::new();
        helper::answer(library, &*input, &mut said).unwrap();
        assert!(said.len() <= limits.output);
        walled(ended(0, said))
    });
    host
}

/// A host whose helper ends like this, whatever it is given.
fn answered(output: ProcessOutput) -> Arc<FakeHost> {
    let host = FakeHost::new();
    host.processes.help_with(move |_, _, _| walled(output.clone()));
    host
}

async fn read_on(host: Arc<FakeHost>, built: bool, content: &str, pages: Option<&str>) -> Result<ToolOutput, ToolError> {
    host.files.put("f.pdf", content);
    let at = PlanContext::new(&*host).locate("f.pdf").unwrap();
    let cx = context_for(Plan::nothing().read(at), host);
    let reader = cx.fs().open("f.pdf").await.unwrap();
    let head = reader.read_at(0, 8).await.unwrap();
    let pages = pages.map(|pages| Pages::parse(pages).unwrap());
    shown_by(built, "f.pdf", pages, &*reader, head, &cx).await
}

async fn read(library: Open, content: &str, pages: Option<&str>) -> Result<ToolOutput, ToolError> {
    read_on(helped_by(library), true, content, pages).await
}

fn numbered(pages: std::ops::RangeInclusive<usize>) -> String {
    pages.map(|page| format!("text {page}\n")).collect::<Vec<_>>().concat()
}

fn shown_pages(pages: std::ops::RangeInclusive<usize>, total: usize) -> String {
    pages.map(|page| format!("--- Page {page} of {total} ---\ntext {page}\n")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn pages_come_ten_at_a_time_and_twenty_on_request() {
    let content = format!("%PDF-\n{}", numbered(1..=45));
    let size = content.len();
    let details = |first: usize, last: usize, next: Option<usize>| json!({"path": "f.pdf", "kind": "pdf", "size": size, "total_pages": 45, "first_page": first, "last_page": last, "next_page": next, "walls": "bubblewrap"});
    for (pages, range, note, next) in [
        (None, 1..=10, "(Showing pages 1-10 of 45. Continue with pages=\"11-20\".)", Some(11)),
        (Some("3"), 3..=3, "(Showing pages 3-3 of 45. Continue with pages=\"4-4\".)", Some(4)),
        (Some("1-50"), 1..=20, "(Showing pages 1-20 of 45. Continue with pages=\"21-40\".)", Some(21)),
        (Some("21-40"), 21..=40, "(Showing pages 21-40 of 45. Continue with pages=\"41-45\".)", Some(41)),
    ] {
        let expected = format!("{}\n{note}", shown_pages(range.clone(), 45));
        let output = read(script, &content, pages).await.unwrap();
        assert_eq!(output, ToolOutput::text(expected).with_details(details(*range.start(), *range.end(), next)), "{pages:?}");
    }
    let last = read(script, &content, Some("41-")).await.unwrap();
    assert_eq!(last, ToolOutput::text(shown_pages(41..=45, 45)).with_details(details(41, 45, None)));
}

#[tokio::test]
async fn what_the_walls_of_the_helper_lack_is_told() {
    for (walls, lacks, warnings) in [
        ("none", &[][..], json!(null)),
        ("landlock", &["x", "y"], json!(["the walls of the helper were weaker than they should be: x; y"])),
    ] {
        let host = FakeHost::new();
        host.processes.help_with(move |_, input, _| {
            let mut said = Vec::new();
            helper::answer(script, &*input, &mut said).unwrap();
            Helped { output: ended(0, said), walls: walls.into(), lacks: lacks.iter().map(|lack| (*lack).to_owned()).collect() }
        });
        let details = read_on(host, true, "%PDF-\none\n", None).await.unwrap().details.unwrap();
        assert_eq!((&details["walls"], &details["warnings"]), (&json!(walls), &warnings));
    }
}

#[tokio::test]
async fn what_a_page_lacks_is_said_in_its_place() {
    for (content, pages, expected) in [
        (
            "%PDF-\none\npanic\nbad\n \nfive",
            None,
            "--- Page 1 of 5 ---\none\n\n--- Page 2 of 5 ---\n(this page cannot be read: the library that reads it failed)\n\n\
             --- Page 3 of 5 ---\n(this page cannot be read: no such font)\n\n--- Page 4 of 5 ---\n(no text on this page)\n\n\
             --- Page 5 of 5 ---\nfive\n",
        ),
        (
            "%PDF-\n \n \n",
            Some("1"),
            "--- Page 1 of 2 ---\n(no text on this page)\n\n\
             (There is no text: the pages may be scanned pictures, which this tool cannot read.)\n\
             (Showing pages 1-1 of 2. Continue with pages=\"2-2\".)",
        ),
        ("%PDF-\n", None, "(The document has no pages.)"),
        ("%PDF-\none", Some("2"), "(Page 2 is past the end: the document has 1 page.)"),
        ("%PDF-\none\ntwo", Some("7-9"), "(Page 7 is past the end: the document has 2 pages.)"),
    ] {
        let output = read(script, content, pages).await.unwrap();
        assert_eq!(output.texts().collect::<String>(), expected, "{content:?}");
    }
}

#[tokio::test]
async fn a_page_is_bounded_and_the_next_one_named() {
    let output = read(script, "%PDF-\nlong\ntwo\n", None).await.unwrap();
    let expected = format!(
        "--- Page 1 of 2 ---\n{}\n(The rest of this page is left out.)\n\n(Showing pages 1-1 of 2. Continue with pages=\"2-2\".)",
        "é".repeat(BYTES / 2)
    );
    assert_eq!(output.texts().collect::<String>(), expected);
    let whole = read(script, "%PDF-\nlong\ntwo\n", Some("1-2")).await.unwrap();
    assert!(whole.texts().next().unwrap().ends_with("é\n\n--- Page 2 of 2 ---\ntwo\n"));
}

#[tokio::test]
async fn what_was_read_stays_whatever_ends_the_helper() {
    let said = "{\"total\":3}\n{\"text\":\"one\"}\n{\"text\":\"tw";
    let one = "--- Page 1 of 3 ---\none\n";
    let late = format!("{one}\n(Showing pages 1-1 of 3. Continue with pages=\"2-2\".)");
    let died = |how: &str| {
        let page = format!("--- Page 2 of 3 ---\n(this page cannot be read: reading it ended the helper that did, with {how})\n");
        format!("{one}\n{page}\n(Showing pages 1-2 of 3. Continue with pages=\"3-3\".)")
    };
    let output = |code, signal, timed_out| ProcessOutput { code, signal, timed_out, ..ended(0, said.into()) };
    for (output, expected) in [
        (output(None, Some(15), true), late),
        (output(None, Some(11), false), died("signal 11")),
        (output(Some(134), None, false), died("signal 6")),
        (output(Some(1), None, false), died("exit code 1")),
    ] {
        let shown = read_on(answered(output), true, "%PDF-\n", None).await.unwrap();
        assert_eq!(shown.texts().collect::<String>(), expected);
    }
}

#[tokio::test]
async fn a_helper_that_says_nothing_is_told_by_its_end() {
    let crashed = "Not a text file: f.pdf (6 bytes) is a PDF document, but reading it ended the helper that did, with signal 6. \
                   It is damaged, or made to do harm.";
    let slow = "Reading f.pdf took longer than 8 s, and not one page was done. Ask for fewer pages.";
    let late = ProcessOutput { code: None, signal: Some(9), timed_out: true, ..ended(0, Vec::new()) };
    for (output, expected) in [
        (ended(134, Vec::new()), (ErrorKind::NotText, crashed.to_owned())),
        (ended(134, b"no JSON\n{\"total\":1}\n".to_vec()), (ErrorKind::NotText, crashed.to_owned())),
        (late, (ErrorKind::Timeout, slow.to_owned())),
    ] {
        assert_eq!(expect_error(read_on(answered(output), true, "%PDF-\n", None).await), expected);
    }
}

#[tokio::test]
async fn a_helper_says_no_more_than_was_wanted() {
    let said = "{\"total\":2}\n{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}\n";
    let shown = read_on(answered(ended(0, said.into())), true, "%PDF-\n", Some("2")).await.unwrap();
    assert_eq!(shown.texts().collect::<String>(), "--- Page 2 of 2 ---\none\n");
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused_with_its_reason() {
    let cases: [(Open, &str); 3] = [
        (|_| Err(Refusal::Locked), "but it is encrypted and asks for a password. Get a copy without one."),
        (|_| Err(Refusal::Damaged("no trailer".into())), "but it cannot be read: no trailer. It may be damaged."),
        (|_| panic!("not sound"), "but it cannot be read: the library that reads it failed. It may be damaged."),
    ];
    for (library, why) in cases {
        let expected = format!("Not a text file: f.pdf (6 bytes) is a PDF document, {why}");
        assert_eq!(expect_error(read(library, "%PDF-\n", None).await), (ErrorKind::NotText, expected));
    }
}

#[tokio::test]
async fn without_a_helper_nothing_is_read() {
    let error = expect_error(read_on(FakeHost::new(), true, "%PDF-\n", None).await);
    let message = "Cannot read f.pdf: PDF documents are read by a helper, in a process of its own. This host starts no helpers.";
    assert_eq!(error, (ErrorKind::SandboxUnavailable, message.to_owned()));
    let error = expect_error(read_on(helped_by(script), false, "%PDF-\n", None).await);
    let message = "Not a text file: f.pdf (6 bytes) is a PDF document, and this build of Haft does not read those: it was made without the \
                   feature 'pdf'.";
    assert_eq!(error, (ErrorKind::NotText, message.to_owned()));
}

#[tokio::test]
async fn a_call_that_has_ended_gets_no_helper() {
    let cx = context_for(Plan::nothing(), helped_by(script));
    cx.cancellation().cancel();
    let error = helped("f.pdf", &Wanted::new(Pages::default(), BYTES), b"%PDF-\n", &cx).await.unwrap_err();
    let message = "The call has ended, and with it what its tool may do. Nothing was done.";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, message));
}

#[tokio::test]
async fn a_document_that_is_too_large_is_not_read() {
    let content = format!("%PDF-{}", " ".repeat(LARGEST));
    let error = expect_error(read(script, &content, None).await);
    assert_eq!(error, (ErrorKind::FileTooLarge, "File too large: f.pdf (64.0 MB) is a PDF document of more than 64.0 MB.".into()));
}
