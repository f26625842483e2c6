//! What a change of the configuration does to what is allowed.

use haft_config::{ConfigKey, ConfigValue, MergeRule, Provenance, ValueKind};
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

/// What a change does; what is not certainly tighter counts as wider.
fn authority(key: &ConfigKey, before: &ConfigValue, after: &ConfigValue) -> AuthorityChange {
    if key.model_may_set {
        return AuthorityChange::Neutral;
    }
    let (old, new) = (texts(before), texts(after));
    let is_tighter = match (key.merge, key.kind, before, after) {
        (MergeRule::Strictest, ValueKind::Choice(words), ..) => after.is_stricter(before, words),
        (MergeRule::Strictest, ..) => after.is_stricter(before, &[]),
        // Each entry of these lists denies.
        (MergeRule::Union, ..) => old.iter().all(|entry| new.contains(entry)),
        // Each entry of these allows, and no list at all allows everything.
        (MergeRule::Intersect, _, _, ConfigValue::Lists(lists)) => {
            !lists.is_empty() && (before.lists().is_empty() || new.iter().all(|entry| old.contains(entry)))
        }
        // Each of these must hold.
        (MergeRule::Intersect, _, _, ConfigValue::Texts(_)) => old.iter().all(|entry| new.contains(entry)),
        (MergeRule::UserOnly | MergeRule::UserUnion, ValueKind::List(_), ..) => {
            !old.is_empty() && new.iter().all(|entry| old.contains(entry))
        }
        _ => false,
    };
    if is_tighter { AuthorityChange::Tighter } else { AuthorityChange::Wider }
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
