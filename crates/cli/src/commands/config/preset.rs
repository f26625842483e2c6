//! `haft config preset`: lists the presets, and puts one into the user's file.

use haft_config::{Loaded, OwnFile, SaveError, preset_values, presets};
use haft_text::suggest::nearest;
use serde_json::json;

use crate::arguments::Common;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, GOOD, Output};
use crate::table::{ColumnFit, Table, TableCell};
use crate::text_builder::TextBuilder;
use crate::wire::{self, Wire};

/// One line of what a preset is for.
fn purpose(text: &'static str) -> &'static str {
    text.lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// The value of a key, as it is written.
fn value(loaded: &Loaded, key: &str) -> String {
    loaded.provenance.value(key).to_string()
}

/// The preset of which every value holds: the one that the configuration names, if it does.
fn current(loaded: &Loaded) -> Option<&'static str> {
    let named = loaded.provenance.value("preset").as_text().unwrap_or_default();
    let holds = |name: &str| preset_values(name).iter().all(|(key, wanted)| value(loaded, key) == *wanted);
    // Of several, the one that says most.
    let all = presets().map(|(name, _)| name).filter(|name| holds(name));
    all.max_by_key(|name| (*name == named, preset_values(name).len()))
}

pub(super) fn list(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let loaded = wire::check(common, &wire.settings.workspace, &wire.registry);
    let current = current(&loaded);
    let mut table =
        Table::new(&[("", ColumnFit::Keep), ("PRESET", ColumnFit::Keep), ("MEANS", ColumnFit::Wrap), ("SETS", ColumnFit::Wrap)]);
    for (name, text) in presets() {
        let mark = if current == Some(name) { "*" } else { "" };
        let sets: Vec<String> = preset_values(name).iter().map(|(key, value)| format!("{key} = {value}")).collect();
        table.row(vec![
            TableCell::new(mark),
            TableCell::new(name),
            TableCell::new(purpose(text)),
            TableCell::styled(&sets.join(", "), DIM),
        ]);
    }
    let data = || {
        let row = |(name, text)| {
            let sets: serde_json::Map<_, _> =
                preset_values(name).into_iter().map(|(key, value)| (key, json!(value.trim_matches('"')))).collect();
            json!({ "name": name, "means": purpose(text), "sets": sets, "current": current == Some(name) })
        };
        presets().map(row).collect::<Vec<_>>()
    };
    let none = if current.is_none() { "\nNone of them is in use as it is: other keys differ (`haft config show`).\n" } else { "" };
    output.show(data, || format!("{}{none}", table.render(output.width)))
}

pub(super) fn choose(common: &Common, name: &str, dry_run: bool, output: &Output) -> Result<Exit, Failure> {
    let Some((name, text)) = presets().find(|(known, _)| *known == name) else { return Err(unknown(name)) };
    let wire = Wire::new(common, output)?;
    let (file, workspace) = (wire.own_file()?, &wire.settings.workspace);
    let own = OwnFile::read(&file).map_err(unsaved)?;
    let text_after = own.with_preset(name).map_err(unsaved)?;
    let before = wire::check(common, workspace, &wire.registry);
    let after = wire::check_text(common, workspace, &wire.registry, &text_after);
    if after.errors().next().is_some() {
        return Err(wire::refused(&after, output));
    }
    let is_written = !dry_run && text_after != own.text();
    if is_written {
        // Loaded above, so there is nothing to take back.
        let _replaced = own.replace(text_after).map_err(unsaved)?;
    }
    let rows = changes(&before, &after);
    let overridden = list_overridden(name, &after);
    let data = || {
        let changes: Vec<_> = rows.iter().map(|(key, old, new)| json!({ "key": key, "before": old, "after": new })).collect();
        json!({ "preset": name, "file": file.to_string_lossy(), "written": is_written, "changes": changes, "overridden": overridden })
    };
    let words = || {
        let mut page = TextBuilder::default();
        page.line(format_args!("{name}: {}", purpose(text)));
        for (key, old, new) in &rows {
            page.line(format_args!("  {key}: {old} -> {new}"));
        }
        if rows.is_empty() {
            page.line("  nothing changes: these values hold already");
        }
        for note in &overridden {
            page.line(note);
        }
        let (word, what) = if is_written { ("saved", "as") } else { ("not written", "it would be") };
        page.line(format_args!("{GOOD}{word}{GOOD:#}: {what} preset = \"{name}\" in {}", file.display()));
        page.finish()
    };
    output.show(data, words)
}

/// The keys of any preset whose values differ: before, and after.
fn changes(before: &Loaded, after: &Loaded) -> Vec<(String, String, String)> {
    let mut keys: Vec<String> = presets().flat_map(|(name, _)| preset_values(name)).map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    let both = keys.into_iter().map(|key| (value(before, &key), value(after, &key), key));
    both.filter(|(old, new, _)| old != new).map(|(old, new, key)| (key, old, new)).collect()
}

/// What of a preset does not hold, because another key overrides it.
fn list_overridden(name: &str, after: &Loaded) -> Vec<String> {
    let differing = preset_values(name).into_iter().filter(|(key, wanted)| value(after, key) != *wanted);
    let note = |(key, wanted): (String, String)| {
        let (holds, source) =
            (value(after, &key), after.provenance.get(&key).map(|setting| setting.source.to_string()).unwrap_or_default());
        format!("  {key} stays {holds}, not {wanted}: {source} sets it; remove it there to use the preset's")
    };
    differing.map(note).collect()
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = presets().map(|(name, _)| name).collect();
    let meant = nearest(name, names.iter().copied()).first().map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
    Failure::usage(format!("there is no preset '{name}'")).help(format!("{meant}There are: {}", names.join(", ")))
}

#[allow(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn unsaved(error: SaveError) -> Failure {
    Failure::config(error.to_string())
}
