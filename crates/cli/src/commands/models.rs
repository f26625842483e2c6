//! `haft models`: what is configured, where the keys come from, and who answers.

use anstyle::Style;
use haft_agent::{Micros, Price, Prices};
use haft_config::Value as Setting;
use haft_contract::visible;
use serde_json::{Value, json};

use crate::arguments::{Common, Models};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{BAD, CARE, DIM, GOOD, Output, PLAIN, STRONG, print};
use crate::page::Page;
use crate::table::{Cell, Room, Table, wrapped};
use crate::wire::Wire;
use crate::wire::models::{self, KeySource, Listed, Status};

/// Below this, names of variables go on in the next line.
const NARROW: usize = 76;

pub(crate) fn run(common: &Common, request: Models, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let models = block_on(async { Ok(models::list(&wire.settings, request.check).await) })?;
    if output.json {
        output.data(&models.iter().map(to_json).collect::<Vec<_>>())?;
    } else {
        print(&page(&models, output.width))?;
    }
    let broken = models.iter().any(|model| model.active.is_some() && !works(&model.status));
    Ok(if request.check && broken { Exit::Failed } else { Exit::Success })
}

fn works(status: &Status) -> bool {
    matches!(status, Status::Ok | Status::BuiltIn | Status::NotListed | Status::NoList)
}

fn page(models: &[Listed], width: Option<usize>) -> String {
    let mut page = Page::default();
    page.text(&table(models, width).render(width));
    let active = models.iter().find_map(|model| Some((&model.name, model.active.as_ref()?)));
    let mut notes = Vec::new();
    if let Some((name, reason)) = active {
        notes.push(format!("* `haft run` takes {name}: {reason}. --model names another."));
    }
    if models.iter().any(|model| model.status == Status::NotAsked) {
        notes.push("`haft models --check` asks every provider.".to_owned());
    }
    if models.iter().any(|model| model.price.is_some()) {
        notes.push(format!("Prices are for a million tokens, in and out; those that are not yours are of {}.", Prices::DATE));
    }
    page.line("");
    for line in notes.iter().flat_map(|note| wrapped(&visible::line(note), width.unwrap_or(usize::MAX))) {
        page.line(format_args!("{DIM}{line}{DIM:#}"));
    }
    page.finish()
}

fn table(models: &[Listed], width: Option<usize>) -> Table {
    let key_room = if width.is_some_and(|width| width < NARROW) { Room::Wrap } else { Room::Keep };
    let mut table = Table::new(&[
        ("  MODEL", Room::Keep),
        ("PROTOCOL", Room::Drop(3)),
        ("KEY", key_room),
        ("WINDOW", Room::Drop(1)),
        ("PRICE", Room::Drop(2)),
        ("STATUS", Room::Wrap),
    ]);
    for model in models {
        let (mark, style) = if model.active.is_some() { ("*", STRONG) } else { (" ", PLAIN) };
        let protocol = model.remote.as_ref().map_or("-", |(setup, _)| setup.protocol.as_str());
        let window = model.remote.as_ref().map_or_else(dash, |(_, model)| tokens(model.context_window));
        table.row(vec![
            Cell::styled(&format!("{mark} {}", model.name), style),
            Cell::new(protocol),
            Cell::new(&key(model)),
            Cell::new(&window),
            Cell::new(&model.price.map_or_else(dash, |price| format!("{}/{}", Micros(price.input), Micros(price.output)))),
            Cell::styled(&sentence(&model.status), look(&model.status)),
        ]);
    }
    table
}

fn dash() -> String {
    "-".to_owned()
}

fn key(model: &Listed) -> String {
    let Some((setup, _)) = &model.remote else { return dash() };
    match &setup.key {
        KeySource::None => "none".to_owned(),
        KeySource::Variable(name) => format!("{name} ({})", if setup.key.is_there() { "set" } else { "not set" }),
        KeySource::Command(_) => format!("command {}", setup.key.program().unwrap_or_default()),
    }
}

/// `200k`, `1M`: as people speak of windows.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

fn look(status: &Status) -> Style {
    match status {
        Status::Ok | Status::BuiltIn => GOOD,
        Status::NotAsked => DIM,
        Status::NotListed | Status::NoList => CARE,
        _ => BAD,
    }
}

/// One word for programs.
fn word(status: &Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::BuiltIn => "built_in",
        Status::NotListed => "not_listed",
        Status::NoList => "no_list",
        Status::NotAsked => "not_asked",
        Status::NoKey(_) => "no_key",
        Status::WrongKey(_) => "wrong_key",
        Status::Unreachable(_) => "unreachable",
        Status::Failed(_) => "failed",
        Status::Misconfigured(_) => "misconfigured",
    }
}

fn sentence(status: &Status) -> String {
    match status {
        Status::Ok => "ok".to_owned(),
        Status::BuiltIn => "built in".to_owned(),
        Status::NotListed => "ok, but this model is not in its list".to_owned(),
        Status::NoList => "answers, but has no list of models (404)".to_owned(),
        Status::NotAsked => "not asked".to_owned(),
        Status::NoKey(None) => "no key".to_owned(),
        Status::NoKey(Some(why)) => why.clone(),
        Status::WrongKey(Some(code)) => format!("wrong key ({code})"),
        Status::WrongKey(None) => "wrong key".to_owned(),
        Status::Unreachable(why) => format!("unreachable: {why}"),
        Status::Failed(why) => format!("failed: {why}"),
        Status::Misconfigured(why) => format!("misconfigured: {why}"),
    }
}

fn to_json(model: &Listed) -> Value {
    let (setup, limits) = model.remote.as_ref().map_or((None, None), |(setup, limits)| (Some(setup), Some(limits)));
    json!({
        "model": model.name,
        "protocol": setup.map(|setup| setup.protocol),
        "key": setup.map(|setup| key_json(&setup.key)),
        "context_window": limits.map(|limits| limits.context_window),
        "max_output": limits.map(|limits| limits.max_output),
        "price": model.price.map(price_json),
        "status": word(&model.status),
        "message": sentence(&model.status),
        "active": model.active.is_some(),
        "reason": model.active,
    })
}

fn key_json(key: &KeySource) -> Value {
    match key {
        KeySource::None => json!({ "from": "none" }),
        KeySource::Variable(name) => json!({ "from": "variable", "name": name, "set": key.is_there() }),
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
    fn windows_are_short() {
        for (count, text) in [(512, "512"), (8_192, "8k"), (200_000, "200k"), (1_048_576, "1M"), (2_000_000, "2M")] {
            assert_eq!(tokens(count), text);
        }
    }
}
