use std::io::{self, Cursor, Read};
use std::time::Duration;

use haft_store::{BlobId, BlobWriter, Blobs};

/// Bytes in which no piece is like another.
fn bytes(length: u32) -> Vec<u8> {
    (0..length / 4).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

async fn content(blobs: &dyn Blobs, id: &BlobId) -> Vec<u8> {
    let mut content = Vec::new();
    blobs.open(id).await.unwrap().read_to_end(&mut content).unwrap();
    content
}

async fn write(mut writer: Box<dyn BlobWriter>, content: &[u8], piece: usize) -> std::path::PathBuf {
    for piece in content.chunks(piece) {
        writer.write(piece).await.unwrap();
    }
    writer.finish().await.unwrap()
}

pub(crate) async fn a_spill_of_any_size_comes_back_whole(blobs: &dyn Blobs) {
    let ten_megabytes = bytes(10 << 20);
    for (length, piece) in [(0, 1), (4, 1), (64 << 10, 64 << 10), ((64 << 10) + 4, 100), (10 << 20, 12_345), (10 << 20, 10 << 20)] {
        let expected = &ten_megabytes[..length];
        let path = write(blobs.spill("txt").await.unwrap(), expected, piece).await;
        assert_eq!((path.parent(), path.extension()), (Some(blobs.spill_folder()), Some("txt".as_ref())));
        assert!(std::fs::read(path).unwrap() == expected, "{length} bytes in pieces of {piece} changed");
    }
}

pub(crate) async fn a_pre_image_of_any_size_comes_back_whole(blobs: &dyn Blobs) {
    for length in [0, 4, 64 << 10, 10 << 20] {
        let expected = bytes(length);
        let id = blobs.keep(Box::new(Cursor::new(expected.clone()))).await.unwrap();
        assert!(content(blobs, &id).await == expected, "{length} bytes changed");
    }
}

pub(crate) async fn what_cannot_be_read_is_not_kept(blobs: &dyn Blobs) {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let error = blobs.keep(Box::new(Cursor::new(bytes(1 << 20)).chain(Broken))).await.unwrap_err();
    assert!(error.to_string().contains(": the disk is gone: check the disk"), "{error}");
}

pub(crate) async fn a_pre_image_that_is_not_there_is_missing(blobs: &dyn Blobs) {
    let kept = blobs.keep(Box::new(io::empty())).await.unwrap();
    let ids = ["019a0000-aaaa-7000-8000-00000000abcd", "", "..", "../haft.db", "/etc/passwd", &format!("{}.part", kept.0)];
    for id in ids {
        let error = blobs.open(&BlobId(id.into())).await.err().unwrap();
        assert_eq!(error.to_string(), format!("no pre-image '{id}': it is no longer in the store, so this change cannot be taken back"));
    }
}

pub(crate) async fn a_pre_image_is_found_at_its_path(blobs: &dyn Blobs) {
    let id = blobs.keep(Box::new(Cursor::new(b"image"))).await.unwrap();
    assert_eq!(std::fs::read(blobs.path(&id)).unwrap(), b"image");
}

pub(crate) async fn pruning_removes_old_spills_and_nothing_else(blobs: &dyn Blobs) {
    let spill = write(blobs.spill("txt").await.unwrap(), b"spill", 5).await;
    let image = blobs.keep(Box::new(Cursor::new(b"image"))).await.unwrap();
    let mut unfinished = blobs.spill("txt").await.unwrap();
    unfinished.write(b"unfinished").await.unwrap();
    assert_eq!(blobs.prune(Duration::from_hours(1)).await.unwrap(), 0);
    assert_eq!(std::fs::read(&spill).unwrap(), b"spill");

    backdate(&spill, Duration::from_hours(2));
    assert_eq!(blobs.prune(Duration::from_hours(1)).await.unwrap(), 1);
    assert!(!spill.exists());
    assert_eq!(blobs.prune(Duration::MAX).await.unwrap(), 0);
    assert_eq!(content(blobs, &image).await, b"image");
    assert_eq!(std::fs::read(unfinished.finish().await.unwrap()).unwrap(), b"unfinished");
}

fn backdate(path: &std::path::Path, age: Duration) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::now() - age).unwrap();
}
