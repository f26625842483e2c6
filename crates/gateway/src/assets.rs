//! The files of the page, which the binary contains.

// The build script makes the embedded files smaller; a debug build reads them from the source.
#[cfg(any(test, debug_assertions))]
mod minify;

use std::io::Write;
use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{SHA256, digest};

use crate::error::ApiError;

/// Name and content of each file, as it is sent.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// A file as it is sent.
#[derive(Debug, Clone)]
struct PageFile {
    plain: Bytes,
    compressed: Bytes,
    tag: HeaderValue,
}

impl PageFile {
    fn new(content: &[u8]) -> Self {
        let tag = format!("\"{}\"", &haft_text::hex::encode(digest(&SHA256, content).as_ref())[..32]);
        let tag = HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""));
        Self { plain: Bytes::copy_from_slice(content), compressed: compress(content), tag }
    }
}

/// Writing to memory does not fail; an empty result is not sent.
fn compress(content: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).and_then(|()| encoder.finish()).unwrap_or_default().into()
}

/// Answers with a file of the page. Names are looked up, never opened, so none leads out of it.
pub(crate) async fn file(request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "bad_request", "Files of the page can only be read.").into_response();
    }
    let path = request.uri().path().trim_start_matches('/');
    let name = if path.is_empty() { "index.html" } else { path };
    let Some(file) = find(name) else {
        return ApiError::not_found("There is no such file.").help("The page is at /, the API under /api/.").into_response();
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(name)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(header::ETAG, file.tag.clone());
    if request.headers().get(header::IF_NONE_MATCH) == Some(&file.tag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    if !takes_gzip(request.headers()) || file.compressed.is_empty() {
        return (headers, file.plain).into_response();
    }
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    (headers, file.compressed).into_response()
}

/// Whether the client names `gzip`, and not with a weight of zero.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = values.flat_map(|value| value.split(',')).map(|coding| coding.trim().split_once(';').unwrap_or((coding.trim(), "")));
    codings.any(|(name, weight)| {
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_none_or(|weight| weight > 0.0)
    })
}

/// A file of the page.
fn find(name: &str) -> Option<PageFile> {
    static READY: LazyLock<Vec<PageFile>> = LazyLock::new(|| FILES.iter().map(|(_, content)| PageFile::new(content)).collect());
    let index = FILES.iter().position(|(known, _)| *known == name)?;
    #[cfg(debug_assertions)]
    if let Some(file) = from_source(FILES[index].0) {
        return Some(file);
    }
    READY.get(index).cloned()
}

/// The file of the source, so that a change needs no build. What is exported since the server started keeps its long name.
#[cfg(debug_assertions)]
fn from_source(name: &str) -> Option<PageFile> {
    static MINIFIER: LazyLock<minify::Minifier> = LazyLock::new(source_minifier);
    Some(PageFile::new(&MINIFIER.minify(name, &source(name).ok()?)))
}

#[cfg(any(test, debug_assertions))]
fn source(name: &str) -> std::io::Result<Vec<u8>> {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page").join(name))
}

#[cfg(any(test, debug_assertions))]
fn source_minifier() -> minify::Minifier {
    let files: Vec<(&str, Vec<u8>)> = FILES.iter().map(|(name, _)| (*name, source(name).unwrap_or_default())).collect();
    minify::Minifier::new(files.iter().map(|(name, content)| (*name, content.as_slice())))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that the whole page may have on the way, with every place of it: compressed as every browser takes it, and plain.
    const MOST_BYTES: usize = 80_000;
    const MOST_PLAIN_BYTES: usize = 150_000;
    /// Bytes, plain, of what opening it loads.
    const MOST_OPENING_BYTES: usize = 100_000;

    #[test]
    fn whole_page_is_small_on_the_way() {
        let files: Vec<PageFile> = FILES.iter().map(|(_, content)| PageFile::new(content)).collect();
        let plain: usize = files.iter().map(|file| file.plain.len()).sum();
        let total: usize = files.iter().map(|file| file.compressed.len()).sum();
        assert!(total > 10_000 && total < MOST_BYTES, "{total} bytes compressed, {plain} plain");
        assert!(plain < MOST_PLAIN_BYTES, "{plain} bytes plain, {total} compressed");
    }

    /// The files that a file of the page names, and those that they name; what is imported when it is needed is not among them.
    fn loaded(name: &str, found: &mut std::collections::BTreeSet<String>) {
        let Some((_, content)) = FILES.iter().find(|(known, _)| *known == name) else { panic!("{name} is not there") };
        if !found.insert(name.to_owned()) {
            return;
        }
        let text = std::str::from_utf8(content).unwrap();
        let marks = ["from'", "import'", "href=\"/", "src=\"/"];
        for (at, mark) in marks.iter().flat_map(|mark| text.match_indices(mark)) {
            let named = text[at + mark.len()..].split(['\'', '"']).next().unwrap();
            // Words of the page may end like an import.
            if !named.ends_with("js") && !named.ends_with("css") {
                continue;
            }
            let folder = if mark.ends_with('/') { "" } else { name.rsplit_once('/').map_or("", |(folder, _)| folder) };
            let path = haft_text::paths::lexical(&std::path::Path::new(folder).join(named));
            loaded(path.to_str().unwrap(), found);
        }
    }

    #[test]
    fn what_opening_the_page_loads_is_small() {
        let mut names = std::collections::BTreeSet::new();
        loaded("index.html", &mut names);
        let size = |name: &String| FILES.iter().find(|(known, _)| known == name).map_or(0, |(_, content)| content.len());
        let total: usize = names.iter().map(size).sum();
        assert!(names.contains("places/chat.js") && names.contains("style/chat.css") && !names.contains("places/usage.js"), "{names:?}");
        assert!(total < MOST_OPENING_BYTES, "{total} bytes in {} files", names.len());
    }

    #[test]
    fn embedded_files_are_those_of_the_source_without_what_browsers_do_not_need() {
        let minifier = source_minifier();
        for (name, content) in FILES {
            assert!(minifier.minify(name, &source(name).unwrap()) == *content, "{name} is not what its source becomes");
            let is_whole = !name.ends_with("js") || std::str::from_utf8(content).is_ok_and(|text| !text.contains("const "));
            assert!(is_whole, "{name} is not understood, so it keeps its long names");
        }
    }

    #[tokio::test]
    async fn file_is_compressed_for_clients_that_take_it_alone() {
        for (accepted, coding) in
            [(Some("gzip, deflate, br"), Some("gzip")), (Some("br;q=1, GZIP;q=0.5"), Some("gzip")), (Some("gzip;q=0"), None), (None, None)]
        {
            let mut request = Request::get("/").body(axum::body::Body::empty()).unwrap();
            if let Some(accepted) = accepted {
                request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            }
            let response = file(request).await;
            assert_eq!(
                response.headers().get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes),
                coding.map(str::as_bytes),
                "{accepted:?}"
            );
            let body = axum::body::to_bytes(response.into_body(), MOST_BYTES).await.unwrap();
            let plain = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/page/index.html")).unwrap();
            let mut text = Vec::new();
            match coding {
                Some(_) => drop(std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*body), &mut text).unwrap()),
                None => text.extend_from_slice(&body),
            }
            assert_eq!(text, plain, "{accepted:?}");
        }
    }
}
