//! Files as the session saw them last, so that it does not overwrite changes of another program.

use std::path::Path;

use haft_contract::{Effect, Location, ToolContext, WriteOutcome};

/// The absolute path of a planned one; the session remembers a file by it.
pub(crate) fn planned_path<'a>(cx: &'a ToolContext, path: &Path) -> Option<&'a Path> {
    let effects = cx.plan().effects().iter().filter_map(Effect::path);
    effects.map(|(effect, _)| &effect.location).find(|location| location.requested() == path).map(Location::path)
}

/// The fingerprint of a file when the session saw it last.
pub(crate) fn seen_fingerprint(path: &Path, cx: &ToolContext) -> Option<String> {
    planned_path(cx, path).and_then(|path| cx.seen_files().fingerprint(path))
}

/// Notes what the session has written: that is no change by another program.
pub(crate) fn remember(path: &Path, written: &WriteOutcome, cx: &ToolContext) {
    if let Some(path) = planned_path(cx, path) {
        cx.seen_files().note(path, &written.fingerprint);
    }
}
