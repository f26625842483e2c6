//! What a session that runs in a sandbox may use.

use crate::catalog::Vocabulary;
use crate::list::Groups;
use crate::steps::Lists;
use crate::steps::defaults::{SANDBOX_ALLOW, SANDBOX_ALWAYS, SANDBOX_DENY};
use crate::{AllowList, Listed, ToolLists};

/// The table of sandboxed sessions: each list that is absent has its default.
pub(crate) fn compile(written: &ToolLists, groups: &Groups, vocabulary: &Vocabulary) -> Lists {
    let mut lists = written.clone();
    if lists.allow.iter().all(|allow| allow.of_project) {
        lists.allow.push(AllowList { entries: listed(SANDBOX_ALLOW), ..AllowList::default() });
    }
    if lists.deny.iter().all(|entry| entry.of_project) {
        lists.deny.extend(listed(SANDBOX_DENY));
    }
    for allow in lists.allow.iter_mut().filter(|allow| !allow.of_project && !allow.entries.is_empty()) {
        allow.entries.push(SANDBOX_ALWAYS.into());
    }
    Lists::compile("sandbox.tools", &lists, groups, vocabulary)
}

fn listed(names: &[&str]) -> Vec<Listed> {
    names.iter().copied().map(Listed::from).collect()
}
