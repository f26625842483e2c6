//! Code that several tools use.

pub(crate) mod binary;
pub(crate) mod file_change;
pub(crate) mod media_type;
pub(crate) mod memory;
pub(crate) mod notebook;
pub(crate) mod pager;
pub(crate) mod picture;
pub(crate) mod polite;
pub(crate) mod read_all;
pub(crate) mod seen;
pub(crate) mod spill_buffer;
pub(crate) mod sub_agents;
pub(crate) mod text_file;
pub(crate) mod tree_search;
pub(crate) use haft_text::untrusted;
pub(crate) mod utf16;
pub(crate) mod worker;

/// Longer values are cut in messages: enough to recognise them by.
const BRIEF_CHARS: usize = 200;

/// A value for a message, cut if it is very long.
pub(crate) fn brief(value: &str) -> String {
    haft_text::truncate::ellipsize(value, BRIEF_CHARS).into_owned()
}
