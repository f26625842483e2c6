//! Every value knows its file, line and column; every problem too.

use haft_config::{EntryFault, ListKind};

use super::fixture::{Fixture, all_values, lists, strict_check};

#[test]
fn values_and_entries_know_their_place() {
    let fixture = Fixture::new()
        .user("# ü\r\naccess   =  'read-only' # why\r\n[tools]\ndeny = [\n  \"one\",\n\t'two', \"three\",\n]\n[[workspace.roots]]\npath = '/a'\n")
        .project("\u{feff}tools.deny = ['ünï', 'four']\n".replace("ünï", "f_ve"))
        .variable("HAFT_GUARDS_TAINT", "deny")
        .flag("limits.output_bytes", "4096");
    let loaded = fixture.load();
    assert_eq!(loaded.problems, []);
    let source = |key: &str| fixture.relative(&loaded.provenance.get(key).unwrap().source.to_string());
    let user = "home/.config/haft/config.toml";
    assert_eq!(source("access"), format!("{user}:2:13"));
    assert_eq!(source("tools.allow"), "built-in");
    assert_eq!(source("guards.taint"), "HAFT_GUARDS_TAINT");
    assert_eq!(source("limits.output_bytes"), "--flag");
    let entries: Vec<_> = loaded
        .provenance
        .value("tools.deny")
        .entries()
        .iter()
        .map(|entry| format!("{} {}", entry.value, fixture.relative(&entry.source.to_string())))
        .collect();
    assert_eq!(
        entries,
        [
            format!("one {user}:5:3"),
            format!("two {user}:6:2"),
            format!("three {user}:6:9"),
            "f_ve work/.haft/config.toml:1:15".into(),
            "four work/.haft/config.toml:1:23".into(),
        ]
    );
    assert_eq!(fixture.relative(&loaded.provenance.value("workspace.roots").roots()[0].source.to_string()), format!("{user}:8:1"));
}

#[test]
fn columns_count_characters() {
    let fixture = Fixture::new().user("workspace.deny_read = ['漢字/**', 'ü', 5]\n");
    let loaded = fixture.load();
    assert_eq!(
        fixture.problems(&loaded),
        ["error user 1:38 workspace.deny_read 'workspace.deny_read' must be text, not a whole number | write it in quotes"]
    );
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let cases = [
        ("[tools]\ndenny = ['exec']\n", "2:1 tools.denny unknown key 'tools.denny' | did you mean 'tools.deny'?"),
        ("[tool]\ndeny = ['exec']\n", "1:2 tool unknown key 'tool' | did you mean 'tools'?"),
        ("acess = 'read-only'\n", "1:1 acess unknown key 'acess' | did you mean 'access'?"),
        ("deny = ['exec']\n", "1:1 deny unknown key 'deny' | did you mean 'tools.deny'?"),
        ("taint = 'ask'\n", "1:1 taint unknown key 'taint' | did you mean 'guards.taint'?"),
        (
            "[workspace]\ndeny-read = []\n",
            "2:1 workspace.deny-read unknown key 'workspace.deny-read' | did you mean 'workspace.deny_read'?",
        ),
        (
            "x.y.z = 1\n",
            "1:1 x unknown key 'x' | known here: preset, access, ask, tools, groups, rules, network, web, browser, memory, image, tts, transcription, workspace, guards, limits, tool_settings, max_rounds, approvals, history, retention, agents, subagents, sessions, sandbox, channels, model, small_model, providers, models, prices, budget, quota, context, display, gateway, node, mcp, hooks, exec",
        ),
        ("[history]\nzzzzzz = 1\n", "2:1 history.zzzzzz unknown key 'history.zzzzzz' | known here: summary_bytes"),
        ("[hook]\nevent = 'x'\n", "1:2 hook unknown key 'hook' | did you mean 'hooks'?"),
        ("profile = 'coding'\n", "1:1 profile unknown key 'profile' | did you mean 'tools.profile'?"),
        ("[agents.'a.b']\ntool = 1\n", "2:1 agents.\"a.b\".tool unknown key 'agents.\"a.b\".tool' | did you mean 'agents.\"a.b\".tools'?"),
        (
            "[tools.by_provider.x]\ndisabled = []\n",
            "2:1 tools.by_provider.x.disabled unknown key 'tools.by_provider.x.disabled' | did you mean 'tools.disabled'?",
        ),
        ("[[hooks]]\nevnt = 'x'\n", "2:1 hooks[].evnt unknown key 'hooks[].evnt' | did you mean 'hooks[].event'?"),
        (
            "[providers.work]\nprotocl = 'x'\n",
            "2:1 providers.work.protocl unknown key 'providers.work.protocl' | did you mean 'providers.work.protocol'?",
        ),
        (
            "workspace.roots = [{ path = '/a', acces = 1 }]\n",
            "1:35 workspace.roots unknown key 'acces' in an entry of 'workspace.roots' | an entry has path and access",
        ),
    ];
    for (text, expected) in cases {
        let fixture = Fixture::new().user(text);
        assert_eq!(fixture.problems(&fixture.load()), [format!("error user {expected}")], "{text}");
    }
}

#[test]
fn a_wrong_value_says_what_was_expected() {
    let levels = "read-only, workspace-write, full-access";
    let cases = [
        ("access = 'readonl'", format!("1:10 access 'access' has the unknown access level 'readonl' | did you mean \"read-only\"? There are: {levels}")),
        ("access = 'root'", format!("1:10 access 'access' has the unknown access level 'root' | use one of: {levels}")),
        ("access = 1", "1:10 access 'access' must be an access level, not a whole number | write \"read-only\", \"workspace-write\" or \"full-access\"".into()),
        ("guards.taint = 'of'", "1:16 guards.taint 'guards.taint' has the unknown value 'of' | did you mean \"off\"? There are: off, ask, deny".into()),
        ("guards.loop = 'yes'", "1:15 guards.loop 'guards.loop' must be true or false, not text | write true or false, without quotes".into()),
        ("guards.loop_note = 0", "1:20 guards.loop_note 'guards.loop_note' is '0', which is out of range | use a number from 1 to 10000".into()),
        ("limits.output_bytes = -5", "1:23 limits.output_bytes 'limits.output_bytes' is '-5', which is out of range | use a number from 256 to 16777216".into()),
        ("limits.output_bytes = 99999999999999999999999", "1:23 limits.output_bytes 'limits.output_bytes' is '99999999999999999999999', which is out of range | use a number from 256 to 16777216".into()),
        ("limits.output_bytes = 1e3", "1:23 limits.output_bytes 'limits.output_bytes' must be a whole number, not a number with a fraction | write a number from 256 to 16777216, without quotes".into()),
        ("tools.deny = 'exec'", "1:14 tools.deny 'tools.deny' must be a list, not text | write [\"exec\"]".into()),
        ("tools.deny = ['']", "1:15 tools.deny 'tools.deny' holds an empty text | write 1 to 65536 bytes of text, or remove it".into()),
        ("tools.deny = ['exec(git *)']", "1:15 tools.deny 'tools.deny' holds 'exec(git *)': it is neither a tool name nor a pattern | use ASCII letters, digits, '_', '-', '.', and '*' for any run of them".into()),
        ("tools.profile = 'codin'", "1:17 tools.profile 'tools.profile' holds 'codin': there is no such profile | there are: coding, minimal".into()),
        ("tools.profile = ['coding']", "1:17 tools.profile 'tools.profile' must be text, not a list | write it in quotes".into()),
        ("ask = 'chnges'", "1:7 ask 'ask' has the unknown value 'chnges' | did you mean \"changes\"? There are: never, beyond, rules, changes, always".into()),
        ("subagents.max_depth = 17", "1:23 subagents.max_depth 'subagents.max_depth' is '17', which is out of range | use a number from 0 to 16".into()),
        ("agents.a.access = 'root'", format!("1:19 agents.a.access 'agents.a.access' has the unknown access level 'root' | use one of: {levels}")),
        ("rules.allow = ['exec(bash *)']", "1:16 rules.allow 'rules.allow' holds 'exec(bash *)': a shell can do anything | name the program itself".into()),
        ("rules.ask = ['exec']", "1:14 rules.ask 'rules.ask' holds 'exec': it is no rule | write tool(what)".into()),
        ("rules.deny = [\"exec(a\\tb)\"]", "1:15 rules.deny 'rules.deny' holds 'exec(a\\tb)': it holds a control character | write it on one line, without tabs".into()),
        ("tools.by_provider = 5", "1:7 tools.by_provider 'tools.by_provider' must be a table | write [tools.by_provider] on a line of its own, and its keys below it".into()),
        ("agents.a = 5", "1:8 agents.a 'agents.a' must be a table | write [agents.a] on a line of its own, and its keys below it".into()),
        ("groups.mine = 'a'", "1:15 groups.mine 'groups.mine' must be a list, not text | write [\"a\"]".into()),
        ("tools.deny = ['write_fil']", "1:15 tools.deny 'tools.deny' holds 'write_fil': there is no such tool | did you mean 'write_file'?".into()),
        ("network.allow = ['not a host']", "1:18 network.allow 'network.allow' holds 'not a host': a space cannot be in a host | correct it, or remove it from the list".into()),
        ("workspace.deny_read = [\"a\\u0000\"]", "1:24 workspace.deny_read 'workspace.deny_read' holds a text with a NUL character | write 1 to 65536 bytes of text, or remove it".into()),
        ("workspace.roots = ['/a']", "1:20 workspace.roots 'workspace.roots' must be a list of tables, not text | write { path = \"~/notes\", access = \"read-only\" }".into()),
        ("workspace.roots = [{}]", "1:20 workspace.roots an entry of 'workspace.roots' has no path | add path = \"/a/folder\"".into()),
        ("workspace.roots = [{ path = 'a/b' }]", "1:29 workspace.roots.path 'workspace.roots.path' is 'a/b', which is not an absolute path | write a path that starts with '/', or with '~/' where HOME is set".into()),
        ("workspace.roots = [{ path = '~other/b' }]", "1:29 workspace.roots.path 'workspace.roots.path' is '~other/b', which is not an absolute path | write a path that starts with '/', or with '~/' where HOME is set".into()),
        ("workspace.roots = [{ path = '/a', access = 'full-access' }]", "1:44 workspace.roots.access 'workspace.roots.access' cannot be full-access | use \"read-only\" or \"workspace-write\"".into()),
        ("tools = 5", "1:1 tools 'tools' must be a table | write [tools] on a line of its own, and its keys below it".into()),
        ("[hooks]\nevent = 'x'", "1:2 hooks 'hooks' must be a list of tables | write [[hooks]] on a line of its own, and its keys below it".into()),
        ("hooks = [1]", "1:10 hooks an entry of 'hooks' must be a table | write [[hooks]] on a line of its own, and its keys below it".into()),
    ];
    for (text, expected) in cases {
        let fixture = Fixture::new().user(text);
        assert_eq!(fixture.problems(&fixture.load_with(Some(&strict_check))), [format!("error user {expected}")], "{text}");
    }
}

#[test]
fn a_list_with_one_bad_entry_counts_for_nothing() {
    let loaded = Fixture::new().user("tools.allow = ['read_file', 5]").load();
    assert_eq!((loaded.errors().count(), lists(&loaded, "tools.allow").len()), (1, 0));
}

#[test]
fn all_syntax_errors_come_at_once() {
    let fixture = Fixture::new().user("access = read-only\n[tools]\ndeny = ['a'\nallow = [']\n[tools]\naccess = 1\naccess = 2\n");
    let loaded = fixture.load();
    let lines: Vec<_> = loaded.problems.iter().map(|problem| problem.source.line.unwrap()).collect();
    assert_eq!(lines, [1, 4, 5, 6, 7], "one a line, in the order of the file");
    assert_eq!((loaded.errors().count(), all_values(&loaded)), (lines.len(), all_values(&Fixture::new().load())));
    insta::assert_snapshot!(fixture.problems(&loaded).join("\n"));
}

#[test]
fn a_key_twice_is_an_error_at_the_second() {
    for (text, place, key) in [
        ("access = 'read-only'\naccess = 'full-access'\n", "2:1", "access"),
        ("[tools]\ndeny = []\n[guards]\n[tools]\n", "4:2", "tools"),
        ("tools.deny = []\n[tools]\n", "2:2", "tools"),
    ] {
        let fixture = Fixture::new().user(text);
        assert_eq!(fixture.problems(&fixture.load()), [format!("error user {place} - duplicate key '{key}' | keep one of them")], "{text}");
    }
}

/// A caller that can open no folder but one.
fn only_srv(of: ListKind, entry: &str) -> Result<(), EntryFault> {
    match (of, entry) {
        (ListKind::Folders, "/srv") => Ok(()),
        (ListKind::Folders, _) => Err(EntryFault { message: "there is no such folder".into(), help: None }),
        _ => Ok(()),
    }
}

#[test]
fn unusable_root_is_an_error_at_its_place() {
    let user = "[workspace]\nroots = [\n  { path = '/srv' },\n  { path = '/nowhere' },\n]\n";
    let fixture = Fixture::new().user(user);
    let message = "'workspace.roots' holds '/nowhere': there is no such folder | correct it, or remove it from the list";
    assert_eq!(fixture.problems(&fixture.load_with(Some(&only_srv))), [format!("error user 4:3 workspace.roots {message}")]);
    let replaced = Fixture::new().user(user).variable("HAFT_WORKSPACE_ROOTS", "[{ path = '/srv' }]");
    assert_eq!(replaced.problems(&replaced.load_with(Some(&only_srv))), Vec::<String>::new());
}
