//! The linter: warnings about settings that are valid, and hardly intended.

use std::collections::HashMap;

use crate::entry_syntax::GROUP;
use crate::key_path::format_path;
use crate::problem::{Problem, Problems, quoted};
use crate::provenance::{Provenance, Setting};
use crate::table_names::folded;
use crate::{ConfigValue, SettingSource, Sourced};

/// Canonical spelling of an entry that names tools.
type SpellingFn<'a> = Option<&'a dyn Fn(&str) -> String>;

/// Checks the settings once all layers are merged.
pub(crate) fn lint(settings: &Provenance, spelling: SpellingFn<'_>, problems: &mut Problems) {
    let spelled = |entry: &Sourced<String>| spelling.map_or_else(|| entry.value.clone(), |spelling| spelling(&entry.value));
    for setting in settings.settings() {
        match (setting.key.segments().last(), &setting.value) {
            (Some("allow"), ConfigValue::Lists(lists)) => {
                empty(setting, lists, problems);
                disjoint(setting, lists, &spelled, problems);
                for list in lists {
                    denied(settings, setting, &list.value, &spelled, problems);
                }
            }
            (Some("also_allow"), ConfigValue::List(entries)) => denied(settings, setting, entries, &spelled, problems),
            (Some("profile"), ConfigValue::Texts(profiles)) => several(setting, profiles, problems),
            _ => {}
        }
    }
    rules(settings, problems);
    forgeable(settings, problems);
}

/// Warns about a list that allows nothing.
fn empty(setting: &Setting, lists: &[Sourced<Vec<Sourced<String>>>], problems: &mut Problems) {
    let key = format_path(&setting.path);
    for list in lists.iter().filter(|list| list.value.is_empty()) {
        let problem = || Problem::warning(list.source.clone(), format!("'{key}' is empty: no tool is offered"));
        problems.add(|| problem().key(&key).help("remove the key to allow every tool, or name the tools"));
    }
}

/// Warns about entries that the same table denies.
fn denied(
    settings: &Provenance,
    setting: &Setting,
    entries: &[Sourced<String>],
    spelled: &impl Fn(&Sourced<String>) -> String,
    problems: &mut Problems,
) {
    let deny = beside(setting, "deny");
    let denials = settings.value_at(&parts(&deny)).entries();
    let denials: HashMap<String, &Sourced<String>> = denials.iter().map(|entry| (spelled(entry), entry)).collect();
    for entry in entries {
        let Some(denial) = denials.get(&spelled(entry)) else { continue };
        let (key, deny) = (format_path(&setting.path), format_path(&deny));
        let what = if denial.value == entry.value {
            format!("'{key}' and '{deny}' both hold {}", quoted(&entry.value))
        } else {
            format!("'{key}' holds {} and '{deny}' {}, which is the same tool", quoted(&entry.value), quoted(&denial.value))
        };
        let message = format!("{what}: deny wins ({})", denial.source);
        problems.add(|| Problem::warning(entry.source.clone(), message).key(key).help("remove one of the two"));
    }
}

/// The path of another key in the same table.
fn beside(setting: &Setting, name: &str) -> Vec<String> {
    let table = setting.path.split_last().map_or(&[][..], |(_, table)| table);
    table.iter().cloned().chain([name.to_owned()]).collect()
}

fn parts(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// Warns about a project's list that has no entry of the user's.
fn disjoint(
    setting: &Setting,
    lists: &[Sourced<Vec<Sourced<String>>>],
    spelled: &impl Fn(&Sourced<String>) -> String,
    problems: &mut Problems,
) {
    let [own, .., project] = lists else { return };
    let literal = |list: &[Sourced<String>]| !list.is_empty() && !list.iter().any(|entry| is_pattern(&entry.value));
    let shared = |entry: &Sourced<String>| own.value.iter().any(|known| spelled(known) == spelled(entry));
    if literal(&own.value) && literal(&project.value) && !project.value.iter().any(shared) {
        let key = format_path(&setting.path);
        let message = format!("the project's '{key}' has no tool of your own list ({}): nothing is left", own.source);
        let help = "a tool must be in both lists: name a common one, or remove one of the lists";
        problems.add(|| Problem::warning(project.source.clone(), message).key(key).help(help));
    }
}

fn is_pattern(entry: &str) -> bool {
    entry.contains('*') || entry.starts_with(GROUP)
}

/// Warns about a project's profile that differs from the user's.
fn several(setting: &Setting, profiles: &[Sourced<String>], problems: &mut Problems) {
    let [own, .., project] = profiles else { return };
    let key = format_path(&setting.path);
    let (first, second) = (quoted(&project.value), quoted(&own.value));
    let message = format!("the project's '{key}' is {first}, yours is {second} ({}): only tools of both are left", own.source);
    problems.add(|| Problem::warning(project.source.clone(), message).key(key).help("remove one of the two if that is not meant"));
}

/// Warns about a rule in two lists.
fn rules(settings: &Provenance, problems: &mut Problems) {
    let mut seen: HashMap<&str, (&str, &SettingSource)> = HashMap::new();
    for list in ["rules.deny", "rules.ask", "rules.allow"] {
        for entry in settings.value(list).entries() {
            match seen.get(entry.value.as_str()) {
                Some((stricter, source)) if *stricter != list => {
                    let message = format!(
                        "'{list}' and '{stricter}' both hold {}: deny > ask > allow, the strictest wins ({source})",
                        quoted(&entry.value)
                    );
                    problems.add(|| Problem::warning(entry.source.clone(), message).key(list).help("remove one of the two"));
                }
                _ => _ = seen.insert(&entry.value, (list, &entry.source)),
            }
        }
    }
}

/// Warns about a sender's table by a name that anyone can choose, if it allows more than the channel's.
fn forgeable(settings: &Provenance, problems: &mut Problems) {
    for channel in settings.names_beneath(&["channels"]) {
        let general = ["channels", channel.as_str(), "tools"];
        for sender in settings.names_beneath(&["channels", &channel, "senders"]) {
            let own = ["channels", channel.as_str(), "senders", sender.as_str()];
            if !folded("senders", &sender).starts_with("name:") || !allows_more(settings, &own, &general) {
                continue;
            }
            let path = own.map(str::to_owned);
            let source = first_within(settings, &path).or_else(|| first_within(settings, &general.map(str::to_owned)));
            let key = format_path(&path);
            let message = format!("'{key}' allows more than the channel, and anyone can choose that name");
            let help = "name the sender by id:, e164: or username:, or allow no more than the channel does";
            problems.add(|| Problem::warning(source.unwrap_or(SettingSource::BUILT_IN), message).key(key).help(help));
        }
    }
}

fn first_within(settings: &Provenance, table: &[String]) -> Option<SettingSource> {
    settings.settings().iter().find(|setting| setting.path.starts_with(table)).map(|setting| setting.source.clone())
}

/// Whether a table lacks a denial of another, or allows what the other does not name.
fn allows_more(settings: &Provenance, own: &[&str], general: &[&str]) -> bool {
    let entries = |table: &[&str], list: &str| settings.value_at(&[table, &[list]].concat()).entries().to_vec();
    let allowed = |table: &[&str]| {
        let lists = settings.value_at(&[table, &["allow"]].concat()).lists();
        let only = !lists.is_empty();
        let named = lists.iter().flat_map(|list| list.value.clone()).chain(entries(table, "also_allow"));
        only.then(|| named.collect::<Vec<_>>())
    };
    let lacks = |all: &[Sourced<String>], some: &[Sourced<String>]| {
        all.iter().any(|entry| !some.iter().any(|known| known.value == entry.value || known.value == "*"))
    };
    let more_named = match (allowed(own), allowed(general)) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(own), Some(general)) => lacks(&own, &general),
    };
    more_named || lacks(&entries(general, "deny"), &entries(own, "deny"))
}
