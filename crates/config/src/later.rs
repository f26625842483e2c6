//! Keys of which this version knows the name only.

use std::ops::Range;

use crate::Source;
use crate::origin::Origin;
use crate::problem::Problem;
use crate::text::{listed, quoted};

/// A key of which this version knows the name only, where it was used.
pub(crate) struct LaterUse {
    pub(crate) path: String,
    pub(crate) span: Range<usize>,
}

/// What is said of the uses in one section.
pub(crate) fn not_acted_on(origin: &Origin<'_>, authority: bool, mut uses: Vec<LaterUse>) -> Problem {
    uses.sort_by_key(|used| used.span.start);
    let mut paths: Vec<String> = uses.iter().map(|used| quoted(&used.path)).collect();
    paths.dedup();
    let first = uses.swap_remove(0);
    let judge = if authority { not_enforced } else { not_used };
    judge(origin.at(first.span), &paths).key(first.path)
}

/// Authority that this version does not enforce: whoever wrote it counts on it.
pub(crate) fn not_enforced(source: Source, names: &[String]) -> Problem {
    let (are, them) = grammar(names);
    Problem::error(source, format!("{} {are} not enforced by this version: running with {them} would give false safety", listed(names)))
        .help(format!("remove {them}, and limit what may be done with access, tools.deny, network.deny or workspace.deny_read"))
}

/// What this version does not use, and nobody's safety depends on.
pub(crate) fn not_used(source: Source, names: &[String]) -> Problem {
    let (are, them) = grammar(names);
    Problem::warning(source, format!("{} {are} not used by this version yet", listed(names)))
        .help(format!("nothing depends on {them}: leave {them}, or remove {them}"))
}

fn grammar(names: &[String]) -> (&'static str, &'static str) {
    if names.len() > 1 { ("are", "them") } else { ("is", "it") }
}
