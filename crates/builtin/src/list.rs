//! The list of a group: one line brings the module, the name and the registration of a tool.

use std::sync::Arc;

use haft_contract::DynTool;

/// What the list of a group comes to.
pub(crate) struct Group {
    /// The canonical names.
    pub(crate) names: &'static [&'static str],
    /// Makes the tools, in the same order.
    pub(crate) register: fn(&mut Vec<Arc<dyn DynTool>>),
}

/// `tools! { read_file => ReadFile }` in `files.rs` declares `files/read_file.rs` and lists its tool `ReadFile`, whose
/// name must be that of the file. A tool with state is listed by what makes it: `process => Process::new`.
macro_rules! tools {
    ($($module:ident => $tool:ident $(:: $new:ident)?),+ $(,)?) => {
        $(mod $module;)+

        pub(crate) const GROUP: $crate::list::Group = $crate::list::Group {
            names: &[$(<$module::$tool as ::haft_contract::ToolMeta>::META.name),+],
            register: |into| { $(into.push(::std::sync::Arc::new(::haft_contract::Erased::new($module::$tool $(::$new())?)));)+ },
        };

        $(const _: () = assert!(
            $crate::list::same(<$module::$tool as ::haft_contract::ToolMeta>::META.name, stringify!($module)),
            concat!("the tool in ", stringify!($module), ".rs has another name than its file"),
        );)+
    };
}

/// Whether no two names are the same; at compile time.
pub(crate) const fn all_differ(groups: &[Group]) -> bool {
    let mut group = 0;
    while group < groups.len() {
        let mut name = 0;
        while name < groups[group].names.len() {
            if occurrences(groups, groups[group].names[name]) != 1 {
                return false;
            }
            name += 1;
        }
        group += 1;
    }
    true
}

const fn occurrences(groups: &[Group], wanted: &str) -> usize {
    let (mut found, mut group) = (0, 0);
    while group < groups.len() {
        let mut name = 0;
        while name < groups[group].names.len() {
            found += same(groups[group].names[name], wanted) as usize;
            name += 1;
        }
        group += 1;
    }
    found
}

/// `==` for text at compile time.
pub(crate) const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_given_twice_is_seen_within_a_group_and_across_groups() {
        let group = |names| Group { names, register: |_| {} };
        assert!(all_differ(&[group(&["a", "ab"]), group(&["b", ""])]));
        assert!(!all_differ(&[group(&["a", "b", "a"])]));
        assert!(!all_differ(&[group(&["a"]), group(&["b", "a"])]));
    }
}
