//! Where a planned path leads.

use std::path::Path;

use haft_contract::{Effect, Location, ToolContext};

/// The absolute place of a path that was planned: what a session remembers a file by.
pub(crate) fn of<'a>(cx: &'a ToolContext, path: &Path) -> Option<&'a Path> {
    let effects = cx.plan().effects().iter().filter_map(Effect::path);
    effects.map(|(effect, _)| &effect.location).find(|location| location.requested() == path).map(Location::path)
}
