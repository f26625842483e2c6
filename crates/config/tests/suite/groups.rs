//! Groups that the user makes.

use super::fixture::{Fixture, numbered, strict_check};

#[test]
fn a_group_may_be_used_wherever_tools_are_listed() {
    let user = "
[groups]
mine = ['read_file', 'group:web']
'@a/plugin.x' = ['group:mine', 'x__*']
none = []
[tools]
allow = ['group:mine', 'group:fs']
deny = ['group:none']
[agents.a.tools]
also_allow = ['group:@a/plugin.x']
[[hooks]]
event = 'before_tool_call'
command = 'x'
match = ['group:mine', 'group:fs']
";
    let fixture = Fixture::new().user(user).project("tools.deny = ['group:web']").variable("HAFT_TOOLS_DISABLED", "group:mine,group:web");
    let loaded = fixture.load_with(Some(&strict_check));
    assert_eq!(loaded.problems, []);
    let groups: Vec<(&str, Vec<&str>)> =
        loaded.provenance.groups().map(|(name, entries)| (name, entries.iter().map(|entry| entry.value.as_str()).collect())).collect();
    assert_eq!(groups, [("mine", vec!["read_file", "group:web"]), ("@a/plugin.x", vec!["group:mine", "x__*"]), ("none", vec![])]);
}

#[test]
fn an_unknown_group_is_an_error_with_the_nearest() {
    let cases = [
        (
            "tools.deny = ['group:nothing']",
            "1:15 tools.deny 'tools.deny' holds 'group:nothing': there is no such group | there are: fs, web",
        ),
        (
            "groups.mine = []\ntools.deny = ['group:mne']",
            "2:15 tools.deny 'tools.deny' holds 'group:mne': there is no such group | did you mean 'group:mine'?",
        ),
        (
            "groups.mine = ['group:other']",
            "1:16 groups.mine 'groups.mine' holds 'group:other': there is no such group | there are: fs, web",
        ),
        (
            "agents.'a.b'.tools.allow = ['group:x']",
            "1:29 agents.\"a.b\".tools.allow 'agents.\"a.b\".tools.allow' holds 'group:x': there is no such group | there are: fs, web",
        ),
        ("rules.deny = ['exec(x)', 'group:fs']", "1:26 rules.deny 'rules.deny' holds 'group:fs': it is no rule | write tool(what)"),
        (
            "tools.profile = 'group:fs'",
            "1:17 tools.profile 'tools.profile' holds 'group:fs': there is no such profile | there are: coding, minimal",
        ),
        (
            "tools.deny = ['group:']",
            "1:15 tools.deny 'tools.deny' holds 'group:': it is no name of a group | use ASCII letters, digits, and '_', '-', '.', '/', ':' or '@'",
        ),
        (
            "tools.deny = ['group:f*']",
            "1:15 tools.deny 'tools.deny' holds 'group:f*': it is no name of a group | use ASCII letters, digits, and '_', '-', '.', '/', ':' or '@'",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Fixture::new().problems_of(text), [format!("error user {expected}")], "{text}");
    }
    let variable = Fixture::new().variable("HAFT_TOOLS_DENY", "a,group:x");
    assert_eq!(
        variable.problems(&variable.load_with(Some(&strict_check))),
        ["error environment -:- tools.deny HAFT_TOOLS_DENY: 'tools.deny' holds 'group:x': there is no such group | there are: fs, web"]
    );
    assert_eq!(Fixture::new().user("tools.deny = ['group:x']").load().problems, [], "nobody there who knows the groups");
}

#[test]
fn a_project_makes_no_groups() {
    let fixture = Fixture::new().user("groups.mine = ['a']").project("groups.mine = ['*']\ngroups.its = ['b']\ntools.deny = ['group:its']");
    let loaded = fixture.load_with(Some(&strict_check));
    let groups: Vec<_> = loaded.provenance.groups().map(|(name, entries)| (name, entries[0].value.as_str())).collect();
    assert_eq!(groups, [("mine", "a")]);
    assert_eq!(
        fixture.problems(&loaded),
        [
            "warning project 1:15 groups.mine a project file cannot widen: 'groups.mine = [\"*\"]' is ignored, [\"a\"] stays \
             (home/.config/haft/config.toml:1:15) | if you want it, set 'groups.mine' in your own file",
            "warning project 2:14 groups.its a project file cannot widen: 'groups.its = [\"b\"]' is ignored, it stays unset | if you want it, \
             set 'groups.its' in your own file",
            "error project 3:15 tools.deny 'tools.deny' holds 'group:its': there is no such group | there are: fs, web",
        ]
    );
}

#[test]
fn a_built_in_group_cannot_be_made_anew() {
    assert_eq!(
        Fixture::new().problems_of("[groups]\nfs = ['read_file']"),
        ["error user 2:6 groups.fs the group 'fs' is built in and cannot be made anew | choose another name for it"]
    );
}

#[test]
fn a_group_in_itself_is_an_error_that_prints_the_chain() {
    let cases = [
        ("a = ['group:a']", vec!["2:6 groups the group is part of itself: a → a | remove 'group:a' here"]),
        (
            "a = ['x', 'group:b']\nb = ['group:c', 'y']\nc = ['group:a']",
            vec!["4:6 groups the group is part of itself: a → b → c → a | remove 'group:a' here"],
        ),
        (
            "in = ['group:a']\na = ['group:b']\nb = ['group:a', 'group:b']",
            vec![
                "4:6 groups the group is part of itself: a → b → a | remove 'group:a' here",
                "4:17 groups the group is part of itself: b → b | remove 'group:b' here",
            ],
        ),
        ("a = ['group:b', 'group:c']\nb = ['group:d']\nc = ['group:d']\nd = ['x']", vec![]),
    ];
    for (groups, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(|problem| format!("error user {problem}")).collect();
        assert_eq!(Fixture::new().problems_of(&format!("[groups]\n{groups}")), expected, "{groups}");
    }
    let chain = numbered(200, |number| format!("g{number} = ['group:g{}']\n", (number + 1) % 200));
    let cycles = |message: Vec<String>| message.into_iter().filter(|problem| problem.contains("part of itself")).count();
    assert_eq!(cycles(Fixture::new().problems_of(&format!("[groups]\n{chain}"))), 1, "as long as there are groups");
}

#[test]
fn groups_go_only_so_deep() {
    let chain = |length: usize| {
        format!(
            "[groups]\n{}last = ['a']\n",
            numbered(length - 1, |number| {
                let next = if number + 2 == length { "last".to_owned() } else { format!("g{:02}", number + 1) };
                format!("g{number:02} = ['x', 'group:{next}']\n")
            })
        )
    };
    assert_eq!(Fixture::new().problems_of(&chain(10)), Vec::<String>::new());
    assert_eq!(
        Fixture::new().problems_of(&chain(11)),
        ["error user 2:13 groups more than 10 groups are inside each other | name the tools themselves, or fewer groups"]
    );
}
