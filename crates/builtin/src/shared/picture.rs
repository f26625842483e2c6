//! Pictures for models, in one place: decoded within limits, scaled down, one frame of an animation, without metadata. Pure.

mod format;
mod metadata;
mod shown;

use std::io::Cursor;

use haft_contract::ImageLimits;
use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPDecoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{AnimationDecoder, DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

pub(crate) use self::format::PictureFormat;
pub(crate) use self::shown::{LARGEST, describe, prepared, refused, show};

/// Most pixels on a side: larger pictures cost more and show no more, and with many pictures in a request providers take no larger ones.
const SIDE: u32 = 2000;
/// How much memory a decoded picture may take: 64 million pixels of four bytes.
const DECODED: u64 = 256 * 1024 * 1024;
/// How wide or high a picture may be, before it is scaled.
const LARGEST_SIDE: u32 = 32_767;

/// A picture, ready for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    /// Its media type.
    pub(crate) mime: &'static str,
    pub(crate) data: Vec<u8>,
    /// Width and height of the original, in its orientation.
    pub(crate) original: (u32, u32),
    /// Width and height as shown.
    pub(crate) shown: (u32, u32),
    /// Whether it is one frame of an animation.
    pub(crate) is_animated: bool,
}

/// Why a picture cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PictureFault {
    /// It is broken or cut off.
    Damaged(String),
    /// Decoding it takes too much memory.
    TooLarge(String),
}

/// What models take of one picture.
pub(crate) fn for_models() -> ImageLimits {
    ImageLimits::default().side(SIDE)
}

/// Decodes a picture, and encodes it anew where a model cannot take it as it is. What is left has no metadata: no place, no camera, no
/// comment, and nothing behind its end.
pub(crate) fn prepare(limits: ImageLimits, format: PictureFormat, data: Vec<u8>) -> Result<Picture, PictureFault> {
    let (image, orientation) = decoded(format, &data)?;
    let original = (image.width(), image.height());
    let is_animated = is_animated(format, &data);
    let fits = original.0.max(original.1) <= limits.side && data.len() <= limits.bytes;
    // Not every provider takes GIF, or JPEG in the colours of print.
    let is_common = format != PictureFormat::Gif && !metadata::is_for_print(format, &data);
    if fits
        && is_common
        && !is_animated
        && orientation == Orientation::NoTransforms
        && let Some(data) = metadata::stripped(format, &data)
    {
        return Ok(Picture { mime: format.mime(), data, original, shown: original, is_animated });
    }
    drop(data);
    let picture = encoded(limits, format, image)?;
    Ok(Picture { original, is_animated, ..picture })
}

fn decoder_limits() -> Limits {
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height, limits.max_alloc) = (Some(LARGEST_SIDE), Some(LARGEST_SIDE), Some(DECODED));
    limits
}

/// The picture as it is meant to be seen, and how it lay in the file.
fn decoded(format: PictureFormat, data: &[u8]) -> Result<(DynamicImage, Orientation), PictureFault> {
    let mut reader = ImageReader::with_format(Cursor::new(data), format.decoded_as());
    reader.limits(decoder_limits());
    let mut decoder = reader.into_decoder().map_err(fault)?;
    let (width, height) = decoder.dimensions();
    if decoder.total_bytes() > DECODED {
        return Err(PictureFault::TooLarge(format!("{width}x{height} pixels are more than can be decoded")));
    }
    let orientation = decoder.orientation().map_err(fault)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(fault)?;
    if format == PictureFormat::Jpeg && !metadata::has_end(data) {
        return Err(PictureFault::Damaged("it is cut off".into()));
    }
    image.apply_orientation(orientation);
    Ok((image, orientation))
}

fn fault(error: ImageError) -> PictureFault {
    match error {
        ImageError::Limits(limit) => PictureFault::TooLarge(limit.to_string()),
        other => PictureFault::Damaged(other.to_string()),
    }
}

fn is_animated(format: PictureFormat, data: &[u8]) -> bool {
    match format {
        PictureFormat::Gif => GifDecoder::new(Cursor::new(data))
            .is_ok_and(|mut decoder| decoder.set_limits(decoder_limits()).is_ok() && decoder.into_frames().take(2).flatten().count() == 2),
        PictureFormat::Webp => WebPDecoder::new(Cursor::new(data)).is_ok_and(|decoder| decoder.has_animation()),
        PictureFormat::Png => metadata::is_animated_png(data),
        PictureFormat::Jpeg => false,
    }
}

/// Encodes a picture so that it fits: as PNG if it has transparency or was not a JPEG and is small enough, else as JPEG.
fn encoded(limits: ImageLimits, format: PictureFormat, image: DynamicImage) -> Result<Picture, PictureFault> {
    let picture = |mime, data, image: &DynamicImage| {
        let shown = (image.width(), image.height());
        Ok(Picture { mime, data, original: shown, shown, is_animated: false })
    };
    let side = limits.side.max(1);
    let mut image = if image.width().max(image.height()) > side { image.resize(side, side, FilterType::Triangle) } else { image };
    if format != PictureFormat::Jpeg || image.color().has_alpha() {
        let mut data = Cursor::new(Vec::new());
        image.write_to(&mut data, ImageFormat::Png).map_err(fault)?;
        if data.get_ref().len() <= limits.bytes {
            return picture("image/png", data.into_inner(), &image);
        }
    }
    loop {
        for quality in [85, 60] {
            let data = as_jpeg(&image, quality)?;
            if data.len() <= limits.bytes || image.width().max(image.height()) < 2 {
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
