use image::codecs::gif::GifEncoder;
use image::{Delay, Frame, Rgb, RgbImage, Rgba, RgbaImage};

mod files;

use self::files::{animated_png, animated_webp, chunk, for_print, oriented, with_comment};

use super::*;

/// A picture in which no two pixels side by side are the same, in a format.
pub(crate) fn sample(format: PictureFormat, width: u32, height: u32) -> Vec<u8> {
    let shade = |number: u32| u8::try_from(number % 256).unwrap();
    let pixel = |x: u32, y: u32| Rgb([shade(x * 7), shade(y * 13), shade(x + y)]);
    let mut data = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, pixel)).write_to(&mut data, format.decoded_as()).unwrap();
    data.into_inner()
}

const ALL: [PictureFormat; 4] = [PictureFormat::Png, PictureFormat::Jpeg, PictureFormat::Gif, PictureFormat::Webp];

fn prepare(format: PictureFormat, data: Vec<u8>) -> Result<Picture, PictureFault> {
    super::prepare(for_models(), format, data)
}

#[test]
fn every_format_is_told_by_its_bytes_and_kept_as_it_is() {
    for format in ALL {
        let data = sample(format, 20, 10);
        assert_eq!(PictureFormat::detect(&data), Some(format));
        let picture = prepare(format, data.clone()).unwrap();
        // Not every provider takes GIF.
        let mime = if format == PictureFormat::Gif { "image/png" } else { format.mime() };
        assert_eq!((picture.mime, picture.original, picture.shown, picture.is_animated), (mime, (20, 10), (20, 10), false));
        assert!(picture.data == data || format == PictureFormat::Gif, "{format:?}");
    }
    for other in [&b""[..], b"GIF", b"RIFF\0\0\0\0WAVE", b"BM\0\0", b"<svg/>", b"\x89PNG"] {
        assert_eq!(PictureFormat::detect(other), None, "{other:?}");
    }
}

#[test]
fn metadata_goes_and_the_pixels_stay() {
    for format in [PictureFormat::Png, PictureFormat::Jpeg, PictureFormat::Webp] {
        let plain = sample(format, 20, 10);
        let mut described = with_comment(format, &plain, b"GPS 52.5 N, 13.4 E");
        described.extend_from_slice(b"what is behind the end: 52.5 N");
        assert_ne!(described, plain);
        let picture = prepare(format, described).unwrap();
        assert_eq!((picture.mime, picture.shown), (format.mime(), (20, 10)));
        assert!(!picture.data.windows(6).any(|found| found == b"52.5 N"), "{format:?}");
        let pixels = |data: &[u8]| image::load_from_memory(data).unwrap().to_rgb8();
        assert_eq!(pixels(&picture.data), pixels(&plain), "{format:?}");
    }
}

#[test]
fn orientation_is_applied_because_it_goes_with_the_metadata() {
    let picture = prepare(PictureFormat::Jpeg, oriented(&sample(PictureFormat::Jpeg, 20, 10), 6)).unwrap();
    assert_eq!((picture.mime, picture.original, picture.shown), ("image/jpeg", (10, 20), (10, 20)));
    assert!(!picture.data.windows(4).any(|found| found == b"Exif"));
    let upright = prepare(PictureFormat::Jpeg, oriented(&sample(PictureFormat::Jpeg, 20, 10), 1)).unwrap();
    assert_eq!(upright.data, sample(PictureFormat::Jpeg, 20, 10));
}

#[test]
fn picture_for_print_gets_the_colours_of_screens() {
    let data = for_print();
    assert!(metadata::is_for_print(PictureFormat::Jpeg, &data));
    let picture = prepare(PictureFormat::Jpeg, data).unwrap();
    assert_eq!((picture.mime, picture.shown), ("image/jpeg", (8, 8)));
    assert!(!metadata::is_for_print(PictureFormat::Jpeg, &picture.data));
}

#[test]
fn one_pixel_by_thirty_thousand_is_scaled() {
    for (size, shown) in [((1, 30_000), (1, 2000)), ((30_000, 1), (2000, 1))] {
        let picture = prepare(PictureFormat::Png, sample(PictureFormat::Png, size.0, size.1)).unwrap();
        assert_eq!((picture.original, picture.shown), (size, shown));
    }
}

#[test]
fn what_is_cut_off_or_damaged_is_refused() {
    for format in ALL {
        let data = sample(format, 200, 100);
        for kept in [12, data.len() / 2] {
            let outcome = prepare(format, data[..kept].to_vec());
            assert!(matches!(outcome, Err(PictureFault::Damaged(_))), "{format:?} cut at {kept}: {outcome:?}");
        }
        let mut noise = data.clone();
        noise[12..].fill(0x55);
        assert!(prepare(format, noise).is_err(), "{format:?}");
    }
}

#[test]
fn what_is_too_wide_or_too_high_is_scaled() {
    for (format, size, shown, mime) in [
        (PictureFormat::Png, (2400, 30), (2000, 25), "image/png"),
        (PictureFormat::Jpeg, (30, 2400), (25, 2000), "image/jpeg"),
        (PictureFormat::Webp, (4000, 1), (2000, 1), "image/png"),
        (PictureFormat::Gif, (2001, 2), (2000, 2), "image/png"),
    ] {
        let picture = prepare(format, sample(format, size.0, size.1)).unwrap();
        assert_eq!((picture.mime, picture.original, picture.shown), (mime, size, shown));
        let again = image::load_from_memory(&picture.data).unwrap();
        assert_eq!((again.width(), again.height()), shown);
    }
}

#[test]
fn what_is_too_many_bytes_becomes_a_jpeg_without_holes() {
    // Noise, which no format makes smaller.
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let image = RgbaImage::from_fn(90, 90, |x, _| if x < 9 { Rgba([0; 4]) } else { Rgba([noise(), noise(), noise(), 255]) });
    let mut data = Cursor::new(Vec::new());
    image.write_to(&mut data, ImageFormat::Png).unwrap();
    let data = data.into_inner();
    for (most, mime, shown) in [(50_000, "image/png", 90), (15_000, "image/jpeg", 90), (4_000, "image/jpeg", 45), (1, "image/jpeg", 1)] {
        let picture = super::prepare(for_models().bytes(most), PictureFormat::Png, data.clone()).unwrap();
        assert_eq!((picture.mime, picture.original, picture.shown), (mime, (90, 90), (shown, shown)), "{most}");
        assert!(picture.data.len() <= most || shown == 1, "{most}");
        let corner = image::load_from_memory(&picture.data).unwrap().to_rgb8().get_pixel(0, 0).0;
        assert!(mime == "image/png" || shown == 1 || corner.iter().all(|colour| *colour > 200), "{corner:?}");
    }
    assert_eq!((over_white(0, 0), over_white(10, 255), over_white(0, 128)), (255, 10, 127));
}

#[test]
fn of_what_moves_the_first_frame_is_shown() {
    let mut data = Vec::new();
    let mut encoder = GifEncoder::new(&mut data);
    for shade in [10, 200] {
        let frame = RgbaImage::from_pixel(4, 3, Rgba([shade, shade, shade, 255]));
        encoder.encode_frame(Frame::from_parts(frame, 0, 0, Delay::from_numer_denom_ms(100, 1))).unwrap();
    }
    drop(encoder);
    for (format, data) in
        [(PictureFormat::Gif, data), (PictureFormat::Png, animated_png([10, 200])), (PictureFormat::Webp, animated_webp([10, 200]))]
    {
        let picture = prepare(format, data).unwrap();
        assert_eq!((picture.mime, picture.shown, picture.is_animated), ("image/png", (4, 3), true), "{format:?}");
        assert!(!metadata::is_animated_png(&picture.data));
        assert_eq!(image::load_from_memory(&picture.data).unwrap().to_rgb8().get_pixel(0, 0).0, [10, 10, 10], "{format:?}");
    }
}

#[test]
fn a_bomb_is_refused_before_it_is_decoded() {
    for (width, height) in [(60_000, 10), (30_000, 30_000)] {
        let mut data = sample(PictureFormat::Png, 1, 1);
        let header = [&u32::to_be_bytes(width)[..], &u32::to_be_bytes(height), &data[24..29]].concat();
        data.splice(8..33, chunk(*b"IHDR", &header));
        assert!(matches!(prepare(PictureFormat::Png, data), Err(PictureFault::TooLarge(_))), "{width}x{height}");
    }
}
