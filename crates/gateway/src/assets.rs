//! The files of the page, which the binary contains.

use std::borrow::Cow;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ring::digest::{SHA256, digest};

use crate::error::ApiError;

/// Name and content of each file.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Answers with a file of the page. Names are looked up, never opened, so none leads out of it.
pub(crate) async fn file(request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "bad_request", "Files of the page can only be read.").into_response();
    }
    let path = request.uri().path().trim_start_matches('/');
    let name = if path.is_empty() { "index.html" } else { path };
    let Some(content) = content(name) else {
        return ApiError::not_found("There is no such file.").help("The page is at /, the API under /api/.").into_response();
    };
    let tag = format!("\"{}\"", &haft_text::hex::encode(digest(&SHA256, &content).as_ref())[..32]);
    let is_same = request.headers().get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(name)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    if is_same { (StatusCode::NOT_MODIFIED, headers).into_response() } else { (headers, content.into_owned()).into_response() }
}

/// A file of the page. In a debug build it is read from the source, so that a change needs no build.
fn content(name: &str) -> Option<Cow<'static, [u8]>> {
    let (known, embedded) = FILES.iter().find(|(known, _)| *known == name)?;
    if cfg!(debug_assertions)
        && let Ok(bytes) = std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page").join(known))
    {
        return Some(Cow::Owned(bytes));
    }
    Some(Cow::Borrowed(embedded))
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        _ => "application/octet-stream",
    }
}
