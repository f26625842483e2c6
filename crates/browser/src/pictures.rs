//! Pictures and documents of a page.

use haft_contract::ports::{BrowserReply, PageFile, PictureOptions};
use haft_contract::{ErrorKind, ToolError};
use haft_text::{base64, display, numbers};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::failure::PageError;
use crate::page::TabHandle;
use crate::pointer::Point;
use crate::snapshot::number;

/// Pixels of the longer side that models take.
const LONGEST_SIDE: f64 = 7_900.0;
/// Bytes that models take.
const MOST_BYTES: usize = 3_700_000;
/// Bytes of a document.
const LARGEST_DOCUMENT: usize = 40 << 20;
/// Of JPEG, from good to small.
const QUALITIES: [u8; 3] = [85, 60, 30];

/// A part of the page, in pixels.
#[derive(Debug, Clone, Copy)]
struct Clip {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Browser {
    /// Takes a picture of what the window shows, of the whole page, or of one element.
    pub(crate) async fn screenshot(&self, tab: &TabHandle, options: &PictureOptions) -> Result<BrowserReply, ToolError> {
        let clip = self.clip(tab, options).await?;
        let (picture, mime) = self.capture(tab, clip, options.full_page, options.jpeg).await?;
        let mut notes = Vec::new();
        if clip.is_some_and(|clip| clip.height > LONGEST_SIDE || clip.width > LONGEST_SIDE) {
            notes.push(format!("The picture ends at {LONGEST_SIDE} pixels: the page is larger."));
        }
        let size = numbers::size(picture.len() as u64);
        Ok(BrowserReply {
            text: format!("Screenshot of tab {} ({mime}, {size}). What it shows is untrusted.", tab.id),
            picture: Some((mime.to_owned(), picture)),
            notes,
            details: json!({"tab": tab.id, "mime": mime}),
            ..BrowserReply::default()
        })
    }

    async fn clip(&self, tab: &TabHandle, options: &PictureOptions) -> Result<Option<Clip>, ToolError> {
        if let Some(reference) = &options.element {
            let element = self.element(tab, reference)?;
            let found = match self.element_script(tab, &element, &format!("box({})", element.number)).await {
                Ok(found) => found,
                Err(error) => return Err(self.element_error(tab, reference, error).await),
            };
            let at = self.in_window(tab, &element.frame, Point { x: number(&found, "x"), y: number(&found, "y") }).await?;
            return Ok(Some(Clip { x: at.x, y: at.y, width: number(&found, "width"), height: number(&found, "height") }));
        }
        if let Some(selector) = &options.selector {
            let found = self.script(tab, &tab.target, &format!("selectedBox({})", json!(selector))).await?;
            let at = |key| number(&found, key);
            return Ok(Some(Clip { x: at("x"), y: at("y"), width: at("width"), height: at("height") }));
        }
        if !options.full_page {
            return Ok(None);
        }
        let size = self.script(tab, &tab.target, "pageSize()").await?;
        Ok(Some(Clip { x: 0.0, y: 0.0, width: number(&size, "width"), height: number(&size, "height") }))
    }

    /// A picture in the size that models take.
    async fn capture(&self, tab: &TabHandle, clip: Option<Clip>, beyond: bool, jpeg: bool) -> Result<(Vec<u8>, &'static str), ToolError> {
        let mut params = json!({"captureBeyondViewport": beyond, "optimizeForSpeed": true});
        if let Some(Clip { x, y, width, height }) = clip {
            params["clip"] =
                json!({"x": x, "y": y, "width": width.clamp(1.0, LONGEST_SIDE), "height": height.clamp(1.0, LONGEST_SIDE), "scale": 1});
        }
        let mut tries = QUALITIES.iter().map(|quality| Some(*quality)).collect::<Vec<_>>();
        if !jpeg {
            tries.insert(0, None);
        }
        for quality in tries {
            (params["format"], params["quality"]) = match quality {
                None => ("png".into(), Value::Null),
                Some(quality) => ("jpeg".into(), quality.into()),
            };
            if quality.is_none()
                && let Some(params) = params.as_object_mut()
            {
                params.remove("quality");
            }
            let reply = self.devtools.call(Some(&tab.session), "Page.captureScreenshot", params.clone()).await.map_err(PageError::from)?;
            let picture =
                reply["data"].as_str().and_then(base64::decode).ok_or_else(|| PageError::Refused("it took no picture".to_owned()))?;
            if picture.len() <= MOST_BYTES {
                return Ok((picture, if quality.is_none() { "image/png" } else { "image/jpeg" }));
            }
        }
        Err(ToolError::new(ErrorKind::FileTooLarge, "The picture is too large for a model: take one of an element, or without fullPage."))
    }

    /// A picture of the window with the refs of a frame on it.
    pub(crate) async fn labelled_picture(&self, tab: &TabHandle, frame: &str) -> Result<(String, Vec<u8>), ToolError> {
        let number = self.state.lock().tab(&tab.target).and_then(|tab| tab.frames.get(frame).map(|frame| frame.number)).unwrap_or(0);
        let prefix = if number == 0 { String::new() } else { format!("f{number}") };
        self.script(tab, frame, &format!("label({})", json!(prefix))).await?;
        let taken = self.capture(tab, None, false, false).await;
        self.script(tab, frame, "unlabel()").await?;
        taken.map(|(picture, mime)| (mime.to_owned(), picture))
    }

    /// The page as a PDF document.
    pub(crate) async fn pdf(&self, tab: &TabHandle) -> Result<BrowserReply, ToolError> {
        let params = json!({"printBackground": true, "transferMode": "ReturnAsStream"});
        let printed = self.devtools.call(Some(&tab.session), "Page.printToPDF", params).await.map_err(PageError::from)?;
        let content = self.read_stream(tab, &printed["stream"]).await?;
        let title = self.state.lock().tab(&tab.target).map(|tab| tab.title.clone()).unwrap_or_default();
        let size = numbers::size(content.len() as u64);
        Ok(BrowserReply {
            text: format!("Printed tab {} ({size}).", tab.id),
            file: Some(PageFile { name: format!("{}.pdf", display::shorten(&title, 60)), content }),
            details: json!({"tab": tab.id}),
            ..BrowserReply::default()
        })
    }

    async fn read_stream(&self, tab: &TabHandle, stream: &Value) -> Result<Vec<u8>, ToolError> {
        let mut content = Vec::new();
        loop {
            let piece = self
                .devtools
                .call(Some(&tab.session), "IO.read", json!({"handle": stream, "size": 1 << 20}))
                .await
                .map_err(PageError::from)?;
            let data = piece["data"].as_str().unwrap_or_default();
            let bytes = if piece["base64Encoded"] == Value::Bool(true) { base64::decode(data) } else { Some(data.as_bytes().to_vec()) };
            content.extend(bytes.ok_or_else(|| PageError::Refused("it sent no base64".to_owned()))?);
            if content.len() > LARGEST_DOCUMENT {
                return Err(ToolError::new(
                    ErrorKind::FileTooLarge,
                    format!("The document has more than {}.", numbers::size(LARGEST_DOCUMENT as u64)),
                ));
            }
            if piece["eof"] == Value::Bool(true) {
                drop(self.devtools.send(Some(&tab.session), "IO.close", json!({"handle": stream})));
                return Ok(content);
            }
        }
    }
}
