//! The nearest thing to what was written.

use crate::KEYS;
use crate::key::{ANY, EACH};
use crate::path::written;

/// Nobody mistypes a name longer than this; comparing takes time.
const MAX_COMPARED: usize = 64;

/// The candidate nearest to `wanted`, if any is near.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const NEAR: f64 = 0.6;
    if wanted.chars().count() > MAX_COMPARED {
        return None;
    }
    let score = |candidate: &str| strsim::normalized_damerau_levenshtein(wanted, candidate);
    let best = candidates.into_iter().map(|candidate| (score(candidate), candidate)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= NEAR).then_some(best.1)
}

/// What to write in place of an unknown key: the nearest name in its table, one that begins with it, the same name in
/// another table, or what there is in its table.
pub(crate) fn for_key(path: &[String]) -> String {
    let Some((name, table)) = path.split_last() else { return String::new() };
    let siblings = names_in(table);
    if let Some(near) = nearest(name, siblings.iter().copied()) {
        return format!("did you mean '{}'?", joined_with(table, near));
    }
    if let Some(longer) = siblings.iter().find(|sibling| name.len() > 2 && sibling.starts_with(name.as_str())) {
        return format!("did you mean '{}'?", joined_with(table, longer));
    }
    if let Some(key) = KEYS.iter().find(|key| key.segments().last() == Some(name)) {
        return format!("did you mean '{}'?", key.path);
    }
    if let Some(near) = nearest(&written(path), KEYS.iter().map(|key| key.path)) {
        return format!("did you mean '{near}'?");
    }
    format!("known here: {}", siblings.join(", "))
}

fn joined_with(table: &[String], name: &str) -> String {
    written(&table.iter().cloned().chain([name.to_owned()]).collect::<Vec<_>>())
}

/// The names that may stand in a table.
fn names_in(table: &[String]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for key in KEYS {
        let mut pattern = key.segments();
        let inside = table.iter().all(|part| pattern.next().is_some_and(|wanted| wanted == ANY || wanted == part));
        if let (true, Some(name)) = (inside, pattern.next())
            && name != ANY
            && name != EACH
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}
