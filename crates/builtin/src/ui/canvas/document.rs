//! Documents for the canvas: of the workspace, or of the web.

use haft_contract::ports::CanvasDocument;
use haft_contract::{ErrorKind, HttpRequest, ToolContext, ToolError};

use crate::shared::brief;
use crate::shared::media_type::MediaType;
use crate::shared::polite::{self, CallDeadline, header};
use crate::shared::read_all::read_all;

/// The largest document.
const MOST_BYTES: usize = 1024 * 1024;
const REDIRECTS: u8 = 5;

/// Where a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CanvasTarget {
    File(String),
    Web(String),
}

impl CanvasTarget {
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        match text.split_once("://") {
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") => {
                Ok(Self::Web(text.to_owned()))
            }
            Some((scheme, _)) => {
                let message =
                    format!("'{}:' cannot be shown on the canvas. Use a path of the workspace, or an http(s) URL.", brief(scheme));
                Err(ToolError::validation(message))
            }
            None if is_script(text) => Err(ToolError::validation("A script is no document. Use the action 'eval'.")),
            None => Ok(Self::File(text.to_owned())),
        }
    }
}

/// `javascript:` and `data:`, in whatever letters.
fn is_script(text: &str) -> bool {
    let start: String = text.chars().filter(|ch| !ch.is_whitespace() && !ch.is_control()).take(11).collect();
    ["javascript:", "data:", "blob:", "vbscript:"].iter().any(|scheme| start.to_ascii_lowercase().starts_with(scheme))
}

/// Loads a document. What is not HTML is shown as text.
pub(super) async fn load(target: &CanvasTarget, cx: &ToolContext) -> Result<CanvasDocument, ToolError> {
    match target {
        CanvasTarget::File(path) => {
            let text = text_file(path, MOST_BYTES, cx).await?;
            let is_html = path
                .rsplit_once('.')
                .is_some_and(|(_, ending)| ["html", "htm", "xhtml", "svg"].contains(&ending.to_ascii_lowercase().as_str()));
            Ok(CanvasDocument { source: path.clone(), html: if is_html { text } else { as_text(&text) } })
        }
        CanvasTarget::Web(url) => download(url, cx).await,
    }
}

/// A text file of the workspace.
pub(super) async fn text_file(path: &str, most: usize, cx: &ToolContext) -> Result<String, ToolError> {
    let reader = cx.fs().open(path).await?;
    let bytes = read_all(path, "a document", Vec::new(), &*reader, most).await?;
    String::from_utf8(bytes).map_err(|_| ToolError::new(ErrorKind::NotText, format!("Not a text file: {path} is not UTF-8.")))
}

async fn download(url: &str, cx: &ToolContext) -> Result<CanvasDocument, ToolError> {
    let deadline = CallDeadline::of_a_call();
    let headers = vec![("Accept".to_owned(), "text/html, text/plain;q=0.5".to_owned())];
    let request = HttpRequest { method: "GET".into(), url: url.into(), headers, body: None, redirects: REDIRECTS };
    let mut response = deadline.limit(polite::send(request, cx)).await?;
    if response.status >= 400 {
        return Err(ToolError::new(ErrorKind::NetworkError, format!("HTTP {} {}: {url}.", response.status, response.reason)));
    }
    let media = MediaType::parse(header(&response, "Content-Type").unwrap_or_default());
    let mut body = Vec::new();
    while let Some(chunk) = deadline.limit(response.body.chunk()).await? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST_BYTES {
            return Err(ToolError::new(ErrorKind::FileTooLarge, format!("The page at {url} is larger than 1 MB.")));
        }
    }
    if media.is_binary(&body) {
        return Err(ToolError::new(ErrorKind::NotText, format!("The canvas shows HTML and text, and {url} is {}.", media.essence)));
    }
    let text = haft_extract::decode(&body, None).0.into_owned();
    let html = if media.essence == "text/html" || media.essence == "application/xhtml+xml" { text } else { as_text(&text) };
    Ok(CanvasDocument { source: response.url, html })
}

fn as_text(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<!DOCTYPE html><meta charset=\"utf-8\"><pre>{escaped}</pre>")
}
