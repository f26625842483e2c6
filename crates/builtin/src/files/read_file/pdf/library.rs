//! The PDF library; only this module names it. It recurses as deep as a document nests, and loops on cyclic references, so it runs
//! in the helper process.

use pdf_oxide::PdfDocument;

use super::helper::PdfReader;
use super::protocol::HelperMessage;

/// Opens a document, also one that is encrypted with an empty password, as many are to forbid printing.
pub(crate) fn open(data: Vec<u8>) -> Result<Box<dyn PdfReader>, HelperMessage> {
    let damaged = |error: pdf_oxide::Error| HelperMessage::Damaged(error.to_string());
    let document = PdfDocument::from_bytes(data).map_err(damaged)?;
    if document.is_encrypted() && !document.is_authenticated() && !document.authenticate(b"").map_err(damaged)? {
        return Err(HelperMessage::Locked);
    }
    Ok(Box::new(PdfLibrary(document)))
}

struct PdfLibrary(PdfDocument);

impl PdfReader for PdfLibrary {
    fn pages(&self) -> Result<usize, String> {
        self.0.page_count().map_err(|error| error.to_string())
    }
    fn text(&self, page: usize) -> Result<String, String> {
        self.0.extract_text(page).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::ErrorKind;
    use haft_testkit::{FakeHost, expect_error, expect_text, pdf_document};
    use serde_json::json;

    use super::super::super::tests::read;
    use super::super::tests::helper_host;
    use super::*;

    /// A host whose helpers use the library.
    fn host() -> Arc<FakeHost> {
        helper_host(open)
    }

    #[tokio::test]
    async fn text_of_a_document_is_read_by_pages() {
        let host = host();
        host.files.put("a.pdf", pdf_document(&[&["Hello world", "second line"], &[], &["third page"]], ""));
        let all = "--- Page 1 of 3 ---\nHello world\nsecond line\n\n--- Page 2 of 3 ---\n(no text on this page)\n\n--- Page 3 of 3 ---\nthird page\n";
        assert_eq!(expect_text(read(&host, json!({"path": "a.pdf"})).await), all);
        let one = "--- Page 1 of 3 ---\nHello world\nsecond line\n\n(Showing pages 1-1 of 3. Continue with pages=\"2-2\".)";
        assert_eq!(expect_text(read(&host, json!({"path": "a.pdf", "pages": "1"})).await), one);
    }

    #[tokio::test]
    async fn locked_and_damaged_documents_are_refused() {
        let host = host();
        let keys = format!("/O <{}> /U <{}>", "41".repeat(32), "42".repeat(32));
        let locked = format!("/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 {keys} >> /ID [<31> <31>]");
        host.files.put("locked.pdf", pdf_document(&[&["secret"]], &locked));
        let noise: Vec<u8> = b"%PDF-1.4\n".iter().copied().chain((0..=255).cycle().take(5000)).collect();
        host.files.put("noise.pdf", noise);
        let (kind, message) = expect_error(read(&host, json!({"path": "locked.pdf"})).await);
        assert_eq!(kind, ErrorKind::NotText);
        assert!(message.ends_with("is a PDF document, but it is encrypted and needs a password. Get a copy without one."), "{message}");
        let (kind, message) = expect_error(read(&host, json!({"path": "noise.pdf"})).await);
        assert_eq!(kind, ErrorKind::NotText);
        assert!(message.contains("is a PDF document, but it cannot be read: "), "{message}");
    }

    /// Every damaged document has a result.
    #[tokio::test]
    async fn damaged_document_never_ends_the_process() {
        let host = host();
        let whole = pdf_document(&[&["Hello"], &["world"]], "");
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
