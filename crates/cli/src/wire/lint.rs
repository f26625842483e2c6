//! Finds rules without effect, because a stricter rule matches the same: tested with examples of what each rule matches.

use std::path::Path;
use std::sync::Arc;

use haft_config::{Loaded, Sourced};
use haft_contract::{Connect, Effect, Exec, Extent, Location, PathEffect, Plan, ToolDefinition, ToolSource, Zone};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Candidate, Decision, ListEntry, Policy, RuleLists, RuleSet, StepOutcome};
use serde_json::json;

use super::policy::{home, vocabulary};
use crate::arguments::CallerArgs;
use crate::wire::Wire;

/// The most warnings.
const MOST: usize = 20;

/// Warns of rules that a stricter one overrides, in the rules for everyone and in those of each agent. Equal entries in two lists are
/// reported elsewhere.
pub(crate) fn warn_of_idle_rules(wire: &Wire, loaded: &mut Loaded) {
    let vocabulary = vocabulary(&wire.registry, &wire.settings.provenance.names_beneath(&["mcp", "servers"]));
    let everyone = RuleTable::read(loaded, "rules", &["rules"]);
    let mut found = everyone.idle(wire, &vocabulary, &RuleTable::default(), &wire.settings.agent);
    for agent in loaded.provenance.names_beneath(&["agents"]) {
        let own = RuleTable::read(loaded, &format!("agents.{agent}.rules"), &["agents", &agent, "rules"]);
        found.extend(own.idle(wire, &vocabulary, &everyone, &agent));
    }
    for IdleRule { key, entry, message, help } in found.into_iter().take(MOST) {
        loaded.warn_at(entry.source, &key, message, help);
    }
}

/// A rule without effect.
struct IdleRule {
    key: String,
    entry: Sourced<String>,
    message: String,
    help: &'static str,
}

/// The lists of one table of rules.
#[derive(Default)]
struct RuleTable {
    key: String,
    deny: Vec<Sourced<String>>,
    ask: Vec<Sourced<String>>,
    allow: Vec<Sourced<String>>,
}

impl RuleTable {
    fn read(loaded: &Loaded, key: &str, path: &[&str]) -> Self {
        let list = |name: &str| loaded.provenance.value_at(&[path, &[name]].concat()).entries().to_vec();
        Self { key: key.to_owned(), deny: list("deny"), ask: list("ask"), allow: list("allow") }
    }

    /// Its rules without effect, because of its own and because of those for everyone.
    fn idle(&self, wire: &Wire, vocabulary: &Vocabulary, everyone: &Self, agent: &str) -> Vec<IdleRule> {
        let deny = [listed(&everyone.deny), listed(&self.deny)].concat();
        let ask = [listed(&everyone.ask), listed(&self.ask)].concat();
        let denials = RuleLists { deny, ..RuleLists::default() };
        let stricter = [("ask", &self.ask, denials.clone()), ("allow", &self.allow, RuleLists { ask, ..denials })];
        let mut found: Vec<IdleRule> = self.beyond_access(wire, vocabulary, agent).collect();
        for (name, entries, stricter) in stricter {
            let linter = RuleLinter { stricter: compiled(&stricter, vocabulary), vocabulary, workspace: &wire.settings.workspace };
            found.extend(entries.iter().filter_map(|entry| {
                let (key, by) = (format!("{}.{name}", self.key), linter.overriding(name, &entry.value)?);
                let message = format!("'{key}' has '{}', and '{by}' matches the same: the strictest wins", entry.value);
                Some(IdleRule { key, entry: entry.clone(), message, help: "remove one of the two, or narrow the stricter one" })
            }));
        }
        found
    }

    fn beyond_access(&self, wire: &Wire, vocabulary: &Vocabulary, agent: &str) -> impl Iterator<Item = IdleRule> {
        let refused = self.allow.iter().filter(move |entry| is_beyond_access(wire, vocabulary, &entry.value, agent));
        refused.map(|entry| {
            let key = format!("{}.allow", self.key);
            let message = format!("'{key}' has '{}', which never matches: the access level refuses it before", entry.value);
            let help = "an allow rule lifts no access level: set ask = \"beyond\", add the folder to workspace.roots, or remove the rule";
            IdleRule { key, entry: entry.clone(), message, help }
        })
    }
}

/// Whether a rule on files allows what the access level refuses, so that it is never met.
fn is_beyond_access(wire: &Wire, vocabulary: &Vocabulary, rule: &str, agent: &str) -> bool {
    let Some((name, content)) = rule.trim().strip_suffix(')').and_then(|rule| rule.split_once('(')) else { return false };
    let own = compiled(&RuleLists { allow: vec![ListEntry::new(rule.trim())], ..RuleLists::default() }, vocabulary);
    let definition = ToolDefinition::new(vocabulary.canonical(name).unwrap_or(name).to_owned(), "", json!({"type": "object"}));
    let tool = Candidate::new(&definition, &ToolSource::BuiltIn);
    let Ok(session) = wire.listing(agent, &CallerArgs::default()) else { return false };
    let is_refused = |effect: Effect| {
        let decision = wire.policy.permit(Decision::allow(), &tool, &Plan::nothing().with(effect), session.caller());
        decision.trace.iter().any(|entry| entry.step == "access level" && entry.outcome == StepOutcome::Deny)
    };
    let of_files = examples(content, &wire.settings.workspace).into_iter().filter(|effect| effect.path().is_some());
    of_files.filter(|effect| own.on_effect(&tool, effect).is_some()).any(is_refused)
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
    fn overriding(&self, list: &str, rule: &str) -> Option<String> {
        let (name, content) = rule.trim().strip_suffix(')')?.split_once('(')?;
        let mut own = RuleLists::default();
        let list = if list == "ask" { &mut own.ask } else { &mut own.allow };
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
