//! The whole of outputs that were cut, page by page.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

use haft_text::display;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::failure::Failure;

/// Bytes of a page.
const PAGE: u64 = 64 << 10;

pub(super) fn page(backend: &ServeBackend, path: &str, offset: u64) -> Result<Value, Failure> {
    let spills = backend.wire_of(None)?.settings.data_folder.join("spills");
    read(&spills, Path::new(path), offset).ok_or_else(|| {
        let message = format!("'{}' is not an output that was kept", display::shorten(path, 200));
        Failure::failed("not_found", message).help("old ones are removed: see retention.spills")
    })
}

/// Opens files beneath the folder alone. Tools cannot write there, so no part of a path that has only names is a link; the last is checked.
fn read(spills: &Path, path: &Path, offset: u64) -> Option<Value> {
    let beneath = path.strip_prefix(spills).ok()?;
    let mut names = beneath.components();
    if beneath.as_os_str().is_empty() || !names.all(|name| matches!(name, Component::Normal(_))) {
        return None;
    }
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits()).ok()?;
    let mut file = std::fs::File::options().read(true).custom_flags(flags).open(path).ok()?;
    let facts = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let start = offset.min(facts.len());
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.take(PAGE).read_to_end(&mut bytes).ok()?;
    let is_last = start + bytes.len() as u64 >= facts.len();
    if !is_last {
        bytes.truncate(whole_lines(&bytes));
    }
    let next = start + bytes.len() as u64;
    let next = (!is_last).then_some(next);
    Some(json!({ "text": String::from_utf8_lossy(&bytes), "offset": start, "next": next, "size": facts.len() }))
}

/// Where the last whole line of a page ends, or its last whole character if a line is longer than the page.
fn whole_lines(bytes: &[u8]) -> usize {
    if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
        return end + 1;
    }
    let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let start = bytes.iter().rposition(|byte| !is_inside(byte)).unwrap_or(0);
    if start == 0 || std::str::from_utf8(&bytes[start..]).is_ok() { bytes.len() } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_lines_and_together_the_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        for text in ["line ö\n".repeat(30_000), "ö".repeat(100_000), String::new(), "x".repeat(65_536)] {
            std::fs::write(&file, &text).unwrap();
            let (mut read_so_far, mut offset) = (String::new(), Some(0));
            while let Some(start) = offset {
                let page = read(folder.path(), &file, start).unwrap();
                assert!(!page["text"].as_str().unwrap().contains(char::REPLACEMENT_CHARACTER));
                read_so_far += page["text"].as_str().unwrap();
                offset = page["next"].as_u64();
            }
            assert_eq!(read_so_far, text);
        }
        assert_eq!(read(folder.path(), &file, u64::MAX).unwrap()["text"], "");
    }

    #[test]
    fn nothing_outside_of_the_folder_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (spills, secret) = (folder.path().join("spills"), folder.path().join("secret"));
        std::fs::create_dir(&spills).unwrap();
        std::fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(&secret, spills.join("link")).unwrap();
        for path in [secret, spills.join("../secret"), spills.join("link"), spills.clone(), spills.join("gone"), "spills/link".into()] {
            assert_eq!(read(&spills, &path, 0), None, "{}", path.display());
        }
    }
}
