//! Results with a picture, within the limits of providers.

use crate::{ErrorKind, ToolError, ToolOutput};

/// What a picture in a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageLimits {
    /// Bytes of the encoded picture. Providers take 5 MB in base64, which is a third longer.
    pub bytes: usize,
    /// Pixels of its longer side.
    pub side: u32,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { bytes: 3_750_000, side: 8_000 }
    }
}

impl ImageLimits {
    /// Sets the bytes.
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
    /// Sets the pixels of the longer side.
    pub fn side(mut self, pixels: u32) -> Self {
        self.side = pixels;
        self
    }
}

impl ToolOutput {
    /// A picture with its label. Its type is read from its bytes; one that no provider takes, or that is beyond the limits, is refused
    /// with what to do.
    pub fn image(label: impl Into<String>, data: Vec<u8>, limits: ImageLimits) -> Result<Self, ToolError> {
        let Some((mime, size)) = read_header(&data) else {
            return Err(ToolError::new(ErrorKind::NotText, "This is not a picture that models see: use PNG, JPEG, GIF or WebP."));
        };
        if data.len() > limits.bytes {
            let message = format!("The picture has {} bytes, and {} are the most: make it smaller.", data.len(), limits.bytes);
            return Err(ToolError::new(ErrorKind::FileTooLarge, message));
        }
        if let Some((width, height)) = size.filter(|(width, height)| *width.max(height) > limits.side) {
            let message = format!("The picture has {width} x {height} pixels, and {} are the most: scale it down.", limits.side);
            return Err(ToolError::new(ErrorKind::FileTooLarge, message));
        }
        Ok(Self::text(label).with_image(mime, data))
    }
}

/// The type of a picture, and its size where the header says it plainly.
fn read_header(data: &[u8]) -> Option<(&'static str, Option<(u32, u32)>)> {
    let number = |at: usize, length: usize| Some(data.get(at..at + length)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
    let little = |at: usize| Some(u32::from(*data.get(at)?) | u32::from(*data.get(at + 1)?) << 8);
    if data.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(("image/png", number(16, 4).zip(number(20, 4))));
    }
    if data.starts_with(b"GIF87a") || data.starts_with(b"GIF89a") {
        return Some(("image/gif", little(6).zip(little(8))));
    }
    if data.starts_with(b"\xff\xd8\xff") {
        return Some(("image/jpeg", None));
    }
    (data.starts_with(b"RIFF") && data.get(8..12) == Some(b"WEBP")).then_some(("image/webp", None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".iter().copied();
        header.chain(width.to_be_bytes()).chain(height.to_be_bytes()).collect()
    }

    #[test]
    fn picture_has_the_type_of_its_bytes_and_keeps_the_limits() {
        let limits = ImageLimits::default().bytes(100).side(50);
        let gif = b"GIF89a\x33\x00\x01\x00".to_vec();
        for (data, expected) in [
            (png(50, 20), Ok("image/png")),
            (b"\xff\xd8\xff\xe0".to_vec(), Ok("image/jpeg")),
            (b"RIFF\0\0\0\0WEBPVP8 ".to_vec(), Ok("image/webp")),
            (png(51, 20), Err((ErrorKind::FileTooLarge, "The picture has 51 x 20 pixels, and 50 are the most: scale it down."))),
            (gif, Err((ErrorKind::FileTooLarge, "The picture has 51 x 1 pixels, and 50 are the most: scale it down."))),
            (
                [png(1, 1), vec![0; 100]].concat(),
                Err((ErrorKind::FileTooLarge, "The picture has 124 bytes, and 100 are the most: make it smaller.")),
            ),
            (b"<svg/>".to_vec(), Err((ErrorKind::NotText, "This is not a picture that models see: use PNG, JPEG, GIF or WebP."))),
            (Vec::new(), Err((ErrorKind::NotText, "This is not a picture that models see: use PNG, JPEG, GIF or WebP."))),
        ] {
            let output = ToolOutput::image("a label", data.clone(), limits);
            match (output, expected) {
                (Ok(output), Ok(mime)) => {
                    assert_eq!(output.content, [Content::Text("a label".into()), Content::Image { mime: mime.into(), data }]);
                }
                (Err(error), Err(expected)) => assert_eq!((error.kind(), error.message()), expected),
                (output, expected) => panic!("{output:?} instead of {expected:?}"),
            }
        }
    }
}
