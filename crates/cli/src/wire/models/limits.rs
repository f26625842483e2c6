//! What has to be known of a model to talk to it: the person's own table before what everyone knows.

use haft_config::Value;
use haft_provider::Model;

use super::setup::{Setup, count_at, text_at};
use super::{Settings, known};

/// An answer of a model of which nobody said how long it may be takes no more of its window than this part.
const PART_FOR_THE_ANSWER: u64 = 4;

/// A model of a provider.
pub(super) fn model(settings: &Settings, setup: &Setup, name: &str) -> Model {
    let mut model = Model::new(setup.name.as_str(), setup.protocol, name);
    if let Some((window, output)) = known::limits(name) {
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
        None => model.max_output.min(u32::try_from(model.context_window / PART_FOR_THE_ANSWER).unwrap_or(u32::MAX)),
    };
    if let Some(tools) = count_at(settings, &at("max_tools")) {
        model.max_tools = usize::try_from(tools).unwrap_or(usize::MAX);
    }
    let flag = |key| matches!(settings.get_at(&at(key)).map(|setting| &setting.value), Some(Value::Flag(true)));
    (model.legacy_schema, model.needs_reasoning) = (flag("legacy_schema"), flag("needs_reasoning"));
    if let Some(form) = text_at(settings, &at("call_ids")).and_then(|form| form.parse().ok()) {
        model.id_form = form;
    }
    model.dropped_keywords = settings.entries_at(&at("dropped_keywords")).iter().map(|keyword| keyword.value.clone()).collect();
    model.version = text_at(settings, &at("version")).map(str::to_owned);
}
