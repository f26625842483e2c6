//! Pictures of a call, brought into the limits of providers.

use haft_contract::ports::QuestionPicture;
use haft_contract::{ErrorKind, HttpRequest, ToolContext, ToolError};
use haft_text::numbers;

use super::reference::{PictureSource, Reference};
use crate::shared::picture::{self, PictureFormat};
use crate::shared::polite::{self, CallDeadline};
use crate::shared::read_all::read_all;

const REDIRECTS: u8 = 5;
/// Bytes of all pictures of a request: providers take about 30 MB in base64.
const REQUEST_BYTES: usize = 20_000_000;

/// A picture, ready for a model.
pub(super) struct LoadedPicture {
    pub(super) picture: QuestionPicture,
    /// The type of the source.
    pub(super) mime: &'static str,
    pub(super) size: (u32, u32),
    pub(super) shown: (u32, u32),
    pub(super) is_animated: bool,
}

/// Loads one of so many pictures, of at most so many bytes.
pub(super) async fn picture(reference: &Reference, most: usize, count: usize, cx: &ToolContext) -> Result<LoadedPicture, ToolError> {
    let name = reference.describe();
    let data = match &reference.source {
        PictureSource::File(path) => {
            let reader = cx.fs().open(path).await?;
            read_all(&name, "an image", Vec::new(), &*reader, most).await?
        }
        PictureSource::Inline(data) if data.len() > most => return Err(too_large(&name, data.len(), most)),
        PictureSource::Inline(data) => data.clone(),
        PictureSource::Web(url) => download(url, most, cx).await?,
    };
    let (format, size) = (PictureFormat::detect(&data).ok_or_else(|| no_picture(&name, &data))?, data.len());
    let limits = picture::for_models();
    let limits = limits.bytes(limits.bytes.min(REQUEST_BYTES / count.max(1)));
    let prepared = picture::prepared(limits, format, data).await?.map_err(|fault| picture::refused(&name, format, size, &fault))?;
    Ok(LoadedPicture {
        mime: format.mime(),
        size: prepared.original,
        shown: prepared.shown,
        is_animated: prepared.is_animated,
        picture: QuestionPicture { mime: prepared.mime.to_owned(), data: prepared.data },
    })
}

fn too_large(name: &str, size: usize, most: usize) -> ToolError {
    let (size, most) = (numbers::size(size as u64), numbers::size(most as u64));
    ToolError::new(ErrorKind::FileTooLarge, format!("File too large: {name} ({size}) is an image of more than {most}."))
}

fn no_picture(name: &str, data: &[u8]) -> ToolError {
    let head = String::from_utf8_lossy(&data[..data.len().min(512)]).to_ascii_lowercase();
    let what = match () {
        () if data.is_empty() => "It is empty.",
        () if head.contains("<svg") => "An SVG drawing is text, and may have scripts: read it with read_file or web_fetch.",
        () if head.trim_start().starts_with('<') => "It is a web page: name the address of the image itself.",
        () => "Use PNG, JPEG, GIF or WebP.",
    };
    ToolError::new(ErrorKind::NotText, format!("Not an image: {name} ({}). {what}", numbers::size(data.len() as u64)))
}

async fn download(url: &str, most: usize, cx: &ToolContext) -> Result<Vec<u8>, ToolError> {
    let deadline = CallDeadline::of_a_call();
    let headers = vec![("Accept".to_owned(), "image/png, image/jpeg, image/webp, image/gif, */*;q=0.1".to_owned())];
    let request = HttpRequest { method: "GET".into(), url: url.into(), headers, body: None, redirects: REDIRECTS };
    let mut response = deadline.limit(polite::send(request, cx)).await?;
    if response.status >= 400 {
        let message = format!("HTTP {} {}: {url}.", response.status, response.reason);
        return Err(ToolError::new(ErrorKind::NetworkError, message));
    }
    let mut data = Vec::new();
    while let Some(chunk) = deadline.limit(response.body.chunk()).await? {
        data.extend_from_slice(&chunk);
        if data.len() > most {
            return Err(too_large(url, data.len(), most));
        }
    }
    Ok(data)
}
