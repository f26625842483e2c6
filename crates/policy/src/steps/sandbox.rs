//! What a session that runs in a sandbox may use.

use crate::catalog::Vocabulary;
use crate::list::{Groups, List};
use crate::steps::Lists;
use crate::steps::defaults::{SANDBOX_ALLOW, SANDBOX_ALWAYS, SANDBOX_DENY};
use crate::{ListEntry, ToolLists};

/// The table of sandboxed sessions: each list that is absent has its default.
pub(crate) fn compile(written: &ToolLists, groups: &Groups, vocabulary: &Vocabulary) -> Lists {
    let mut lists = written.clone();
    for allow in lists.allow.iter_mut().filter(|allow| !allow.of_project && !allow.entries.is_empty()) {
        allow.entries.push(SANDBOX_ALWAYS.into());
    }
    let default = |names: &[&str]| List::compile(&names.iter().copied().map(ListEntry::from).collect::<Vec<_>>(), groups, vocabulary);
    Lists::compile("sandbox.tools", &lists, groups, vocabulary).with_defaults(default(SANDBOX_ALLOW), default(SANDBOX_DENY))
}
