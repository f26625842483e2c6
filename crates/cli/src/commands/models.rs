//! `haft models`: models, key sources, prices, and which model answers.

use anstyle::Style;
use haft_agent::{Micros, Price, Prices};
use haft_config::ConfigValue as Setting;
use haft_text::display;
use serde_json::{Value, json};

use crate::arguments::{Common, ModelsArgs};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, ERROR, GOOD, Output, PLAIN, STRONG};
use crate::table::{ColumnFit, Table, TableCell, wrap};
use crate::text_builder::TextBuilder;
use crate::wire::Wire;
use crate::wire::models::{self, KeySource, ListedModel, ModelStatus};

/// A narrower table wraps the names of variables.
const NARROW: usize = 76;

pub(crate) fn run(common: &Common, request: ModelsArgs, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let models = block_on(async { Ok(models::list(&wire.settings, request.check).await) })?;
    output.show(|| models.iter().map(to_json).collect::<Vec<_>>(), || page(&models, output.width))?;
    let broken = models.iter().any(|model| model.active.is_some() && !works(&model.status));
    Ok(if request.check && broken { Exit::Failed } else { Exit::Success })
}

pub(crate) fn works(status: &ModelStatus) -> bool {
    matches!(status, ModelStatus::Ok | ModelStatus::BuiltIn | ModelStatus::NotListed | ModelStatus::NoList)
}

fn page(models: &[ListedModel], width: Option<usize>) -> String {
    let mut page = TextBuilder::default();
    page.text(&table(models, width).render(width));
    let active = models.iter().find_map(|model| Some((&model.name, model.active.as_ref()?)));
    let mut notes = Vec::new();
    if let Some((name, reason)) = active {
        notes.push(format!("* `haft run` takes {name}: {reason}. --model names another."));
    }
    if models.iter().any(|model| model.status == ModelStatus::NotAsked) {
        notes.push("`haft models --check` asks every provider.".to_owned());
    }
    if models.iter().any(|model| model.price.is_some()) {
        notes.push(format!("Prices are for a million tokens, in and out; built-in prices are of {}.", Prices::DATE));
    }
    page.line("");
    for line in notes.iter().flat_map(|note| wrap(&display::escape_line(note), width.unwrap_or(usize::MAX))) {
        page.line(format_args!("{DIM}{line}{DIM:#}"));
    }
    page.finish()
}

fn table(models: &[ListedModel], width: Option<usize>) -> Table {
    let key_fit = if width.is_some_and(|width| width < NARROW) { ColumnFit::Wrap } else { ColumnFit::Keep };
    let mut table = Table::new(&[
        ("  MODEL", ColumnFit::Keep),
        ("PROTOCOL", ColumnFit::Drop(3)),
        ("KEY", key_fit),
        ("WINDOW", ColumnFit::Drop(1)),
        ("PRICE", ColumnFit::Drop(2)),
        ("STATUS", ColumnFit::Wrap),
    ]);
    for model in models {
        let (mark, name_style) = if model.active.is_some() { ("*", STRONG) } else { (" ", PLAIN) };
        let protocol = model.remote.as_ref().map_or("-", |(setup, _)| setup.protocol.as_str());
        let window = model.remote.as_ref().map_or_else(dash, |(_, model)| tokens(model.context_window));
        table.row(vec![
            TableCell::styled(&format!("{mark} {}", model.name), name_style),
            TableCell::new(protocol),
            TableCell::new(&key(model)),
            TableCell::new(&window),
            TableCell::new(&model.price.map_or_else(dash, |price| format!("{}/{}", Micros(price.input), Micros(price.output)))),
            TableCell::styled(&sentence(&model.status), style(&model.status)),
        ]);
    }
    table
}

fn dash() -> String {
    "-".to_owned()
}

fn key(model: &ListedModel) -> String {
    let Some((setup, _)) = &model.remote else { return dash() };
    match &setup.key {
        KeySource::None => "none".to_owned(),
        KeySource::Variable(name) => format!("{name} ({})", if setup.key.is_set() { "set" } else { "not set" }),
        KeySource::Command(_) => format!("command {}", setup.key.program().unwrap_or_default()),
    }
}

/// `200k`, `1M`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

fn style(status: &ModelStatus) -> Style {
    match status {
        ModelStatus::Ok | ModelStatus::BuiltIn => GOOD,
        ModelStatus::NotAsked => DIM,
        ModelStatus::NotListed | ModelStatus::NoList => CAUTION,
        _ => ERROR,
    }
}

/// The status in JSON.
fn status_name(status: &ModelStatus) -> &'static str {
    match status {
        ModelStatus::Ok => "ok",
        ModelStatus::BuiltIn => "built_in",
        ModelStatus::NotListed => "not_listed",
        ModelStatus::NoList => "no_list",
        ModelStatus::NotAsked => "not_asked",
        ModelStatus::NoKey(_) => "no_key",
        ModelStatus::WrongKey(_) => "wrong_key",
        ModelStatus::Unreachable(_) => "unreachable",
        ModelStatus::Failed(_) => "failed",
        ModelStatus::Misconfigured(_) => "misconfigured",
    }
}

pub(crate) fn sentence(status: &ModelStatus) -> String {
    match status {
        ModelStatus::Ok => "ok".to_owned(),
        ModelStatus::BuiltIn => "built in".to_owned(),
        ModelStatus::NotListed => "ok, but this model is not in its list".to_owned(),
        ModelStatus::NoList => "answers, but has no list of models (404)".to_owned(),
        ModelStatus::NotAsked => "not asked".to_owned(),
        ModelStatus::NoKey(None) => "no key".to_owned(),
        ModelStatus::NoKey(Some(why)) => why.clone(),
        ModelStatus::WrongKey(Some(code)) => format!("wrong key ({code})"),
        ModelStatus::WrongKey(None) => "wrong key".to_owned(),
        ModelStatus::Unreachable(why) => format!("unreachable: {why}"),
        ModelStatus::Failed(why) => format!("failed: {why}"),
        ModelStatus::Misconfigured(why) => format!("misconfigured: {why}"),
    }
}

fn to_json(model: &ListedModel) -> Value {
    let (setup, limits) = model.remote.as_ref().map_or((None, None), |(setup, limits)| (Some(setup), Some(limits)));
    json!({
        "model": model.name,
        "protocol": setup.map(|setup| setup.protocol),
        "key": setup.map(|setup| key_json(&setup.key)),
        "context_window": limits.map(|limits| limits.context_window),
        "max_output": limits.map(|limits| limits.max_output),
        "price": model.price.map(price_json),
        "status": status_name(&model.status),
        "message": sentence(&model.status),
        "active": model.active.is_some(),
        "reason": model.active,
    })
}

fn key_json(key: &KeySource) -> Value {
    match key {
        KeySource::None => json!({ "from": "none" }),
        KeySource::Variable(name) => json!({ "from": "variable", "name": name, "set": key.is_set() }),
        KeySource::Command(_) => json!({ "from": "command", "name": key.program() }),
    }
}

fn price_json(price: Price) -> Value {
    let money = |micros: Option<i64>| micros.map(Setting::Money);
    json!({
        "input": money(Some(price.input)),
        "output": money(Some(price.output)),
        "cached": money(price.cached),
        "cache_writes": money(price.cache_writes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_windows_are_short() {
        for (count, text) in [(512, "512"), (8_192, "8k"), (200_000, "200k"), (1_048_576, "1M"), (2_000_000, "2M")] {
            assert_eq!(tokens(count), text);
        }
    }
}
