//! A downloaded page as text or picture, by what it is.

use haft_contract::{BoxFuture, FileReader, ToolContext, ToolError, ToolOutput};
use haft_extract::{FoundBy, Style};
use haft_text::numbers;
use serde_json::Value;

use super::Mode;
use super::download::{self, DownloadEnd, PageDownload};
use crate::files::read_file::pdf;
use crate::shared::media_type::MediaType;
use crate::shared::picture::{self, PictureFormat};
use crate::shared::worker::WorkerPool;

/// Each holds one page and its tree.
static READING: WorkerPool = WorkerPool::new("reading of a page", 2);

/// What became of a page.
pub(super) enum Reading {
    Text(PageText),
    /// A picture, or what is said about content that cannot be shown.
    Other(ToolOutput),
}

/// A page as text.
pub(super) struct PageText {
    pub(super) extractor: Extractor,
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) notes: Vec<String>,
}

/// How text was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extractor {
    Article,
    WholePage,
    Markdown,
    Json,
    Feed,
    Pdf,
    Plain,
    Raw,
}

impl Extractor {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Article => "article",
            Self::WholePage => "page",
            Self::Markdown => "markdown",
            Self::Json => "json",
            Self::Feed => "feed",
            Self::Pdf => "pdf",
            Self::Plain => "text",
            Self::Raw => "raw",
        }
    }

    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Article => "the main content of the page",
            Self::WholePage => "the page without its navigation",
            Self::Markdown => "Markdown from the server",
            Self::Json => "JSON, indented",
            Self::Feed => "the items of a feed",
            Self::Pdf => "the text of a PDF document",
            Self::Plain => "text",
            Self::Raw => "the source, as the server sent it",
        }
    }
}

/// Reads a page by its format, which its first bytes tell before its type does.
pub(super) async fn read(download: PageDownload, mode: Mode, cx: &ToolContext) -> Result<Reading, ToolError> {
    let media = MediaType::parse(&download.content_type);
    let notes = notes(&download);
    if let Some(format) = PictureFormat::detect(&download.body) {
        return picture(download, format).await;
    }
    if pdf::is_pdf(&download.body) {
        return document(download, notes, cx).await;
    }
    if media.is_binary(&download.body) {
        return binary(&download, &media, notes, cx).await;
    }
    let mut page = READING.run(move || text(&download, &media, mode)).await?;
    page.notes.extend(notes);
    Ok(Reading::Text(page))
}

fn notes(download: &PageDownload) -> Vec<String> {
    match &download.ending {
        DownloadEnd::Complete => Vec::new(),
        DownloadEnd::Stopped => {
            let size = numbers::size(download::most(&download.body) as u64);
            vec![format!("The page is larger than {size}; the rest was not downloaded. http_request with save_to stores all of it.")]
        }
        DownloadEnd::Broken(why) => vec![format!("The response broke off, so this is only its beginning: {why}.")],
    }
}

fn text(download: &PageDownload, media: &MediaType, mode: Mode) -> PageText {
    let charset = charset(&download.content_type);
    let (decoded, _) = haft_extract::decode(&download.body, charset.as_deref());
    let plain = |extractor, text: String| PageText { extractor, title: None, text, notes: Vec::new() };
    let style = if mode == Mode::Text { Style::Text } else { Style::Markdown };
    if mode == Mode::Raw {
        return plain(Extractor::Raw, decoded.into_owned());
    }
    match Kind::detect(&media.essence, &decoded) {
        Kind::Html => html(&decoded, &download.url, style),
        Kind::Feed => {
            let feed = haft_extract::read_feed(&decoded);
            PageText { title: feed.title.clone(), ..plain(Extractor::Feed, feed.render(style)) }
        }
        Kind::Json => match serde_json::from_str::<Value>(&decoded) {
            Ok(value) => plain(Extractor::Json, format!("{value:#}")),
            Err(_) => plain(Extractor::Plain, decoded.into_owned()),
        },
        Kind::Markdown => plain(Extractor::Markdown, decoded.into_owned()),
        Kind::Other => plain(Extractor::Plain, decoded.into_owned()),
    }
}

fn html(source: &str, url: &str, style: Style) -> PageText {
    let page = haft_extract::read_page(source, url, style);
    let extractor = if page.found_by == FoundBy::Page { Extractor::WholePage } else { Extractor::Article };
    let mut notes = Vec::new();
    if page.content.trim().is_empty() {
        notes.push("The page has no text: it may need a browser with scripts, or a login. mode=raw shows its source.".to_owned());
    }
    if page.truncated {
        notes.push("The page has very many elements; its end was not read.".to_owned());
    }
    PageText { extractor, title: page.title, text: page.content, notes }
}

/// What a text is.
enum Kind {
    Html,
    Feed,
    Json,
    Markdown,
    Other,
}

impl Kind {
    fn detect(essence: &str, text: &str) -> Self {
        let begins = text.trim_start();
        match essence {
            "text/markdown" | "text/x-markdown" => Self::Markdown,
            "application/json" | "text/json" => Self::Json,
            json if json.ends_with("+json") => Self::Json,
            xml if (xml.contains("xml") || xml.starts_with("text/")) && haft_extract::is_feed(text) => Self::Feed,
            "text/html" | "application/xhtml+xml" => Self::Html,
            "" | "application/octet-stream" if looks_like_html(begins) => Self::Html,
            "" | "application/octet-stream" | "text/plain" if begins.starts_with(['{', '[']) => Self::Json,
            _ => Self::Other,
        }
    }
}

fn looks_like_html(text: &str) -> bool {
    let head: String = text.chars().take(200).collect::<String>().to_ascii_lowercase();
    ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| head.starts_with(tag))
}

fn charset(content_type: &str) -> Option<String> {
    let parts = content_type.split(';').skip(1).filter_map(|part| part.split_once('='));
    let mut named = parts.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    named.next().map(|(_, label)| label.trim().trim_matches('"').to_owned())
}

async fn picture(download: PageDownload, format: PictureFormat) -> Result<Reading, ToolError> {
    let (name, reader) = (download.url, InMemory(download.body));
    Ok(Reading::Other(picture::show(&name, format, &reader, Vec::new()).await?))
}

/// The document is stored as well: `read_file` can show its other pages.
async fn document(download: PageDownload, mut notes: Vec<String>, cx: &ToolContext) -> Result<Reading, ToolError> {
    let spill = store(&download.body, "pdf", cx).await?;
    notes.push(format!("The document is stored in {spill}: read its other pages with read_file, that path and pages."));
    let (name, reader) = (download.url, InMemory(download.body));
    let output = match pdf::read(&name, None, &reader, Vec::new(), cx).await {
        Ok(output) => output,
        Err(error) => return Err(unread(error, &spill)),
    };
    let text = output.texts().collect::<Vec<_>>().join("\n");
    Ok(Reading::Text(PageText { extractor: Extractor::Pdf, title: None, text, notes }))
}

fn unread(error: ToolError, spill: &str) -> ToolError {
    let message = format!("{} The document is stored in {spill}.", error.message());
    error.with_message(message)
}

async fn binary(download: &PageDownload, media: &MediaType, notes: Vec<String>, cx: &ToolContext) -> Result<Reading, ToolError> {
    let spill = store(&download.body, media.extension(), cx).await?;
    let named = if media.essence.is_empty() { "of no stated type" } else { &media.essence };
    let size = numbers::size(download.body.len() as u64);
    let mut text = format!("(Not text, so it is not shown: {named}, {size}. It is stored in {spill}.)");
    for note in notes {
        text.extend(["\n\n(", &note, ")"]);
    }
    Ok(Reading::Other(ToolOutput::text(text)))
}

async fn store(body: &[u8], extension: &'static str, cx: &ToolContext) -> Result<String, ToolError> {
    let mut spill = cx.spills().create(extension).await?;
    spill.write(body).await?;
    Ok(spill.finish().await?.path.display().to_string())
}

/// A downloaded body, read as a file is.
struct InMemory(Vec<u8>);

impl FileReader for InMemory {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }
    fn read_at(&self, offset: u64, length: usize) -> BoxFuture<'_, Result<Vec<u8>, ToolError>> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let end = start.saturating_add(length).min(self.0.len());
        Box::pin(async move { Ok(self.0[start..end].to_vec()) })
    }
    fn fingerprint(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async { Err(ToolError::execution("A downloaded page has no fingerprint.")) })
    }
}
