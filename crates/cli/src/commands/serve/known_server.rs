//! Where programs of this user find a running server.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use serde_json::json;

use crate::failure::Failure;

/// The file in which programs of this user find the newest server, and its content; removed when that server ends.
pub(super) struct KnownServer(PathBuf, String);

impl KnownServer {
    pub(super) fn announce(file: PathBuf, url: &str, token: &str) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::failed("execution_error", format!("{} cannot be written: {error}", file.display()));
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        // A file that is there could be readable by others, or a link.
        std::fs::remove_file(&file).ok();
        let mut options = std::fs::File::options();
        let mut opened = options.write(true).create_new(true).mode(0o600).open(&file).map_err(failed)?;
        let content = json!({ "url": url, "token": token }).to_string();
        opened.write_all(content.as_bytes()).map_err(failed)?;
        Ok(Self(file, content))
    }
}

impl Drop for KnownServer {
    fn drop(&mut self) {
        // A server that was started later has put its own there.
        if std::fs::read_to_string(&self.0).is_ok_and(|content| content == self.1) {
            std::fs::remove_file(&self.0).ok();
        }
    }
}
