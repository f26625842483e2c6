//! Finds rules without effect, because a stricter rule matches the same: tested with examples of what each rule matches.

use std::path::Path;
use std::sync::Arc;

use haft_config::{Loaded, Sourced};
use haft_contract::{Connect, Effect, Exec, Extent, Location, PathEffect, ToolDefinition, ToolSource, Zone};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Candidate, ListEntry, RuleLists, RuleSet};
use serde_json::json;

use super::policy::{home, vocabulary};
use crate::wire::Wire;

/// The most warnings.
const MOST: usize = 20;

/// Warns of rules that a stricter one overrides. Equal entries in two lists are reported elsewhere.
pub(crate) fn warn_of_idle_rules(wire: &Wire, loaded: &mut Loaded) {
    let vocabulary = vocabulary(&wire.registry);
    let lists = ["rules.deny", "rules.ask", "rules.allow"].map(|key| (key, loaded.provenance.value(key).entries().to_vec()));
    let [(_, deny), (_, ask), _] = &lists;
    let stricter = [
        RuleLists { deny: listed(deny), ..RuleLists::default() },
        RuleLists { deny: listed(deny), ask: listed(ask), ..RuleLists::default() },
    ];
    let found = lists[1..].iter().zip(&stricter).flat_map(|((key, entries), stricter)| {
        let linter = RuleLinter { stricter: compiled(stricter, &vocabulary), vocabulary: &vocabulary, workspace: &wire.settings.workspace };
        entries.iter().filter_map(move |entry| Some((*key, entry, linter.overriding(key, &entry.value)?))).collect::<Vec<_>>()
    });
    let found: Vec<_> = found.take(MOST).map(|(key, entry, by)| (key, entry.clone(), by)).collect();
    for (key, entry, by) in found {
        let message = format!("'{key}' has '{}', and '{by}' matches the same: the strictest wins", entry.value);
        loaded.warn_at(entry.source, key, message, "remove one of the two, or narrow the stricter one");
    }
}

fn listed(entries: &[Sourced<String>]) -> Vec<ListEntry> {
    entries.iter().map(|entry| ListEntry::new(entry.value.trim())).collect()
}

/// Rules were checked when they were loaded, so they compile.
fn compiled(lists: &RuleLists, vocabulary: &Vocabulary) -> RuleSet {
    RuleSet::compile(lists, vocabulary, home().as_deref()).unwrap_or_default()
}

struct RuleLinter<'a> {
    stricter: RuleSet,
    vocabulary: &'a Vocabulary,
    workspace: &'a Path,
}

impl RuleLinter<'_> {
    /// The stricter rule that matches an example of this rule.
    fn overriding(&self, key: &str, rule: &str) -> Option<String> {
        let (name, content) = rule.trim().strip_suffix(')')?.split_once('(')?;
        let mut own = RuleLists::default();
        let list = if key == "rules.ask" { &mut own.ask } else { &mut own.allow };
        list.push(ListEntry::new(rule.trim()));
        let own = compiled(&own, self.vocabulary);
        let name = self.vocabulary.canonical(name).unwrap_or(name).to_owned();
        let definition = ToolDefinition::new(name, "", json!({"type": "object"}));
        let tool = Candidate::new(&definition, &ToolSource::BuiltIn);
        let about = |effect: &Effect| own.on_effect(&tool, effect).is_some();
        let hit = examples(content, self.workspace)
            .into_iter()
            .filter(about)
            .find_map(|effect| self.stricter.on_effect(&tool, &effect).map(|rule| (rule.kind(), rule.text().to_owned())));
        hit.filter(|(_, text)| text != rule.trim()).map(|(kind, text)| format!("{} {text}", kind.as_str()))
    }
}

/// Effects that a rule with these parentheses may match.
fn examples(content: &str, workspace: &Path) -> Vec<Effect> {
    let content = content.replace("**", "x").replace('*', "x");
    let at = || PathEffect { location: location(&content, workspace), extent: Extent::File };
    let mut words = content.split_whitespace().map(str::to_owned);
    let program = words.next().unwrap_or_default();
    let mut exec = Exec::new(format!("/usr/bin/{program}"), words.collect(), workspace);
    exec.named = program;
    let after = |name: &str| content.split_whitespace().find_map(|word| word.strip_prefix(name));
    let domain = after("domain:").unwrap_or_default();
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().unwrap_or(443)),
        None => (domain, 443),
    };
    let connect = Connect::new("https", host, port, after("method:").unwrap_or("GET"));
    vec![Effect::Read(at()), Effect::Write(at()), Effect::Delete(at()), Effect::Exec(exec), Effect::Connect(connect)]
}

fn location(written: &str, workspace: &Path) -> Location {
    let path = match (written.strip_prefix("~/"), home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => workspace.join(written),
    };
    let inside = path.strip_prefix(workspace).ok().map(|inside| inside.to_string_lossy().into_owned());
    let zone = if inside.is_some() { Zone::Workspace } else { Zone::Outside };
    let display = inside.unwrap_or_else(|| path.to_string_lossy().into_owned());
    Location::new(written.into(), path, display, zone, Arc::new(()))
}
