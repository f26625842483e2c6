//! Picture files that no encoder of ours writes.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};

use super::PictureFormat;

/// A chunk of PNG.
pub(super) fn chunk(name: [u8; 4], content: &[u8]) -> Vec<u8> {
    let named = [&name[..], content].concat();
    let length = u32::try_from(content.len()).unwrap();
    [&length.to_be_bytes()[..], &named, &checksum(&named).to_be_bytes()].concat()
}

/// CRC-32, as PNG has it.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 2).unwrap();
    [&[0xff, marker][..], &length.to_be_bytes(), content].concat()
}

fn riff_chunk(name: [u8; 4], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    let padding = &[0][..content.len() % 2];
    [&name[..], &length.to_le_bytes(), content, padding].concat()
}

fn webp(chunks: &[Vec<u8>]) -> Vec<u8> {
    let content = [&b"WEBP"[..], &chunks.concat()].concat();
    riff_chunk(*b"RIFF", &content)
}

/// The header of an extended WebP file.
fn extended(flags: u8, width: u8, height: u8) -> Vec<u8> {
    riff_chunk(*b"VP8X", &[flags, 0, 0, 0, width - 1, 0, 0, height - 1, 0, 0])
}

/// A picture of 20x10 with a comment, and with one in EXIF data.
pub(super) fn with_comment(format: PictureFormat, data: &[u8], comment: &[u8]) -> Vec<u8> {
    match format {
        PictureFormat::Png => {
            let text = chunk(*b"tEXt", &[b"Comment\0", comment].concat());
            [&data[..33], &text, &data[33..]].concat()
        }
        PictureFormat::Jpeg => {
            let segments = [segment(0xfe, comment), segment(0xe1, &[b"http://ns.adobe.com/xap/1.0/\0", comment].concat())].concat();
            [&data[..2], &segments, &data[2..]].concat()
        }
        PictureFormat::Webp => webp(&[extended(0b0100, 20, 10), data[12..].to_vec(), riff_chunk(*b"XMP ", comment)]),
        PictureFormat::Gif => panic!("GIF is always encoded anew"),
    }
}

/// A JPEG image with an orientation.
pub(super) fn oriented(data: &[u8], orientation: u8) -> Vec<u8> {
    let directory = [&[1, 0][..], &[0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0], &[0; 4]].concat();
    let exif = [&b"Exif\0\0II*\0\x08\0\0\0"[..], &directory].concat();
    [&data[..2], &segment(0xe1, &exif), &data[2..]].concat()
}

/// A JPEG image of 8x8 in cyan, magenta, yellow and black: one block of the middle value for each.
pub(super) fn for_print() -> Vec<u8> {
    let tables = |class: u8| [&[class][..], &[1], &[0; 15], &[0]].concat();
    let components: Vec<u8> = (1..=4).flat_map(|id| [id, 0x11, 0]).collect();
    let selectors: Vec<u8> = (1..=4).flat_map(|id| [id, 0]).collect();
    [
        vec![0xff, 0xd8],
        segment(0xee, b"Adobe\0\x64\0\0\0\0\0"),
        segment(0xdb, &[&[0][..], &[1; 64]].concat()),
        segment(0xc0, &[&[8, 0, 8, 0, 8, 4][..], &components].concat()),
        segment(0xc4, &tables(0)),
        segment(0xc4, &tables(0x10)),
        segment(0xda, &[&[4][..], &selectors, &[0, 63, 0]].concat()),
        // A difference of zero and the end of the block, four times, one bit each.
        vec![0, 0xff, 0xd9],
    ]
    .concat()
}

fn grey(shade: u8, format: ImageFormat) -> Vec<u8> {
    let mut data = Cursor::new(Vec::new());
    DynamicImage::ImageRgba8(RgbaImage::from_pixel(4, 3, Rgba([shade, shade, shade, 255]))).write_to(&mut data, format).unwrap();
    data.into_inner()
}

/// The content of the first chunk of a name.
fn content(png: &[u8], name: [u8; 4]) -> Vec<u8> {
    let at = png.windows(4).position(|found| found == name).unwrap();
    let length = u32::from_be_bytes(*png[at - 4..].first_chunk().unwrap()) as usize;
    png[at + 4..at + 4 + length].to_vec()
}

/// An animated PNG of 4x3.
pub(super) fn animated_png(shades: [u8; 2]) -> Vec<u8> {
    let [first, second] = shades.map(|shade| grey(shade, ImageFormat::Png));
    let control = |number: u8| [&[0, 0, 0, number][..], &[0, 0, 0, 4, 0, 0, 0, 3], &[0; 8], &[0, 1, 0, 10, 0, 0]].concat();
    [
        first[..33].to_vec(),
        chunk(*b"acTL", &[0, 0, 0, 2, 0, 0, 0, 0]),
        chunk(*b"fcTL", &control(0)),
        chunk(*b"IDAT", &content(&first, *b"IDAT")),
        chunk(*b"fcTL", &control(1)),
        chunk(*b"fdAT", &[&[0, 0, 0, 2][..], &content(&second, *b"IDAT")].concat()),
        chunk(*b"IEND", b""),
    ]
    .concat()
}

/// An animated WebP of 4x3.
pub(super) fn animated_webp(shades: [u8; 2]) -> Vec<u8> {
    let frames = shades.map(|shade| {
        // The last bit: not mixed with the background.
        let header = [0, 0, 0, 0, 0, 0, 3, 0, 0, 2, 0, 0, 100, 0, 0, 2];
        riff_chunk(*b"ANMF", &[&header[..], &grey(shade, ImageFormat::WebP)[12..]].concat())
    });
    webp(&[vec![extended(0b0000_0010, 4, 3), riff_chunk(*b"ANIM", &[0; 6])], frames.to_vec()].concat())
}
