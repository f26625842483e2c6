//! The bytes of a page: from the cache, or from the server.

use std::time::Duration;

use haft_contract::{ErrorKind, HttpRequest, HttpResponse, ToolContext, ToolError};

use super::cache::{self, StoredPage};
use super::robots;
use crate::files::read_file::pdf;
use crate::shared::picture::PictureFormat;
use crate::shared::polite::{self, CallDeadline, header};

const REDIRECTS: u8 = 5;
/// A page for people is smaller, and its tree takes many times its size; the rest of a larger one is not downloaded.
pub(super) const LARGEST_PAGE: usize = 1024 * 1024;
/// Documents and pictures are of no use in part.
pub(super) const LARGEST_DOCUMENT: usize = 10 * 1024 * 1024;
/// So many bytes tell what a body is.
const HEAD: usize = 1024;
/// Markdown is what most other types are turned into here.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.7, */*;q=0.5";

/// A response with its body.
#[derive(Debug)]
pub(super) struct PageDownload {
    pub(super) status: u16,
    pub(super) reason: String,
    pub(super) url: String,
    pub(super) redirected_from: Vec<String>,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    pub(super) ending: DownloadEnd,
    /// Seconds since it was fetched, if it is from the cache.
    pub(super) age: Option<u64>,
    pub(super) retry_after: Option<Duration>,
}

/// How a body ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DownloadEnd {
    Complete,
    /// At the limit.
    Stopped,
    /// By an error.
    Broken(String),
}

impl DownloadEnd {
    pub(super) fn is_complete(&self) -> bool {
        *self == Self::Complete
    }
}

/// Gets a page, as `robots.txt` allows it.
pub(super) async fn get(url: &str, cx: &ToolContext) -> Result<PageDownload, ToolError> {
    let deadline = CallDeadline::of_a_call();
    if cx.web().respect_robots {
        robots::check(url, &deadline, cx).await?;
    }
    get_any(url, &deadline, cx).await
}

/// Gets an address, whatever `robots.txt` says.
pub(super) async fn get_any(url: &str, deadline: &CallDeadline, cx: &ToolContext) -> Result<PageDownload, ToolError> {
    let mut stored = cache::find(url, cx).await;
    if let Some(page) = stored.take_if(|page| page.is_fresh(cx)) {
        return Ok(page.open(cx));
    }
    let mut headers = vec![("Accept".to_owned(), ACCEPT.to_owned())];
    headers.extend(stored.iter().flat_map(StoredPage::conditions));
    let request = HttpRequest { method: "GET".into(), url: url.into(), headers, body: None, redirects: REDIRECTS };
    let mut response = deadline.limit(polite::send(request, cx)).await?;
    if let (304, Some(mut page)) = (response.status, stored) {
        page.renew(cx);
        page.store(url, cx).await;
        return Ok(page.open(cx));
    }
    let (body, ending) = receive(&mut response, deadline).await?;
    let download = PageDownload {
        status: response.status,
        content_type: header(&response, "Content-Type").unwrap_or_default().to_owned(),
        retry_after: polite::wait_asked(&response, cx),
        reason: std::mem::take(&mut response.reason),
        url: std::mem::take(&mut response.url),
        redirected_from: std::mem::take(&mut response.redirected_from),
        body,
        ending,
        age: None,
    };
    if let Some(page) = StoredPage::from_response(url, &download, &response, cx) {
        page.store(url, cx).await;
    }
    Ok(download)
}

/// How much of a body that begins so is downloaded.
pub(super) fn most(head: &[u8]) -> usize {
    if pdf::is_pdf(head) || PictureFormat::detect(head).is_some() { LARGEST_DOCUMENT } else { LARGEST_PAGE }
}

/// Receives up to the limit. A part of a body is a result; an error before the first byte is an error.
async fn receive(response: &mut HttpResponse, deadline: &CallDeadline) -> Result<(Vec<u8>, DownloadEnd), ToolError> {
    let (mut body, mut most_bytes) = (Vec::new(), LARGEST_PAGE);
    loop {
        match deadline.limit(response.body.chunk()).await {
            Ok(Some(chunk)) => {
                if body.len() < HEAD {
                    let head = [&body, &chunk[..chunk.len().min(HEAD)]].concat();
                    most_bytes = most(&head);
                }
                let space = most_bytes.saturating_sub(body.len());
                body.extend_from_slice(&chunk[..chunk.len().min(space)]);
                if chunk.len() > space {
                    return Ok((body, DownloadEnd::Stopped));
                }
            }
            Ok(None) => return Ok((body, DownloadEnd::Complete)),
            Err(error) if error.kind() != ErrorKind::Cancelled && !body.is_empty() => {
                return Ok((body, DownloadEnd::Broken(error.message().trim_end_matches('.').to_owned())));
            }
            Err(error) => return Err(error),
        }
    }
}
