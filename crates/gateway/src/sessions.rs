//! Sessions that run in the server: they continue without a page, and every page sees the same.

mod access;
mod actor;
mod elsewhere;
mod host;
mod live;
mod stored;
mod view;
mod watcher;

pub(crate) use self::host::{SentMessage, SessionHost};
pub(crate) use self::stored::stored_items;
pub(crate) use self::view::{session_view, usage_view};
