//! A file's text → the settings it holds: all syntax errors at once, then every key and value judged.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::decode::Decoder;
use crate::key::{EACH, Found, lookup, not_enforced_depth};
use crate::merge::Setting;
use crate::origin::Origin;
use crate::problem::Problem;
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

/// A key of which this version knows the name only, where it was used.
struct LaterUse {
    path: String,
    span: Range<usize>,
}

struct Walk<'d, 'o> {
    decoder: &'d mut Decoder<'o>,
    settings: Vec<Setting>,
    /// By the section and whether it carries authority, so that a table is reported once and not key by key.
    later: BTreeMap<(String, bool), Vec<LaterUse>>,
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
        if let (true, DeValue::Array(array)) = (of_tables, value.get_ref()) {
            self.tables(path, array);
        }
        path.pop();
        match value.get_ref() {
            DeValue::Array(_) if of_tables => {}
            DeValue::Table(table) if !of_tables => self.table(path, table),
            _ => self.not_a_section(path, name, of_tables),
        }
    }

    fn tables(&mut self, path: &mut Vec<String>, array: &DeArray<'_>) {
        for entry in array {
            match entry.get_ref().as_table() {
                Some(table) => self.table(path, table),
                None => self.not_a_table(path, entry),
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
                self.later.entry((section, key.is_authority())).or_default().push(LaterUse { path: written, span: name.span() });
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
        let written = joined(&path[..path.len() - 1]);
        let help = format!("write [[{written}]] on a line of its own, and its keys below it");
        self.decoder.refuse(&written, entry, format!("an entry of '{written}' must be a table"), help);
    }

    fn finish(self) -> Vec<Setting> {
        for ((_, authority), uses) in self.later {
            self.decoder.problems.add(|| not_acted_on(self.decoder.origin, authority, uses));
        }
        self.settings
    }
}

fn not_acted_on(origin: &Origin<'_>, authority: bool, mut uses: Vec<LaterUse>) -> Problem {
    uses.sort_by_key(|used| used.span.start);
    let mut paths: Vec<String> = uses.iter().map(|used| quoted(&used.path)).collect();
    paths.dedup();
    let first = uses.swap_remove(0);
    let judge = if authority { not_enforced } else { not_used };
    judge(origin.at(first.span), &paths).key(first.path)
}

/// Authority that this version does not enforce: whoever wrote it counts on it.
pub(crate) fn not_enforced(source: Source, names: &[String]) -> Problem {
    let (are, them) = grammar(names);
    Problem::error(source, format!("{} {are} not enforced by this version: running with {them} would give false safety", listed(names)))
        .help(format!("remove {them}, and limit what may be done with access, tools.deny, network.deny or workspace.deny_read"))
}

/// What this version does not use, and nobody's safety depends on.
pub(crate) fn not_used(source: Source, names: &[String]) -> Problem {
    let (are, them) = grammar(names);
    Problem::warning(source, format!("{} {are} not used by this version yet", listed(names)))
        .help(format!("nothing depends on {them}: leave {them}, or remove {them}"))
}

fn grammar(names: &[String]) -> (&'static str, &'static str) {
    if names.len() > 1 { ("are", "them") } else { ("is", "it") }
}
