//! Checks of the data folder and the database.

use std::path::Path;

use haft_store::{CallFilter, CallLog, StoreError};

use super::DoctorCheck;
use crate::wire;

pub(super) async fn checks() -> Vec<DoctorCheck> {
    match wire::data_folder() {
        Ok(path) => vec![folder(&path).await, database(&path).await],
        Err(failure) => vec![DoctorCheck::error("data folder", failure.message.as_str(), "set HAFT_HOME to a folder of your own")],
    }
}

/// Opening makes the folder private; a spill that is begun and dropped tests writing.
async fn folder(path: &Path) -> DoctorCheck {
    const NAME: &str = "data folder";
    let written = match wire::open_blobs(path, None) {
        Ok(blobs) => blobs.spill("txt").await.map(drop),
        Err(error) => Err(error),
    };
    match written {
        Ok(()) => DoctorCheck::good(NAME, format!("{} is private and can be written", path.display())),
        Err(error) => DoctorCheck::error(NAME, error.to_string(), "set HAFT_HOME to a folder of your own that can be written"),
    }
}

async fn database(folder: &Path) -> DoctorCheck {
    const NAME: &str = "history";
    let opened = match wire::open_store(folder) {
        Ok(opened) => opened,
        Err(error) => return DoctorCheck::error(NAME, error.to_string(), fix(&error)),
    };
    let file = opened.store.place();
    match opened.store.find_damage().await {
        Ok(None) => {}
        Ok(Some(damage)) => return DoctorCheck::error(NAME, format!("the database {file} is damaged: {damage}"), DAMAGED),
        Err(error) => return DoctorCheck::error(NAME, error.to_string(), fix(&error)),
    }
    match (check_access(&opened.store).await, opened.notice) {
        (Err(error), _) => DoctorCheck::error(NAME, error.to_string(), fix(&error)),
        (Ok(()), Some(notice)) => DoctorCheck::warning(NAME, notice, "nothing to do; the old file can be removed"),
        (Ok(()), None) => DoctorCheck::good(NAME, format!("{file} can be read and written")),
    }
}

/// Reads, and takes the write lock by withdrawing a call that does not exist.
async fn check_access(log: &impl CallLog) -> Result<(), StoreError> {
    log.list(CallFilter { limit: Some(1), ..CallFilter::default() }).await?;
    log.withdraw("", Path::new(""), None).await
}

const DAMAGED: &str = "stop every other haft and run any haft command: it sets the file aside and recovers what can be read";

fn fix(error: &StoreError) -> &'static str {
    match error {
        StoreError::Newer { .. } => "use the newer haft, or set HAFT_HOME to another folder",
        StoreError::Locked { .. } => "find the process that holds it (`fuser haft.db` in the data folder), and stop it",
        StoreError::Damaged { .. } => DAMAGED,
        StoreError::Server { .. } => "the server of HAFT_STORE must run, and take this user; unset HAFT_STORE to use the file in HAFT_HOME",
        StoreError::WrongAddress(_) => "write HAFT_STORE as postgres://user@host/database, or unset it",
        StoreError::Unsupported(_) => "build haft with the feature postgres, or unset HAFT_STORE",
        _ => "check free disk space and the owner of the folder, or set HAFT_HOME to another one",
    }
}
