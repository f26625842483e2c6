//! How problems are displayed and the whole configuration.

use haft_config::{ReportStyle, report_json};
use serde_json::json;

use super::fixture::Fixture;

fn faulty() -> Fixture {
    Fixture::new()
        .user("# my own\naccess = \"workspace-write\"\n\n[tools]\ndenny = [\"exec\"]\nallow = []\n\n[exec]\nchanges = \"review\"\n")
        .project("access = \"full-access\"\n[network]\nallow = [\n  \"127.0.0.1\",\n]\n[guards]\n\tloop_note = \"drei\" # 漢\n")
        .variable("HAFT_GUARD_TAINT", "off")
        .flag("access", "root")
}

#[test]
fn problems_read_like_a_compilers() {
    let fixture = faulty();
    let report = fixture.load().report(ReportStyle::Plain, 100);
    insta::assert_snapshot!(fixture.relative(&report));
}

#[test]
fn syntax_errors_and_unreadable_files_read_the_same() {
    let fixture = Fixture::new().user("[tools\ndeny = [\"exec\"\n").project("access = \"read-only\"\naccess = \"full-access\"\n");
    let fixture = fixture.config_file("/nowhere/at/all.toml".into());
    let mut report = fixture.load().report(ReportStyle::Plain, 100);
    let own = Fixture::new().user("[tools\ndeny = [\"exec\"\n");
    report.push('\n');
    report.push_str(&own.relative(&own.load().report(ReportStyle::Plain, 100)));
    insta::assert_snapshot!(fixture.relative(&report));
}

#[test]
fn colours_are_there_only_when_asked_for() {
    let loaded = faulty().load();
    assert!(!loaded.report(ReportStyle::Plain, 100).contains('\u{1b}'));
    assert!(loaded.report(ReportStyle::Styled, 100).contains("\u{1b}[1m\u{1b}[91merror"));
    assert_eq!(Fixture::new().load().report(ReportStyle::Styled, 100), "");
}

#[test]
fn a_report_and_its_problem_name_the_same_place() {
    for text in [
        "access = 1",
        "\taccess = 1",
        "tools.deny = [\n 'a',\n   5]",
        "\"漢\\u0041\" = 1",
        "workspace.deny_read = ['ü', 5]",
        "a =",
        "# ü\r\na\r\n",
    ] {
        let fixture = Fixture::new().user(text);
        let loaded = fixture.load();
        let report = loaded.report(ReportStyle::Plain, 100);
        for problem in &loaded.problems {
            let place = format!("--> {}\n", problem.source);
            assert!(report.contains(&place), "{text:?}: {place} in\n{report}");
        }
    }
}

#[test]
fn a_line_too_long_to_read_is_left_out() {
    let fixture = Fixture::new().user(format!("access = '{}' ", "x".repeat(2000)));
    let report = fixture.relative(&fixture.load().report(ReportStyle::Plain, 100));
    let shown = "x".repeat(60);
    assert_eq!(
        report,
        format!(
            "error: 'access' has the unknown access level '{shown}…'\n--> home/.config/haft/config.toml:1:10\n |\n\
             help: use one of: read-only, workspace-write, full-access\n"
        )
    );
}

#[test]
fn problems_as_json() {
    let fixture = Fixture::new().user("[tools]\ndenny = 1\n").variable("HAFT_ACESS", "x");
    let file = fixture.user_file();
    assert_eq!(
        report_json(&fixture.load().problems),
        json!([
            {
                "severity": "error", "message": "unknown key 'tools.denny'", "key": "tools.denny", "help": "did you mean 'tools.deny'?",
                "layer": "user", "file": file, "line": 2, "column": 1
            },
            {
                "severity": "error", "message": "unknown variable 'HAFT_ACESS': running without this limit would be unsafe",
                "help": "did you mean HAFT_ACCESS? Correct it, or remove it",
                "layer": "environment", "name": "HAFT_ACESS"
            }
        ])
    );
}

fn shown() -> Fixture {
    Fixture::new()
        .user(
            "[tools]\nallow = ['read_*']\ndeny = ['exec', 'cron']\n[workspace]\nroots = [{ path = '/srv' }]\n\
             [agents.'a.b'.tools]\ndeny = ['exec']\nprofile = 'coding'\n[agents.z]\naccess = 'read-only'\n\
             [tools.by_provider.'openai/gpt-4.1']\nalso_allow = []\n[groups]\nmine = ['a', 'group:fs']\n\
             [[hooks]]\nname = 'low'\nevent = 'before_tool_call'\ncommand = 'x'\npriority = -1\n\
             [[hooks]]\nevent = 'after_tool_call'\nmatch = ['a', 'b']\ncommand = \"y \\u001b[31m\"\n",
        )
        .project("[tools]\nallow = ['*_file']\ndeny = ['write_file']\n[agents.'a.b'.tools]\nprofile = 'minimal'\ndeny = ['cron']\n")
        .named_flag("--preset", "preset", "readonly")
        .variable("HAFT_GUARDS_TAINT", "off")
        .flag("access", "read-only")
}

#[test]
fn every_key_has_a_row_with_its_sources() {
    let fixture = shown();
    let rows = fixture.load().provenance.rows();
    let table: Vec<_> = rows.iter().map(|row| fixture.relative(&format!("{} = {} ({})", row.path, row.value, row.source))).collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn the_whole_configuration_as_json() {
    let fixture = shown();
    let all = fixture.load().provenance.to_json();
    let relative: serde_json::Value = serde_json::from_str(&fixture.relative(&all.to_string())).unwrap();
    let of = |key: &str| relative.as_array().unwrap().iter().find(|setting| setting["key"] == key).unwrap().clone();
    let user = |line: u32, column: u32| json!({ "layer": "user", "file": "home/.config/haft/config.toml", "line": line, "column": column });
    let project = |line: u32, column: u32| json!({ "layer": "project", "file": "work/.haft/config.toml", "line": line, "column": column });
    assert_eq!(of("access"), json!({ "key": "access", "value": "read-only", "source": { "layer": "flag", "name": "--flag" } }));
    assert_eq!(of("guards.loop_note"), json!({ "key": "guards.loop_note", "value": 3, "source": { "layer": "built-in" } }));
    assert_eq!(
        of("tools.deny"),
        json!({
            "key": "tools.deny", "value": ["exec", "cron", "write_file"], "source": project(3, 8),
            "entries": [
                { "value": "exec", "source": user(3, 9) },
                { "value": "cron", "source": user(3, 17) },
                { "value": "write_file", "source": project(3, 9) }
            ]
        })
    );
    assert_eq!(
        of("agents.\"a.b\".tools.profile"),
        json!({
            "key": "agents.\"a.b\".tools.profile", "value": ["coding", "minimal"], "source": project(5, 11),
            "entries": [{ "value": "coding", "source": user(8, 11) }, { "value": "minimal", "source": project(5, 11) }]
        })
    );
    assert_eq!(of("hooks[1].priority"), json!({ "key": "hooks[1].priority", "value": -1, "source": user(15, 1) }));
    assert_eq!(
        of("hooks[0].match"),
        json!({
            "key": "hooks[0].match", "value": ["a", "b"], "source": user(20, 1),
            "entries": [{ "value": "a", "source": user(22, 10) }, { "value": "b", "source": user(22, 15) }]
        })
    );
    assert_eq!(of("ask")["source"], json!({ "layer": "flag", "name": "--preset", "preset": "readonly" }));
    assert_eq!(
        of("tools.allow"),
        json!({
            "key": "tools.allow", "value": [["read_*"], ["*_file"]], "source": project(2, 9),
            "entries": [{ "value": "read_*", "source": user(2, 10) }, { "value": "*_file", "source": project(2, 10) }]
        })
    );
    assert_eq!(
        of("workspace.roots"),
        json!({
            "key": "workspace.roots", "value": [{ "path": "/srv", "access": "read-only" }], "source": user(5, 9),
            "entries": [{ "value": "/srv", "source": user(5, 10) }]
        })
    );
}
