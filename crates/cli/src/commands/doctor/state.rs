//! Where Haft keeps things: private, writable, readable.

use std::path::Path;

use haft_store::{CallFilter, CallLog, StoreError};

use super::Check;
use crate::wire;

pub(super) async fn checks() -> Vec<Check> {
    match wire::data_folder() {
        Ok(path) => vec![folder(&path).await, database(&path).await],
        Err(failure) => vec![Check::bad("data folder", failure.message.as_str(), "set HAFT_HOME to a folder of your own")],
    }
}

/// Opening narrows it to its owner; a spill that is begun and dropped shows that it can be written.
async fn folder(path: &Path) -> Check {
    const NAME: &str = "data folder";
    let written = match wire::open_blobs(path) {
        Ok(blobs) => blobs.spill("txt").await.map(drop),
        Err(error) => Err(error),
    };
    match written {
        Ok(()) => Check::good(NAME, format!("{} is private and can be written", path.display())),
        Err(error) => Check::bad(NAME, error.to_string(), "set HAFT_HOME to a folder of your own that can be written"),
    }
}

async fn database(folder: &Path) -> Check {
    const NAME: &str = "history";
    let opened = match wire::open_history(folder) {
        Ok(opened) => opened,
        Err(error) => return Check::bad(NAME, error.to_string(), fix(&error)),
    };
    let file = opened.log.path().display().to_string();
    match (used(&opened.log).await, opened.notice) {
        (Err(error), _) => Check::bad(NAME, error.to_string(), fix(&error)),
        (Ok(()), Some(notice)) => Check::care(NAME, notice, "nothing to do; the old file can be looked into or removed"),
        (Ok(()), None) => Check::good(NAME, format!("{file} can be read and written")),
    }
}

/// Reads, and writes nothing for real: forgetting what is not there takes the same lock as every change.
async fn used(log: &impl CallLog) -> Result<(), StoreError> {
    log.list(CallFilter { limit: Some(1), ..CallFilter::default() }).await?;
    log.withdraw("", Path::new(""), None).await
}

fn fix(error: &StoreError) -> &'static str {
    match error {
        StoreError::Newer { .. } => "use the newer haft, or set HAFT_HOME to another folder",
        StoreError::Locked { .. } => "find the process that holds it (`fuser haft.db` in the data folder), and stop it",
        _ => "see that the disk has room and the folder is yours, or set HAFT_HOME to another one",
    }
}
