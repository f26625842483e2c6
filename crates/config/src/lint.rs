//! What is allowed to be written, and hardly meant: the linter. Everything here is a warning, for the strictest wins.

use std::collections::HashMap;

use crate::path::written;
use crate::problem::{Problem, Problems};
use crate::provenance::{Provenance, Setting};
use crate::shape::GROUP;
use crate::text::quoted;
use crate::{Source, Sourced, Value};

/// Looks at the settings once all layers are together.
pub(crate) fn lint(settings: &Provenance, problems: &mut Problems) {
    for setting in settings.settings() {
        match (setting.key.segments().last(), &setting.value) {
            (Some("allow"), Value::Lists(lists)) => {
                empty(setting, lists, problems);
                apart(setting, lists, problems);
                for list in lists {
                    denied(settings, setting, &list.value, problems);
                }
            }
            (Some("also_allow"), Value::List(entries)) => denied(settings, setting, entries, problems),
            (Some("profile"), Value::Texts(profiles)) => several(setting, profiles, problems),
            _ => {}
        }
    }
    rules(settings, problems);
}

/// A list that leaves nothing.
fn empty(setting: &Setting, lists: &[Sourced<Vec<Sourced<String>>>], problems: &mut Problems) {
    let key = written(&setting.path);
    for list in lists.iter().filter(|list| list.value.is_empty()) {
        let problem = || Problem::warning(list.source.clone(), format!("'{key}' is empty: no tool is offered"));
        problems.add(|| problem().key(&key).help("remove the key to allow every tool, or name the tools"));
    }
}

/// Entries that the same table denies.
fn denied(settings: &Provenance, setting: &Setting, entries: &[Sourced<String>], problems: &mut Problems) {
    let deny = beside(setting, "deny");
    let denials = settings.entries_at(&deny.iter().map(String::as_str).collect::<Vec<_>>());
    let denials: HashMap<&str, &Source> = denials.iter().map(|entry| (entry.value.as_str(), &entry.source)).collect();
    for entry in entries {
        let Some(denial) = denials.get(entry.value.as_str()) else { continue };
        let (key, deny) = (written(&setting.path), written(&deny));
        let message = format!("'{key}' and '{deny}' both hold {}: deny wins ({denial})", quoted(&entry.value));
        problems.add(|| Problem::warning(entry.source.clone(), message).key(key).help("remove one of the two"));
    }
}

/// The path of another key in the same table.
fn beside(setting: &Setting, name: &str) -> Vec<String> {
    let table = setting.path.split_last().map_or(&[][..], |(_, table)| table);
    table.iter().cloned().chain([name.to_owned()]).collect()
}

/// A project's list that has nothing in common with the person's, as far as names alone can tell.
fn apart(setting: &Setting, lists: &[Sourced<Vec<Sourced<String>>>], problems: &mut Problems) {
    let [own, .., project] = lists else { return };
    let literal = |list: &[Sourced<String>]| !list.is_empty() && !list.iter().any(|entry| is_pattern(&entry.value));
    let shared = |entry: &Sourced<String>| own.value.iter().any(|known| known.value == entry.value);
    if literal(&own.value) && literal(&project.value) && !project.value.iter().any(shared) {
        let key = written(&setting.path);
        let message = format!("the project's '{key}' has no tool of your own list ({}): nothing is left", own.source);
        let help = "a tool must be in both lists: name a common one, or remove one of the lists";
        problems.add(|| Problem::warning(project.source.clone(), message).key(key).help(help));
    }
}

fn is_pattern(entry: &str) -> bool {
    entry.contains('*') || entry.starts_with(GROUP)
}

/// A project's profile that is another than the person's.
fn several(setting: &Setting, profiles: &[Sourced<String>], problems: &mut Problems) {
    let [own, .., project] = profiles else { return };
    let key = written(&setting.path);
    let (first, second) = (quoted(&project.value), quoted(&own.value));
    let message = format!("the project's '{key}' is {first}, yours is {second} ({}): only tools of both are left", own.source);
    problems.add(|| Problem::warning(project.source.clone(), message).key(key).help("remove one of the two if that is not meant"));
}

/// The same rule in two lists.
fn rules(settings: &Provenance, problems: &mut Problems) {
    let mut seen: HashMap<&str, (&str, &Source)> = HashMap::new();
    for list in ["rules.deny", "rules.ask", "rules.allow"] {
        for entry in settings.entries(list) {
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
