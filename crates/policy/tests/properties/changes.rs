//! What can be added to a policy, and what a refusal advises to change in it.

use haft_contract::{AskMode, ExecAsk, ExecSecurity};
use haft_policy::{AllowList, Caller, ChannelSpec, ConfigEdit, EditValue, ListEntry, PolicySpec, ToolLists};

fn of_project(entry: &str) -> ListEntry {
    ListEntry { of_project: true, ..entry.into() }
}

/// A table that a project wrote; never an empty one, which nobody could tell from the user's.
fn projects_table(entries: &[ListEntry]) -> ToolLists {
    let deny = entries.iter().map(|entry| of_project(&entry.pattern)).chain([of_project("noop")]).collect();
    let allow = if entries.len() > 1 { vec![projects_list(entries)] } else { vec![] };
    ToolLists { deny, allow, ..ToolLists::default() }
}

fn projects_list(entries: &[ListEntry]) -> AllowList {
    AllowList { entries: entries.to_vec(), of_project: true, ..AllowList::default() }
}

/// Something that the user or a project may add.
pub(crate) fn added(spec: &PolicySpec, what: usize, entries: &[ListEntry], rules: &[ListEntry]) -> PolicySpec {
    let mut spec = spec.clone();
    let (list, table) = (|| projects_list(entries), || projects_table(entries));
    match what {
        0 => spec.tools.deny.extend_from_slice(entries),
        1 => spec.disabled.extend_from_slice(entries),
        2 => spec.rules.deny.extend_from_slice(rules),
        3 => spec.rules.ask.extend_from_slice(rules),
        4 => spec.tools.allow.push(list()),
        5 => spec.tools.profiles.push(of_project("coding")),
        6 => spec.agents[0].1.tools.deny.extend_from_slice(entries),
        7 => spec.agents[0].1.tools.allow.push(list()),
        8 => spec.by_provider[0].1.deny.extend_from_slice(entries),
        9 => spec.channels[0].1.tools.deny.extend_from_slice(entries),
        10 => spec.channels[0].1.senders[0].1.deny.extend_from_slice(entries),
        11 => spec.subagents.deny.extend_from_slice(entries),
        12 => spec.subagents.allow.push(list()),
        13 => spec.sandbox.deny.extend(entries.iter().map(|entry| of_project(&entry.pattern))),
        14 => spec.sandbox.allow.push(list()),
        15 => spec.agents[0].1.by_provider[0].1.deny.extend_from_slice(entries),
        16 => spec.channels[0].1.senders.push(("id:1".into(), table())),
        17 => spec.channels.push(("c:1".into(), ChannelSpec { tools: table(), senders: vec![("*".into(), table())] })),
        18 => spec.by_provider.push(("p/m".into(), table())),
        19 => spec.agents[0].1.by_provider.push(("p/m".into(), table())),
        20 => spec.agents[0].1.tools.profiles.push(of_project("messaging")),
        21 => spec.subagents.profiles.push(of_project("minimal")),
        22 => spec.groups.push(("theirs".into(), entries.to_vec())),
        23 => spec.groups.push(("fs".into(), entries.to_vec())),
        24 => spec.max_depth = 0,
        25 => spec.exec.security = spec.exec.security.max(Some(ExecSecurity::SafeBin)),
        26 => spec.exec.security = Some(ExecSecurity::Paranoid),
        27 if spec.exec.ask == ExecAsk::Smart => spec.exec.ask = ExecAsk::Always,
        28 if spec.exec.ask == ExecAsk::Smart => spec.exec.ask = ExecAsk::Auto,
        // Where nobody is asked, being asked would be more.
        _ if spec.ask != AskMode::Never => spec.ask = spec.ask.max(AskMode::Changes),
        _ => {}
    }
    spec
}

/// The lists that a key speaks of, such as `agents.main.tools.by_provider."p"`.
fn table<'a>(spec: &'a mut PolicySpec, key: &str) -> &'a mut ToolLists {
    let quoted = |part: &str| part.trim_matches('"').to_owned();
    let named = |tables: &'a mut Vec<(String, ToolLists)>, name: &str| -> &'a mut ToolLists {
        tables.iter_mut().find(|(own, _)| *own == quoted(name)).map(|(_, lists)| lists).unwrap()
    };
    match key.split('.').collect::<Vec<_>>().as_slice() {
        ["tools"] => &mut spec.tools,
        ["tools", "by_provider", name] => named(&mut spec.by_provider, name),
        ["agents", "main", "tools"] => &mut spec.agents[0].1.tools,
        ["agents", "main", "tools", "by_provider", name] => named(&mut spec.agents[0].1.by_provider, name),
        ["channels", _, "tools"] => &mut spec.channels[0].1.tools,
        ["channels", _, "senders", name] => named(&mut spec.channels[0].1.senders, name),
        ["sandbox", "tools"] => &mut spec.sandbox,
        ["subagents", "tools"] => &mut spec.subagents,
        other => panic!("no table {other:?}"),
    }
}

/// Makes a change that advice names; whether it is one that can be made here.
pub(crate) fn make(change: &ConfigEdit, spec: &mut PolicySpec, caller: &mut Caller) -> bool {
    match change {
        ConfigEdit::Remove { key, entry, owner } => {
            let keep = |listed: &ListEntry| listed.pattern != *entry || listed.of_project != owner.of_project;
            match key.as_str() {
                "tools.disabled" => spec.disabled.retain(keep),
                "rules.deny" => spec.rules.deny.retain(keep),
                "rules.ask" => spec.rules.ask.retain(keep),
                "agents.main.rules.deny" => spec.agents[0].1.rules.deny.retain(keep),
                "agents.main.rules.ask" => spec.agents[0].1.rules.ask.retain(keep),
                _ => match key.rsplit_once('.').unwrap() {
                    (lists, "deny") => table(spec, lists).deny.retain(keep),
                    (lists, "profile") => table(spec, lists).profiles.retain(keep),
                    other => panic!("{other:?}"),
                },
            }
        }
        ConfigEdit::Add { key, entry, .. } if key == "rules.allow" => spec.rules.allow.push(entry.as_str().into()),
        ConfigEdit::Add { key, entry, owner } if key.ends_with("rules.only") => {
            let rules = if key == "rules.only" { &mut spec.rules } else { &mut spec.agents[0].1.rules };
            let own = rules.only.iter_mut().filter(|list| list.of_project == owner.of_project);
            own.for_each(|list| list.entries.push(entry.as_str().into()));
        }
        ConfigEdit::Add { key, entry, owner } => {
            let (lists, list) = key.rsplit_once('.').unwrap();
            let lists = table(spec, lists);
            match list {
                "also_allow" => lists.also_allow.push(entry.as_str().into()),
                "allow" => {
                    let own = lists.allow.iter_mut().filter(|list| list.of_project == owner.of_project);
                    own.for_each(|list| list.entries.push(entry.as_str().into()));
                }
                other => panic!("{other}"),
            }
        }
        ConfigEdit::Set { key, value: EditValue::Text(value), .. } => match key.as_str() {
            "access" => caller.access = value.parse().unwrap(),
            "ask" => spec.ask = value.parse().unwrap(),
            "exec.ask" => spec.exec.ask = value.parse().unwrap(),
            "exec.security" => spec.exec.security = Some(value.parse().unwrap()),
            other => panic!("{other}"),
        },
        ConfigEdit::Set { key, value: EditValue::List(entries), .. } => {
            let lists = table(spec, key.strip_suffix(".deny").unwrap());
            lists.deny.retain(|entry| entry.of_project);
            lists.deny.extend(entries.iter().map(|entry| ListEntry::from(entry.as_str())));
        }
        _ => return false,
    }
    true
}
