//! Tables that stand in place of more general ones: a sender's in place of its channel's, a model's in place of its
//! provider's. In a project's file such a table would take the person's denials away, however strict it is itself.

use std::collections::HashSet;

use crate::Layer;
use crate::document::{Contents, Name};
use crate::lookup::chosen;
use crate::names::folded;
use crate::provenance::Setting;

/// What the person's own layers have under chosen names.
pub(crate) struct Person<'s> {
    paths: Vec<&'s [String]>,
}

impl<'s> Person<'s> {
    pub(crate) fn of(found: &'s Contents) -> Self {
        let settings = found.settings.iter().filter(|setting| setting.source.layer != Layer::Project && !setting.key.is_fixed());
        let names = found.names.iter().filter(|name| name.layer != Layer::Project);
        Self { paths: settings.map(|setting| setting.path.as_slice()).chain(names.map(|name| name.path.as_slice())).collect() }
    }

    /// The names of all layers, each once, without those that would stand in place of the person's.
    pub(crate) fn names(&self, found: &[Name]) -> Vec<Vec<String>> {
        let mut displacing: HashSet<&[String]> = HashSet::new();
        let mut known: HashSet<&[String]> = HashSet::new();
        for Name { path, layer } in found {
            let within = (1..path.len()).any(|length| displacing.contains(&path[..length]));
            if *layer == Layer::Project && (within || self.displaced_at(path, path.len() - 1).is_some()) {
                displacing.insert(path);
            }
        }
        let fit = found.iter().map(|name| name.path.as_slice()).filter(|path| !displacing.contains(path));
        fit.filter(|path| known.insert(path)).map(<[String]>::to_vec).collect()
    }

    /// The person's table that a setting of the project would stand in place of.
    pub(crate) fn displaced_by(&self, found: &Setting) -> Option<Vec<String>> {
        // What only the person sets is refused anyway, with a better message.
        if found.source.layer != Layer::Project || found.key.merge.is_persons() {
            return None;
        }
        chosen(found.key).find_map(|at| self.displaced_at(&found.path, at))
    }

    fn displaced_at(&self, path: &[String], at: usize) -> Option<Vec<String>> {
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

    /// The person's table in the same place whose name covers this one: `openai` covers `openai/gpt-4.1`.
    fn general(&self, table: &[String], name: &str) -> Option<Vec<String>> {
        let mut beside = self.paths.iter().filter(|path| path.starts_with(table));
        beside.find(|path| path.get(table.len()).is_some_and(|own| covers(table, own, name))).map(|path| path[..=table.len()].to_vec())
    }
}

fn covers(table: &[String], general: &str, name: &str) -> bool {
    let kind = table.last().map_or("", String::as_str);
    let (general, name) = (folded(kind, general), folded(kind, name));
    general == "*" || name.strip_prefix(&general).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}
