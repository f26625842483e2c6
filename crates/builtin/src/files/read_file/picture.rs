//! Pictures, made fit for a model: looked into, no larger than it takes, and one frame of those that move. Pure.

mod format;

use std::io::Cursor;

use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPDecoder;
use image::imageops::FilterType;
use image::{AnimationDecoder, DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

pub(super) use self::format::Format;

/// Models are shown no more than this on a side; larger ones cost more and say no more.
const SIDE: u32 = 2000;
/// Providers take five million characters of base64 for a picture.
const BYTES: usize = 3_700_000;
/// How much memory a decoded picture may take: 64 million pixels of four bytes.
const DECODED: u64 = 256 * 1024 * 1024;
/// How wide or high a picture may be, before it is scaled.
const LARGEST_SIDE: u32 = 32_767;

/// A picture that a model can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    /// Its media type now.
    pub(super) mime: &'static str,
    pub(super) data: Vec<u8>,
    /// Width and height of the original, as it is meant to be looked at.
    pub(super) original: (u32, u32),
    /// The same of what is shown.
    pub(super) shown: (u32, u32),
    /// Whether it is one frame of several.
    pub(super) moves: bool,
}

/// Why a picture cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is broken or cut off.
    Damaged(String),
    /// Decoding it takes too much.
    TooLarge(String),
}

/// Decodes a picture, and keeps it as it is where it can be shown so.
pub(super) fn prepared(format: Format, data: Vec<u8>) -> Result<Picture, Fault> {
    within(BYTES, format, data)
}

fn within(most: usize, format: Format, data: Vec<u8>) -> Result<Picture, Fault> {
    let image = decoded(format, &data)?;
    let original = (image.width(), image.height());
    let moves = is_moving(format, &data);
    if original.0.max(original.1) <= SIDE && data.len() <= most && !moves {
        return Ok(Picture { mime: format.mime(), data, original, shown: original, moves });
    }
    let picture = encoded(most, format, image)?;
    Ok(Picture { original, moves, ..picture })
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height, limits.max_alloc) = (Some(LARGEST_SIDE), Some(LARGEST_SIDE), Some(DECODED));
    limits
}

fn decoded(format: Format, data: &[u8]) -> Result<DynamicImage, Fault> {
    let mut reader = ImageReader::with_format(Cursor::new(data), format.decoded_as());
    reader.limits(limits());
    let mut decoder = reader.into_decoder().map_err(fault)?;
    let (width, height) = decoder.dimensions();
    if decoder.total_bytes() > DECODED {
        return Err(Fault::TooLarge(format!("{width}x{height} pixels are more than can be decoded")));
    }
    // Where a camera was held sideways the picture says so; encoded anew it would say so no more.
    let orientation = decoder.orientation().map_err(fault)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(fault)?;
    if format == Format::Jpeg && !has_end(data) {
        return Err(Fault::Damaged("it is cut off".into()));
    }
    image.apply_orientation(orientation);
    Ok(image)
}

fn fault(error: ImageError) -> Fault {
    match error {
        ImageError::Limits(limit) => Fault::TooLarge(limit.to_string()),
        other => Fault::Damaged(other.to_string()),
    }
}

/// Whether a JPEG image ends: decoders fill up with grey what is missing. Within the picture itself the mark of the end
/// cannot occur; before it, a small preview has one too.
fn has_end(data: &[u8]) -> bool {
    let picture = start_of_scan(data).unwrap_or(data.len());
    data[picture..].windows(2).any(|pair| pair == [0xff, 0xd9])
}

/// Steps over the segments to where the picture begins.
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

fn is_moving(format: Format, data: &[u8]) -> bool {
    match format {
        Format::Gif => GifDecoder::new(Cursor::new(data))
            .is_ok_and(|mut decoder| decoder.set_limits(limits()).is_ok() && decoder.into_frames().take(2).flatten().count() == 2),
        Format::Webp => WebPDecoder::new(Cursor::new(data)).is_ok_and(|decoder| decoder.has_animation()),
        Format::Png | Format::Jpeg => false,
    }
}

/// Encodes a picture so that it fits: what has sharp edges or holes as PNG, if that is not too much, all else as JPEG.
fn encoded(most: usize, format: Format, image: DynamicImage) -> Result<Picture, Fault> {
    let picture = |mime, data, image: &DynamicImage| {
        let shown = (image.width(), image.height());
        Ok(Picture { mime, data, original: shown, shown, moves: false })
    };
    let mut image = if image.width().max(image.height()) > SIDE { image.resize(SIDE, SIDE, FilterType::Triangle) } else { image };
    if format != Format::Jpeg || image.color().has_alpha() {
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

/// JPEG has no holes: what shows through is white.
fn as_jpeg(image: &DynamicImage, quality: u8) -> Result<Vec<u8>, Fault> {
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
pub(super) mod tests;
