//! What rules say that a sandbox can enforce by itself: programs that are not there, and folders that cannot be changed.

use std::path::Path;

use super::matcher::Matcher;
use super::path::PathPattern;
use super::scope::Kinds;
use super::{Rule, RuleEffects, RuleKind, RuleSet, text};

/// Shells that run every command: without them nothing could run.
const NEEDED: &[&str] = &["bash", "sh"];

/// What rules say about changes of files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChangeRules {
    /// Paths that may not be changed, nor anything beneath them, without patterns: whole ones, and others from the workspace
    /// (`.` is the workspace itself). One that is a folder can be made read-only; one that is a file, or not there, cannot.
    pub denied_folders: Vec<String>,
    /// Whether there is a rule that only a look at each change can enforce: on files by a pattern, on deletions, or one that asks.
    pub needs_staging: bool,
}

/// Files that a rule denies changes of, or asks about, as patterns of the file system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GuardedChanges {
    /// What is guarded, with everything beneath.
    pub pattern: String,
    /// What is not, although it matches: compared exactly.
    pub except: Vec<String>,
}

impl RuleSet {
    /// What commands in this workspace may read alone, one list for each rule that denies reading everything else.
    pub(crate) fn readable_paths(&self, root: &str) -> Vec<Vec<String>> {
        let closes = |rule: &&Rule| {
            let reads = |effects: &RuleEffects| effects.matcher == Matcher::Any && effects.kinds.meets(Kinds::READ);
            rule.kind == RuleKind::Deny && rule.effects.as_ref().is_some_and(reads)
        };
        self.rules().iter().filter(closes).map(|rule| rule.excepted_paths(Kinds::READ, root)).collect()
    }

    /// What rules deny changes of or ask about, for the sandbox of commands in this workspace.
    pub(crate) fn guarded_changes(&self, root: &str) -> Vec<GuardedChanges> {
        let rules = self.rules().iter().filter(|rule| rule.kind.restricts() && rule.changes_files());
        let guarded = rules.filter_map(|rule| {
            let pattern = match &rule.effects.as_ref()?.matcher {
                Matcher::Path(pattern) => pattern.for_sandbox(root),
                Matcher::Any => "/**".to_owned(),
                _ => return None,
            };
            Some(GuardedChanges { pattern, except: rule.excepted_paths(Kinds::CHANGE, root) })
        });
        guarded.collect()
    }

    /// Programs that may not run with any arguments in the sandbox: names in lower case, or whole paths.
    pub(crate) fn denied_programs(&self) -> Vec<String> {
        let denied = self.rules().iter().filter(|rule| rule.kind == RuleKind::Deny && rule.except.is_empty());
        let denied = denied.filter_map(|rule| rule.effects.as_ref());
        let mut names: Vec<String> = denied
            .filter_map(|effects| match &effects.matcher {
                Matcher::Command(pattern) => pattern.whole_program(),
                _ => None,
            })
            .filter(|name| !NEEDED.contains(&name.rsplit('/').next().unwrap_or(name)))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// What rules say about changes of files. `home` is what `~` stands for.
    pub(crate) fn change_rules(&self, home: Option<&Path>) -> ChangeRules {
        let mut changes = ChangeRules::default();
        for rule in self.rules().iter().filter(|rule| rule.kind.restricts() && rule.changes_files()) {
            match rule.denied_folder(home) {
                Some(folder) if !changes.denied_folders.contains(&folder) => changes.denied_folders.push(folder),
                Some(_) => {}
                None => changes.needs_staging = true,
            }
        }
        changes
    }
}

impl Rule {
    /// Exceptions that hold for every tool and for all of these kinds.
    fn excepted_paths(&self, kinds: Kinds, root: &str) -> Vec<String> {
        let effects = self.except.iter().filter_map(|exception| exception.effects.as_ref());
        let whole = effects.filter(|effects| effects.by.is_none() && effects.kinds.covers(kinds));
        let paths = whole.filter_map(|effects| match &effects.matcher {
            Matcher::Path(pattern) => Some(pattern.exact_texts(root)),
            _ => None,
        });
        paths.flatten().collect()
    }

    fn changes_files(&self) -> bool {
        self.effects.as_ref().is_some_and(|effects| effects.kinds.meets(Kinds::CHANGE))
    }

    /// The path that may not be changed, with all beneath it, if that is all that the rule says.
    fn denied_folder(&self, home: Option<&Path>) -> Option<String> {
        if !self.except.is_empty() {
            return None;
        }
        let effects = self.effects.as_ref().filter(|effects| self.kind == RuleKind::Deny && effects.kinds.covers(Kinds::CHANGE))?;
        if effects.matcher == Matcher::Any {
            return Some(".".to_owned());
        }
        // Read once more in the spelling of the rule: what restricts is compared without regard to case.
        let chars = text::read(&self.text).ok()?.content?;
        PathPattern::parse(RuleKind::Allow, &chars, home).ok()?.plain_path()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::HOME;
    use super::*;
    use crate::catalog::Vocabulary;
    use crate::{ListEntry, RuleLists};

    /// Rules that deny, rules that ask, folders, and whether changes must be staged.
    type Row<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], bool);

    fn rules(deny: &[&str], ask: &[&str]) -> RuleSet {
        let list = |rules: &[&str]| rules.iter().map(|rule| ListEntry::new(*rule)).collect();
        let lists = RuleLists { deny: list(deny), ask: list(ask), ..RuleLists::default() };
        RuleSet::compile(&lists, &Vocabulary::of_core(haft_builtin::metas()), Some(Path::new(HOME))).unwrap()
    }

    #[test]
    fn only_programs_that_are_denied_with_any_arguments_are_absent() {
        let deny = [
            "exec(curl)",
            "exec(Wget *)",
            "exec(/usr/bin/nc *)",
            "exec(host:sandbox ssh)",
            "exec(host:host scp)",
            "exec(git push *)",
            "exec(rm -rf)",
            "exec(py*)",
            "exec(bash *)",
            "read(secret/**)",
        ];
        assert_eq!(rules(&deny, &["exec(make)"]).denied_programs(), ["/usr/bin/nc", "curl", "ssh", "wget"]);
        assert!(rules(&["exec(host:container)"], &[]).denied_programs().is_empty());
    }

    #[test]
    fn folders_are_told_from_what_only_a_look_at_each_change_can_enforce() {
        let home = format!("{HOME}/keys");
        let table: &[Row<'_>] = &[
            (&["write(docs/Legal/**)", "write_file(docs/Legal)"], &[], &["docs/Legal"], false),
            (&["write(~/keys/**)", "write(./a/**)"], &[], &[&home, "a"], false),
            (&["write"], &[], &["."], false),
            (&["write(**)"], &[], &[], true),
            (&["write(**/*.lock)"], &[], &[], true),
            (&["write(src/*/gen/**)"], &[], &[], true),
            (&["delete(docs/**)"], &[], &[], true),
            (&[], &["write(docs/**)"], &[], true),
            (&["read(docs/**)", "exec(rm *)", "connect"], &["read(x)"], &[], false),
        ];
        for (deny, ask, folders, staging) in table {
            let ChangeRules { denied_folders, needs_staging } = rules(deny, ask).change_rules(Some(Path::new(HOME)));
            assert_eq!(
                (denied_folders.iter().map(String::as_str).collect::<Vec<_>>(), needs_staging),
                (folders.to_vec(), *staging),
                "{deny:?}"
            );
        }
    }
}
