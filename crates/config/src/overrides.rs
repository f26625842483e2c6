//! Tables that override more general ones: a sender's overrides its channel's, a model's its provider's. In a project's file
//! such a table would remove the user's denials, however strict it is itself.

use std::collections::HashSet;

use crate::document::{LayerContents, NamedTable};
use crate::key_path::name_positions;
use crate::provenance::Setting;
use crate::table_names::folded;
use crate::{ConfigLayer, MergeRule};

/// The tables with chosen names in the user's own layers.
pub(crate) struct UserTables<'s> {
    paths: Vec<&'s [String]>,
}

impl<'s> UserTables<'s> {
    pub(crate) fn new(contents: &'s LayerContents) -> Self {
        let settings = contents.settings.iter().filter(|setting| setting.source.layer != ConfigLayer::Project && !setting.key.is_fixed());
        let tables = contents.tables.iter().filter(|table| table.layer != ConfigLayer::Project);
        let paths = settings.map(|setting| setting.path.as_slice()).chain(tables.map(|table| table.path.as_slice()));
        Self { paths: paths.filter(|path| restricts(path)).collect() }
    }

    /// The tables of all layers, each once, without those of the project that would override the user's.
    pub(crate) fn without_overriding(&self, tables: &[NamedTable]) -> Vec<Vec<String>> {
        let mut overriding: HashSet<&[String]> = HashSet::new();
        let mut known: HashSet<&[String]> = HashSet::new();
        for NamedTable { path, layer } in tables {
            let within = (1..path.len()).any(|length| overriding.contains(&path[..length]));
            if *layer == ConfigLayer::Project && (within || self.overridden_at(path, path.len() - 1).is_some()) {
                overriding.insert(path);
            }
        }
        let rest = tables.iter().map(|table| table.path.as_slice()).filter(|path| !overriding.contains(path));
        rest.filter(|path| known.insert(path)).map(<[String]>::to_vec).collect()
    }

    /// The user's table that a setting of the project would override.
    pub(crate) fn overridden_by(&self, setting: &Setting) -> Option<Vec<String>> {
        // A key that only the user can set is refused anyway, with a better message.
        if setting.source.layer != ConfigLayer::Project || setting.key.merge.is_user_only() {
            return None;
        }
        if setting.key.merge == MergeRule::Trusted {
            let table = &setting.path[..=name_positions(setting.key).next()?];
            return self.has(table).then(|| table.to_vec());
        }
        name_positions(setting.key).find_map(|at| self.overridden_at(&setting.path, at))
    }

    fn overridden_at(&self, path: &[String], at: usize) -> Option<Vec<String>> {
        if self.has(&path[..=at]) {
            return None;
        }
        let (table, name) = (&path[..at], &path[at]);
        match table.last().map(String::as_str) {
            Some("senders") => Some(table[..at - 1].to_vec()).filter(|channel| self.has(channel)),
            Some("by_provider" | "channels") => self.general(table, name),
            _ => None,
        }
    }

    fn has(&self, table: &[String]) -> bool {
        self.paths.iter().any(|path| path.starts_with(table))
    }

    /// The user's table beside this one whose name covers it: `openai` covers `openai/gpt-4.1`.
    fn general(&self, table: &[String], name: &str) -> Option<Vec<String>> {
        let mut beside = self.paths.iter().filter(|path| path.starts_with(table));
        beside.find(|path| path.get(table.len()).is_some_and(|own| covers(table, own, name))).map(|path| path[..=table.len()].to_vec())
    }
}

/// Whether a table can restrict what is offered. The connection of a channel restricts nothing, so it overrides nothing.
fn restricts(path: &[String]) -> bool {
    path.first().is_none_or(|first| first != "channels") || path.get(2).is_some_and(|part| ["tools", "senders"].contains(&part.as_str()))
}

fn covers(table: &[String], general: &str, name: &str) -> bool {
    let kind = table.last().map_or("", String::as_str);
    let (general, name) = (folded(kind, general), folded(kind, name));
    general == "*" || name.strip_prefix(&general).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}
