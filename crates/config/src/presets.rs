//! Presets: small files of settings under one name. A preset is part of the layer that names it, and weaker than every
//! other key there.

use crate::decode::Decoder;
use crate::document;
use crate::key_path::format_path;
use crate::problem::{Problem, Problems};
use crate::provenance::Setting;
use crate::source_text::SourceText;
use crate::{ConfigLayer, ConfigValue, SettingSource};

/// The key that names a preset.
const KEY: &str = "preset";

/// The names of the presets.
pub(crate) const NAMES: &[&str] = &["careful", "default", "auto", "trusted", "readonly", "full"];

/// An older name of one.
pub(crate) const ALIASES: &[(&str, &str)] = &[("ask", "careful")];

const TEXTS: &[&str] = &[
    include_str!("../presets/careful.toml"),
    include_str!("../presets/default.toml"),
    include_str!("../presets/auto.toml"),
    include_str!("../presets/trusted.toml"),
    include_str!("../presets/readonly.toml"),
    include_str!("../presets/full.toml"),
];

/// Every preset: its name and its TOML, of which the first line says what it is for.
pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.iter().copied().zip(TEXTS.iter().copied())
}

/// The settings of a preset: key and value, as they are written.
pub fn preset_values(name: &str) -> Vec<(String, String)> {
    let Some((name, text)) = presets().find(|(known, _)| *known == name) else { return Vec::new() };
    let origin = SourceText::preset(name, &SettingSource::BUILT_IN);
    let mut decoder = Decoder { origin: &origin, home: None, check: None, problems: Problems::default() };
    let settings = document::contents(text, &mut decoder).settings;
    settings.iter().map(|setting| (format_path(&setting.path), setting.value.to_string())).collect()
}

/// The settings of one layer, with those of the presets it names before them.
pub(crate) fn expand(layer: Vec<Setting>, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let named = layer.iter().filter(|setting| setting.key.path == KEY);
    let mut all: Vec<Setting> = named.flat_map(|preset| parts(preset, problems)).collect();
    all.retain(|part| !layer.iter().any(|own| own.path == part.path));
    // Only the parts of a project's preset count: they are merged key by key.
    all.extend(layer.into_iter().filter(|setting| setting.key.path != KEY || setting.source.layer != ConfigLayer::Project));
    all
}

fn parts(preset: &Setting, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let ConfigValue::Choice(wanted) = preset.value else { return Vec::new() };
    let Some((name, text)) = presets().find(|(name, _)| *name == wanted) else { return Vec::new() };
    let origin = SourceText::preset(name, &preset.source);
    let mut decoder = Decoder { origin: &origin, home: None, check: None, problems: Problems::default() };
    let settings = document::contents(text, &mut decoder).settings;
    problems.extend(decoder.problems.finish(origin.whole()));
    settings
}
