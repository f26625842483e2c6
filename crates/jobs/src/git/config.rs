//! Git's configuration files: read as Git reads them, and merged so that only harmless entries change.
//!
//! What a command wrote is only read. The text that is written is the one from before with single entries replaced, and every
//! replaced or added line is rendered here, so a text that we read otherwise than Git does cannot smuggle in an entry.

mod keys;
mod merge;
mod parse;

pub(super) use self::keys::Scope;
pub(crate) use self::keys::normalize;
pub(super) use self::merge::{MergedConfig, merge};
pub(super) use self::parse::{Entry, parse};

/// A larger file is refused.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// The name of an entry: `remote.origin.url`. Section and name are in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) section: String,
    pub(super) subsection: Option<Vec<u8>>,
    pub(super) name: String,
}

impl std::fmt::Display for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { section, subsection, name } = self;
        match subsection {
            Some(subsection) => {
                let subsection = String::from_utf8_lossy(subsection);
                write!(formatter, "{section}.{}.{name}", haft_text::display::escape_line(&haft_text::display::shorten(&subsection, 80)))
            }
            None if section.is_empty() => formatter.write_str(name),
            None => write!(formatter, "{section}.{name}"),
        }
    }
}

#[cfg(test)]
mod tests;
