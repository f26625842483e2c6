//! A picture as the content of a result.

use haft_contract::{ErrorKind, FileReader, ImageLimits, ToolError, ToolOutput};
use haft_text::numbers;
use serde_json::json;

use super::{Picture, PictureFault, PictureFormat, for_models, prepare};
use crate::shared::read_all::read_all;
use crate::shared::worker::WorkerPool;

/// Larger files are refused.
pub(crate) const LARGEST: usize = 32 * 1024 * 1024;

/// Each may need several hundred megabytes.
static DECODING: WorkerPool = WorkerPool::new("decoding of a picture", 2);

/// Shows a picture.
pub(crate) async fn show(name: &str, format: PictureFormat, reader: &dyn FileReader, head: Vec<u8>) -> Result<ToolOutput, ToolError> {
    let data = read_all(name, format.name(), head, reader, LARGEST).await?;
    let size = data.len();
    let picture = prepared(for_models(), format, data).await?.map_err(|fault| refused(name, format, size, &fault))?;
    let details = json!({
        "path": name,
        "kind": "image",
        "mime": format.mime(),
        "size": size,
        "width": picture.original.0,
        "height": picture.original.1,
        "shown": {"mime": picture.mime, "width": picture.shown.0, "height": picture.shown.1, "bytes": picture.data.len()},
    });
    let text = format!("{name}: {}", describe(format, size, &picture));
    Ok(ToolOutput::text(text).with_image(picture.mime, picture.data).with_details(details))
}

/// As [`prepare`], on a worker thread.
pub(crate) async fn prepared(
    limits: ImageLimits,
    format: PictureFormat,
    data: Vec<u8>,
) -> Result<Result<Picture, PictureFault>, ToolError> {
    DECODING.run(move || prepare(limits, format, data)).await
}

/// `image/png, 20x10 pixels, 1.2 KB`, and how it is shown.
pub(crate) fn describe(format: PictureFormat, size: usize, picture: &Picture) -> String {
    let ((width, height), (shown_width, shown_height)) = (picture.original, picture.shown);
    let scaled = if picture.original == picture.shown { String::new() } else { format!(" Shown at {shown_width}x{shown_height}.") };
    let animated = if picture.is_animated { " It is animated; the first frame is shown." } else { "" };
    format!("{}, {width}x{height} pixels, {}.{scaled}{animated}", format.mime(), numbers::size(size as u64))
}

pub(crate) fn refused(name: &str, format: PictureFormat, size: usize, fault: &PictureFault) -> ToolError {
    let (kind, size) = (format.name(), numbers::size(size as u64));
    match fault {
        PictureFault::Damaged(why) => ToolError::new(
            ErrorKind::NotText,
            format!("Damaged image: {name} ({size}) begins like {kind}, but cannot be decoded: {why}. Get an intact copy."),
        ),
        PictureFault::TooLarge(why) => ToolError::new(
            ErrorKind::FileTooLarge,
            format!("Image too large: {name} ({size}) is {kind}, and decoding it takes too much memory: {why}. Scale it down first."),
        ),
    }
}

#[cfg(test)]
mod tests {
    use haft_testkit::{FakeHost, expect_error};

    use super::super::tests::sample;
    use super::*;
    use crate::files::read_file::tests::read;

    #[tokio::test]
    async fn a_picture_is_shown_as_one_whatever_its_name() {
        let host = FakeHost::new();
        let data = sample(PictureFormat::Jpeg, 20, 10);
        let size = data.len();
        host.files.put("photo.png", data.clone());
        let output = read(&host, json!({"path": "photo.png"})).await.unwrap();
        let details = json!({
            "path": "photo.png", "kind": "image", "mime": "image/jpeg", "size": size, "width": 20, "height": 10,
            "shown": {"mime": "image/jpeg", "width": 20, "height": 10, "bytes": size},
        });
        let text = format!("photo.png: image/jpeg, 20x10 pixels, {size} bytes.");
        assert_eq!(output, ToolOutput::text(text).with_image("image/jpeg", data).with_details(details));
    }

    #[tokio::test]
    async fn a_large_one_says_how_it_is_shown() {
        let host = FakeHost::new();
        let data = sample(PictureFormat::Png, 2400, 30);
        let size = numbers::size(data.len() as u64);
        host.files.put("wide", data);
        let output = read(&host, json!({"path": "wide"})).await.unwrap();
        let text: String = output.texts().collect();
        assert_eq!(text, format!("wide: image/png, 2400x30 pixels, {size}. Shown at 2000x25."));
        assert_eq!(output.content.len(), 2);
    }

    #[tokio::test]
    async fn what_cannot_be_decoded_is_refused_with_its_reason() {
        let host = FakeHost::new();
        let whole = sample(PictureFormat::Jpeg, 200, 100);
        host.files.put("cut", &whole[..whole.len() / 2]);
        host.files.put("huge", [b"GIF89a".as_slice(), &vec![0; LARGEST]].concat());
        let (kind, message) = expect_error(read(&host, json!({"path": "cut"})).await);
        let (size, begins) = (numbers::size(whole.len() as u64 / 2), "begins like a JPEG image, but cannot be decoded: ");
        assert_eq!(kind, ErrorKind::NotText);
        assert!(message.starts_with(&format!("Damaged image: cut ({size}) {begins}")), "{message}");
        let huge = (ErrorKind::FileTooLarge, "File too large: huge (32.0 MB) is a GIF image of more than 32.0 MB.".to_owned());
        assert_eq!(expect_error(read(&host, json!({"path": "huge"})).await), huge);
    }
}
