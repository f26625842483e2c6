//! The database of this user: a file in the data folder, or a server.

use std::path::Path;
use std::sync::Arc;

use haft_store::{FileBlobs, OpenedState, StateStore, StoreError};

use crate::failure::Failure;
use crate::output::warn;

/// The database of calls, conversations and jobs. A damaged one is replaced, with a warning.
pub(crate) fn store(folder: &Path) -> Result<Arc<StateStore>, Failure> {
    let OpenedState { store, notice } = open_store(folder)?;
    if let Some(notice) = &notice {
        warn(notice);
    }
    Ok(Arc::new(store))
}

/// The same, with the warning. `HAFT_STORE` names a server to use instead of the file in the folder.
pub(crate) fn open_store(folder: &Path) -> Result<OpenedState, StoreError> {
    let address = store_address();
    let opened = StateStore::open(address.as_deref(), folder)?;
    if address.is_some() {
        // Signals and spills lie in the folder also then: it has to be private before anything else makes it.
        FileBlobs::open(folder)?;
    }
    Ok(opened)
}

/// The address of the server that the user names, which may hold a password.
pub(crate) fn store_address() -> Option<String> {
    std::env::var("HAFT_STORE").ok().filter(|address| !address.is_empty())
}

/// Removes everything of a store on a server, with its schema.
pub(crate) fn remove_store(address: &str) -> Result<(), Failure> {
    Ok(StateStore::remove_schema(address)?)
}
