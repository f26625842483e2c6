//! What is allowed to be written, and hardly meant.

use super::fixture::{Fixture, strict_check};

#[test]
fn contradictions_are_warnings_at_their_place() {
    let user = "home/.config/haft/config.toml";
    let project = "work/.haft/config.toml";
    let cases: Vec<(&str, &str, Vec<String>)> = vec![
        (
            "tools.allow = ['a', 'b']\ntools.deny = ['b']",
            "",
            vec![format!("user 1:21 tools.allow 'tools.allow' and 'tools.deny' both hold 'b': deny wins ({user}:2:15) | remove one of the two")],
        ),
        (
            "tools.allow = ['a', 'b']",
            "tools.deny = ['a']",
            vec![format!("user 1:16 tools.allow 'tools.allow' and 'tools.deny' both hold 'a': deny wins ({project}:1:15) | remove one of the two")],
        ),
        (
            "[agents.'x.y'.tools]\nalso_allow = ['a']\ndeny = ['a']",
            "",
            vec![format!(
                "user 2:15 agents.\"x.y\".tools.also_allow 'agents.\"x.y\".tools.also_allow' and 'agents.\"x.y\".tools.deny' both hold 'a': \
                 deny wins ({user}:3:9) | remove one of the two"
            )],
        ),
        (
            "channels.c.senders.s.allow = []",
            "",
            vec!["user 1:30 channels.c.senders.s.allow 'channels.c.senders.s.allow' is empty: no tool is offered | remove the key to allow every tool, or name the tools".into()],
        ),
        (
            "rules.allow = ['exec(a)', 'exec(b)']\nrules.ask = ['exec(b)']",
            "rules.deny = ['exec(a)']",
            vec![
                format!("user 1:16 rules.allow 'rules.allow' and 'rules.deny' both hold 'exec(a)': deny > ask > allow, the strictest wins ({project}:1:15) | remove one of the two"),
                format!("user 1:27 rules.allow 'rules.allow' and 'rules.ask' both hold 'exec(b)': deny > ask > allow, the strictest wins ({user}:2:14) | remove one of the two"),
            ],
        ),
        (
            "tools.allow = ['a', 'b']",
            "tools.allow = ['c']",
            vec![format!(
                "project 1:15 tools.allow the project's 'tools.allow' has no tool of your own list ({user}:1:15): nothing is left | a tool must \
                 be in both lists: name a common one, or remove one of the lists"
            )],
        ),
        (
            "tools.allow = ['read']\ntools.deny = ['Read_File']",
            "",
            vec![format!("user 1:16 tools.allow 'tools.allow' holds 'read' and 'tools.deny' 'Read_File', which is the same tool: deny wins ({user}:2:15) | remove one of the two")],
        ),
        (
            "[channels.c.tools]\nallow = ['a', 'b']\ndeny = ['c']\n[channels.c.senders.'Name:Ann']\nallow = ['a', 'x']\ndeny = ['c']\n[channels.c.senders.'name:Bob']\nallow = ['a']",
            "",
            ["Name:Ann", "name:Bob"].into_iter().zip([5, 8]).map(|(name, line)| format!(
                "user {line}:9 channels.c.senders.\"{name}\" 'channels.c.senders.\"{name}\"' allows more than the channel, and anyone can choose that name \
                 | name the sender by id:, e164: or username:, or allow no more than the channel does"
            )).collect(),
        ),
        (
            "tools.profile = 'coding'",
            "tools.profile = 'minimal'",
            vec![format!(
                "project 1:17 tools.profile the project's 'tools.profile' is 'minimal', yours is 'coding' ({user}:1:17): only tools of both are left \
                 | remove one of the two if that is not meant"
            )],
        ),
    ];
    for (user, project, expected) in cases {
        let fixture = Fixture::new().user(user).project(project);
        let expected: Vec<_> = expected.into_iter().map(|problem| format!("warning {problem}")).collect();
        assert_eq!(fixture.problems(&fixture.load_with(Some(&strict_check))), expected, "{user} {project}");
    }
}

#[test]
fn intended_settings_give_no_warning() {
    let cases = [
        ("tools.allow = ['a']\nagents.x.tools.deny = ['a']", ""),
        ("tools.allow = ['*']\ntools.deny = ['a']", ""),
        ("tools.allow = ['a', 'b']", "tools.allow = ['b', 'c']"),
        ("tools.allow = ['read']", "tools.allow = ['read_file']"),
        (
            "channels.c.tools.allow = ['a', 'b']\nchannels.c.tools.deny = ['c']\nchannels.c.senders.'name:x' = { allow = ['a'], deny = ['c', 'd'] }",
            "",
        ),
        ("channels.c.tools.deny = ['a']\nchannels.c.senders.'id:42'.allow = ['*']", ""),
        ("channels.c.senders.'name:x'.allow = ['a']", ""),
        ("tools.allow = ['a*']", "tools.allow = ['c']"),
        ("tools.allow = ['group:fs']", "tools.allow = ['c']"),
        ("rules.deny = ['exec(a)']", "rules.deny = ['exec(a)']"),
        ("network.allow = ['a.example']\nnetwork.deny = ['b.example']", ""),
        ("groups.also_allow = ['a']\ngroups.deny = ['a']", ""),
    ];
    for (user, project) in cases {
        let fixture = Fixture::new().user(user).project(project);
        assert_eq!(fixture.problems(&fixture.load_with(Some(&strict_check))), Vec::<String>::new(), "{user} {project}");
    }
}

#[test]
fn contradictions_are_reported_within_bounds() {
    let list: Vec<String> = (0..1000).map(|number| format!("'t{number}'")).collect();
    let list = list.join(",");
    let loaded = Fixture::new().user(format!("tools.allow = [{list}]\ntools.deny = [{list}]\ntools.also_allow = [{list}]")).load();
    assert_eq!((loaded.problems.len(), loaded.errors().count()), (101, 0));
}
