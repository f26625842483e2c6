//! The policy that the configuration describes; every entry knows its file and line.

use std::path::PathBuf;
use std::sync::Arc;

use haft_config::{Provenance, Source, Sourced};
use haft_engine::{Listed, Policy, Registry, StandardPolicy};

/// The policy of these settings.
pub(super) fn policy(settings: &Provenance, registry: &Registry) -> Arc<dyn Policy> {
    let listed = |entries: &[Sourced<String>]| entries.iter().map(|entry| entry_of(entry, registry)).collect::<Vec<_>>();
    Arc::new(StandardPolicy {
        disabled: listed(settings.entries("tools.disabled")),
        allow: settings.lists("tools.allow").iter().map(|list| listed(&list.value)).collect(),
        deny: listed(settings.entries("tools.deny")),
    })
}

/// An entry as the policy compares it: a tool by its canonical name, however the person wrote it.
fn entry_of(entry: &Sourced<String>, registry: &Registry) -> Listed {
    let written = entry.value.trim();
    let pattern = registry.get(written).map_or_else(|| written.to_owned(), |tool| tool.name().to_owned());
    let mut listed = Listed::new(pattern);
    (listed.file, listed.line) = place(&entry.source);
    listed
}

/// The file and line, or the variable or flag, that says so.
fn place(source: &Source) -> (Option<Arc<PathBuf>>, Option<u32>) {
    let named = || source.name.as_ref().map(|name| Arc::new(PathBuf::from(name)));
    (source.file.clone().or_else(named), source.line)
}
