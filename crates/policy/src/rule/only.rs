//! Lists of the only effects of their kinds that happen: each becomes a denial of the kind, except what the list names.

use std::path::Path;
use std::sync::Arc;

use haft_pattern::NameGlob;

use super::compile::RuleCompiler;
use super::exception::Exception;
use super::matcher::Matcher;
use super::problem::RuleFault;
use super::scope::Kinds;
use super::{Rule, RuleEffects, RuleKind, RuleSet};
use crate::catalog::Vocabulary;
use crate::name::folded;
use crate::{AllowList, ListEntry};

/// What a turn leaves of a tool: a denial of all that it does of the kinds that the entries name, except what they name.
pub(crate) fn of_tool(tool: &str, entries: &[String], vocabulary: &Vocabulary, home: Option<&Path>) -> Result<RuleSet, Vec<RuleFault>> {
    let list = AllowList { entries: entries.iter().map(|entry| ListEntry::new(entry.as_str())).collect(), ..AllowList::default() };
    let mut rules = compile(&list, &Arc::from("allowed-tools"), vocabulary, home)?;
    for rule in &mut rules {
        if let Some(effects) = &mut rule.effects {
            effects.by = Some(NameGlob::Literal(folded(tool)));
        }
    }
    Ok(RuleSet::from_rules(rules))
}

/// The rules of one list: one for each group of kinds that its entries name. What is wrong with an entry is said, all at once.
pub(super) fn compile(list: &AllowList, key: &Arc<str>, vocabulary: &Vocabulary, home: Option<&Path>) -> Result<Vec<Rule>, Vec<RuleFault>> {
    let compiler = RuleCompiler { kind: RuleKind::Only, key, vocabulary, home };
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    for entry in &list.entries {
        match compiler.rule(entry) {
            Ok(rule) => entries.push(rule),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Kinds::GROUPS.iter().filter_map(|group| rest_of(*group, &entries, list)).collect())
}

/// The denial of what no entry of a group names; nothing if no entry is of the group.
fn rest_of(group: Kinds, entries: &[Rule], list: &AllowList) -> Option<Rule> {
    let kinds = |rule: &Rule| rule.effects.as_ref().and_then(|effects| effects.kinds.within(group));
    let (named, kinds): (Vec<&Rule>, Vec<Kinds>) = entries.iter().filter_map(|rule| Some((rule, kinds(rule)?))).unzip();
    let first = *named.first()?;
    Some(Rule {
        kind: RuleKind::Deny,
        text: named.iter().map(|rule| rule.text()).collect::<Vec<_>>().join(", "),
        span: first.span.clone(),
        of_project: list.of_project,
        key: Arc::clone(&first.key),
        tool: None,
        effects: Some(RuleEffects { by: None, kinds: kinds.into_iter().reduce(Kinds::and)?, matcher: Matcher::Any }),
        except: named.iter().map(|rule| Exception { tool: None, effects: rule.effects.clone() }).collect(),
    })
}

#[cfg(test)]
mod tests {
    use haft_contract::{Connect, Effect};

    use super::super::testing::{Fixture, HOME, exec, file, tree};
    use super::*;
    use crate::RuleLists;

    fn compiled(only: &[&str], deny: &[&str], ask: &[&str]) -> Result<RuleSet, Vec<RuleFault>> {
        let list = |rules: &[&str]| rules.iter().map(|rule| ListEntry::new(*rule)).collect::<Vec<_>>();
        let only = AllowList { entries: list(only), ..AllowList::default() };
        let lists = RuleLists { deny: list(deny), ask: list(ask), only: vec![only], ..RuleLists::default() };
        RuleSet::compile(&lists, &Vocabulary::of_core(haft_builtin::metas()), Some(Path::new(HOME)))
    }

    fn label(rules: &RuleSet, tool: &'static str, effect: &Effect) -> Option<String> {
        rules.on_effect(&Fixture::core(tool).candidate(), effect).map(Rule::label)
    }

    fn connect(host: &str, port: u16, method: &str) -> Effect {
        Effect::Connect(Connect::new("https", host, port, method))
    }

    #[test]
    fn only_lists_deny_the_rest_of_their_kinds_and_say_nothing_of_others() {
        let only = &["write(docs/**)", "delete(tmp/**)", "connect(domain:*.example.org)", "exec(cargo *)", "edit_file(README.md)"];
        let rules = compiled(only, &[], &[]).unwrap();
        let (change, connects) = ("only write(docs/**), delete(tmp/**), edit_file(README.md)", "only connect(domain:*.example.org)");
        for (tool, effect, denied) in [
            ("write_file", Effect::Write(file("docs/a.md")), None),
            ("write_file", Effect::Delete(file("docs/a.md")), None),
            ("apply_patch", Effect::Delete(file("tmp/a")), None),
            ("write_file", Effect::Write(file("tmp/a")), Some(change)),
            ("write_file", Effect::Write(file("Docs/a.md")), Some(change)),
            ("write_file", Effect::Write(tree(".")), Some(change)),
            ("edit_file", Effect::Write(file("README.md")), None),
            ("write_file", Effect::Write(file("README.md")), Some(change)),
            ("read_file", Effect::Read(file("src/a.rs")), None),
            ("http_request", connect("api.example.org", 8443, "POST"), None),
            ("http_request", connect("example.org", 443, "GET"), Some(connects)),
            ("web_fetch", connect("example.com", 443, "GET"), Some(connects)),
            ("exec", Effect::Exec(exec("cargo build --release")), None),
            ("exec", Effect::Exec(exec("make")), Some("only exec(cargo *)")),
            ("agent", Effect::Spawn { agent: "x".into() }, None),
        ] {
            assert_eq!(label(&rules, tool, &effect).as_deref(), denied, "{tool} {}", effect.target());
        }
        let keys: Vec<&str> = rules.rules().iter().map(Rule::key).collect();
        assert_eq!(keys, ["rules.only"; 3]);
    }

    #[test]
    fn exceptions_are_read_narrowly_and_hold_for_deny_and_ask() {
        let deny = &["write(docs/**) except write(docs/notes/**)", "mcp__*", "web_* except web_fetch"];
        let ask = &["exec(npm *) except exec(npm test *), exec(npm ls)"];
        let rules = compiled(&[], deny, ask).unwrap();
        let npm = "ask exec(npm *) except exec(npm test *), exec(npm ls)";
        let docs = "deny write(docs/**) except write(docs/notes/**)";
        let mut forged = exec("npm test");
        forged.environment = vec!["NODE_OPTIONS".into()];
        for (tool, effect, expected) in [
            ("exec", Effect::Exec(exec("npm test -- --watch")), None),
            ("exec", Effect::Exec(exec("npm ls")), None),
            ("exec", Effect::Exec(exec("npm install x")), Some(npm)),
            ("exec", Effect::Exec(exec("npm ls -g")), Some(npm)),
            ("exec", Effect::Exec(forged), Some(npm)),
            ("write_file", Effect::Write(file("docs/notes/a")), None),
            ("write_file", Effect::Write(file("docs/a")), Some(docs)),
            ("write_file", Effect::Write(file("docs/Notes/a")), Some(docs)),
            ("write_file", Effect::Write(tree("docs")), Some(docs)),
        ] {
            assert_eq!(label(&rules, tool, &effect).as_deref(), expected, "{tool} {}", effect.target());
        }
        let named = |tool| rules.on_tool(&Fixture::core(tool).candidate()).map(Rule::label);
        assert_eq!((named("web_search"), named("web_fetch")), (Some("deny web_* except web_fetch".to_owned()), None));
    }

    #[test]
    fn lists_and_exceptions_that_say_nothing_are_refused_with_what_to_write() {
        for (only, deny, fault) in [
            (
                "read",
                "",
                "'only read' names every read, so it denies nothing; say which: 'read(…)'; to deny all other effects, lower 'access', or deny them in rules.deny",
            ),
            ("read_file", "", "'only' lists effects, and 'read_file' is a tool; list the only tools in tools.allow"),
            ("web_*", "", "'only' lists effects, and 'web_*' is a tool; list the only tools in tools.allow"),
            ("", "write except write", "'except write' leaves nothing; remove the rule, or narrow the exception"),
            (
                "",
                "write except read(a)",
                "'except read(a)' speaks of another effect than the rule; write the same name in both, as in 'exec(npm *) except exec(npm test *)'",
            ),
            (
                "write(a) except write(b)",
                "",
                "'only' has no 'except'; only 'deny' and 'ask' have exceptions: narrow the rule, or deny or ask about the exception",
            ),
        ] {
            let list = |rule: &'static str| if rule.is_empty() { vec![] } else { vec![rule] };
            let faults = compiled(&list(only), &list(deny), &[]).unwrap_err();
            assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), [fault]);
        }
    }
}
