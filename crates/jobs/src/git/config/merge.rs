//! Merging a configuration that a command wrote into the one that was there.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use haft_text::display;

use super::keys::is_remote_name;
use super::parse::{ConfigFile, Entry, SectionName};
use super::{Key, Scope, parse};

/// More entries are refused.
const MAX_ENTRIES: usize = 10_000;
/// Most characters of a value that are shown.
const SHOWN: usize = 200;

/// The outcome of a merge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MergedConfig {
    /// The text to write.
    pub(crate) text: Vec<u8>,
    /// The names of entries that were not taken, as `core.hookspath`.
    pub(crate) refused: Vec<String>,
    /// Entries that were taken, and send a later push or fetch of the user elsewhere: `remote.origin.url = https://example.org/x.git`.
    pub(crate) redirected: Vec<String>,
}

/// Takes the harmless differences of `new`; an error says why nothing can be taken.
pub(crate) fn merge(old: &[u8], new: &[u8], scope: &Scope) -> Result<MergedConfig, &'static str> {
    let before = parse(old).ok_or("the settings that are there cannot be parsed")?;
    let after = parse(new).filter(|file| file.entries.len() <= MAX_ENTRIES).ok_or("the new settings cannot be parsed")?;
    let mut draft = Draft { text: old, file: &before, edits: Vec::new(), appended: Vec::new() };
    let (mut refused, mut redirected) = (Vec::new(), Vec::new());
    for key in keys_of(&after, &before) {
        let (was, is) = (entries_of(&before, key), entries_of(&after, key));
        if was.iter().map(|entry| &entry.value).eq(is.iter().map(|entry| &entry.value)) {
            continue;
        }
        let is_harmless = is.iter().all(|entry| scope.allows(key, entry.value.as_deref()));
        if is_harmless && (!is.is_empty() || scope.allows_deletion(key)) {
            draft.set(key, &was, &is);
            if redirects(key, &was, &is) {
                redirected.extend(is.iter().map(|entry| format!("{key} = {}", shorten_value(entry))));
            }
        } else {
            refused.push(key.to_string());
        }
    }
    Ok(MergedConfig { text: without_emptied_sections(&before, draft.finish()), refused, redirected })
}

/// Whether entries send what the user pushes or fetches elsewhere than before. The address of a new remote does not, and neither does the
/// name of the remote of a new branch.
fn redirects(key: &Key, was: &[&Entry], is: &[&Entry]) -> bool {
    match (&*key.section, &*key.name) {
        ("remote", "pushurl") | ("branch", "pushremote") => true,
        ("branch", "remote") => !was.is_empty() || is.iter().any(|entry| !is_remote_name(entry.value.as_deref().unwrap_or_default())),
        ("remote" | "submodule", "url") => !was.is_empty(),
        _ => false,
    }
}

fn shorten_value(entry: &Entry) -> String {
    let text = String::from_utf8_lossy(entry.value.as_deref().unwrap_or_default());
    display::shorten(&without_login(&text), SHOWN).into_owned()
}

/// The address without a password or a token, which is the user's: the model is told of it.
fn without_login(address: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = address.split_once("://") else { return address.into() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        // A token may be where the name is.
        Some((login, host)) if login.contains(':') || scheme.to_ascii_lowercase().starts_with("http") => {
            format!("{scheme}://(not shown)@{host}{path}").into()
        }
        _ => address.into(),
    }
}

/// Every name once, in order of appearance: those of the new file first.
fn keys_of<'a>(after: &'a ConfigFile, before: &'a ConfigFile) -> Vec<&'a Key> {
    let mut seen = BTreeSet::new();
    after.entries.iter().chain(&before.entries).map(|entry| &entry.key).filter(|key| seen.insert(*key)).collect()
}

fn entries_of<'a>(file: &'a ConfigFile, key: &Key) -> Vec<&'a Entry> {
    file.entries.iter().filter(|entry| entry.key == *key).collect()
}

/// The old text with edits.
struct Draft<'a> {
    text: &'a [u8],
    file: &'a ConfigFile,
    edits: Vec<(Range<usize>, Vec<u8>)>,
    /// New sections, each with its lines.
    appended: Vec<(SectionName, Vec<u8>)>,
}

impl Draft<'_> {
    fn set(&mut self, key: &Key, was: &[&Entry], is: &[&Entry]) {
        if let ([was], [is]) = (was, is) {
            self.edits.push((was.span.clone(), render_entry(is)));
            return;
        }
        for entry in was {
            self.edits.push((self.whole_lines(entry), Vec::new()));
        }
        for entry in is {
            self.add(key, entry);
        }
    }

    /// The lines of an entry, if nothing else is on them.
    fn whole_lines(&self, entry: &Entry) -> Range<usize> {
        let Range { start, end } = entry.span;
        let line = self.text[..start].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        if !self.text[line..start].iter().all(u8::is_ascii_whitespace) {
            return start..end;
        }
        let rest = self.text[end..].iter().position(|byte| *byte == b'\n').map_or(self.text.len(), |newline| end + newline + 1);
        line..rest
    }

    /// Adds a line to the last section of this name, or to a new one at the end.
    fn add(&mut self, key: &Key, entry: &Entry) {
        let mut line = vec![b'\t'];
        line.extend(render_entry(entry));
        line.push(b'\n');
        let section = (key.section.clone(), key.subsection.clone());
        let found = self.file.sections.iter().rposition(|known| known.name == section);
        match found.and_then(|index| self.end_of_section(index)) {
            Some(end) => self.edits.push((end..end, line)),
            None => match self.appended.iter_mut().find(|(known, _)| *known == section) {
                Some((_, lines)) => lines.extend(line),
                None => self.appended.push((section, line)),
            },
        }
    }

    /// Where a line after the last one of a section begins; `None` at the end of a text without a line break.
    fn end_of_section(&self, index: usize) -> Option<usize> {
        let of_section = self.file.entries.iter().filter(|entry| entry.section == Some(index));
        let last = of_section.map(|entry| entry.span.end).max().unwrap_or(self.file.sections[index].span.end);
        self.text[last..].iter().position(|byte| *byte == b'\n').map(|newline| last + newline + 1)
    }

    fn finish(mut self) -> Vec<u8> {
        // Stable: lines that are added at one place stay in order.
        self.edits.sort_by_key(|(span, _)| (span.start, span.end));
        let (mut text, mut at) = (Vec::with_capacity(self.text.len()), 0);
        for (span, replacement) in &self.edits {
            text.extend_from_slice(&self.text[at..span.start.max(at)]);
            text.extend_from_slice(replacement);
            at = span.end.max(at);
        }
        text.extend_from_slice(&self.text[at..]);
        for ((section, subsection), lines) in self.appended {
            if text.last().is_some_and(|last| *last != b'\n') {
                text.push(b'\n');
            }
            text.extend(render_section(&section, subsection.as_deref()));
            text.extend(lines);
        }
        text
    }
}

/// Removes the headers of sections that had entries and have none any more, where they are alone on their line.
fn without_emptied_sections(before: &ConfigFile, text: Vec<u8>) -> Vec<u8> {
    let Some(file) = parse(&text) else { return text };
    let had_entries = |index: usize| {
        let name = &file.sections[index].name;
        before.entries.iter().any(|entry| entry.section.is_some_and(|section| before.sections[section].name == *name))
    };
    let mut kept = Vec::with_capacity(text.len());
    let mut at = 0;
    for (index, section) in file.sections.iter().enumerate() {
        let next = file.sections.get(index + 1).map_or(text.len(), |next| next.span.start);
        let is_blank = text[section.span.end..next].iter().all(u8::is_ascii_whitespace);
        if is_blank && had_entries(index) {
            kept.extend_from_slice(&text[at..section.span.start]);
            at = next;
        }
    }
    kept.extend_from_slice(&text[at..]);
    kept
}

fn render_section(section: &str, subsection: Option<&[u8]>) -> Vec<u8> {
    let mut line = format!("[{section}").into_bytes();
    if let Some(subsection) = subsection {
        line.extend(b" \"");
        for byte in subsection {
            if b"\\\"".contains(byte) {
                line.push(b'\\');
            }
            line.push(*byte);
        }
        line.push(b'"');
    }
    line.extend(b"]\n");
    line
}

/// As Git writes an entry.
fn render_entry(Entry { written: name, value, .. }: &Entry) -> Vec<u8> {
    let Some(value) = value else { return name.as_bytes().to_vec() };
    let mut line = format!("{name} = ").into_bytes();
    let is_quoted = value.starts_with(b" ") || value.ends_with(b" ") || value.iter().any(|byte| b";#\r".contains(byte));
    let quote: &[u8] = if is_quoted { b"\"" } else { b"" };
    line.extend(quote);
    for byte in value {
        match byte {
            b'\n' => line.extend(b"\\n"),
            b'\t' => line.extend(b"\\t"),
            b'"' | b'\\' => line.extend([b'\\', *byte]),
            byte => line.push(*byte),
        }
    }
    line.extend(quote);
    line
}
