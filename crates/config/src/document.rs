//! Parses the text of a file: all syntax errors at once, then every key and value.

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::decode::{Decoder, Node};
use crate::hooks::{HookSettings, MAX_HOOKS, hook};
use crate::key::EACH;
use crate::key_path::{PathMatch, format_path, has_chosen_names, lookup, suggestion};
use crate::problem::{Problem, quoted};
use crate::provenance::Setting;
use crate::{ConfigKey, ConfigLayer, SettingSource, table_names};

/// Up to this size all syntax errors are collected: each takes memory.
const MAX_RECOVERED_BYTES: usize = 64 * 1024;

/// The settings of a layer.
#[derive(Debug, Default)]
pub(crate) struct LayerContents {
    pub(crate) settings: Vec<Setting>,
    /// The tables with chosen names, in order of appearance.
    pub(crate) tables: Vec<NamedTable>,
    pub(crate) hooks: Vec<HookSettings>,
}

/// A table with a chosen name: its path and its layer.
#[derive(Debug)]
pub(crate) struct NamedTable {
    pub(crate) path: Vec<String>,
    pub(crate) layer: ConfigLayer,
}

/// The contents of a file; nothing after a syntax error, because the rest could be without its denials.
pub(crate) fn contents(text: &str, decoder: &mut Decoder<'_>) -> LayerContents {
    let Some(root) = parse(text, decoder) else { return LayerContents::default() };
    let mut reader = TableReader { decoder, contents: LayerContents::default() };
    reader.table(&mut Vec::new(), root.get_ref());
    reader.contents
}

fn parse<'t>(text: &'t str, decoder: &mut Decoder<'_>) -> Option<Spanned<DeTable<'t>>> {
    let (root, errors) = if text.len() <= MAX_RECOVERED_BYTES {
        let (root, errors) = DeTable::parse_recoverable(text);
        (Some(root), errors)
    } else {
        DeTable::parse(text).map_or_else(|error| (None, vec![error]), |root| (Some(root), Vec::new()))
    };
    let valid = errors.is_empty();
    report_syntax(text, errors, decoder);
    root.filter(|_| valid)
}

/// One error a line: the rest of a line is mostly what the first one led to.
fn report_syntax(text: &str, mut errors: Vec<toml::de::Error>, decoder: &mut Decoder<'_>) {
    errors.sort_by_key(|error| error.span().map(|span| span.start));
    let mut last_line = None;
    for error in errors {
        if !decoder.problems.has_space() {
            break;
        }
        let source = error.span().map_or_else(|| decoder.origin.whole(), |span| decoder.origin.at(span));
        if source.line.is_none() || source.line != last_line {
            last_line = source.line;
            decoder.problems.add(|| syntax(text, source, error.message()));
        }
    }
}

fn syntax(text: &str, source: SettingSource, message: &str) -> Problem {
    if message == "duplicate key" {
        let key = text.get(source.span.clone()).unwrap_or_default();
        return Problem::error(source, format!("duplicate key {}", quoted(key))).help("keep one of them");
    }
    Problem::error(source, message).help("correct the TOML; nothing of this file is used until it can be read")
}

struct TableReader<'d, 'o> {
    decoder: &'d mut Decoder<'o>,
    contents: LayerContents,
}

impl TableReader<'_, '_> {
    fn table(&mut self, path: &mut Vec<String>, table: &DeTable<'_>) {
        let named = has_chosen_names(path);
        if named && !table_names::has_few(self.decoder, path, table) {
            return;
        }
        let entries = in_order(table);
        if named {
            table_names::report_duplicates(self.decoder, path, &entries.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        }
        for (name, value) in entries {
            if !self.decoder.problems.has_space() {
                break;
            }
            path.push(if named { table_names::canonical(path, name.get_ref()) } else { name.get_ref().to_string() });
            if !named || table_names::is_valid(self.decoder, path, name) {
                self.node(path, name, value);
            }
            path.pop();
        }
    }

    fn node(&mut self, path: &mut Vec<String>, name: &Spanned<DeString<'_>>, value: &Node<'_>) {
        match lookup(path) {
            PathMatch::Key(key) => self.key(key, path, value),
            PathMatch::Section => self.section(path, name, value),
            PathMatch::Nothing => self.unknown(path, name),
        }
    }

    fn section(&mut self, path: &mut Vec<String>, name: &Spanned<DeString<'_>>, value: &Node<'_>) {
        path.push(EACH.to_owned());
        let of_tables = matches!(lookup(path), PathMatch::Section);
        if let (true, DeValue::Array(array)) = (of_tables, value.get_ref()) {
            self.tables(path, array);
        }
        path.pop();
        match value.get_ref() {
            DeValue::Array(_) if of_tables => {}
            DeValue::Table(table) if !of_tables => {
                if has_chosen_names(&path[..path.len() - 1]) {
                    self.contents.tables.push(NamedTable { path: path.clone(), layer: self.decoder.origin.layer() });
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

    fn key(&mut self, key: &'static ConfigKey, path: &[String], value: &Node<'_>) {
        let source = self.decoder.origin.at(value.span());
        let typed = self.decoder.value(&format_path(path), key.kind, value);
        self.contents.settings.extend(typed.map(|value| Setting { key, path: path.to_vec(), value, source }));
    }

    fn unknown(&mut self, path: &[String], name: &Spanned<DeString<'_>>) {
        let written = format_path(path);
        let message = format!("unknown key {}", quoted(&written));
        self.decoder.problems.add(|| Problem::error(self.decoder.origin.at(name.span()), message).key(&written).help(suggestion(path)));
    }

    fn not_a_section(&mut self, path: &[String], name: &Spanned<DeString<'_>>, of_tables: bool) {
        let written = format_path(path);
        let (what, header) = if of_tables { ("a list of tables", format!("[[{written}]]")) } else { ("a table", format!("[{written}]")) };
        let message = format!("'{written}' must be {what}");
        let help = format!("write {header} on a line of its own, and its keys below it");
        self.decoder.problems.add(|| Problem::error(self.decoder.origin.at(name.span()), message).key(&written).help(help));
    }

    fn not_a_table(&mut self, path: &[String], entry: &Node<'_>) {
        let written = format_path(&path[..path.len() - 1]);
        let help = format!("write [[{written}]] on a line of its own, and its keys below it");
        self.decoder.refuse(&written, entry, format!("an entry of '{written}' must be a table"), help);
    }

    fn too_many(&mut self, path: &[String], entry: &Node<'_>) {
        let written = format_path(&path[..path.len() - 1]);
        let message = format!("'{written}' has more than {MAX_HOOKS} entries");
        self.decoder.refuse(&written, entry, message, "remove some: each one is a program that runs for each call");
    }
}

/// The entries of a table in the order of the file.
fn in_order<'t, 'v>(table: &'t DeTable<'v>) -> Vec<(&'t Spanned<DeString<'v>>, &'t Node<'v>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}
