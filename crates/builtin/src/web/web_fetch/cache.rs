//! Pages that were fetched a short time ago. After that, the server is asked whether they changed.
//!
//! A response that another host gave after a redirect is not stored: a later call may not be allowed to reach that host.

use std::time::UNIX_EPOCH;

use haft_contract::{HttpResponse, ToolContext};
use serde::{Deserialize, Serialize};
use url::Url;

use super::download::{DownloadEnd, PageDownload};
use crate::shared::polite::header;

/// Larger pages are fetched again.
const LARGEST: usize = 2 * 1024 * 1024;

/// A stored page: one line of JSON, then its body.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredPage {
    url: String,
    redirected_from: Vec<String>,
    content_type: String,
    etag: Option<String>,
    last_modified: Option<String>,
    /// Seconds since 1970.
    fetched: u64,
    /// Whether the server wants to be asked each time.
    always_ask: bool,
    #[serde(skip)]
    body: Vec<u8>,
}

/// What is stored for an address.
pub(super) async fn find(url: &str, cx: &ToolContext) -> Option<StoredPage> {
    let bytes = cx.page_cache()?.get(&key(url)).await?;
    let line = bytes.iter().position(|byte| *byte == b'\n')?;
    let page: StoredPage = serde_json::from_slice(&bytes[..line]).ok()?;
    Some(StoredPage { body: bytes[line + 1..].to_vec(), ..page })
}

fn key(url: &str) -> String {
    format!("page {}", url.split('#').next().unwrap_or(url))
}

fn now(cx: &ToolContext) -> u64 {
    cx.clock().now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl StoredPage {
    /// A response in the form that is stored, if it may be.
    pub(super) fn from_response(asked: &str, download: &PageDownload, response: &HttpResponse, cx: &ToolContext) -> Option<Self> {
        let control = header(response, "Cache-Control").unwrap_or_default().to_ascii_lowercase();
        let storable = download.status == 200
            && download.ending == DownloadEnd::Complete
            && download.body.len() <= LARGEST
            && !control.contains("no-store")
            && !cx.web().cache_time.is_zero()
            && download.redirected_from.iter().chain([&download.url]).all(|hop| same_host(asked, hop));
        storable.then(|| Self {
            url: download.url.clone(),
            redirected_from: download.redirected_from.clone(),
            content_type: download.content_type.clone(),
            etag: header(response, "ETag").map(str::to_owned),
            last_modified: header(response, "Last-Modified").map(str::to_owned),
            fetched: now(cx),
            always_ask: control.contains("no-cache") || control.contains("max-age=0"),
            body: download.body.clone(),
        })
    }

    pub(super) fn is_fresh(&self, cx: &ToolContext) -> bool {
        !self.always_ask && self.age(cx) < cx.web().cache_time.as_secs()
    }

    fn age(&self, cx: &ToolContext) -> u64 {
        now(cx).saturating_sub(self.fetched)
    }

    /// The headers that ask whether it changed.
    pub(super) fn conditions(&self) -> impl Iterator<Item = (String, String)> {
        let etag = self.etag.iter().map(|value| ("If-None-Match".to_owned(), value.clone()));
        etag.chain(self.last_modified.iter().map(|value| ("If-Modified-Since".to_owned(), value.clone())))
    }

    /// The server says that it has not changed.
    pub(super) fn renew(&mut self, cx: &ToolContext) {
        self.fetched = now(cx);
    }

    pub(super) async fn store(&self, asked: &str, cx: &ToolContext) {
        let (Some(cache), Ok(mut bytes)) = (cx.page_cache(), serde_json::to_vec(self)) else { return };
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.body);
        cache.put(&key(asked), bytes).await;
    }

    pub(super) fn open(self, cx: &ToolContext) -> PageDownload {
        let age = self.age(cx);
        PageDownload {
            status: 200,
            reason: "OK".into(),
            url: self.url,
            redirected_from: self.redirected_from,
            content_type: self.content_type,
            body: self.body,
            ending: DownloadEnd::Complete,
            age: Some(age),
            retry_after: None,
        }
    }
}

fn same_host(one: &str, other: &str) -> bool {
    let host = |url: &str| Some(Url::parse(url).ok()?.host_str()?.trim_end_matches('.').to_owned());
    host(one).is_some() && host(one) == host(other)
}
