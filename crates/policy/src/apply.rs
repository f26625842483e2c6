//! Makes the edits of advice, to try it: on a policy as it is written, on a caller, and on what the machine refuses.

use std::path::PathBuf;

use haft_contract::{Access, Effect, Need, RefusalCause, Zone};

use crate::{AllowList, Caller, ConfigEdit, EditValue, ListEntry, Owner, PolicySpec, RuleLists, ToolLists};

/// What edits outside the policy lift: refusals of the file system and of the address guard, which a plan carries.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiftedRefusals {
    removed: Vec<(String, String)>,
    added: Vec<(String, String)>,
    set: Vec<(String, String)>,
    roots: Vec<(PathBuf, Access)>,
    /// Whether the access was raised, so that commands no longer run in a view that may only be read.
    is_raised: bool,
}

impl LiftedRefusals {
    fn lifts(&self, cause: &RefusalCause, is_undenied: bool) -> bool {
        let has = |made: &[(String, String)], key: &str, value: &str| made.iter().any(|(known, entry)| known == key && entry == value);
        match cause {
            RefusalCause::Listed { key, entry } => has(&self.removed, key, entry),
            RefusalCause::Missing { key, entry } => has(&self.added, key, entry),
            RefusalCause::Setting { key, value } => has(&self.set, key, value),
            RefusalCause::Rule(_) => is_undenied,
            _ => false,
        }
    }

    /// What an effect needs after the edits; `is_undenied` if no rule denies it any more.
    pub(crate) fn need(&self, effect: &Effect, is_undenied: bool) -> Need {
        let is_lifted = effect.causes().iter().all(|cause| self.lifts(cause, is_undenied));
        let zone = effect.path().and_then(|(path, _)| {
            let mut roots = self.roots.iter().filter(|(root, _)| path.location.path().starts_with(root));
            let widest = roots.clone().map(|(_, access)| *access).max()?;
            roots.next()?;
            Some(if widest > Access::ReadOnly { Zone::Workspace } else { Zone::ReadOnlyRoot })
        });
        match effect.need_after(zone, is_lifted && !effect.causes().is_empty()) {
            Need::Access(Access::ReadOnly) if self.is_raised && runs_in_view(effect) => Need::Access(Access::WorkspaceWrite),
            need => need,
        }
    }

    /// Whether an effect changes something after the edits.
    pub(crate) fn changes(&self, effect: &Effect) -> bool {
        effect.changes_something() || self.is_raised && runs_in_view(effect)
    }
}

/// Whether it is a command whose view of the workspace may only be read.
fn runs_in_view(effect: &Effect) -> bool {
    match effect {
        Effect::Exec(exec) => exec.read_only_view,
        Effect::Contained { read_only, .. } => *read_only,
        _ => false,
    }
}

/// What would lift the refusal that an effect carries.
pub(crate) fn lifting(effect: &Effect, spec: &PolicySpec) -> Vec<ConfigEdit> {
    if let Some(edit) = widened_root(effect, spec) {
        return vec![edit];
    }
    let edits: Option<Vec<Vec<ConfigEdit>>> = effect.causes().iter().map(|cause| lifting_one(cause, spec)).collect();
    edits.map(|edits| edits.concat()).filter(|edits| !edits.is_empty()).unwrap_or_else(|| vec![ConfigEdit::Do(by_hand(effect))])
}

/// What lifts one cause: an entry that several files have goes from each of them.
fn lifting_one(cause: &RefusalCause, spec: &PolicySpec) -> Option<Vec<ConfigEdit>> {
    Some(match cause {
        RefusalCause::Listed { key, entry } => {
            let places = spec.places.iter().filter(|place| place.is_of(key, entry));
            let owners: Vec<Owner> = places.map(|place| place.owner.clone()).collect();
            let owners = if owners.is_empty() { vec![Owner::default()] } else { owners };
            let remove = |owner| ConfigEdit::Remove { key: (*key).to_owned(), entry: entry.clone(), owner };
            owners.into_iter().map(remove).collect()
        }
        RefusalCause::Missing { key, entry } => vec![spec.adding(key, entry)],
        RefusalCause::Setting { key, value } => spec.setting(key, value),
        _ => return None,
    })
}

/// A root that may only be read, where something in it would be changed.
fn widened_root(effect: &Effect, spec: &PolicySpec) -> Option<ConfigEdit> {
    let (path, changes) = effect.path()?;
    if !changes || path.location.zone() != Zone::ReadOnlyRoot || path.location.no_write().is_some() {
        return None;
    }
    let within = |root: &&crate::SettingPlace| root.entry.as_ref().is_some_and(|folder| path.location.path().starts_with(folder));
    let root = spec.places.iter().filter(|place| place.key == ROOTS).find(within)?;
    let key = format!("{ROOTS}.{:?}.access", root.entry.as_deref()?);
    Some(ConfigEdit::Set { key, value: EditValue::Text(Access::WorkspaceWrite.to_string()), owner: root.owner.clone() })
}

fn by_hand(effect: &Effect) -> String {
    match effect.path() {
        Some((path, true)) => format!("no setting allows it: only you can change '{}', by hand", path.location.display()),
        Some((path, false)) => format!("no setting allows it: only you can read '{}', by hand", path.location.display()),
        None => format!("no setting allows it: only you can reach '{}', by hand", effect.target()),
    }
}

const ROOTS: &str = "workspace.roots";

/// Makes an edit on a policy as it is written, or notes what it lifts outside; nothing if it cannot be made.
pub(crate) fn to_spec(edit: &ConfigEdit, spec: &mut PolicySpec, lifted: &mut LiftedRefusals) -> Option<()> {
    match edit {
        ConfigEdit::Remove { key, entry, owner } => remove(spec, lifted, key, entry, owner),
        ConfigEdit::Add { key, entry, owner } => add(spec, lifted, key, entry, owner),
        ConfigEdit::Set { key, value, owner } => set(spec, lifted, key, value, owner),
        ConfigEdit::Do(_) => None,
    }
}

/// Makes an edit on a caller, if it is about its access.
pub fn to_caller(edit: &ConfigEdit, caller: &mut Caller) {
    let ConfigEdit::Set { key, value: EditValue::Text(level), owner } = edit else { return };
    let Ok(level) = level.parse::<Access>() else { return };
    if !is_access(key) {
        return;
    }
    let of_caller = caller.access_limits.iter_mut().filter(|limit| limit.key == *key && limit.owner == *owner);
    of_caller.for_each(|limit| limit.access = level);
    caller.access = caller.access_limits.iter().map(|limit| limit.access).min().unwrap_or(level);
}

/// Whether a key limits the access of sessions.
fn is_access(key: &str) -> bool {
    key == "access" || key.starts_with("agents.") && key.ends_with(".access")
}

fn remove(spec: &mut PolicySpec, lifted: &mut LiftedRefusals, key: &str, entry: &str, owner: &Owner) -> Option<()> {
    let keep = |listed: &ListEntry| listed.pattern != entry || listed.of_project != owner.of_project || listed.span != owner.span;
    if let Some((rules, name)) = rule_table(spec, key) {
        rule_list(rules, name)?.retain(keep);
        return Some(());
    }
    match key.rsplit_once('.')? {
        ("tools", "disabled") => spec.disabled.retain(keep),
        (lists, "deny") if table(spec, lists).is_some() => table(spec, lists)?.deny.retain(keep),
        (lists, "profile") => table(spec, lists)?.profiles.retain(keep),
        _ => {
            spec.places.retain(|place| !place.is_of(key, entry) || place.owner != *owner);
            // It holds for as long as another file has it.
            if !spec.places.iter().any(|place| place.is_of(key, entry)) {
                lifted.removed.push((key.to_owned(), entry.to_owned()));
            }
        }
    }
    Some(())
}

fn add(spec: &mut PolicySpec, lifted: &mut LiftedRefusals, key: &str, entry: &str, owner: &Owner) -> Option<()> {
    if let Some((rules, name)) = rule_table(spec, key) {
        if name == "only" {
            let same =
                |list: &&mut AllowList| list.of_project == owner.of_project && list.entries.iter().any(|listed| listed.span == owner.span);
            rules.only.iter_mut().filter(same).for_each(|list| list.entries.push(entry.into()));
            return Some(());
        }
        rule_list(rules, name)?.push(entry.into());
        return Some(());
    }
    match key.rsplit_once('.')? {
        ("workspace", "roots") => lifted.roots.push(root(entry)?),
        (lists, "also_allow") => table(spec, lists)?.also_allow.push(entry.into()),
        (lists, "allow") if table(spec, lists).is_some() => {
            let lists = table(spec, lists)?;
            let same = |list: &&mut AllowList| list.of_project == owner.of_project && list.span == owner.span;
            lists.allow.iter_mut().filter(same).for_each(|list| list.entries.push(entry.into()));
        }
        _ => lifted.added.push((key.to_owned(), entry.to_owned())),
    }
    Some(())
}

fn set(spec: &mut PolicySpec, lifted: &mut LiftedRefusals, key: &str, value: &EditValue, owner: &Owner) -> Option<()> {
    if let EditValue::Text(word) = value
        && is_held_elsewhere(spec, key, word, owner)
    {
        return Some(());
    }
    match (key, value) {
        ("ask", EditValue::Text(mode)) => spec.ask = mode.parse().ok()?,
        ("exec.ask", EditValue::Text(mode)) => spec.exec.ask = mode.parse().ok()?,
        ("exec.security", EditValue::Text(security)) => spec.exec.security = Some(security.parse().ok()?),
        ("exec.changes", EditValue::Text(mode)) => spec.exec.review = mode == "review",
        (key, EditValue::List(entries)) => {
            let lists = table(spec, key.strip_suffix(".deny")?)?;
            lists.deny.retain(|entry| entry.of_project && !owner.of_project);
            lists.deny.extend(entries.iter().map(|entry| ListEntry::new(entry.as_str())));
        }
        (key, EditValue::Text(level)) => {
            lifted.is_raised |= is_access(key) && level.parse::<Access>().is_ok_and(|level| level > Access::ReadOnly);
            if let Some(folder) = key.strip_prefix(ROOTS).and_then(|rest| rest.strip_prefix(".\"")?.strip_suffix("\".access")) {
                lifted.roots.push((PathBuf::from(folder), level.parse().ok()?));
            }
            lifted.set.push((key.to_owned(), level.clone()));
        }
    }
    Some(())
}

/// Gives a key its word in one place; whether another place holds against it.
fn is_held_elsewhere(spec: &mut PolicySpec, key: &str, word: &str, owner: &Owner) -> bool {
    let here = spec.places.iter_mut().filter(|place| place.key == key && place.owner == *owner);
    here.filter_map(|place| place.word.as_mut()).for_each(|place| word.clone_into(&mut place.word));
    spec.places.iter().any(|place| place.holds_against(key, word))
}

/// The folder and the access of a root, as it is written in a file.
fn root(written: &str) -> Option<(PathBuf, Access)> {
    let (folder, access) = written.strip_prefix("{ path = \"")?.strip_suffix("\" }")?.split_once("\", access = \"")?;
    Some((PathBuf::from(folder.replace("\\\"", "\"").replace("\\\\", "\\")), access.parse().ok()?))
}

fn rule_list<'a>(rules: &'a mut RuleLists, name: &str) -> Option<&'a mut Vec<ListEntry>> {
    match name {
        "deny" => Some(&mut rules.deny),
        "ask" => Some(&mut rules.ask),
        "allow" => Some(&mut rules.allow),
        _ => None,
    }
}

/// The rules at a key, for everyone or of an agent, and the name of the list among them.
fn rule_table<'a, 'k>(spec: &'a mut PolicySpec, key: &'k str) -> Option<(&'a mut RuleLists, &'k str)> {
    let (table, name) = key.rsplit_once('.')?;
    if table == "rules" {
        return Some((&mut spec.rules, name));
    }
    let agent = table.strip_prefix("agents.")?.strip_suffix(".rules")?;
    let agent = spec.agents.iter_mut().find(|(own, _)| own == agent.trim_matches('"'))?;
    Some((&mut agent.1.rules, name))
}

/// The lists at a key, such as `agents.main.tools.by_provider."p"`.
fn table<'a>(spec: &'a mut PolicySpec, key: &str) -> Option<&'a mut ToolLists> {
    fn find_table<'a, T>(tables: &'a mut [(String, T)], name: &str) -> Option<&'a mut T> {
        tables.iter_mut().find(|(own, _)| own == name).map(|(_, table)| table)
    }
    let parts = parts(key);
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tools"] => Some(&mut spec.tools),
        ["tools", "by_provider", name] => find_table(&mut spec.by_provider, name),
        ["agents", agent, "tools"] => Some(&mut find_table(&mut spec.agents, agent)?.tools),
        ["agents", agent, "tools", "by_provider", name] => find_table(&mut find_table(&mut spec.agents, agent)?.by_provider, name),
        ["channels", channel, "tools"] => Some(&mut find_table(&mut spec.channels, channel)?.tools),
        ["channels", channel, "senders", name] => find_table(&mut find_table(&mut spec.channels, channel)?.senders, name),
        ["sandbox", "tools"] => Some(&mut spec.sandbox),
        ["subagents", "tools"] => Some(&mut spec.subagents),
        _ => None,
    }
}

/// The parts of a key; what is quoted is one.
fn parts(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for ch in key.chars() {
        match (ch, parts.last_mut()) {
            ('"', _) => quoted = !quoted,
            ('.', _) if !quoted => parts.push(String::new()),
            (ch, Some(part)) => part.push(ch),
            (_, None) => {}
        }
    }
    parts
}
