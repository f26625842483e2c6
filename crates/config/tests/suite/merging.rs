//! How layers meet: each key, both directions.

use std::path::PathBuf;
use std::time::Duration;

use haft_config::{Config, KEYS, Kind, Layer, Loaded, Merge, Status, Taint};
use haft_contract::Access;
use serde_json::{Value as Json, json};

use super::fixture::Fixture;

/// A key's value and the layer it came from.
fn resolved(loaded: &Loaded, key: &str) -> (Json, Layer) {
    let setting = loaded.provenance.get(key).unwrap();
    (json!(setting.value), setting.source.layer)
}

#[test]
fn the_built_in_layer_is_the_designs() {
    let config = Config::default();
    assert_eq!(config, Fixture::new().load().config);
    assert_eq!(config.access, Access::WorkspaceWrite);
    assert_eq!((config.tools.disabled, config.tools.allow, config.tools.deny), (vec![], vec![], vec![]));
    assert_eq!((config.network.allow, config.network.deny), (vec![], vec![]));
    assert_eq!((config.workspace.roots, config.workspace.deny_read), (vec![], vec![]));
    let loops = config.guards.loops.unwrap();
    assert_eq!((config.guards.taint, loops.note, loops.block, loops.stop), (Taint::Ask, 3, 6, 10));
    assert_eq!((config.limits.output_bytes, config.limits.argument_bytes, config.limits.spill_bytes), (102_400, 16_777_216, 67_108_864));
    assert_eq!((config.approvals.timeout, config.history.summary_bytes), (Duration::from_mins(2), 4096));
}

#[test]
fn every_key_reaches_its_field() {
    let fixture = Fixture::new();
    let home = fixture.path().join("home");
    let loaded = fixture
        .user(
            r#"
access = "full-access"
[tools]
disabled = ["a"]
allow = ["b", "c*"]
deny = ["d"]
[network]
allow = ["10.0.0.1"]
deny = ["e.example"]
[workspace]
roots = [{ path = "~/notes" }, { path = "/srv/data", access = "workspace-write" }, { path = "~", access = "ReadOnly" }]
deny_read = ["**/*.key"]
[guards]
taint = "deny"
loop_note = 1
loop_block = 2
loop_stop = 4
[limits]
output_bytes = 1_000
argument_bytes = 0x1000
spill_bytes = 3000
[approvals]
timeout_seconds = 5
[history]
summary_bytes = 2048
"#,
        )
        .load();
    assert_eq!(loaded.problems, []);
    let config = loaded.config;
    assert_eq!(config.access, Access::FullAccess);
    assert_eq!((config.tools.disabled, config.tools.deny), (vec!["a".to_owned()], vec!["d".to_owned()]));
    assert_eq!(config.tools.allow, [["b", "c*"]]);
    assert_eq!((config.network.allow, config.network.deny), (vec!["10.0.0.1".to_owned()], vec!["e.example".to_owned()]));
    let roots: Vec<_> = config.workspace.roots.into_iter().map(|root| (root.path, root.access)).collect();
    assert_eq!(
        roots,
        [(home.join("notes"), Access::ReadOnly), (PathBuf::from("/srv/data"), Access::WorkspaceWrite), (home, Access::ReadOnly)]
    );
    assert_eq!(config.workspace.deny_read, ["**/*.key"]);
    let loops = config.guards.loops.unwrap();
    assert_eq!((config.guards.taint, loops.note, loops.block, loops.stop), (Taint::Deny, 1, 2, 4));
    assert_eq!((config.limits.output_bytes, config.limits.argument_bytes, config.limits.spill_bytes), (1000, 4096, 3000));
    assert_eq!((config.approvals.timeout, config.history.summary_bytes), (Duration::from_secs(5), 2048));
    let off = Fixture::new().user("guards.loop = false\nguards.taint = \"off\"").load().config.guards;
    assert_eq!((off.taint, off.loops), (Taint::Off, None));
}

/// What a layer may write for a key: something strict and something loose, as TOML and as a variable.
struct Sample {
    key: &'static str,
    strict: (&'static str, &'static str),
    loose: (&'static str, &'static str),
}

const SAMPLES: &[Sample] = &[
    Sample { key: "access", strict: ("\"read-only\"", "read-only"), loose: ("\"full-access\"", "full-access") },
    Sample { key: "guards.taint", strict: ("\"deny\"", "deny"), loose: ("\"off\"", "off") },
    Sample { key: "guards.loop", strict: ("true", "true"), loose: ("false", "0") },
    Sample { key: "guards.loop_note", strict: ("1", "1"), loose: ("4", "4") },
    Sample { key: "guards.loop_block", strict: ("5", "5"), loose: ("8", "8") },
    Sample { key: "guards.loop_stop", strict: ("7", "7"), loose: ("50", "50") },
    Sample { key: "limits.output_bytes", strict: ("1000", "1000"), loose: ("999999", "999999") },
    Sample { key: "limits.argument_bytes", strict: ("1000", "1000"), loose: ("99999999", "99999999") },
    Sample { key: "limits.spill_bytes", strict: ("1000", "1000"), loose: ("99999999", "99999999") },
];

#[test]
fn the_table_of_samples_is_complete() {
    let strictest: Vec<_> =
        KEYS.iter().filter(|key| key.status == Status::Now && key.merge == Merge::Strictest).map(|key| key.path).collect();
    let mut sampled: Vec<_> = SAMPLES.iter().map(|sample| sample.key).collect();
    sampled.sort_by_key(|key| strictest.iter().position(|known| known == key));
    assert_eq!(sampled, strictest);
}

#[test]
fn a_project_file_can_tighten_but_not_widen() {
    for Sample { key, strict, loose } in SAMPLES {
        let (strict_value, loose_value) = (json_of(strict.0), json_of(loose.0));
        let line = |value: &str| format!("{key} = {value}\n");

        let tightened = Fixture::new().user(line(loose.0)).project(line(strict.0)).load();
        assert_eq!(resolved(&tightened, key), (strict_value.clone(), Layer::Project), "{key} tightened");
        assert_eq!(tightened.problems, [], "{key} tightened");

        let fixture = Fixture::new().user(line(strict.0)).project(line(loose.0));
        let widened = fixture.load();
        assert_eq!(resolved(&widened, key), (strict_value.clone(), Layer::User), "{key} widened");
        let column = key.len() + 4;
        let variable = format!("HAFT_{}", key.replace('.', "_").to_uppercase());
        assert_eq!(
            fixture.problems(&widened),
            [format!(
                "warning project 1:{column} {key} a project file cannot widen: '{key} = {}' is ignored, {} stays \
                 (home/.config/haft/config.toml:1:{column}) | if you want it, set '{key}' in your own file, or {variable}",
                loose.0, strict.0
            )]
        );

        let same = Fixture::new().user(line(loose.0)).project(line(loose.0)).load();
        assert_eq!((resolved(&same, key), same.problems), ((loose_value.clone(), Layer::User), vec![]), "{key} repeated");

        let over_built_in = Fixture::new().project(line(loose.0)).load();
        assert_eq!(resolved(&over_built_in, key), (json!(default_of(key)), Layer::BuiltIn), "{key} over the default");
        assert_eq!(over_built_in.warnings().count(), 1, "{key} over the default");
    }
}

#[test]
fn the_persons_own_layers_set_what_they_want() {
    for Sample { key, strict, loose } in SAMPLES {
        let variable = format!("HAFT_{}", key.replace('.', "_").to_uppercase());
        for (first, second) in [(strict, loose), (loose, strict)] {
            let file = Fixture::new().user(format!("{key} = {}", first.0)).project(format!("{key} = {}", strict.0));
            let by_variable = file.variable(&variable, second.1);
            assert_eq!(resolved(&by_variable.load(), key), (json_of(second.0), Layer::Environment), "{key}");
            let by_flag = by_variable.flag(key, first.1).load();
            assert_eq!(resolved(&by_flag, key), (json_of(first.0), Layer::Flag), "{key}");
        }
    }
}

#[test]
fn entries_that_take_away_add_up_over_all_layers() {
    for key in ["tools.disabled", "tools.deny", "network.deny", "workspace.deny_read"] {
        let variable = format!("HAFT_{}", key.replace('.', "_").to_uppercase());
        let loaded = Fixture::new()
            .user(format!("{key} = ['a', 'b']"))
            .project(format!("{key} = ['c', 'b']"))
            .variable(&variable, "d, a")
            .flag(key, "[\"e\"]")
            .load();
        assert_eq!(loaded.problems, [], "{key}");
        let entries: Vec<_> = loaded.provenance.entries(key).iter().map(|entry| (entry.value.as_str(), entry.source.layer)).collect();
        assert_eq!(
            entries,
            [("a", Layer::User), ("b", Layer::User), ("c", Layer::Project), ("d", Layer::Environment), ("e", Layer::Flag)],
            "{key}"
        );
        let none = Fixture::new().user(format!("{key} = ['a']")).project(format!("{key} = []")).variable(&variable, "[]").load();
        assert_eq!(resolved(&none, key), (json!(["a"]), Layer::User), "{key}: nothing takes an entry back");
    }
}

#[test]
fn a_projects_allow_list_must_match_as_well() {
    type Case = (Option<&'static str>, Option<&'static str>, Option<&'static str>, Json, usize);
    let cases: &[Case] = &[
        (None, None, None, json!(null), 0),
        (Some("['a*']"), None, None, json!([["a*"]]), 0),
        (None, Some("['b']"), None, json!([["b"]]), 0),
        (Some("['a*']"), Some("['*']"), None, json!([["a*"], ["*"]]), 0),
        (Some("['a*']"), Some("[]"), None, json!([["a*"], []]), 1),
        (Some("[]"), Some("['*']"), None, json!([[], ["*"]]), 1),
        (Some("['a*']"), Some("['b']"), Some("c, d"), json!([["c", "d"]]), 0),
        (Some("[]"), Some("[]"), Some("*"), json!([["*"]]), 0),
        (Some("['a']"), None, Some("[]"), json!([[]]), 1),
    ];
    for (user, project, variable, expected, warnings) in cases {
        let mut fixture = Fixture::new();
        if let Some(list) = user {
            fixture = fixture.user(format!("tools.allow = {list}"));
        }
        if let Some(list) = project {
            fixture = fixture.project(format!("tools.allow = {list}"));
        }
        if let Some(list) = variable {
            fixture = fixture.variable("HAFT_TOOLS_ALLOW", list);
        }
        let loaded = fixture.load();
        assert_eq!(&json!(loaded.provenance.get("tools.allow").unwrap().value), expected, "{user:?} {project:?} {variable:?}");
        assert_eq!((loaded.errors().count(), loaded.warnings().count()), (0, *warnings), "{user:?} {project:?} {variable:?}");
    }
}

#[test]
fn what_could_only_widen_is_not_a_projects_to_set() {
    let cases = [
        ("network.allow", "[\"127.0.0.1\"]", json!([])),
        ("workspace.roots", "[{ path = \"/\", access = \"workspace-write\" }]", json!([])),
        ("workspace.roots", "[{ path = \"/\", access = \"read-only\" }]", json!([])),
        ("approvals.timeout_seconds", "3600", json!(120)),
        ("approvals.timeout_seconds", "1", json!(120)),
    ];
    for (key, value, expected) in cases {
        let fixture = Fixture::new().project(format!("{key} = {value}"));
        let loaded = fixture.load();
        assert_eq!(resolved(&loaded, key), (expected, Layer::BuiltIn), "{key} = {value}");
        let [problem] = &fixture.problems(&loaded)[..] else { panic!("{:?}", loaded.problems) };
        assert!(problem.contains(&format!("a project file cannot widen: '{key} = {value}' is ignored")), "{problem}");
        let own = Fixture::new().user(format!("{key} = {value}")).load();
        assert_eq!((resolved(&own, key).1, own.problems), (Layer::User, vec![]), "{key} = {value}");
    }
}

#[test]
fn a_later_layer_wins_for_a_plain_value() {
    let key = "history.summary_bytes";
    let fixture = Fixture::new().user(format!("{key} = 2000"));
    assert_eq!(resolved(&fixture.load(), key), (json!(2000), Layer::User));
    let fixture = fixture.project(format!("{key} = 3000"));
    assert_eq!(resolved(&fixture.load(), key), (json!(3000), Layer::Project));
    let fixture = fixture.variable("HAFT_HISTORY_SUMMARY_BYTES", "4000");
    assert_eq!(resolved(&fixture.load(), key), (json!(4000), Layer::Environment));
    let fixture = fixture.flag(key, "5000").flag(key, "6000");
    assert_eq!(resolved(&fixture.load(), key), (json!(6000), Layer::Flag));
}

/// Whether `after` allows nothing that `before` does not. Patterns are compared on every tool of a small world.
fn never_wider(before: &Config, after: &Config) -> bool {
    let matches = |pattern: &str, name: &str| {
        pattern == "*" || pattern == name || pattern.strip_suffix('*').is_some_and(|start| name.starts_with(start))
    };
    let offered = |config: &Config, name: &str| {
        let any = |list: &[String]| list.iter().any(|pattern| matches(pattern, name));
        !any(&config.tools.disabled) && !any(&config.tools.deny) && config.tools.allow.iter().all(|list| any(list))
    };
    let keeps = |before: &[String], after: &[String]| before.iter().all(|entry| after.contains(entry));
    let strictness = |taint: Taint| [Taint::Off, Taint::Ask, Taint::Deny].iter().position(|known| *known == taint);
    let loops = match (before.guards.loops, after.guards.loops) {
        (Some(before), Some(after)) => after.note <= before.note && after.block <= before.block && after.stop <= before.stop,
        (before, after) => before.is_none() || after.is_some(),
    };
    after.access <= before.access
        && ["aa", "ab", "bb", "c"].iter().all(|name| offered(before, name) || !offered(after, name))
        && keeps(&before.network.deny, &after.network.deny)
        && keeps(&before.workspace.deny_read, &after.workspace.deny_read)
        && after.network.allow == before.network.allow
        && after.workspace.roots == before.workspace.roots
        && after.approvals == before.approvals
        && strictness(after.guards.taint) >= strictness(before.guards.taint)
        && loops
        && after.limits.output_bytes <= before.limits.output_bytes
        && after.limits.argument_bytes <= before.limits.argument_bytes
        && after.limits.spill_bytes <= before.limits.spill_bytes
}

/// A small generator with a fixed seed, so that a failure comes back.
struct Dice(u64);

impl Dice {
    fn throw<'a>(&mut self, sides: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sides[usize::try_from(self.0 >> 33).unwrap() % sides.len()]
    }
    /// A file in which each key is absent or has one of some values.
    fn file(&mut self) -> String {
        let mut lines = Vec::new();
        for key in KEYS.iter().filter(|key| key.status == Status::Now) {
            let value = match key.kind {
                Kind::Access => self.throw(&["", "\"read-only\"", "\"workspace-write\"", "\"full-access\""]),
                Kind::Choice(_) => self.throw(&["", "\"off\"", "\"ask\"", "\"deny\""]),
                Kind::Flag => self.throw(&["", "true", "false"]),
                Kind::Count(..) => self.throw(&["", "", "2000", "5000", "9000"]),
                Kind::Roots => self.throw(&["", "[]", "[{ path = \"/srv\" }]", "[{ path = \"/\", access = \"workspace-write\" }]"]),
                _ => self.throw(&["", "[]", "['*']", "['a*']", "['ab', 'c']", "['b*', 'aa']"]),
            };
            if !value.is_empty() {
                lines.push(format!("{} = {value}\n", key.path));
            }
        }
        lines.concat()
    }
}

#[test]
fn adding_a_project_file_never_widens() {
    let mut dice = Dice(1);
    let fixture = Fixture::new();
    let mut tightened = 0;
    for round in 0..500 {
        let (user, project) = (dice.file(), dice.file());
        std::fs::write(fixture.user_file(), &user).unwrap();
        std::fs::write(fixture.project_file(), "").unwrap();
        let before = fixture.load().config;
        std::fs::write(fixture.project_file(), &project).unwrap();
        let after = fixture.load().config;
        assert!(never_wider(&before, &after), "round {round}\nuser:\n{user}\nproject:\n{project}\n{before:#?}\n{after:#?}");
        tightened += usize::from(before != after);
    }
    assert!(tightened > 300, "the files must matter: {tightened}");
}

#[test]
fn the_judge_of_that_property_sees_widening() {
    let narrow = Fixture::new().user("access = 'read-only'\ntools.deny = ['aa']\nguards.taint = 'deny'").load().config;
    assert!(!never_wider(&narrow, &Config::default()));
    assert!(never_wider(&Config::default(), &narrow));
}

#[test]
fn repeats_must_grow_from_note_to_block_to_stop() {
    let rest = "| note < block < stop: change one of the two";
    let cases = [
        (
            "guards.loop_note = 6",
            "",
            "error user 1:20 guards.loop_note 'guards.loop_block' (6, built-in) must be greater than 'guards.loop_note' (6, home/.config/haft/config.toml:1:20)",
        ),
        (
            "guards.loop_stop = 5",
            "",
            "error user 1:20 guards.loop_stop 'guards.loop_stop' (5, home/.config/haft/config.toml:1:20) must be greater than 'guards.loop_block' (6, built-in)",
        ),
        (
            "guards.loop_note = 5",
            "guards.loop_block = 4",
            "error project 1:21 guards.loop_block 'guards.loop_block' (4, work/.haft/config.toml:1:21) must be greater than 'guards.loop_note' (5, home/.config/haft/config.toml:1:20)",
        ),
    ];
    for (user, project, expected) in cases {
        let fixture = Fixture::new().user(user).project(project);
        assert_eq!(fixture.problems(&fixture.load()), [format!("{expected} {rest}")]);
    }
}

fn json_of(toml: &str) -> Json {
    toml::from_str::<Json>(&format!("x = {toml}")).unwrap()["x"].clone()
}

fn default_of(key: &str) -> &'static haft_config::Value {
    &KEYS.iter().find(|known| known.path == key).unwrap().default
}
