//! The stores of a test: in memory, or on the PostgreSQL server that `HAFT_TEST_STORE` names, where each has a schema of its own.
#![allow(clippy::unwrap_used, dead_code, reason = "a test without its store has failed, and not every test needs both")]

use std::path::Path;
use std::sync::Arc;

use haft_store::{CallLog, InMemoryCallLog, InMemorySessionStore, SessionStore, StateStore, new_uuid};

/// An empty store of sessions.
pub(crate) fn session_store() -> Arc<dyn SessionStore> {
    on_server().map_or_else(|| Arc::new(InMemorySessionStore::default()) as _, |store| store.sessions())
}

/// An empty history.
pub(crate) fn call_log() -> Arc<dyn CallLog> {
    on_server().map_or_else(|| Arc::new(InMemoryCallLog::default()) as _, |store| Arc::new(store) as _)
}

fn on_server() -> Option<StateStore> {
    let server = std::env::var("HAFT_TEST_STORE").ok().filter(|server| !server.is_empty())?;
    let address = format!("{server}?options=-csearch_path%3Dtest_{}", new_uuid().simple());
    Some(StateStore::open(Some(&address), Path::new("")).unwrap().store)
}
