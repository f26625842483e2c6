//! Presets.

use haft_config::{OwnFile, preset_values, presets};
use haft_contract::{Access, AskMode, ExecSecurity};

use super::fixture::{Fixture, all_values, strict_check};

#[test]
fn every_preset_loads_without_a_problem() {
    let expected = [
        ("careful", Access::WorkspaceWrite, AskMode::Changes, None),
        ("default", Access::WorkspaceWrite, AskMode::Rules, None),
        ("auto", Access::WorkspaceWrite, AskMode::Beyond, None),
        ("trusted", Access::WorkspaceWrite, AskMode::Never, Some(ExecSecurity::Full)),
        ("readonly", Access::ReadOnly, AskMode::Never, None),
        ("full", Access::FullAccess, AskMode::Never, Some(ExecSecurity::Full)),
    ];
    let mut found = Vec::new();
    for (name, text) in presets() {
        assert!(text.starts_with("# For "), "{name} says what it is for");
        assert!(!text.lines().any(|line| line.starts_with("preset")), "{name} names no other");
        let as_file = Fixture::new().user(text).load_with(Some(&strict_check));
        assert_eq!(as_file.problems, [], "{name}");
        let named = Fixture::new().user(format!("preset = '{name}'")).load_with(Some(&strict_check));
        assert_eq!((&named.problems, named.provenance.value("preset").as_text()), (&vec![], Some(name)), "{name}");
        assert_eq!(all_values(&named), all_values(&as_file), "{name}");
        let config = named.config;
        found.push((name, config.access, config.ask, config.exec.security));
    }
    assert_eq!(found, expected);
}

/// The access and the ask mode, and where they came from.
fn resolved(fixture: &Fixture) -> [String; 2] {
    let loaded = fixture.load();
    ["access", "ask"].map(|key| {
        let setting = loaded.provenance.get(key).unwrap();
        fixture.relative(&format!("{} {}", setting.value, setting.source))
    })
}

#[test]
fn a_preset_is_the_weakest_of_its_layer_and_as_strong_as_its_layer() {
    let user = "preset \"careful\" (home/.config/haft/config.toml:1:10)";
    let cases = [
        (Fixture::new().user("preset = 'careful'"), [format!("\"workspace-write\" {user}"), format!("\"changes\" {user}")]),
        (
            Fixture::new().user("preset = 'careful'\naccess = 'full-access'"),
            ["\"full-access\" home/.config/haft/config.toml:2:10".into(), format!("\"changes\" {user}")],
        ),
        (
            Fixture::new().user("access = 'full-access'\nask = 'always'").variable("HAFT_PRESET", "readonly"),
            ["\"read-only\" preset \"readonly\" (HAFT_PRESET)".into(), "\"never\" preset \"readonly\" (HAFT_PRESET)".into()],
        ),
        (
            Fixture::new().variable("HAFT_PRESET", "readonly").variable("HAFT_ASK", "always"),
            ["\"read-only\" preset \"readonly\" (HAFT_PRESET)".into(), "\"always\" HAFT_ASK".into()],
        ),
        (
            Fixture::new().variable("HAFT_ACCESS", "full-access").named_flag("--preset", "preset", "careful").named_flag(
                "--access",
                "access",
                "read-only",
            ),
            ["\"read-only\" --access".into(), "\"changes\" preset \"careful\" (--preset)".into()],
        ),
        (
            Fixture::new().named_flag("--preset", "preset", "full").named_flag("--preset", "preset", "auto"),
            ["\"workspace-write\" preset \"auto\" (--preset)".into(), "\"beyond\" preset \"auto\" (--preset)".into()],
        ),
    ];
    for (fixture, expected) in cases {
        assert_eq!((resolved(&fixture), fixture.load().problems), (expected, vec![]));
    }
}

#[test]
fn a_projects_preset_only_tightens() {
    let project = "preset \"readonly\" (work/.haft/config.toml:1:10)";
    let fixture = Fixture::new().user("ask = 'rules'").project("preset = 'readonly'");
    assert_eq!(resolved(&fixture), [format!("\"read-only\" {project}"), "\"rules\" home/.config/haft/config.toml:1:7".into()]);
    let loaded = fixture.load();
    assert_eq!(loaded.provenance.value("preset").as_text(), None, "only the user names the preset");
    assert_eq!(
        fixture.problems(&loaded),
        ["warning project 1:10 ask a project file cannot widen: 'ask = \"never\"' is ignored, \"rules\" stays \
          (home/.config/haft/config.toml:1:7) | if you want it, set 'ask' in your own file, or HAFT_ASK"]
    );
    let full = Fixture::new().user("preset = 'careful'").project("preset = 'full'");
    let user = "preset \"careful\" (home/.config/haft/config.toml:1:10)";
    assert_eq!(resolved(&full), [format!("\"workspace-write\" {user}"), format!("\"changes\" {user}")]);
    assert_eq!((full.load().warnings().count(), full.load().provenance.value("preset").to_string()), (3, "\"careful\"".into()));
    let own_key = Fixture::new().user("access = 'full-access'").project("preset = 'readonly'\naccess = 'workspace-write'\nask = 'always'");
    assert_eq!(resolved(&own_key)[0], "\"workspace-write\" work/.haft/config.toml:2:10", "weaker than the file's own key");
    assert_eq!(own_key.load().problems, []);
}

#[test]
fn an_unknown_preset_names_the_nearest() {
    let there_are = "There are: careful, default, auto, trusted, readonly, full";
    assert_eq!(
        Fixture::new().problems_of("preset = 'read-only'"),
        [format!("error user 1:10 preset 'preset' has the unknown value 'read-only' | did you mean \"readonly\"? {there_are}")]
    );
    let flag = Fixture::new().named_flag("--preset", "preset", "aut");
    assert_eq!(
        flag.problems(&flag.load()),
        [format!("error flag -:- preset --preset: 'preset' has the unknown value 'aut' | did you mean \"auto\"? {there_are}")]
    );
}

#[test]
fn the_source_of_a_presets_value_is_data_too() {
    let loaded = Fixture::new().named_flag("--preset", "preset", "readonly").load();
    let source = serde_json::to_value(&loaded.provenance.get("access").unwrap().source).unwrap();
    assert_eq!(source, serde_json::json!({ "layer": "flag", "name": "--preset", "preset": "readonly" }));
}

#[test]
fn a_preset_has_values_and_an_older_name_means_the_same() {
    let written = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).to_owned(), format!("\"{value}\""))).collect::<Vec<_>>();
    assert_eq!(preset_values("careful"), written(&[("access", "workspace-write"), ("ask", "changes")]));
    assert_eq!(preset_values("none"), []);
    let [old, new] = ["ask", "careful"].map(|name| Fixture::new().user(format!("preset = '{name}'")).load());
    assert_eq!((all_values(&old), &old.problems), (all_values(&new), &vec![]));
}

#[test]
fn a_preset_is_put_at_the_top_of_the_file_and_the_rest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    for (before, after) in [
        ("", "preset = \"auto\"\n"),
        ("# mine\npreset = \"full\" # for now\n", "# mine\npreset = \"auto\" # for now\n"),
        ("# mine\nask = \"rules\"\n\n[rules]\ndeny = []\n", "# mine\nask = \"rules\"\npreset = \"auto\"\n\n[rules]\ndeny = []\n"),
    ] {
        std::fs::write(&file, before).unwrap();
        assert_eq!(OwnFile::read(&file).unwrap().with_preset("auto").unwrap(), after);
    }
}
