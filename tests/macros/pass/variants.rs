//! The macros keep their own list of the contract's sections, categories, access levels and rule targets: it must be the same.

use haft::{Access, Category, RuleTarget, Section, ToolMeta};

macro_rules! variants {
    ($check:ident: $key:ident, $kind:ident { $($variant:ident)+ }, $all:expr) => {
        #[test]
        fn $check() {
            let mut known = Vec::new();
            $({
                /// A tool.
                #[derive(ToolMeta)]
                #[tool($key = $variant)]
                struct Probe;
                let read = Option::from(Probe::META.$key);
                assert_eq!(read, Some($kind::$variant));
                known.extend(read);
            })+
            assert_eq!(known, $all);
        }
    };
}

variants! {
    every_section_is_known: section, Section {
        Files Runtime Web Memory Sessions Ui Messaging Automation Nodes Agents Media Planning System
    }, Section::ALL
}
variants! { every_category_is_known: category, Category { Io Network System Notify }, Category::ALL }
variants! {
    every_access_level_is_known: access, Access { ReadOnly WorkspaceWrite FullAccess },
    [Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess]
}
variants! {
    every_rule_target_is_known: rules, RuleTarget { Read Write Edit Exec Connect Send Spawn Configure Node }, RuleTarget::ALL
}
