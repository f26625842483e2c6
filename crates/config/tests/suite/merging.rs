//! How layers meet: each key, both directions.

use std::path::PathBuf;
use std::time::Duration;

use haft_config::{Config, ConfigLayer, KEYS, Loaded, MergeRule};
use haft_contract::TaintPolicy;
use haft_contract::{Access, AskMode};
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, lists, texts};

/// A key's value and the layer it came from.
fn resolved(loaded: &Loaded, key: &str) -> (Json, ConfigLayer) {
    let setting = loaded.provenance.get(key).unwrap();
    (json!(setting.value), setting.source.layer)
}

#[test]
fn the_built_in_layer_is_the_designs() {
    let config = Config::default();
    assert_eq!(config, Fixture::new().load().config);
    assert_eq!(config.access, Access::WorkspaceWrite);
    assert_eq!((config.ask, config.subagents.max_depth), (AskMode::Rules, 1));
    let loaded = Fixture::new().load();
    assert_eq!((loaded.provenance.value("preset").as_text(), lists(&loaded, "tools.allow")), (None, vec![]));
    for key in ["tools.profile", "tools.also_allow", "tools.disabled", "tools.deny", "rules.deny", "rules.ask", "rules.allow"] {
        assert_eq!(texts(&loaded, key), Vec::<String>::new(), "{key}");
    }
    assert_eq!((config.network.allow, config.network.deny), (vec![], vec![]));
    assert_eq!((config.workspace.roots, config.workspace.deny_read), (vec![], vec![]));
    let loops = config.guards.loops.unwrap();
    assert_eq!((config.guards.taint, loops.note, loops.block, loops.stop), (TaintPolicy::Ask, 3, 6, 10));
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
ask = "always"
[tools]
profile = "coding"
disabled = ["a"]
allow = ["b", "c*"]
also_allow = ["f"]
deny = ["d"]
[rules]
deny = ["exec(x)"]
ask = ["exec(y)"]
allow = ["exec(z)"]
[subagents]
max_depth = 3
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
    assert_eq!(lists(&loaded, "tools.allow"), [["b", "c*"]]);
    for (key, entry) in [
        ("tools.disabled", "a"),
        ("tools.deny", "d"),
        ("tools.profile", "coding"),
        ("tools.also_allow", "f"),
        ("rules.deny", "exec(x)"),
        ("rules.ask", "exec(y)"),
        ("rules.allow", "exec(z)"),
    ] {
        assert_eq!(texts(&loaded, key), [entry], "{key}");
    }
    let config = loaded.config;
    assert_eq!((config.access, config.ask, config.subagents.max_depth), (Access::FullAccess, AskMode::Always, 3));
    assert_eq!((config.network.allow, config.network.deny), (vec!["10.0.0.1".to_owned()], vec!["e.example".to_owned()]));
    let roots: Vec<_> = config.workspace.roots.into_iter().map(|root| (root.path, root.access)).collect();
    assert_eq!(
        roots,
        [(home.join("notes"), Access::ReadOnly), (PathBuf::from("/srv/data"), Access::WorkspaceWrite), (home, Access::ReadOnly)]
    );
    assert_eq!(config.workspace.deny_read, ["**/*.key"]);
    let loops = config.guards.loops.unwrap();
    assert_eq!((config.guards.taint, loops.note, loops.block, loops.stop), (TaintPolicy::Deny, 1, 2, 4));
    assert_eq!((config.limits.output_bytes, config.limits.argument_bytes, config.limits.spill_bytes), (1000, 4096, 3000));
    assert_eq!((config.approvals.timeout, config.history.summary_bytes), (Duration::from_secs(5), 2048));
    let off = Fixture::new().user("guards.loop = false\nguards.taint = \"off\"").load().config.guards;
    assert_eq!((off.taint, off.loops), (TaintPolicy::Off, None));
}

/// What a layer may write for a key: something strict and something loose, as TOML and as a variable.
struct Sample {
    key: &'static str,
    strict: (&'static str, &'static str),
    loose: (&'static str, &'static str),
}

const SAMPLES: &[Sample] = &[
    Sample { key: "access", strict: ("\"read-only\"", "read-only"), loose: ("\"full-access\"", "full-access") },
    Sample { key: "workspace.secrets", strict: ("\"deny\"", "deny"), loose: ("\"allow\"", "allow") },
    Sample { key: "guards.taint", strict: ("\"deny\"", "deny"), loose: ("\"off\"", "off") },
    Sample { key: "guards.loop", strict: ("true", "true"), loose: ("false", "0") },
    Sample { key: "guards.loop_note", strict: ("1", "1"), loose: ("4", "4") },
    Sample { key: "ask", strict: ("\"changes\"", "changes"), loose: ("\"beyond\"", "beyond") },
    Sample { key: "subagents.max_depth", strict: ("0", "0"), loose: ("16", "16") },
    Sample { key: "subagents.max_children", strict: ("1", "1"), loose: ("16", "16") },
    Sample { key: "subagents.concurrency", strict: ("1", "1"), loose: ("16", "16") },
    Sample { key: "guards.loop_block", strict: ("5", "5"), loose: ("8", "8") },
    Sample { key: "guards.loop_stop", strict: ("7", "7"), loose: ("50", "50") },
    Sample { key: "limits.output_bytes", strict: ("1000", "1000"), loose: ("999999", "999999") },
    Sample { key: "limits.argument_bytes", strict: ("1000", "1000"), loose: ("99999999", "99999999") },
    Sample { key: "limits.spill_bytes", strict: ("1000", "1000"), loose: ("99999999", "99999999") },
    Sample { key: "quota.calls", strict: ("10", "10"), loose: ("9999", "9999") },
    Sample { key: "quota.tokens", strict: ("10", "10"), loose: ("9999", "9999") },
    Sample { key: "quota.money", strict: ("2", "2"), loose: ("90", "90") },
    Sample { key: "quota.cpu_seconds", strict: ("10", "10"), loose: ("9999", "9999") },
    Sample { key: "quota.storage", strict: ("\"1GB\"", "1GB"), loose: ("\"64GiB\"", "64GiB") },
    Sample { key: "exec.security", strict: ("\"paranoid\"", "paranoid"), loose: ("\"full\"", "full") },
    Sample { key: "exec.ask", strict: ("\"always\"", "always"), loose: ("\"smart\"", "smart") },
    Sample { key: "exec.changes", strict: ("\"review\"", "review"), loose: ("\"direct\"", "direct") },
    Sample { key: "exec.limits.memory", strict: ("\"1GB\"", "1GB"), loose: ("\"64GiB\"", "64GiB") },
    Sample { key: "exec.limits.processes", strict: ("10", "10"), loose: ("9999", "9999") },
    Sample { key: "exec.limits.cpu_seconds", strict: ("10", "10"), loose: ("9999", "9999") },
    Sample { key: "exec.limits.file_size", strict: ("\"5MB\"", "5 MB"), loose: ("\"64GiB\"", "64GiB") },
    Sample { key: "exec.limits.open_files", strict: ("64", "64"), loose: ("9999", "9999") },
    Sample { key: "exec.limits.tmp_size", strict: ("\"5MB\"", "5000000"), loose: ("\"64GiB\"", "64GiB") },
    Sample { key: "sandbox.mode", strict: ("\"required\"", "required"), loose: ("\"off\"", "off") },
];

#[test]
fn the_table_of_samples_is_complete() {
    let strictest = KEYS.iter().filter(|key| key.merge == MergeRule::Strictest && key.is_fixed());
    let strictest: Vec<_> = strictest.map(|key| key.path).collect();
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
        assert_eq!(resolved(&tightened, key), (strict_value.clone(), ConfigLayer::Project), "{key} tightened");
        assert_eq!(tightened.problems, [], "{key} tightened");

        let fixture = Fixture::new().user(line(strict.0)).project(line(loose.0));
        let widened = fixture.load();
        assert_eq!(resolved(&widened, key), (strict_value.clone(), ConfigLayer::User), "{key} widened");
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
        assert_eq!((resolved(&same, key), same.problems), ((loose_value.clone(), ConfigLayer::User), vec![]), "{key} repeated");

        let over_built_in = Fixture::new().project(line(loose.0)).load();
        // What has no limit is bounded by any.
        let is_unlimited = key.starts_with("quota.");
        let resulting =
            if is_unlimited { (loose_value.clone(), ConfigLayer::Project) } else { (json!(default_of(key)), ConfigLayer::BuiltIn) };
        assert_eq!(resolved(&over_built_in, key), resulting, "{key} over the default");
        let widens = !is_unlimited && loose_value != json!(default_of(key));
        assert_eq!(over_built_in.warnings().count(), usize::from(widens), "{key} over the default");
    }
}

#[test]
fn user_layers_replace_each_other() {
    for Sample { key, strict, loose } in SAMPLES {
        let variable = format!("HAFT_{}", key.replace('.', "_").to_uppercase());
        for (first, second) in [(strict, loose), (loose, strict)] {
            let file = Fixture::new().user(format!("{key} = {}", first.0)).project(format!("{key} = {}", strict.0));
            let by_variable = file.variable(&variable, second.1);
            assert_eq!(resolved(&by_variable.load(), key), (json_of(second.0), ConfigLayer::Environment), "{key}");
            let by_flag = by_variable.flag(key, first.1).load();
            assert_eq!(resolved(&by_flag, key), (json_of(first.0), ConfigLayer::Flag), "{key}");
        }
    }
}

#[test]
fn entries_that_take_away_add_up_over_all_layers() {
    let lists = [
        "tools.disabled",
        "tools.deny",
        "network.deny",
        "workspace.deny_read",
        "rules.deny",
        "rules.ask",
        "subagents.tools.deny",
        "sandbox.tools.deny",
    ];
    for key in lists {
        let variable = format!("HAFT_{}", key.replace('.', "_").to_uppercase());
        let loaded = Fixture::new()
            .user(format!("{key} = ['a', 'b']"))
            .project(format!("{key} = ['c', 'b']"))
            .variable(&variable, "d, a")
            .flag(key, "[\"e\"]")
            .load();
        assert_eq!(loaded.problems, [], "{key}");
        let entries: Vec<_> =
            loaded.provenance.value(key).entries().iter().map(|entry| (entry.value.as_str(), entry.source.layer)).collect();
        assert_eq!(
            entries,
            [
                ("a", ConfigLayer::User),
                ("b", ConfigLayer::User),
                ("c", ConfigLayer::Project),
                ("b", ConfigLayer::Project),
                ("d", ConfigLayer::Environment),
                ("a", ConfigLayer::Environment),
                ("e", ConfigLayer::Flag)
            ],
            "{key}"
        );
        let none = Fixture::new().user(format!("{key} = ['a']")).project(format!("{key} = []")).variable(&variable, "[]").load();
        assert_eq!(resolved(&none, key), (json!(["a"]), ConfigLayer::User), "{key}: nothing takes an entry back");
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
fn keys_that_only_widen_cannot_be_set_by_a_project() {
    let cases = [
        ("network.allow", "[\"127.0.0.1\"]", json!([])),
        ("tools.also_allow", "[\"cron\"]", json!([])),
        ("subagents.tools.also_allow", "[\"cron\"]", json!([])),
        ("sandbox.tools.also_allow", "[\"cron\"]", json!([])),
        ("rules.allow", "[\"exec(ls)\"]", json!([])),
        ("workspace.roots", "[{ path = \"/\", access = \"workspace-write\" }]", json!([])),
        ("workspace.roots", "[{ path = \"/\", access = \"read-only\" }]", json!([])),
        ("approvals.timeout_seconds", "3600", json!(120)),
        ("approvals.timeout_seconds", "1", json!(120)),
    ];
    for (key, value, expected) in cases {
        let fixture = Fixture::new().project(format!("{key} = {value}"));
        let loaded = fixture.load();
        assert_eq!(resolved(&loaded, key), (expected, ConfigLayer::BuiltIn), "{key} = {value}");
        let [problem] = &fixture.problems(&loaded)[..] else { panic!("{:?}", loaded.problems) };
        assert!(problem.contains(&format!("a project file cannot widen: '{key} = {value}' is ignored")), "{problem}");
        let own = Fixture::new().user(format!("{key} = {value}")).load();
        assert_eq!((resolved(&own, key).1, own.problems), (ConfigLayer::User, vec![]), "{key} = {value}");
    }
}

#[test]
fn allowances_of_user_layers_add_up() {
    for (key, variable) in [
        ("rules.allow", "HAFT_RULES_ALLOW"),
        ("tools.also_allow", "HAFT_TOOLS_ALSO_ALLOW"),
        ("subagents.tools.also_allow", "HAFT_SUBAGENTS_TOOLS_ALSO_ALLOW"),
        ("sandbox.tools.also_allow", "HAFT_SANDBOX_TOOLS_ALSO_ALLOW"),
    ] {
        let fixture = Fixture::new().user(format!("{key} = ['a', 'b']")).project(format!("{key} = ['c']")).variable(variable, "d,a");
        let loaded = fixture.load();
        assert_eq!(resolved(&loaded, key), (json!(["a", "b", "d"]), ConfigLayer::Environment), "{key}");
        assert!(loaded.problems.iter().all(haft_config::Problem::is_widening) && loaded.problems.len() == 1, "{:?}", loaded.problems);
        let layers: Vec<ConfigLayer> = loaded.provenance.value(key).entries().iter().map(|entry| entry.source.layer).collect();
        assert_eq!(layers, [ConfigLayer::User, ConfigLayer::User, ConfigLayer::Environment], "{key}");
    }
}

#[test]
fn later_user_layer_wins_and_a_project_cannot_set_user_keys() {
    let key = "history.summary_bytes";
    let fixture = Fixture::new().user(format!("{key} = 2000"));
    assert_eq!(resolved(&fixture.load(), key), (json!(2000), ConfigLayer::User));
    for size in [1024, 3000] {
        let loaded = Fixture::new().user(format!("{key} = 2000")).project(format!("{key} = {size}")).load();
        assert_eq!(resolved(&loaded, key), (json!(2000), ConfigLayer::User), "a project neither hides what was done nor fills the disk");
        assert!(loaded.problems.iter().any(haft_config::Problem::is_widening), "{size}");
    }
    let fixture = fixture.project(format!("{key} = 3000")).variable("HAFT_HISTORY_SUMMARY_BYTES", "4000");
    assert_eq!(resolved(&fixture.load(), key), (json!(4000), ConfigLayer::Environment));
    let fixture = fixture.flag(key, "5000").flag(key, "6000");
    assert_eq!(resolved(&fixture.load(), key), (json!(6000), ConfigLayer::Flag));
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

fn default_of(key: &str) -> &'static haft_config::ConfigValue {
    &KEYS.iter().find(|known| known.path == key).unwrap().default
}

#[test]
fn a_project_can_neither_end_the_asking_nor_begin_it() {
    for (own, project, stays) in [("never", "always", "never"), ("always", "never", "always"), ("beyond", "changes", "changes")] {
        let loaded = Fixture::new().user(format!("ask = {own:?}\n")).project(format!("ask = {project:?}\n")).load();
        assert_eq!(loaded.config.ask.as_str(), stays, "{own} and {project}");
        assert_eq!(loaded.problems.iter().any(haft_config::Problem::is_widening), own == stays, "{own} and {project}");
    }
}
