//! What the tests of rules need: places in a pretend workspace, commands, tools.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{Effect, Exec, Extent, Location, PathEffect, ToolDefinition, ToolSource, Zone};
use serde_json::json;

use super::{Rule, RuleKind, RuleSet};
use crate::catalog::{NOT_BUILT_YET, Vocabulary};
use crate::{Candidate, ListEntry, RuleLists};

pub(super) const WORKSPACE: &str = "/home/me/ws";
pub(super) const HOME: &str = "/home/me";

/// The place behind a path, free of links.
pub(super) fn at(path: &str) -> Location {
    asked_as(path, path)
}

/// The place behind a path that was asked for under another name.
pub(super) fn asked_as(requested: &str, path: &str) -> Location {
    let whole = if path == "." { Path::new(WORKSPACE).to_owned() } else { Path::new(WORKSPACE).join(path) };
    let (zone, display) = match whole.strip_prefix(WORKSPACE) {
        Ok(rest) if rest.as_os_str().is_empty() => (Zone::Workspace, ".".to_owned()),
        Ok(rest) => (Zone::Workspace, rest.display().to_string()),
        Err(_) => (Zone::Outside, whole.display().to_string()),
    };
    Location::new(requested.into(), whole, display, zone, Arc::new(()))
}

pub(super) fn file(path: &str) -> PathEffect {
    PathEffect { location: at(path), extent: Extent::File }
}

pub(super) fn tree(path: &str) -> PathEffect {
    PathEffect { location: at(path), extent: Extent::Tree }
}

/// A command, its program found in /usr/bin if it is called by a bare name.
pub(super) fn exec(line: &str) -> Exec {
    let mut words = line.split(' ').map(str::to_owned);
    let named = words.next().unwrap_or_default();
    let program =
        if named.contains('/') { Path::new(WORKSPACE).join(named.trim_start_matches("./")) } else { Path::new("/usr/bin").join(&named) };
    let mut exec = Exec::new(program, words.collect(), WORKSPACE);
    exec.named = named;
    exec
}

/// A tool.
pub(super) struct Fixture {
    definition: ToolDefinition,
    source: ToolSource,
}

impl Fixture {
    pub(super) fn core(name: &'static str) -> Self {
        let meta = haft_builtin::metas().chain(NOT_BUILT_YET).find(|meta| meta.name == name);
        let definition = meta.map_or_else(|| ToolDefinition::new(name, "", json!({})), |meta| ToolDefinition::from_meta(meta, json!({})));
        Self { definition, source: ToolSource::BuiltIn }
    }
    pub(super) fn foreign(name: &'static str, aliases: &[&'static str]) -> Self {
        let mut definition = ToolDefinition::new(name, "", json!({}));
        definition.aliases = aliases.iter().map(|alias| (*alias).into()).collect();
        Self { definition, source: ToolSource::Plugin("weather".into()) }
    }
    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate::new(&self.definition, &self.source)
    }
    pub(super) fn parts(&self) -> (&ToolDefinition, &ToolSource) {
        (&self.definition, &self.source)
    }
}

/// Rules as in a file.
pub(super) fn lists(deny: &[&str], ask: &[&str], allow: &[&str]) -> RuleLists {
    let listed = |texts: &[&str]| texts.iter().map(|text| ListEntry::from(*text)).collect();
    RuleLists { deny: listed(deny), ask: listed(ask), allow: listed(allow), only: Vec::new() }
}

/// One rule.
pub(super) fn one(kind: RuleKind, text: &str) -> RuleSet {
    let texts = |of| if kind == of { vec![text] } else { vec![] };
    let lists = lists(&texts(RuleKind::Deny), &texts(RuleKind::Ask), &texts(RuleKind::Allow));
    RuleSet::compile(&lists, &Vocabulary::of_core(haft_builtin::metas()), Some(Path::new(HOME)))
        .unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

/// Whether one rule matches, for deny and for allow.
pub(super) fn both(text: &str, tool: &Fixture, effect: &Effect) -> (bool, bool) {
    let matches = |kind| one(kind, text).on_effect(&tool.candidate(), effect).is_some();
    (matches(RuleKind::Deny), matches(RuleKind::Allow))
}

/// What the strictest rule says.
pub(super) fn said(rule: Option<&Rule>) -> Option<(RuleKind, String)> {
    rule.map(|rule| (rule.kind(), rule.text().to_owned()))
}
