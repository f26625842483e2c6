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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Severity};

    #[test]
    fn what_carries_no_authority_is_only_a_warning() {
        let text = "b = 1\na = 2\n";
        let origin = Origin::file(Layer::User, std::sync::Arc::default(), text);
        let used = |path: &str| LaterUse { path: path.to_owned(), span: text.find(path).map_or(0..0, |at| at..at + 1) };
        let told = |uses: Vec<LaterUse>| {
            let Problem { severity, source, key, message, help, .. } = not_acted_on(&origin, false, uses);
            (severity, source.line, key, message, help)
        };
        let expected = |key: &str, line, message: &str, help: &str| {
            (Severity::Warning, Some(line), Some(key.to_owned()), message.to_owned(), Some(help.to_owned()))
        };
        assert_eq!(
            told(vec![used("a")]),
            expected("a", 2, "'a' is not used by this version yet", "nothing depends on it: leave it, or remove it")
        );
        assert_eq!(
            told(vec![used("a"), used("b")]),
            expected("b", 1, "'b' and 'a' are not used by this version yet", "nothing depends on them: leave them, or remove them")
        );
    }
}
