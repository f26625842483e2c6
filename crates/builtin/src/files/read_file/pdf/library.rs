//! The library that reads PDF documents, and how it is used: the only place that knows it.
//!
//! It recurses as deep as a document nests, and goes round where one leads back to itself. What nests in plain sight is
//! refused here and what takes too long is not waited for; but a document can hide both in compressed parts, and only a
//! process of its own could hold that.

use pdf_oxide::PdfDocument;

use super::extract::{Document, Refusal};

/// Half of what the stack of its thread holds, measured without optimisation. Real documents nest a few dozen times.
const DEEPEST: usize = 10_000;

/// Opens a document. Many are encrypted with no password at all, only to forbid printing; those are read.
pub(super) fn open(data: Vec<u8>) -> Result<Box<dyn Document>, Refusal> {
    let damaged = |error: pdf_oxide::Error| Refusal::Damaged(error.to_string());
    if depth(&data) > DEEPEST {
        return Err(Refusal::Damaged(format!("it nests deeper than {DEEPEST} times")));
    }
    let document = PdfDocument::from_bytes(data).map_err(damaged)?;
    if document.is_encrypted() && !document.is_authenticated() && !document.authenticate(b"").map_err(damaged)? {
        return Err(Refusal::Locked);
    }
    Ok(Box::new(Library(document)))
}

/// How many brackets are open at most, wherever one begins to count: no byte is sure not to be read as one.
fn depth(data: &[u8]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut before = 0;
    for &byte in data {
        match (before, byte) {
            (_, b'[') | (b'<', b'<') => open += 1,
            (_, b']') | (b'>', b'>') => open = open.saturating_sub(1),
            _ => {}
        }
        // Of `<<<` only two make a bracket.
        before = if before == byte { 0 } else { byte };
        deepest = deepest.max(open);
    }
    deepest
}

struct Library(PdfDocument);

impl Document for Library {
    fn pages(&self) -> Result<usize, String> {
        self.0.page_count().map_err(|error| error.to_string())
    }
    fn text(&self, page: usize) -> Result<String, String> {
        self.0.extract_text(page).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use haft_contract::ErrorKind;
    use haft_testkit::{FakeHost, expect_error, expect_text};
    use serde_json::json;

    use super::super::super::tests::read;
    use super::*;

    /// A document by hand: each page with its lines, in one of the fonts that every reader has.
    fn document(pages: &[&[&str]], trailer: &str) -> Vec<u8> {
        let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".into(),
        ];
        for (page, lines) in pages.iter().enumerate() {
            let lines: Vec<String> = lines.iter().map(|line| format!("({line}) Tj T*")).collect();
            let content = format!("BT /F1 12 Tf 72 720 Td 14 TL {} ET", lines.join(" "));
            let resources = "/Resources << /Font << /F1 3 0 R >> >>";
            objects.push(format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} /Contents {} 0 R >>", 5 + 2 * page));
            objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
        }
        let (mut text, mut table) = ("%PDF-1.4\n".to_owned(), format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
        for (place, object) in objects.iter().enumerate() {
            writeln!(table, "{:010} 00000 n ", text.len()).unwrap();
            write!(text, "{} 0 obj\n{object}\nendobj\n", place + 1).unwrap();
        }
        let start = text.len();
        let trailer = format!("trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
        format!("{text}{table}{trailer}").into_bytes()
    }

    #[tokio::test]
    async fn the_text_of_a_document_is_read_by_pages() {
        let host = FakeHost::new();
        host.files.put("a.pdf", document(&[&["Hello world", "second line"], &[], &["third page"]], ""));
        let all = "--- Page 1 of 3 ---\nHello world\nsecond line\n\n--- Page 2 of 3 ---\n(no text on this page)\n\n--- Page 3 of 3 ---\nthird page\n";
        assert_eq!(expect_text(read(&host, json!({"path": "a.pdf"})).await), all);
        let one = "--- Page 1 of 3 ---\nHello world\nsecond line\n\n(Showing pages 1-1 of 3. Continue with pages=\"2-2\".)";
        assert_eq!(expect_text(read(&host, json!({"path": "a.pdf", "pages": "1"})).await), one);
    }

    #[tokio::test]
    async fn what_is_locked_or_damaged_is_refused() {
        let host = FakeHost::new();
        let keys = format!("/O <{}> /U <{}>", "41".repeat(32), "42".repeat(32));
        let locked = format!("/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 {keys} >> /ID [<31> <31>]");
        host.files.put("locked.pdf", document(&[&["secret"]], &locked));
        let noise: Vec<u8> = b"%PDF-1.4\n".iter().copied().chain((0..=255).cycle().take(5000)).collect();
        host.files.put("noise.pdf", noise);
        let (kind, message) = expect_error(read(&host, json!({"path": "locked.pdf"})).await);
        assert_eq!(kind, ErrorKind::NotText);
        assert!(message.ends_with("is a PDF document, but it is encrypted and asks for a password. Get a copy without one."), "{message}");
        let (kind, message) = expect_error(read(&host, json!({"path": "noise.pdf"})).await);
        assert_eq!(kind, ErrorKind::NotText);
        assert!(message.contains("is a PDF document, but it cannot be read: "), "{message}");
    }

    #[tokio::test]
    async fn what_nests_without_end_is_refused_and_a_little_less_is_read() {
        let host = FakeHost::new();
        for (open, close) in [("[", "]"), ("<< /A ", ">>")] {
            for (times, read_it) in [(DEEPEST - 10, true), (DEEPEST + 1, false), (1_000_000, false)] {
                let nested = format!("/Nested {}1{}", open.repeat(times), close.repeat(times));
                host.files.put("deep.pdf", document(&[&["Hello"]], &nested));
                let outcome = read(&host, json!({"path": "deep.pdf"})).await;
                assert_eq!(outcome.is_ok(), read_it, "{times} times {open}: {outcome:?}");
            }
        }
        assert_eq!((depth(b"[[]<<>>[<<<a>>>]]"), depth(b"<<<<1>>>>"), depth(b"]]]>>[")), (3, 2, 1));
    }

    /// Whatever is broken in it, there is an answer.
    #[tokio::test]
    async fn no_damage_goes_further_than_the_answer() {
        let host = FakeHost::new();
        let whole = document(&[&["Hello"], &["world"]], "");
        let mut state = 7_usize;
        for _ in 0..60 {
            let mut damaged = whole.clone();
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = 9 + (state >> 33) % (damaged.len() - 9);
                damaged[at] = (state >> 24).to_le_bytes()[0];
            }
            damaged.truncate(damaged.len() - state % 50);
            host.files.put("d.pdf", damaged);
            if let Err(error) = read(&host, json!({"path": "d.pdf"})).await {
                assert!(matches!(error.kind(), ErrorKind::NotText | ErrorKind::ExecutionError), "{}", error.message());
            }
        }
    }
}
