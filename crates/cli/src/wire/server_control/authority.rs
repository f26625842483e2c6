//! What a change of the configuration does to what is allowed.

use haft_config::{ConfigKey, ConfigValue, ListKind, MergeRule, Provenance, ValueKind};
use haft_contract::ports::{AuthorityChange, KeyChange};

/// Keys whose value differs, each with what that does to what is allowed.
pub(crate) fn changed_keys(before: &Provenance, after: &Provenance) -> Vec<KeyChange> {
    let at = |provenance: &Provenance, path: &[String]| {
        provenance.settings().iter().find(|setting| setting.path == path).map(|setting| setting.value.clone())
    };
    let mut paths: Vec<(&'static ConfigKey, Vec<String>)> = Vec::new();
    for setting in before.settings().iter().chain(after.settings()) {
        if !paths.iter().any(|(_, path)| *path == setting.path) {
            paths.push((setting.key, setting.path.clone()));
        }
    }
    let mut changes = Vec::new();
    for (key, path) in paths {
        let (old, new) = (at(before, &path).unwrap_or(ConfigValue::Unset), at(after, &path).unwrap_or(ConfigValue::Unset));
        if old.to_string() != new.to_string() {
            changes.push(KeyChange { key: path.join("."), authority: authority(key, &old, &new) });
        }
    }
    if before.hooks().len() != after.hooks().len() {
        changes.push(KeyChange { key: "hooks".into(), authority: AuthorityChange::Wider });
    }
    changes
}

/// The changes of both: a key that is wider in one is wider.
pub(super) fn united(mut changes: Vec<KeyChange>, others: Vec<KeyChange>) -> Vec<KeyChange> {
    for other in others {
        match changes.iter_mut().find(|change| change.key == other.key) {
            Some(change) => change.authority = change.authority.max(other.authority),
            None => changes.push(other),
        }
    }
    changes
}

/// Lists of the user's own each of whose entries allows something, by the last part of their key. Others are no such lists: an argument of
/// a command may be what makes it harmless, a group may be in a list that denies, and the first model of a list is the one that is asked.
const ALLOWING_LISTS: [&str; 8] = ["allow", "allow_from", "owners", "conversations", "invoke_allow", "pass_env", "hosts", "folders"];

/// What a change does; what is not certainly tighter counts as wider.
fn authority(key: &ConfigKey, before: &ConfigValue, after: &ConfigValue) -> AuthorityChange {
    if key.model_may_set {
        return AuthorityChange::Neutral;
    }
    let (old, new) = (texts(before), texts(after));
    let is_tighter = match (key.merge, key.kind, before, after) {
        (MergeRule::Strictest, ValueKind::Choice(words), ..) => after.is_stricter(before, words),
        (MergeRule::Strictest, ..) => after.is_stricter(before, &[]),
        // Each entry of these allows, and no list at all allows everything.
        (MergeRule::Intersect, kind, _, ConfigValue::Lists(_)) => are_lists_tighter(kind, &lists(before), &lists(after)),
        // Each entry of the first denies, and each of the second must hold.
        (MergeRule::Union, ..) | (MergeRule::Intersect, _, _, ConfigValue::Texts(_)) => is_within(&old, &new),
        (MergeRule::UserUnion, ValueKind::List(_), ..) => !old.is_empty() && is_within(&new, &old),
        (MergeRule::UserOnly, ValueKind::List(_), ..) => {
            let allows = key.path.rsplit('.').next().is_some_and(|name| ALLOWING_LISTS.contains(&name));
            allows && !old.is_empty() && is_within(&new, &old)
        }
        _ => false,
    };
    if is_tighter { AuthorityChange::Tighter } else { AuthorityChange::Wider }
}

/// Lists of which every one must hold: each of before has one now that allows no more.
fn are_lists_tighter(kind: ValueKind, before: &[Vec<String>], after: &[Vec<String>]) -> bool {
    let replaces = |old: &Vec<String>, new: &Vec<String>| is_within(new, old) && (kind != ONLY || is_within(&kinds(old), &kinds(new)));
    !after.is_empty() && before.iter().all(|old| after.iter().any(|new| replaces(old, new)))
}

/// A list that says nothing of a kind of effect leaves that kind alone: its last entry of a kind is not taken out of it.
const ONLY: ValueKind = ValueKind::List(ListKind::RulesOnly);

/// The kinds of effects that rules are about: `write` of `write(src/**)`.
fn kinds(rules: &[String]) -> Vec<String> {
    rules.iter().map(|rule| rule.split('(').next().unwrap_or_default().trim().to_owned()).collect()
}

fn is_within(part: &[String], whole: &[String]) -> bool {
    part.iter().all(|entry| whole.contains(entry))
}

/// Lists of which every one must hold, without their sources.
fn lists(value: &ConfigValue) -> Vec<Vec<String>> {
    value.lists().iter().map(|list| list.value.iter().map(|entry| entry.value.clone()).collect()).collect()
}

/// A value as texts, without its sources.
fn texts(value: &ConfigValue) -> Vec<String> {
    match value {
        ConfigValue::Unset => Vec::new(),
        ConfigValue::List(entries) | ConfigValue::Texts(entries) => entries.iter().map(|entry| entry.value.clone()).collect(),
        ConfigValue::Lists(lists) => lists.iter().flat_map(|list| &list.value).map(|entry| entry.value.clone()).collect(),
        other => vec![other.as_text().map_or_else(|| other.to_string(), str::to_owned)],
    }
}
