use std::sync::Arc;

use haft_contract::{Plan, PlanContext, ProcessOutput};
use haft_testkit::{FakeHost, context_for, expect_error};

use super::helper::{OpenPdf, PdfReader};
use super::protocol::HelperMessage;
use super::*;

/// A document whose pages are the lines of the file.
struct ScriptedPdf(Vec<String>);

impl PdfReader for ScriptedPdf {
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
fn script(data: Vec<u8>) -> Result<Box<dyn PdfReader>, HelperMessage> {
    let text = String::from_utf8(data).unwrap();
    Ok(Box::new(ScriptedPdf(text.lines().skip(1).map(str::to_owned).collect())))
}

fn exited(code: i32, stdout: Vec<u8>) -> ProcessOutput {
    ProcessOutput { code: Some(code), signal: None, stdout, stderr: Vec::new(), truncated: false, timed_out: false }
}

fn in_bubblewrap(output: ProcessOutput) -> HelperOutput {
    HelperOutput { output, sandbox: "bubblewrap".into(), gaps: Vec::new() }
}

/// A host whose helpers run in this process, with this library.
pub(in super::super) fn helper_host(library: OpenPdf) -> Arc<FakeHost> {
    let host = FakeHost::new();
    host.processes.help_with(move |helper_name, input, limits| {
        assert_eq!((helper_name, limits.memory, limits.time), (HELPER, MEMORY, TIMEOUT));
        let mut output = Vec::new();
        helper::answer(library, &*input, &mut output).unwrap();
        assert!(output.len() <= limits.output);
        in_bubblewrap(exited(0, output))
    });
    host
}

/// A host whose helper has this output for every input.
fn fixed_output(output: ProcessOutput) -> Arc<FakeHost> {
    let host = FakeHost::new();
    host.processes.help_with(move |_, _, _| in_bubblewrap(output.clone()));
    host
}

async fn read_on(host: Arc<FakeHost>, content: &str, pages: Option<&str>) -> Result<ToolOutput, ToolError> {
    host.files.put("f.pdf", content);
    let at = PlanContext::new(&*host).locate("f.pdf").unwrap();
    let cx = context_for(Plan::nothing().read(at), host);
    let reader = cx.fs().open("f.pdf").await.unwrap();
    let head = reader.read_at(0, 8).await.unwrap();
    let pages = pages.map(|pages| PageRange::parse(pages).unwrap());
    read_in_helper("f.pdf", pages, &*reader, head, &cx).await
}

async fn read_with(library: OpenPdf, content: &str, pages: Option<&str>) -> Result<ToolOutput, ToolError> {
    read_on(helper_host(library), content, pages).await
}

fn numbered(pages: std::ops::RangeInclusive<usize>) -> String {
    pages.map(|page| format!("text {page}\n")).collect::<Vec<_>>().concat()
}

fn rendered_pages(pages: std::ops::RangeInclusive<usize>, total: usize) -> String {
    pages.map(|page| format!("--- Page {page} of {total} ---\ntext {page}\n")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn pages_are_ten_by_default_and_twenty_on_request() {
    let content = format!("%PDF-\n{}", numbered(1..=45));
    let size = content.len();
    let details = |first: usize, last: usize, next: Option<usize>| json!({"path": "f.pdf", "kind": "pdf", "size": size, "total_pages": 45, "first_page": first, "last_page": last, "next_page": next, "sandbox": "bubblewrap"});
    for (pages, range, note, next) in [
        (None, 1..=10, "(Showing pages 1-10 of 45. Continue with pages=\"11-20\".)", Some(11)),
        (Some("3"), 3..=3, "(Showing pages 3-3 of 45. Continue with pages=\"4-4\".)", Some(4)),
        (Some("1-50"), 1..=20, "(Showing pages 1-20 of 45. Continue with pages=\"21-40\".)", Some(21)),
        (Some("21-40"), 21..=40, "(Showing pages 21-40 of 45. Continue with pages=\"41-45\".)", Some(41)),
    ] {
        let expected = format!("{}\n{note}", rendered_pages(range.clone(), 45));
        let output = read_with(script, &content, pages).await.unwrap();
        assert_eq!(output, ToolOutput::text(expected).with_details(details(*range.start(), *range.end(), next)), "{pages:?}");
    }
    let last = read_with(script, &content, Some("41-")).await.unwrap();
    assert_eq!(last, ToolOutput::text(rendered_pages(41..=45, 45)).with_details(details(41, 45, None)));
}

#[tokio::test]
async fn gaps_of_the_helper_sandbox_are_reported() {
    for (sandbox, gaps, warnings) in [
        ("none", &[][..], json!(null)),
        ("landlock", &["x", "y"], json!(["the sandbox of the PDF helper does not enforce everything: x; y"])),
    ] {
        let host = FakeHost::new();
        host.processes.help_with(move |_, input, _| {
            let mut output = Vec::new();
            helper::answer(script, &*input, &mut output).unwrap();
            HelperOutput { output: exited(0, output), sandbox: sandbox.into(), gaps: gaps.iter().map(|gap| (*gap).to_owned()).collect() }
        });
        let details = read_on(host, "%PDF-\none\n", None).await.unwrap().details.unwrap();
        assert_eq!((&details["sandbox"], &details["warnings"]), (&json!(sandbox), &warnings));
    }
}

#[tokio::test]
async fn pages_without_text_say_why() {
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
        let output = read_with(script, content, pages).await.unwrap();
        assert_eq!(output.texts().collect::<String>(), expected, "{content:?}");
    }
}

#[tokio::test]
async fn page_is_truncated_and_the_next_one_named() {
    let output = read_with(script, "%PDF-\nlong\ntwo\n", None).await.unwrap();
    let expected = format!(
        "--- Page 1 of 2 ---\n{}\n(The rest of this page is left out.)\n\n(Showing pages 1-1 of 2. Continue with pages=\"2-2\".)",
        "é".repeat(BYTES / 2)
    );
    assert_eq!(output.texts().collect::<String>(), expected);
    let whole = read_with(script, "%PDF-\nlong\ntwo\n", Some("1-2")).await.unwrap();
    assert!(whole.texts().next().unwrap().ends_with("é\n\n--- Page 2 of 2 ---\ntwo\n"));
}

#[tokio::test]
async fn pages_read_before_the_helper_ended_are_returned() {
    let said = "{\"total\":3}\n{\"text\":\"one\"}\n{\"text\":\"tw";
    let one = "--- Page 1 of 3 ---\none\n";
    let late = format!("{one}\n(Showing pages 1-1 of 3. Continue with pages=\"2-2\".)");
    let crashed = |how: &str| {
        let page = format!("--- Page 2 of 3 ---\n(this page cannot be read: the PDF helper process ended with {how})\n");
        format!("{one}\n{page}\n(Showing pages 1-2 of 3. Continue with pages=\"3-3\".)")
    };
    let output = |code, signal, timed_out| ProcessOutput { code, signal, timed_out, ..exited(0, said.into()) };
    for (output, expected) in [
        (output(None, Some(15), true), late),
        (output(None, Some(11), false), crashed("signal 11")),
        (output(Some(134), None, false), crashed("signal 6")),
        (output(Some(1), None, false), crashed("exit code 1")),
    ] {
        let result = read_on(fixed_output(output), "%PDF-\n", None).await.unwrap();
        assert_eq!(result.texts().collect::<String>(), expected);
    }
}

#[tokio::test]
async fn helper_without_output_is_reported_by_its_exit() {
    let crashed = "Not a text file: f.pdf (6 bytes) is a PDF document, but the PDF helper process ended with signal 6. The document \
                   is damaged, or malicious.";
    let slow = "Reading f.pdf took longer than 8 s, and not one page was done. Ask for fewer pages.";
    let late = ProcessOutput { code: None, signal: Some(9), timed_out: true, ..exited(0, Vec::new()) };
    for (output, expected) in [
        (exited(134, Vec::new()), (ErrorKind::NotText, crashed.to_owned())),
        (exited(134, b"no JSON\n{\"total\":1}\n".to_vec()), (ErrorKind::NotText, crashed.to_owned())),
        (late, (ErrorKind::Timeout, slow.to_owned())),
    ] {
        assert_eq!(expect_error(read_on(fixed_output(output), "%PDF-\n", None).await), expected);
    }
}

#[tokio::test]
async fn helper_output_beyond_the_request_is_ignored() {
    let said = "{\"total\":2}\n{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}\n";
    let result = read_on(fixed_output(exited(0, said.into())), "%PDF-\n", Some("2")).await.unwrap();
    assert_eq!(result.texts().collect::<String>(), "--- Page 2 of 2 ---\none\n");
}

#[tokio::test]
async fn document_that_cannot_be_opened_is_refused_with_the_reason() {
    let cases: [(OpenPdf, &str); 3] = [
        (|_| Err(HelperMessage::Locked), "but it is encrypted and needs a password. Get a copy without one."),
        (|_| Err(HelperMessage::Damaged("no trailer".into())), "but it cannot be read: no trailer. It may be damaged."),
        (|_| panic!("not sound"), "but it cannot be read: the library that reads it failed. It may be damaged."),
    ];
    for (library, why) in cases {
        let expected = format!("Not a text file: f.pdf (6 bytes) is a PDF document, {why}");
        assert_eq!(expect_error(read_with(library, "%PDF-\n", None).await), (ErrorKind::NotText, expected));
    }
}

#[tokio::test]
async fn document_is_not_read_without_a_helper() {
    let error = expect_error(read_on(FakeHost::new(), "%PDF-\n", None).await);
    let message = "Cannot read f.pdf: PDF documents are read in a sandboxed helper process. This host starts no helpers.";
    assert_eq!(error, (ErrorKind::SandboxUnavailable, message.to_owned()));
    let error = unsupported("f.pdf", 6);
    let message = "Not a text file: f.pdf (6 bytes) is a PDF document, and this build of Haft cannot read those. Build it with \
                   `--features pdf`, or convert the document to text (for example with `pdftotext`).";
    assert_eq!((error.kind(), error.message()), (ErrorKind::NotText, message));
}

#[tokio::test]
async fn ended_call_gets_no_helper() {
    let cx = context_for(Plan::nothing(), helper_host(script));
    cx.cancellation().cancel();
    let error = run_helper("f.pdf", &PageRequest::new(PageRange::default(), BYTES), b"%PDF-\n", &cx).await.unwrap_err();
    let message = "The call has ended, and with it what its tool may do. Nothing was done.";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, message));
}

#[tokio::test]
async fn document_that_is_too_large_is_refused() {
    let content = format!("%PDF-{}", " ".repeat(LARGEST));
    let error = expect_error(read_with(script, &content, None).await);
    assert_eq!(error, (ErrorKind::FileTooLarge, "File too large: f.pdf (64.0 MB) is a PDF document of more than 64.0 MB.".into()));
}
