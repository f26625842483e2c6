//! Limits and quirks of a model: the user's table, then built-in values.

use haft_provider::Model;

use super::Settings;
use super::setup::{ProviderSetup, count_at, text_at};

/// Without a known limit, an answer takes at most a quarter of the context window.
const ANSWER_PART: u64 = 4;

/// A model of a provider.
pub(super) fn model(settings: &Settings, setup: &ProviderSetup, name: &str) -> Model {
    let mut model = Model::new(setup.name.as_str(), setup.protocol, name);
    if let Some((window, output)) = haft_provider::known::limits(name) {
        (model.context_window, model.max_output) = (window, output);
    }
    apply(settings, &mut model);
    model
}

fn apply(settings: &Settings, model: &mut Model) {
    let settings = &settings.provenance;
    let full_name = format!("{}/{}", model.provider, model.name);
    let at = |key: &'static str| ["models", full_name.as_str(), key];
    let window = count_at(settings, &at("context_window"));
    model.context_window = window.unwrap_or(model.context_window);
    model.max_output = match count_at(settings, &at("max_output")) {
        Some(output) => u32::try_from(output).unwrap_or(u32::MAX),
        None => model.max_output.min(u32::try_from(model.context_window / ANSWER_PART).unwrap_or(u32::MAX)),
    };
    if let Some(tools) = count_at(settings, &at("max_tools")) {
        model.max_tools = usize::try_from(tools).unwrap_or(usize::MAX);
    }
    let flag = |key| settings.value_at(&at(key)).is_true();
    (model.legacy_schema, model.needs_reasoning) = (flag("legacy_schema"), flag("needs_reasoning"));
    model.accepts_pictures &= !flag("no_pictures");
    if let Some(form) = text_at(settings, &at("call_ids")).and_then(|form| form.parse().ok()) {
        model.id_form = form;
    }
    model.dropped_keywords = settings.value_at(&at("dropped_keywords")).entries().iter().map(|keyword| keyword.value.clone()).collect();
    model.version = text_at(settings, &at("version")).map(str::to_owned);
}
