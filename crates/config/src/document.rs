//! A file's text → what it says: all syntax errors at once, then every key and value judged.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::decode::{Decoder, Node};
use crate::hooks::{Hook, MAX_HOOKS, hook};
use crate::key::EACH;
use crate::later::{LaterUse, not_acted_on};
use crate::lookup::{Found, holds_names, lookup};
use crate::names;
use crate::path::written;
use crate::problem::Problem;
use crate::provenance::Setting;
use crate::suggest::for_key;
use crate::text::quoted;
use crate::{Key, Layer, Source, Status};

/// Up to this size all syntax errors are collected; no one writes more, and each error takes memory.
const MAX_RECOVERED_BYTES: usize = 64 * 1024;

/// What a layer says.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) settings: Vec<Setting>,
    /// The tables with chosen names, in order of appearance.
    pub(crate) names: Vec<Name>,
    pub(crate) hooks: Vec<Hook>,
}

/// A table with a chosen name: where it stands, and in which layer.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) path: Vec<String>,
    pub(crate) layer: Layer,
}

/// What a file says. After a syntax error that is nothing: what is left could be without its denials.
pub(crate) fn contents(text: &str, decoder: &mut Decoder<'_>) -> Contents {
    let Some(root) = parse(text, decoder) else { return Contents::default() };
    let mut walk = Walk { decoder, contents: Contents::default(), later: BTreeMap::new() };
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
    let valid = errors.is_empty();
    note_syntax(text, errors, decoder);
    root.filter(|_| valid)
}

/// One error a line: the rest of a line is mostly what the first one led to.
fn note_syntax(text: &str, mut errors: Vec<toml::de::Error>, decoder: &mut Decoder<'_>) {
    errors.sort_by_key(|error| error.span().map(|span| span.start));
    let mut last_line = None;
    for error in errors {
        if !decoder.problems.room_for_more() {
            break;
        }
        let place = error.span().map_or_else(|| decoder.origin.whole(), |span| decoder.origin.at(span));
        if place.line.is_none() || place.line != last_line {
            last_line = place.line;
            decoder.problems.add(|| syntax(text, place, error.message()));
        }
    }
}

fn syntax(text: &str, place: Source, message: &str) -> Problem {
    if message == "duplicate key" {
        let key = text.get(place.span.clone()).unwrap_or_default();
        return Problem::error(place, format!("duplicate key {}", quoted(key))).help("keep one of them");
    }
    Problem::error(place, message).help("correct the TOML; nothing of this file is used until it can be read")
}

struct Walk<'d, 'o> {
    decoder: &'d mut Decoder<'o>,
    contents: Contents,
    /// By the section and whether it carries authority, so that a table is reported once and not key by key.
    later: BTreeMap<(String, bool), Vec<LaterUse>>,
}

impl Walk<'_, '_> {
    fn table(&mut self, path: &mut Vec<String>, table: &DeTable<'_>) {
        let named = holds_names(path);
        if named && !names::few(self.decoder, path, table) {
            return;
        }
        let entries = in_order(table);
        if named {
            names::distinct(self.decoder, path, &entries.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        }
        for (name, value) in entries {
            if !self.decoder.problems.room_for_more() {
                break;
            }
            path.push(if named { names::kept(path, name.get_ref()) } else { name.get_ref().to_string() });
            if !named || names::fit(self.decoder, path, name) {
                self.node(path, name, value);
            }
            path.pop();
        }
    }

    fn node(&mut self, path: &mut Vec<String>, name: &Spanned<DeString<'_>>, value: &Node<'_>) {
        match lookup(path) {
            Found::Key(key) => self.key(key, path, name, value),
            Found::Section => self.section(path, name, value),
            Found::Nothing => self.unknown(path, name),
        }
    }

    fn section(&mut self, path: &mut Vec<String>, name: &Spanned<DeString<'_>>, value: &Node<'_>) {
        path.push(EACH.to_owned());
        let of_tables = matches!(lookup(path), Found::Section);
        if let (true, DeValue::Array(array)) = (of_tables, value.get_ref()) {
            self.tables(path, array);
        }
        path.pop();
        match value.get_ref() {
            DeValue::Array(_) if of_tables => {}
            DeValue::Table(table) if !of_tables => {
                if holds_names(&path[..path.len() - 1]) {
                    self.contents.names.push(Name { path: path.clone(), layer: self.decoder.origin.layer() });
                }
                self.table(path, table);
            }
            _ => self.not_a_section(path, name, of_tables),
        }
    }

    fn tables(&mut self, path: &mut Vec<String>, array: &DeArray<'_>) {
        for (number, entry) in array.iter().enumerate() {
            match entry.get_ref().as_table() {
                _ if number >= MAX_HOOKS => return self.too_many(path, entry),
                Some(table) => self.hook(path, entry, table),
                None => self.not_a_table(path, entry),
            }
        }
    }

    /// The values of one table of an array, which is a hook: the key table has no other array of tables.
    fn hook(&mut self, path: &mut Vec<String>, entry: &Node<'_>, table: &DeTable<'_>) {
        let before = self.contents.settings.len();
        self.table(path, table);
        let fields = self.contents.settings.split_off(before);
        self.contents.hooks.extend(hook(self.decoder, entry, table, fields));
    }

    fn key(&mut self, key: &'static Key, path: &[String], name: &Spanned<DeString<'_>>, value: &Node<'_>) {
        match key.status {
            Status::Now => {
                let source = self.decoder.origin.at(value.span());
                let typed = self.decoder.value(&written(path), key.kind, value);
                self.contents.settings.extend(typed.map(|value| Setting { key, path: path.to_vec(), value, source }));
            }
            Status::Later => {
                let used = LaterUse { path: written(path), span: name.span() };
                self.later.entry((path[0].clone(), key.is_authority())).or_default().push(used);
            }
        }
    }

    fn unknown(&mut self, path: &[String], name: &Spanned<DeString<'_>>) {
        let written = written(path);
        let message = format!("unknown key {}", quoted(&written));
        self.decoder.problems.add(|| Problem::error(self.decoder.origin.at(name.span()), message).key(&written).help(for_key(path)));
    }

    fn not_a_section(&mut self, path: &[String], name: &Spanned<DeString<'_>>, of_tables: bool) {
        let written = written(path);
        let (what, header) = if of_tables { ("a list of tables", format!("[[{written}]]")) } else { ("a table", format!("[{written}]")) };
        let message = format!("'{written}' must be {what}");
        let help = format!("write {header} on a line of its own, and its keys below it");
        self.decoder.problems.add(|| Problem::error(self.decoder.origin.at(name.span()), message).key(&written).help(help));
    }

    fn not_a_table(&mut self, path: &[String], entry: &Node<'_>) {
        let written = written(&path[..path.len() - 1]);
        let help = format!("write [[{written}]] on a line of its own, and its keys below it");
        self.decoder.refuse(&written, entry, format!("an entry of '{written}' must be a table"), help);
    }

    fn too_many(&mut self, path: &[String], entry: &Node<'_>) {
        let written = written(&path[..path.len() - 1]);
        let message = format!("'{written}' has more than {MAX_HOOKS} entries");
        self.decoder.refuse(&written, entry, message, "remove some: each one is a program that runs for each call");
    }

    fn finish(self) -> Contents {
        for ((_, authority), uses) in self.later {
            self.decoder.problems.add(|| not_acted_on(self.decoder.origin, authority, uses));
        }
        self.contents
    }
}

/// The entries of a table as they stand in the file.
fn in_order<'t, 'v>(table: &'t DeTable<'v>) -> Vec<(&'t Spanned<DeString<'v>>, &'t Node<'v>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}
