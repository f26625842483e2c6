//! A file's text → the settings it holds: all syntax errors at once, then every key and value judged.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::decode::Decoder;
use crate::key::{EACH, Found, lookup, not_enforced_depth};
use crate::merge::Setting;
use crate::problem::{Problem, Severity};
use crate::suggest::{for_key, joined};
use crate::text::{listed, quoted};
use crate::{Key, Source, Status};

/// Up to this size all syntax errors are collected; no one writes more, and each error takes memory.
const MAX_RECOVERED_BYTES: usize = 64 * 1024;

/// The settings of a file. After a syntax error there are none: what is left could be without its denials.
pub(crate) fn settings(text: &str, decoder: &mut Decoder<'_>) -> Vec<Setting> {
    let Some(root) = parse(text, decoder) else { return Vec::new() };
    let mut walk = Walk { decoder, settings: Vec::new(), later: BTreeMap::new() };
    walk.table(&mut Vec::new(), root.get_ref());
    walk.finish()
}

fn parse<'t>(text: &'t str, decoder: &mut Decoder<'_>) -> Option<Spanned<DeTable<'t>>> {
    let (root, errors) = if text.len() <= MAX_RECOVERED_BYTES {
        let (root, errors) = DeTable::parse_recoverable(text);
        (Some(root), errors)
    } else {
        DeTable::parse(text).map_or_else(|error| (None, vec![error]), |root| (Some(root), Vec::new()))
    };
    for error in &errors {
        decoder.problems.add(|| syntax(decoder.origin.whole(), error.span().map(|span| decoder.origin.at(span)), error.message()));
    }
    root.filter(|_| errors.is_empty())
}

fn syntax(whole: Source, place: Option<Source>, message: &str) -> Problem {
    let problem = Problem::error(place.unwrap_or(whole), message);
    match message {
        "duplicate key" => problem.help("keep one of them"),
        _ => problem.help("correct the TOML; nothing of this file is used until it can be read"),
    }
}

/// A key of which this version knows the name only, where it was used.
struct LaterUse {
    key: &'static Key,
    path: String,
    source: Source,
}

struct Walk<'d, 'o> {
    decoder: &'d mut Decoder<'o>,
    settings: Vec<Setting>,
    /// By the section that is not enforced, so that a table is reported once and not key by key.
    later: BTreeMap<String, Vec<LaterUse>>,
}

impl Walk<'_, '_> {
    fn table(&mut self, path: &mut Vec<String>, table: &DeTable<'_>) {
        for (name, value) in table {
            if !self.decoder.problems.room_for_more() {
                break;
            }
            path.push(name.get_ref().to_string());
            self.node(path, name, value);
            path.pop();
        }
    }

    fn node(&mut self, path: &mut Vec<String>, name: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) {
        match lookup(path) {
            Found::Key(key) => self.key(key, path, name, value),
            Found::Section => self.section(path, name, value),
            Found::Nothing => self.unknown(path, name),
        }
    }

    fn section(&mut self, path: &mut Vec<String>, name: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) {
        path.push(EACH.to_owned());
        let of_tables = matches!(lookup(path), Found::Section);
        match value.get_ref() {
            DeValue::Array(array) if of_tables => {
                for entry in array {
                    match entry.get_ref().as_table() {
                        Some(table) => self.table(path, table),
                        None => self.not_a_table(path, entry),
                    }
                }
                path.pop();
            }
            DeValue::Table(table) if !of_tables => {
                path.pop();
                self.table(path, table);
            }
            _ => {
                path.pop();
                self.not_a_section(path, name, of_tables);
            }
        }
    }

    fn key(&mut self, key: &'static Key, path: &[String], name: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) {
        let written = joined(path);
        match key.status {
            Status::Now => {
                let source = self.decoder.origin.at(value.span());
                self.settings.extend(self.decoder.value(&written, key.kind, value).map(|value| Setting { key, value, source }));
            }
            Status::Later => {
                let section = joined(&path[..not_enforced_depth(path)]);
                let source = self.decoder.origin.at(name.span());
                self.later.entry(section).or_default().push(LaterUse { key, path: written, source });
            }
        }
    }

    fn unknown(&mut self, path: &[String], name: &Spanned<DeString<'_>>) {
        let written = joined(path);
        let message = format!("unknown key {}", quoted(&written));
        self.decoder.problems.add(|| Problem::error(self.decoder.origin.at(name.span()), message).key(&written).help(for_key(path)));
    }

    fn not_a_section(&mut self, path: &[String], name: &Spanned<DeString<'_>>, of_tables: bool) {
        let written = joined(path);
        let (what, header) = if of_tables { ("a list of tables", format!("[[{written}]]")) } else { ("a table", format!("[{written}]")) };
        let message = format!("'{written}' must be {what}");
        let help = format!("write {header} on a line of its own, and its keys below it");
        self.decoder.problems.add(|| Problem::error(self.decoder.origin.at(name.span()), message).key(&written).help(help));
    }

    fn not_a_table(&mut self, path: &[String], entry: &Spanned<DeValue<'_>>) {
        let written = joined(path);
        self.decoder.refuse(&written, entry, format!("an entry of '{written}' must be a table"), format!("write [{written}]"));
    }

    fn finish(self) -> Vec<Setting> {
        for uses in self.later.into_values() {
            self.decoder.problems.add(|| not_enforced(uses));
        }
        self.settings
    }
}

fn not_enforced(mut uses: Vec<LaterUse>) -> Problem {
    uses.sort_by_key(|used| used.source.span.start);
    let source = uses.first().map_or(Source::BUILT_IN, |first| first.source.clone());
    let mut paths: Vec<String> = uses.iter().map(|used| quoted(&used.path)).collect();
    paths.dedup();
    let keys: Vec<&Key> = uses.iter().map(|used| used.key).collect();
    let problem = later(source, &keys, &listed(&paths), paths.len() > 1);
    problem.key(uses.first().map_or("", |first| first.path.as_str()))
}

/// What is said of keys that this version does not act on.
pub(crate) fn later(source: Source, keys: &[&Key], names: &str, several: bool) -> Problem {
    let (are, them) = if several { ("are", "them") } else { ("is", "it") };
    if severity(keys) == Severity::Warning {
        return Problem::warning(source, format!("{names} {are} not used by this version yet"))
            .help(format!("nothing depends on {them}: leave {them}, or remove {them}"));
    }
    Problem::error(source, format!("{names} {are} not enforced by this version: running with {them} would give false safety"))
        .help(format!("remove {them}, and limit what may be done with access, tools.deny, network.deny or workspace.deny_read"))
}

fn severity(keys: &[&Key]) -> Severity {
    if keys.iter().any(|key| key.is_authority()) { Severity::Error } else { Severity::Warning }
}
