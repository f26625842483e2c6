use std::sync::OnceLock;

use haft_contract::{Plan, PlanContext};
use haft_testkit::{FakeHost, context_for, expect_error};
use tokio::sync::Notify;

use super::extract::Document;
use super::*;

static HANGS: Notify = Notify::const_new();
static GOES_ON: OnceLock<()> = OnceLock::new();

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
            "hang" => {
                HANGS.notify_one();
                GOES_ON.wait();
                Ok("late".into())
            }
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

async fn read(library: Option<Open>, content: &str, pages: Option<&str>) -> Result<ToolOutput, ToolError> {
    let host = FakeHost::new();
    host.files.put("f.pdf", content);
    let at = PlanContext::new(&*host).locate("f.pdf").unwrap();
    let cx = context_for(Plan::nothing().read(at), host);
    let reader = cx.fs().open("f.pdf").await.unwrap();
    let head = reader.read_at(0, 8).await.unwrap();
    let pages = pages.map(|pages| Pages::parse(pages).unwrap());
    shown_by(library, "f.pdf", pages, &*reader, head).await
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
    let details = |first: usize, last: usize, next: Option<usize>| json!({"path": "f.pdf", "kind": "pdf", "size": size, "total_pages": 45, "first_page": first, "last_page": last, "next_page": next});
    for (pages, range, note, next) in [
        (None, 1..=10, "(Showing pages 1-10 of 45. Continue with pages=\"11-20\".)", Some(11)),
        (Some("3"), 3..=3, "(Showing pages 3-3 of 45. Continue with pages=\"4-4\".)", Some(4)),
        (Some("1-50"), 1..=20, "(Showing pages 1-20 of 45. Continue with pages=\"21-40\".)", Some(21)),
        (Some("21-40"), 21..=40, "(Showing pages 21-40 of 45. Continue with pages=\"41-45\".)", Some(41)),
    ] {
        let expected = format!("{}\n{note}", shown_pages(range.clone(), 45));
        let output = read(Some(script), &content, pages).await.unwrap();
        assert_eq!(output, ToolOutput::text(expected).with_details(details(*range.start(), *range.end(), next)), "{pages:?}");
    }
    let last = read(Some(script), &content, Some("41-")).await.unwrap();
    assert_eq!(last, ToolOutput::text(shown_pages(41..=45, 45)).with_details(details(41, 45, None)));
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
        let output = read(Some(script), content, pages).await.unwrap();
        assert_eq!(output.texts().collect::<String>(), expected, "{content:?}");
    }
}

#[tokio::test]
async fn a_page_is_bounded_and_the_next_one_named() {
    let output = read(Some(script), "%PDF-\nlong\ntwo\n", None).await.unwrap();
    let expected = format!(
        "--- Page 1 of 2 ---\n{}\n(The rest of this page is left out.)\n\n(Showing pages 1-1 of 2. Continue with pages=\"2-2\".)",
        "é".repeat(BYTES / 2)
    );
    assert_eq!(output.texts().collect::<String>(), expected);
    let whole = read(Some(script), "%PDF-\nlong\ntwo\n", Some("1-2")).await.unwrap();
    assert!(whole.texts().next().unwrap().ends_with("é\n\n--- Page 2 of 2 ---\ntwo\n"));
}

#[tokio::test]
async fn what_was_read_when_time_is_up_is_shown() {
    let mut reading = Box::pin(read(Some(script), "%PDF-\none\nhang\nthree\n", None));
    tokio::select! {
        _ = &mut reading => panic!("it hangs"),
        () = HANGS.notified() => {}
    }
    // From here on time passes as soon as there is nothing else to do.
    tokio::time::pause();
    let output = reading.await.unwrap();
    GOES_ON.set(()).unwrap();
    let text = "--- Page 1 of 3 ---\none\n\n(Showing pages 1-1 of 3. Continue with pages=\"2-2\".)";
    assert_eq!(output.texts().collect::<String>(), text);
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused_with_its_reason() {
    let cases: [(Option<Open>, &str); 4] = [
        (None, "and this build of Haft does not read those: it was made without the feature 'pdf'."),
        (Some(|_| Err(Refusal::Locked)), "but it is encrypted and asks for a password. Get a copy without one."),
        (Some(|_| Err(Refusal::Damaged("no trailer".into()))), "but it cannot be read: no trailer. It may be damaged."),
        (Some(|_| panic!("not sound")), ""),
    ];
    for (library, why) in cases {
        let error = expect_error(read(library, "%PDF-\n", None).await);
        let expected = if why.is_empty() {
            (ErrorKind::ExecutionError, "The reading of a PDF document failed: not sound.".to_owned())
        } else {
            (ErrorKind::NotText, format!("Not a text file: f.pdf (6 bytes) is a PDF document, {why}"))
        };
        assert_eq!(error, expected);
    }
}

#[tokio::test]
async fn a_document_that_is_too_large_is_not_read() {
    let content = format!("%PDF-{}", " ".repeat(LARGEST));
    let error = expect_error(read(Some(script), &content, None).await);
    assert_eq!(error, (ErrorKind::FileTooLarge, "File too large: f.pdf (64.0 MB) is a PDF document of more than 64.0 MB.".into()));
}
