//! Preparing pictures for a model: decoded, scaled down, one frame of an animation. Pure.

mod format;

use std::io::Cursor;

use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPDecoder;
use image::imageops::FilterType;
use image::{AnimationDecoder, DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

pub(crate) use self::format::PictureFormat;

/// Most pixels on a side: larger pictures cost more and show no more.
const SIDE: u32 = 2000;
/// Providers take five million characters of base64 for a picture.
const BYTES: usize = 3_700_000;
/// How much memory a decoded picture may take: 64 million pixels of four bytes.
const DECODED: u64 = 256 * 1024 * 1024;
/// How wide or high a picture may be, before it is scaled.
const LARGEST_SIDE: u32 = 32_767;

/// A picture, ready for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    /// Its media type.
    pub(super) mime: &'static str,
    pub(super) data: Vec<u8>,
    /// Width and height of the original, in its orientation.
    pub(super) original: (u32, u32),
    /// Width and height as shown.
    pub(super) shown: (u32, u32),
    /// Whether it is one frame of an animation.
    pub(super) is_animated: bool,
}

/// Why a picture cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PictureFault {
    /// It is broken or cut off.
    Damaged(String),
    /// Decoding it takes too much memory.
    TooLarge(String),
}

/// Decodes a picture, and encodes it anew where a model cannot take it as it is.
pub(super) fn prepare(format: PictureFormat, data: Vec<u8>) -> Result<Picture, PictureFault> {
    within(BYTES, format, data)
}

fn within(most: usize, format: PictureFormat, data: Vec<u8>) -> Result<Picture, PictureFault> {
    let image = decoded(format, &data)?;
    let original = (image.width(), image.height());
    let is_animated = is_animated(format, &data);
    if original.0.max(original.1) <= SIDE && data.len() <= most && !is_animated {
        return Ok(Picture { mime: format.mime(), data, original, shown: original, is_animated });
    }
    let picture = encoded(most, format, image)?;
    Ok(Picture { original, is_animated, ..picture })
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height, limits.max_alloc) = (Some(LARGEST_SIDE), Some(LARGEST_SIDE), Some(DECODED));
    limits
}

fn decoded(format: PictureFormat, data: &[u8]) -> Result<DynamicImage, PictureFault> {
    let mut reader = ImageReader::with_format(Cursor::new(data), format.decoded_as());
    reader.limits(limits());
    let mut decoder = reader.into_decoder().map_err(fault)?;
    let (width, height) = decoder.dimensions();
    if decoder.total_bytes() > DECODED {
        return Err(PictureFault::TooLarge(format!("{width}x{height} pixels are more than can be decoded")));
    }
    // The orientation is lost when the picture is encoded anew.
    let orientation = decoder.orientation().map_err(fault)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(fault)?;
    if format == PictureFormat::Jpeg && !has_end(data) {
        return Err(PictureFault::Damaged("it is cut off".into()));
    }
    image.apply_orientation(orientation);
    Ok(image)
}

fn fault(error: ImageError) -> PictureFault {
    match error {
        ImageError::Limits(limit) => PictureFault::TooLarge(limit.to_string()),
        other => PictureFault::Damaged(other.to_string()),
    }
}

/// Whether a JPEG image is complete: decoders fill up a missing end with grey. The end marker cannot occur within the scan
/// itself; before it, a preview may have one.
fn has_end(data: &[u8]) -> bool {
    let picture = start_of_scan(data).unwrap_or(data.len());
    data[picture..].windows(2).any(|pair| pair == [0xff, 0xd9])
}

/// Skips the segments before the scan.
fn start_of_scan(data: &[u8]) -> Option<usize> {
    let mut at = 2;
    loop {
        match *data.get(at..at + 4)? {
            [0xff, 0xda, ..] => return Some(at),
            [0xff, 0xff, ..] => at += 1,
            [0xff, _, high, low] => at += 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => return None,
        }
    }
}

fn is_animated(format: PictureFormat, data: &[u8]) -> bool {
    match format {
        PictureFormat::Gif => GifDecoder::new(Cursor::new(data))
            .is_ok_and(|mut decoder| decoder.set_limits(limits()).is_ok() && decoder.into_frames().take(2).flatten().count() == 2),
        PictureFormat::Webp => WebPDecoder::new(Cursor::new(data)).is_ok_and(|decoder| decoder.has_animation()),
        PictureFormat::Png | PictureFormat::Jpeg => false,
    }
}

/// Encodes a picture so that it fits: as PNG if it has transparency or was not a JPEG and is small enough, else as JPEG.
fn encoded(most: usize, format: PictureFormat, image: DynamicImage) -> Result<Picture, PictureFault> {
    let picture = |mime, data, image: &DynamicImage| {
        let shown = (image.width(), image.height());
        Ok(Picture { mime, data, original: shown, shown, is_animated: false })
    };
    let mut image = if image.width().max(image.height()) > SIDE { image.resize(SIDE, SIDE, FilterType::Triangle) } else { image };
    if format != PictureFormat::Jpeg || image.color().has_alpha() {
        let mut data = Cursor::new(Vec::new());
        image.write_to(&mut data, ImageFormat::Png).map_err(fault)?;
        if data.get_ref().len() <= most {
            return picture("image/png", data.into_inner(), &image);
        }
    }
    loop {
        for quality in [85, 60] {
            let data = as_jpeg(&image, quality)?;
            if data.len() <= most || image.width().max(image.height()) < 2 {
                return picture("image/jpeg", data, &image);
            }
        }
        image = image.resize(image.width().div_ceil(2), image.height().div_ceil(2), FilterType::Triangle);
    }
}

/// JPEG has no transparency: it becomes white.
fn as_jpeg(image: &DynamicImage, quality: u8) -> Result<Vec<u8>, PictureFault> {
    let mut flat = image.to_rgb8();
    if image.color().has_alpha() {
        for (pixel, source) in flat.pixels_mut().zip(image.to_rgba8().pixels()) {
            let [colours @ .., alpha] = source.0;
            pixel.0 = colours.map(|colour| over_white(colour, alpha));
        }
    }
    let mut data = Vec::new();
    JpegEncoder::new_with_quality(&mut data, quality).encode_image(&flat).map_err(fault)?;
    Ok(data)
}

fn over_white(colour: u8, alpha: u8) -> u8 {
    let (colour, alpha) = (u16::from(colour), u16::from(alpha));
    u8::try_from((colour * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX)
}

#[cfg(test)]
pub(crate) mod tests;
