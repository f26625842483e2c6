//! The list of tools: one line brings the module, the facts and the registration of a tool.

/// `tools! { files { read_file => ReadFile } }` declares `files/read_file.rs` and lists its tool `ReadFile`, whose name
/// must be that of the file and whose section that of the folder. A tool with state is listed by its constructor:
/// `process => Process::new`.
#[macro_export]
#[doc(hidden)]
macro_rules! tools {
    ($($section:ident { $($module:ident => $tool:ident $(:: $new:ident)?),+ $(,)? })+) => {
        $(mod $section { $(pub(crate) mod $module;)+ })+

        static METAS: &[::haft_contract::Meta] = &[$($(<$section::$module::$tool as ::haft_contract::ToolMeta>::META),+),+];

        /// The fixed facts of every tool, in the order of listings. They cost nothing; [`all`] makes the schemas.
        pub fn metas() -> ::std::slice::Iter<'static, ::haft_contract::Meta> {
            METAS.iter()
        }

        /// Every tool, in the order of listings.
        pub fn all() -> ::std::vec::Vec<::std::sync::Arc<dyn ::haft_contract::DynTool>> {
            ::std::vec![$($(::std::sync::Arc::new(::haft_contract::Erased::new($section::$module::$tool $(::$new())?))),+),+]
        }

        $($(const _: () = {
            let meta = <$section::$module::$tool as ::haft_contract::ToolMeta>::META;
            assert!(
                $crate::list::same(meta.name, stringify!($module)),
                concat!("the tool in ", stringify!($module), ".rs has another name than its file"),
            );
            assert!(
                $crate::list::same(meta.section.as_str(), stringify!($section)),
                concat!("the tool in ", stringify!($module), ".rs has another section than its folder"),
            );
        };)+)+

        const _: () = assert!($crate::list::all_differ(METAS), "two tools share a name");
    };
}

/// Whether no two names are the same; at compile time.
pub const fn all_differ(tools: &[haft_contract::Meta]) -> bool {
    let mut one = 0;
    while one < tools.len() {
        let mut other = one + 1;
        while other < tools.len() {
            if same(tools[one].name, tools[other].name) {
                return false;
            }
            other += 1;
        }
        one += 1;
    }
    true
}

/// `==` for text at compile time.
pub const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use haft_contract::Meta;

    use super::*;

    #[test]
    fn a_name_given_twice_is_seen() {
        let metas = |names: &[&'static str]| names.iter().map(|name| Meta::new(name, "")).collect::<Vec<_>>();
        assert!(all_differ(&metas(&["a", "ab", "b", ""])));
        assert!(!all_differ(&metas(&["a", "b", "a"])));
    }
}
