//! Variables and flags.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use haft_contract::Access;

use super::fixture::{Fixture, lists, strict_check, texts};

#[test]
fn variables_are_read_like_the_file() {
    let loaded = Fixture::new()
        .variable("HAFT_ACCESS", "danger-full-access")
        .variable("HAFT_TOOLS_DENY", "a,b*")
        .variable("HAFT_TOOLS_ALLOW", "[]")
        .variable("HAFT_NETWORK_ALLOW", "127.0.0.1:80, 10.0.0.0/8")
        .variable("HAFT_WORKSPACE_ROOTS", "[{ path = '/srv', access = 'workspace-write' }]")
        .variable("HAFT_GUARDS_LOOP", "0")
        .variable("HAFT_LIMITS_OUTPUT_BYTES", " 4_096 ")
        .load();
    assert_eq!(loaded.errors().count(), 0, "{:#?}", loaded.problems);
    assert_eq!((texts(&loaded, "tools.deny"), lists(&loaded, "tools.allow")), (vec!["a".to_owned(), "b*".to_owned()], vec![vec![]]));
    let config = loaded.config;
    assert_eq!((config.access, config.guards.loops, config.limits.output_bytes), (Access::FullAccess, None, 4096));
    assert_eq!(config.network.allow, ["127.0.0.1:80", "10.0.0.0/8"]);
    assert_eq!(config.workspace.roots[0].path.to_str(), Some("/srv"));
}

#[test]
fn a_comma_in_a_rule_belongs_to_the_rule() {
    let loaded = Fixture::new()
        .variable("HAFT_RULES_DENY", "exec(git log --format=a,b), write_file(**/{x,y}), web_fetch(a)")
        .variable("HAFT_WORKSPACE_DENY_READ", "a(b,c)")
        .variable("HAFT_TOOLS_PROFILE", "coding")
        .variable("HAFT_ASK", "always")
        .load();
    assert_eq!(loaded.problems, []);
    assert_eq!(texts(&loaded, "rules.deny"), ["exec(git log --format=a,b)", "write_file(**/{x,y})", "web_fetch(a)"]);
    assert_eq!(loaded.config.workspace.deny_read, ["a(b", "c)"]);
    assert_eq!((texts(&loaded, "tools.profile"), loaded.config.ask), (vec!["coding".to_owned()], haft_contract::AskMode::Always));
}

#[test]
fn keys_with_chosen_names_have_no_variable_and_no_flag() {
    let fixture = Fixture::new().variable("HAFT_AGENTS_A_ACCESS", "read-only").flag("agents.*.access", "read-only");
    assert_eq!(
        fixture.problems(&fixture.load()),
        [
            "warning environment -:- - unknown variable 'HAFT_AGENTS_A_ACCESS' | remove it; `haft config show` lists the keys, and HAFT_TOOLS_DENY sets tools.deny",
            "error flag -:- agents.*.access --flag sets the unknown key 'agents.*.access' | use a key that the configuration file has",
        ]
    );
}

#[test]
fn unreadable_variable_is_an_error_that_names_it() {
    let list = "remove it, or give it a value; a list is written a,b or [\"a\", \"b\"], an empty one []";
    let cases: Vec<(&str, OsString, String)> = vec![
        ("HAFT_ACCESS", "root".into(), "access HAFT_ACCESS: 'access' has the unknown access level 'root' | use one of: read-only, workspace-write, full-access".into()),
        ("HAFT_ACCESS", "".into(), format!("access HAFT_ACCESS is empty | {list}")),
        ("HAFT_TOOLS_ALLOW", " ".into(), format!("tools.allow HAFT_TOOLS_ALLOW is empty | {list}")),
        ("HAFT_TOOLS_DENY", OsString::from_vec(vec![b'a', 0xff]), format!("tools.deny HAFT_TOOLS_DENY is not UTF-8 | {list}")),
        ("HAFT_TOOLS_DENY", "a,,b".into(), "tools.deny HAFT_TOOLS_DENY: 'tools.deny' holds an empty text | write 1 to 65536 bytes of text, or remove it".into()),
        ("HAFT_TOOLS_DENY", "write_fil".into(), "tools.deny HAFT_TOOLS_DENY: 'tools.deny' holds 'write_fil': there is no such tool | did you mean 'write_file'?".into()),
        ("HAFT_TOOLS_DENY", "['a'".into(), format!("tools.deny HAFT_TOOLS_DENY cannot be read: unclosed array, expected `]` | {list}")),
        ("HAFT_GUARDS_LOOP", "yes".into(), format!("guards.loop HAFT_GUARDS_LOOP cannot be read: string values must be quoted, expected literal string | {list}")),
        ("HAFT_LIMITS_SPILL_BYTES", "1".into(), "limits.spill_bytes HAFT_LIMITS_SPILL_BYTES: 'limits.spill_bytes' is '1', which is out of range | use a number from 256 to 17179869184".into()),
        ("HAFT_EXEC_CHANGES", "revue".into(), "exec.changes HAFT_EXEC_CHANGES: 'exec.changes' has the unknown value 'revue' | did you mean \"review\"? There are: direct, staged, review".into()),
    ];
    for (name, value, expected) in cases {
        let fixture = Fixture::new().variable(name, value);
        assert_eq!(fixture.problems(&fixture.load_with(Some(&strict_check))), [format!("error environment -:- {expected}")], "{name}");
    }
}

#[test]
fn unknown_variable_is_reported_with_the_nearest_and_is_an_error_if_that_is_a_limit() {
    let fixture = Fixture::new()
        .variable("HAFT_ACESS", "read-only")
        .variable("HAFT_XYZZY_PLUGH", "1")
        .variable("HAFT_PLAIM", "1")
        .variable("HAFT_DENY_TOOLS", "exec")
        .variable("HAFT_HOME", "/x")
        .variable("HAFT_STORE", "x")
        .variable("HAFT_PLAIN", "1")
        .variable("HAFT_CONFIG", "x")
        .variable("HAFT_OTHER", "x")
        .variable("HAFTER", "x")
        .variable("HAFT_MODEL", "a/b");
    assert_eq!(
        fixture.problems(&fixture.load()),
        [
            "error environment -:- - unknown variable 'HAFT_ACESS': running without this limit would be unsafe | did you mean HAFT_ACCESS? Correct it, or remove it",
            "warning environment -:- - unknown variable 'HAFT_DENY_TOOLS' | remove it; `haft config show` lists the keys, and HAFT_TOOLS_DENY sets tools.deny",
            "warning environment -:- - unknown variable 'HAFT_PLAIM' | did you mean HAFT_PLAIN?",
            "warning environment -:- - unknown variable 'HAFT_XYZZY_PLUGH' | remove it; `haft config show` lists the keys, and HAFT_TOOLS_DENY sets tools.deny",
        ]
    );
}

#[test]
fn a_misspelt_limit_is_not_lost_among_others() {
    let many = (0..30).fold(Fixture::new(), |fixture, number| fixture.variable(&format!("HAFT_0{number:02}_QQQQQQ"), "1"));
    let loaded = many.variable("HAFT_TOOLS_DENNY", "exec").load();
    let errors: Vec<_> = loaded.errors().map(|problem| problem.source.to_string()).collect();
    assert_eq!((errors, loaded.problems.len()), (vec!["HAFT_TOOLS_DENNY".to_owned()], 20));
}

#[test]
fn flags_are_read_like_variables() {
    let fixture =
        Fixture::new().variable("HAFT_ACCESS", "full-access").flag("access", "read-only").flag("tools.deny", "a").flag("tools.deny", "b");
    let loaded = fixture.load();
    assert_eq!(loaded.problems, []);
    assert_eq!((loaded.config.access, texts(&loaded, "tools.deny")), (Access::ReadOnly, vec!["a".to_owned(), "b".to_owned()]));
    let wrong = Fixture::new().flag("acces", "x").flag("access", "x").flag("exec.changes", "x");
    assert_eq!(
        wrong.problems(&wrong.load()),
        [
            "error flag -:- acces --flag sets the unknown key 'acces' | use a key that the configuration file has",
            "error flag -:- access --flag: 'access' has the unknown access level 'x' | use one of: read-only, workspace-write, full-access",
            "error flag -:- exec.changes --flag: 'exec.changes' has the unknown value 'x' | use one of: direct, staged, review",
        ]
    );
}
