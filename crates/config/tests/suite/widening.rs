//! The promise of the layers, as a property: whatever a project's file says, nothing becomes looser.

use haft_config::{
    Config, ConfigKey, ConfigValue, FlagValue, KEYS, LoadRequest, Loaded, MergeRule, Provenance, Setting, Sourced, ValueKind, load, presets,
};
use haft_contract::{Access, AskMode};
use proptest::prelude::*;
use proptest::sample::select;

use super::fixture::Fixture;

/// Names that override each other, differ in case only, or have signs in them.
fn names(table: &str) -> &'static [&'static str] {
    match table {
        "by_provider" => &["openai", "OpenAI", "openai/gpt-4.1"],
        "channels" => &["t", "t:-1"],
        "senders" => &["id:42", "*"],
        _ => &["a", "b.c"],
    }
}

/// Every path of a key, as TOML writes it.
fn paths(key: &ConfigKey) -> Vec<String> {
    let mut paths = vec![String::new()];
    let mut table = "";
    for part in key.path.split('.') {
        let choices: Vec<String> =
            if part == "*" { names(table).iter().map(|name| format!("{name:?}")).collect() } else { vec![part.into()] };
        let longer = |path: &String| {
            choices.iter().map(|part| if path.is_empty() { part.clone() } else { format!("{path}.{part}") }).collect::<Vec<_>>()
        };
        paths = paths.iter().flat_map(longer).collect();
        table = part;
    }
    paths
}

fn values(kind: ValueKind) -> Vec<String> {
    match kind {
        ValueKind::Access => vec!["'read-only'".into(), "'workspace-write'".into(), "'full-access'".into()],
        ValueKind::Choice(words) => words.iter().map(|word| format!("'{word}'")).collect(),
        ValueKind::Flag => vec!["true".into(), "false".into()],
        ValueKind::Count(least, most) => vec![least.to_string(), least.midpoint(most).to_string(), most.to_string()],
        ValueKind::Size(least, most) => vec![least.to_string(), "'1GiB'".into(), most.to_string()],
        ValueKind::Profile => vec!["'coding'".into(), "'minimal'".into()],
        ValueKind::Roots => vec!["[]".into(), "[{ path = '/srv' }]".into(), "[{ path = '/', access = 'workspace-write' }]".into()],
        _ => ["[]", "['*']", "['a']", "['a', 'b*']"].map(String::from).to_vec(),
    }
}

/// A file in which each key is absent or has one of some values.
fn file() -> impl Strategy<Value = String> {
    let enforced = KEYS.iter().filter(|key| !key.path.contains("[]"));
    let lines: Vec<_> = enforced
        .flat_map(|key| paths(key).into_iter().map(move |path| (path, values(key.kind))))
        .map(|(path, values)| {
            proptest::option::weighted(0.3, select(values)).prop_map(move |value| value.map(|value| format!("{path} = {value}\n")))
        })
        .collect();
    lines.prop_map(|lines| lines.into_iter().flatten().collect())
}

const HOOK: &str = "[[hooks]]\nevent = 'before_tool_call'\ncommand = 'x'\n";

/// Whether a setting takes away at least as much as another.
fn as_strict(after: &Setting, before: &Setting) -> bool {
    let place = |words: &[&str], word: &str| words.iter().position(|known| *known == word);
    match (&before.value, &after.value, before.key.kind) {
        (ConfigValue::Access(before), ConfigValue::Access(after), _) => after <= before,
        (ConfigValue::Flag(before), ConfigValue::Flag(after), _) => *after || !*before,
        (ConfigValue::Count(before), ConfigValue::Count(after), _) | (ConfigValue::Size(before), ConfigValue::Size(after), _) => {
            after <= before
        }
        (ConfigValue::Unset, ConfigValue::Count(_) | ConfigValue::Size(_) | ConfigValue::Money(_), _) => {
            before.key.merge == MergeRule::Strictest
        }
        // What holds where nothing is said may be as loose as the loosest word.
        (ConfigValue::Unset, ConfigValue::Choice(after), ValueKind::Choice(words)) => place(words, after) > Some(0),
        // Where nobody is asked, some of what is asked elsewhere is refused and the rest goes ahead: it compares with nothing.
        (ConfigValue::Choice(before), ConfigValue::Choice(after), _)
            if [before, after].iter().any(|word| ["never", "auto"].contains(word)) =>
        {
            before == after
        }
        (ConfigValue::Choice(before), ConfigValue::Choice(after), ValueKind::Choice(words)) => place(words, after) >= place(words, before),
        (ConfigValue::List(before), ConfigValue::List(after), _) | (ConfigValue::Texts(before), ConfigValue::Texts(after), _) => {
            has_all(before, after)
        }
        (ConfigValue::Lists(before), ConfigValue::Lists(after), _) => has_all(before, after),
        (before, after, _) => before == after,
    }
}

fn has_all<T: PartialEq>(before: &[Sourced<T>], after: &[Sourced<T>]) -> bool {
    before.iter().all(|entry| after.iter().any(|known| known.value == entry.value))
}

/// The settings that hold for a caller where one table overrides another: the sender's own, else those of the
/// group, else those of the channel; the model's own, else those of the provider.
fn nearest<'p>(provenance: &'p Provenance, tables: &[&[&str]]) -> Vec<&'p Setting> {
    let beneath = |table: &[&str]| {
        let inside = move |setting: &&Setting| {
            setting.path.len() == table.len() + 1 && setting.path.iter().zip(table).all(|(a, b)| a.eq_ignore_ascii_case(b))
        };
        provenance.settings().iter().filter(inside).collect::<Vec<_>>()
    };
    tables.iter().map(|table| beneath(table)).find(|found| !found.is_empty()).unwrap_or_default()
}

const CALLERS: &[&[&[&str]]] = &[
    &[&["tools", "by_provider", "openai/gpt-4.1"], &["tools", "by_provider", "openai"]],
    &[&["agents", "a", "tools", "by_provider", "openai/gpt-4.1"], &["agents", "a", "tools", "by_provider", "openai"]],
    &[&["channels", "t", "senders", "id:42"], &["channels", "t", "senders", "*"], &["channels", "t", "tools"]],
    &[
        &["channels", "t:-1", "senders", "id:42"],
        &["channels", "t:-1", "senders", "*"],
        &["channels", "t:-1", "tools"],
        &["channels", "t", "tools"],
    ],
];

/// How much an agent may do, if its own word stood for the session's.
fn access_of(provenance: &Provenance, agent: &str) -> Access {
    let own = provenance.get_at(&["agents", agent, "access"]).or_else(|| provenance.get("access"));
    match own.map(|setting| &setting.value) {
        Some(ConfigValue::Access(level)) => *level,
        other => panic!("{other:?}"),
    }
}

/// What became looser, if anything did.
fn looser(before: &Loaded, after: &Loaded) -> Option<String> {
    let (old, new) = (&before.provenance, &after.provenance);
    for setting in old.settings() {
        let path: Vec<&str> = setting.path.iter().map(String::as_str).collect();
        let Some(now) = new.get_at(&path) else { return Some(format!("{path:?} is gone")) };
        let fits = match setting.key.merge {
            merge if merge.is_user_only() => now.value == setting.value,
            MergeRule::Replace => true,
            _ => as_strict(now, setting),
        };
        if !fits {
            return Some(format!("{path:?}: {} became {}", setting.value, now.value));
        }
    }
    let added = new.settings().iter().find(|setting| setting.key.merge.is_user_only() && !known(old, setting));
    if let Some(setting) = added {
        return Some(format!("{:?} was added", setting.path));
    }
    for tables in CALLERS {
        let (old, new) = (nearest(old, tables), nearest(new, tables));
        let lost = old.iter().find(|setting| {
            !setting.key.merge.is_user_only() && !new.iter().any(|now| now.path.last() == setting.path.last() && as_strict(now, setting))
        });
        if let Some(setting) = lost {
            return Some(format!("{:?} does not count any more", setting.path));
        }
    }
    let agent = ["a", "b.c"].into_iter().find(|agent| access_of(new, agent) > access_of(old, agent));
    agent.map(|agent| format!("agent {agent} may do more")).or_else(|| (old.hooks() != new.hooks()).then(|| "a hook runs".into()))
}

fn known(provenance: &Provenance, setting: &Setting) -> bool {
    provenance.get_at(&setting.path.iter().map(String::as_str).collect::<Vec<_>>()).is_some()
}

fn both(user: &str, project: &str, level: Option<&str>) -> (Loaded, Loaded) {
    let mut fixture = Fixture::new().user(user);
    if let Some(level) = level {
        fixture = fixture.flag("access", level);
    }
    let before = fixture.load();
    (before, fixture.project(project).load())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_project_file_never_widens(
        user in file(),
        project in file(),
        hook in any::<bool>(),
        level in proptest::option::of(select(vec!["read-only", "workspace-write", "full-access"])),
    ) {
        let project = format!("{project}{}", if hook { HOOK } else { "" });
        let (before, after) = both(&user, &project, level);
        prop_assert_eq!(looser(&before, &after), None, "user:\n{}\nproject:\n{}", user, project);
    }
}

#[test]
fn widening_check_detects_widening() {
    let cases = [
        ("access = 'read-only'", ""),
        ("tools.deny = ['a']", ""),
        ("tools.profile = 'coding'", ""),
        ("rules.deny = ['a']", "rules.deny = ['b']"),
        ("ask = 'changes'", "ask = 'rules'"),
        ("ask = 'never'", "ask = 'always'"),
        ("ask = 'always'", "ask = 'never'"),
        ("exec.ask = 'auto'", "exec.ask = 'always'"),
        ("", "exec.security = 'full'"),
        ("exec.security = 'paranoid'", ""),
        ("exec.limits.memory = '1GB'", ""),
        ("agents.a.tools.allow = ['a']", ""),
        ("", "rules.allow = ['a']"),
        ("", "agents.a.tools.also_allow = ['a']"),
        ("", "agents.a.access = 'full-access'"),
        ("tools.by_provider.openai.deny = ['a']", "tools.by_provider.openai.deny = ['a']\ntools.by_provider.'openai/gpt-4.1'.deny = ['b']"),
        (
            "channels.t.tools.deny = ['a']",
            "channels.t.tools.deny = ['a']\nchannels.t.senders.'id:42'.deny = []\nchannels.t.senders.'id:42'.allow = ['*']",
        ),
        ("", HOOK),
        ("", presets().find(|(name, _)| *name == "full").unwrap().1),
    ];
    for (narrow, wide) in cases {
        let (before, after) = (Fixture::new().user(narrow).load(), Fixture::new().user(wide).load());
        assert!(looser(&before, &after).is_some(), "{narrow} → {wide}");
        assert_eq!(looser(&before, &before), None, "{narrow}");
    }
}

#[test]
fn generated_files_of_the_property_matter() {
    let user = "access = 'full-access'\nask = 'beyond'\n[agents.a.tools]\nallow = ['a', 'b*']\n";
    let project = "access = 'read-only'\nask = 'always'\n[agents.a.tools]\nallow = ['a']\ndeny = ['b']\n";
    let (before, after) = both(user, project, None);
    assert!(looser(&after, &before).is_some(), "what the project took away is seen");
    assert_eq!(looser(&before, &after), None);
}

#[test]
fn limits_tighten_what_variables_and_flags_say_and_loosen_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let limited = |access: &'static str| {
        let environment = move |name: &str| match name {
            "HAFT_ACCESS" => Some(access.into()),
            "HAFT_QUOTA_CALLS" => Some("9".into()),
            "HOME" => Some("/nowhere".into()),
            _ => None,
        };
        let flags = [FlagValue { key: "ask", value: "beyond".into(), name: "--ask" }];
        let mut request = LoadRequest::new(folder.path(), &environment);
        request.flags = &flags;
        let limits = "access = 'workspace-write'\nask = 'rules'\nquota.calls = 5\nquota.storage = '1GB'\nquota.money = 2\n";
        request.limits = vec![("limits".into(), limits.to_owned())];
        let Config { access, ask, quota, .. } = load(&request).config;
        (access, ask, quota.calls, quota.storage, quota.money)
    };
    let (calls, storage, money) = (Some(5), Some(1_000_000_000), Some(2_000_000));
    assert_eq!(limited("full-access"), (Access::WorkspaceWrite, AskMode::Rules, calls, storage, money));
    assert_eq!(limited("read-only"), (Access::ReadOnly, AskMode::Rules, calls, storage, money));
}
