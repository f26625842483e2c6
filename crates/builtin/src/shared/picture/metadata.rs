//! What a picture file holds besides the picture: place, camera, author, comments, previews. A model gets none of it, and neither does
//! the provider. The pixels stay as they are: parts of the file are left out, and nothing is encoded anew.

use super::PictureFormat;

/// The file without metadata; `None` if its structure is not understood.
pub(super) fn stripped(format: PictureFormat, data: &[u8]) -> Option<Vec<u8>> {
    match format {
        PictureFormat::Png => png(data),
        PictureFormat::Jpeg => jpeg(data),
        PictureFormat::Webp => webp(data),
        // Encoded anew in every case.
        PictureFormat::Gif => None,
    }
}

const PNG_HEADER: usize = 8;
/// The chunks of PNG that change how it looks.
const PNG_KEPT: [&[u8; 4]; 12] =
    [b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP", b"sBIT", b"bKGD"];

/// The chunks of a PNG file, each with its name, up to the last.
fn png_chunks(data: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = data.get(PNG_HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = u32::from_be_bytes(rest.first_chunk().copied()?);
        let whole = usize::try_from(length).ok()?.checked_add(12)?;
        let (chunk, after) = rest.split_at_checked(whole)?;
        let name = &chunk[4..8];
        rest = if name == b"IEND" { &[] } else { after };
        Some((name, chunk))
    })
}

fn png(data: &[u8]) -> Option<Vec<u8>> {
    let mut kept = data.get(..PNG_HEADER)?.to_vec();
    let mut is_whole = false;
    for (name, chunk) in png_chunks(data).filter(|(name, _)| PNG_KEPT.iter().any(|known| &known[..] == *name)) {
        kept.extend_from_slice(chunk);
        is_whole |= name == b"IEND";
    }
    is_whole.then_some(kept)
}

pub(super) fn is_animated_png(data: &[u8]) -> bool {
    png_chunks(data).take_while(|(name, _)| *name != b"IDAT").any(|(name, _)| name == b"acTL")
}

/// One part of a JPEG file: its marker, and all its bytes.
struct JpegPart<'a> {
    marker: u8,
    bytes: &'a [u8],
}

const START_OF_SCAN: u8 = 0xda;
const END: u8 = 0xd9;

/// The parts of a JPEG file behind its first marker, up to its end: segments, and scans with what they hold.
fn jpeg_parts(data: &[u8]) -> impl Iterator<Item = JpegPart<'_>> {
    let mut rest = data.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        // A marker may be filled up.
        while rest.starts_with(&[0xff, 0xff]) {
            rest = &rest[1..];
        }
        let [0xff, marker] = *rest.first_chunk()? else { return None };
        let length = match marker {
            END => 2,
            _ => 2 + usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?])),
        };
        let length = if marker == START_OF_SCAN { length + scan_length(rest.get(length..)?) } else { length };
        let (bytes, after) = rest.split_at_checked(length)?;
        rest = if marker == END { &[] } else { after };
        Some(JpegPart { marker, bytes })
    })
}

/// How long a scan is: up to the next marker, which is neither an escaped byte nor a restart.
fn scan_length(data: &[u8]) -> usize {
    let is_marker = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff | 0xd0..=0xd7);
    data.windows(2).position(is_marker).unwrap_or(data.len())
}

/// Whether a JPEG image is complete: decoders fill up a missing end with grey.
pub(super) fn has_end(data: &[u8]) -> bool {
    jpeg_parts(data).any(|part| part.marker == END)
}

fn jpeg(data: &[u8]) -> Option<Vec<u8>> {
    let mut kept = data.get(..2)?.to_vec();
    let mut is_whole = false;
    for JpegPart { marker, bytes } in jpeg_parts(data) {
        let content = bytes.get(4..).unwrap_or_default();
        let is_kept = match marker {
            0xe0 => content.starts_with(b"JFIF\0"),
            0xe2 => content.starts_with(b"ICC_PROFILE\0"),
            // How the colours are stored.
            0xee => content.starts_with(b"Adobe"),
            0xe1..=0xef | 0xfe => false,
            _ => true,
        };
        if is_kept {
            kept.extend_from_slice(bytes);
        }
        is_whole |= marker == END;
    }
    is_whole.then_some(kept)
}

/// Whether it is a JPEG image of four colours, cyan, magenta, yellow and black.
pub(super) fn is_for_print(format: PictureFormat, data: &[u8]) -> bool {
    let is_frame = |marker: u8| matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
    format == PictureFormat::Jpeg && jpeg_parts(data).any(|part| is_frame(part.marker) && part.bytes.get(9) == Some(&4))
}

/// The flags of the extended header for metadata.
const WEBP_METADATA: u8 = 0b0000_1100;

fn webp(data: &[u8]) -> Option<Vec<u8>> {
    let mut kept = b"RIFF\0\0\0\0WEBP".to_vec();
    let length = usize::try_from(u32::from_le_bytes(*data.get(4..)?.first_chunk()?)).ok()?;
    let mut rest = data.get(12..length.checked_add(8)?)?;
    while !rest.is_empty() {
        let length = usize::try_from(u32::from_le_bytes(*rest.get(4..)?.first_chunk()?)).ok()?;
        let padded = length.checked_add(8)?.checked_next_multiple_of(2)?;
        let (chunk, after) = rest.split_at_checked(padded.min(rest.len()))?;
        let name = &chunk[..4];
        if [b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ICCP"].iter().any(|known| &known[..] == name) {
            let at = kept.len();
            kept.extend_from_slice(chunk);
            if name == b"VP8X" {
                *kept.get_mut(at + 8)? &= !WEBP_METADATA;
            }
        }
        rest = after;
    }
    let length = u32::try_from(kept.len() - 8).ok()?;
    kept[4..8].copy_from_slice(&length.to_le_bytes());
    Some(kept)
}
