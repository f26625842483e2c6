use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{Connect, Effect, ExecNature};
use proptest::prelude::*;

use super::super::testing::{Fixture, HOME, both, exec, file, lists, one, said, tree};
use super::*;
use crate::SourceSpan;

fn compiled(deny: &[&str], ask: &[&str], allow: &[&str]) -> RuleSet {
    RuleSet::compile(&lists(deny, ask, allow), &Vocabulary::of_core(haft_builtin::metas()), Some(Path::new(HOME))).unwrap()
}

#[test]
fn the_strictest_rule_decides_whatever_the_order_or_detail() {
    let rules = compiled(&["write(docs/secret)"], &["write_file(docs/**)"], &["write_file(docs/a)", "write_file", "write_file(src/**)"]);
    let tool = Fixture::core("write_file");
    let on = |path: &str| said(rules.on_effect(&tool.candidate(), &Effect::Write(file(path))));
    assert_eq!(on("docs/secret"), Some((RuleKind::Deny, "write(docs/secret)".into())));
    assert_eq!(on("docs/a"), Some((RuleKind::Ask, "write_file(docs/**)".into())));
    assert_eq!(on("src/x"), Some((RuleKind::Allow, "write_file".into())), "the first of a kind is named");
    assert_eq!(said(rules.on_tool(&tool.candidate())), Some((RuleKind::Allow, "write_file".into())));
    assert!(RuleSet::default().is_empty() && !rules.is_empty());
}

#[test]
fn what_forbids_follows_the_effect_and_what_permits_the_tool() {
    let (write, edit, read) = (Fixture::core("write_file"), Fixture::core("edit_file"), Fixture::core("read_file"));
    let plugin = Fixture::foreign("note", &[]);
    let (writes, deletes, reads) = (Effect::Write(file("docs/a")), Effect::Delete(file("docs/a")), Effect::Read(file("docs/a")));
    for (rule, tool, effect, expected) in [
        ("write_file(docs/**)", &write, &writes, (true, true)),
        ("write_file(docs/**)", &write, &deletes, (true, false)),
        ("write_file(docs/**)", &write, &reads, (false, false)),
        ("edit_file(docs/**)", &edit, &writes, (true, true)),
        ("edit_file(docs/**)", &edit, &deletes, (true, false)),
        ("write_file(docs/**)", &edit, &writes, (true, false)),
        ("write_file(docs/**)", &plugin, &writes, (true, false)),
        ("write_file(docs/**)", &read, &reads, (false, false)),
        ("edit_file(docs/**)", &edit, &reads, (false, true)),
        ("write(docs/**)", &plugin, &deletes, (true, false)),
        ("write(docs/**)", &plugin, &writes, (true, true)),
        ("delete(docs/**)", &write, &deletes, (true, true)),
        ("delete(docs/**)", &write, &writes, (false, false)),
        ("Read(docs/**)", &plugin, &reads, (true, true)),
        ("Read-File(docs/**)", &read, &reads, (true, true)),
        ("read_*(docs/**)", &read, &reads, (true, true)),
        ("read_*(docs/**)", &plugin, &writes, (false, false)),
        ("read", &plugin, &reads, (true, true)),
        ("read_file", &read, &reads, (true, true)),
        ("read_file", &plugin, &reads, (false, false)),
        ("write", &plugin, &deletes, (true, false)),
        ("write", &plugin, &writes, (true, true)),
        ("delete", &plugin, &deletes, (true, true)),
    ] {
        assert_eq!(both(rule, tool, effect), expected, "{rule} on {} {effect:?}", tool.candidate().name());
    }
}

#[test]
fn a_tool_is_found_by_every_name_to_forbid_it_and_by_its_own_to_permit_it() {
    let (own, borrowed) = (Fixture::core("exec"), Fixture::foreign("weather_now", &["web_fetch"]));
    let connects = Effect::Connect(Connect::new("https", "a.org", 443, "GET"));
    for (rule, tool, denied, allowed) in [
        ("WebFetch", &Fixture::core("web_fetch"), true, Some(true)),
        ("web_*", &Fixture::core("web_fetch"), true, Some(true)),
        ("web_*", &Fixture::core("exec"), false, Some(false)),
        ("bash", &own, true, None),
        ("exec", &own, true, None),
        ("web_fetch", &borrowed, true, Some(false)),
        ("web_*", &borrowed, true, Some(false)),
        ("web_fetch(domain:a.org)", &borrowed, false, Some(false)),
    ] {
        let denies = one(RuleKind::Deny, rule).on_tool(&tool.candidate()).is_some();
        let allows = allowed.map(|_| one(RuleKind::Allow, rule).on_tool(&tool.candidate()).is_some());
        assert_eq!((denies, allows), (denied, allowed), "{rule}");
    }
    assert_eq!(both("web_fetch(domain:a.org)", &borrowed, &connects), (true, false));
    let runs = Effect::Exec(exec("ls"));
    assert!(one(RuleKind::Deny, "exec").on_effect(&borrowed.candidate(), &runs).is_some(), "exec is the effect as well");
    assert!(one(RuleKind::Deny, "bash").on_effect(&borrowed.candidate(), &runs).is_none(), "bash is the tool alone");
}

#[test]
fn unknown_effects_are_met_by_rules_on_the_tool() {
    let (tool, effect) = (Fixture::core("web_search"), Effect::Unknown { why: "x".into() });
    assert_eq!(both("web_search", &tool, &effect), (true, true));
    assert_eq!(both("connect", &tool, &effect), (false, false));
}

#[test]
fn agents_settings_and_messages_have_rules() {
    let send = Effect::Send { channel: "desktop".into(), to: "me".into(), outward: false };
    let (spawn, configure) = (Effect::Spawn { agent: "reviewer".into() }, Effect::Configure { key: "theme".into() });
    for (rule, tool, effect, expected) in [
        ("notify(channel:desktop)", "notify", &send, (true, true)),
        ("send(to:you)", "notify", &send, (false, false)),
        ("message(channel:desktop)", "notify", &send, (true, false)),
        ("agent(review*)", "agent", &spawn, (true, true)),
        ("spawn(Reviewer)", "agent", &spawn, (true, false)),
        ("config(theme)", "config", &configure, (true, true)),
        ("configure(model)", "config", &configure, (false, false)),
        ("configure", "config", &configure, (true, true)),
    ] {
        assert_eq!(both(rule, &Fixture::core(tool), effect), expected, "{rule}");
    }
}

#[test]
fn every_part_of_a_line_is_evaluated_by_itself() {
    let rules = compiled(&[], &[], &["exec(git status)", "exec(git status *)"]);
    let tool = Fixture::core("exec");
    let allowed = |line| said(rules.on_effect(&tool.candidate(), &Effect::Exec(exec(line)))).is_some();
    assert!(allowed("git status"));
    assert!(!allowed("rm -rf x"), "of 'git status; rm -rf x', the second part is asked about");
}

#[test]
fn tools_of_others_are_known_by_their_source() {
    let (plugin, tools) = (Fixture::foreign("weather_now", &["Forecast"]), ["weather_now", "forecast", "weather_*", "mcp__*"]);
    let vocabulary = Vocabulary::of_core(haft_builtin::metas()).with([plugin.parts()]);
    for rule in tools {
        assert_eq!(RuleSet::check(RuleKind::Deny, rule, &vocabulary, None), Ok(()), "{rule}");
    }
    for (rule, effect, expected) in [
        ("weather_now(data/**)", Effect::Write(file("data/x")), (true, true)),
        ("weather_now(data/**)", Effect::Read(file("data/x")), (true, true)),
        ("weather_now(data/**)", Effect::Delete(file("data/x")), (true, false)),
        ("weather_now(domain:a.org)", Effect::Connect(Connect::new("https", "a.org", 443, "GET")), (true, true)),
        ("weather_now(host:host ls)", Effect::Exec(exec("ls")), (true, true)),
        ("weather_*(data/**)", Effect::Read(file("data/x")), (true, true)),
    ] {
        let matches = |kind| {
            let lists = if kind == RuleKind::Deny { lists(&[rule], &[], &[]) } else { lists(&[], &[], &[rule]) };
            RuleSet::compile(&lists, &vocabulary, None).unwrap().on_effect(&plugin.candidate(), &effect).is_some()
        };
        assert_eq!((matches(RuleKind::Deny), matches(RuleKind::Allow)), expected, "{rule}");
    }
}

#[test]
fn names_that_nothing_has_are_refused_with_what_to_write() {
    for (rule, message) in [
        ("write_fil(x)", "there is no tool or effect 'write_fil'; did you mean 'write_file' or 'write'?"),
        (
            "zzz",
            "there is no tool or effect 'zzz'; `haft tools` lists the tools; the effects are read, write, delete, exec, connect, send, spawn, configure, node",
        ),
        ("zz_*", "'zz_*' matches no tool; `haft tools` lists the tools; correct the pattern, or remove the rule"),
        ("mcp__github__*", "there is no MCP server 'github'; configure the server, correct its name, or remove the rule"),
        ("mcp__github__list", "there is no MCP server 'github'; configure the server, correct its name, or remove the rule"),
        ("group:fs", "a rule cannot name a group, as 'group:fs' does; name an effect or a tool; groups belong in [tools]"),
        ("noop(x)", "'noop' does nothing that a rule with parentheses could name; write 'noop'"),
        (
            "web_*(docs/**)",
            "no tool that 'web_*' matches has to do with a path; name the effect instead: read, write, delete, exec or connect",
        ),
        (
            "web_fetch(docs/**)",
            "'docs/**' can never match a connection, which has a host and a method; write 'domain:example.org', 'domain:*.example.org', or 'method:POST'",
        ),
        ("agent(domain:x)", "'domain:…' can never match the name of an agent; write the agent's name"),
    ] {
        let fault = RuleSet::check(RuleKind::Ask, rule, &Vocabulary::of_core(haft_builtin::metas()), None).unwrap_err();
        assert_eq!(fault.to_string(), message, "{rule}");
    }
}

#[test]
fn all_faults_are_said_at_once_with_their_places() {
    let span = |line| SourceSpan { file: Some(Arc::new(PathBuf::from("config.toml"))), line: Some(line) };
    let listed = |pattern: &str, line| ListEntry { span: span(line), ..ListEntry::new(pattern) };
    let rules = RuleLists { deny: vec![listed("exec(git", 3), listed("noop", 4)], allow: vec![listed("exec", 7)], ..RuleLists::default() };
    let faults = RuleSet::compile(&rules, &Vocabulary::of_core(haft_builtin::metas()), None).unwrap_err();
    let short: Vec<_> = faults.iter().map(|fault| (fault.rule.as_str(), fault.kind, fault.span.line)).collect();
    assert_eq!(short, [("exec(git", RuleKind::Deny, Some(3)), ("exec", RuleKind::Allow, Some(7))]);
    assert_eq!((faults[0].message.as_str(), faults[0].help.as_deref()), ("the ')' is missing", Some("end the rule with ')'")));
    let set = RuleSet::compile(
        &RuleLists { deny: vec![listed(" noop ", 4)], ..RuleLists::default() },
        &Vocabulary::of_core(haft_builtin::metas()),
        None,
    )
    .unwrap();
    let tool = Fixture::core("noop");
    let candidate = tool.candidate();
    let rule = set.on_tool(&candidate).unwrap();
    assert_eq!((rule.text(), rule.span()), ("noop", &span(4)));
}

#[test]
fn only_a_rule_that_says_where_it_holds_is_anchored() {
    for (rule, expected) in [
        ("write_file", false),
        ("write", false),
        ("write(docs/**)", false),
        ("write(**/docs/**)", false),
        ("write(./**)", false),
        ("write(/srv/**)", true),
        ("write(~/notes/**)", true),
        ("connect(method:POST)", false),
        ("connect(domain:* method:POST)", false),
        ("connect(domain:*.example.org)", true),
        ("exec(host:container)", false),
        ("exec(git push *)", true),
        ("exec(/opt/x *)", true),
        ("send(channel:mail)", false),
        ("send(channel:mail to:anna)", true),
        ("spawn(review*)", false),
        ("spawn(reviewer)", true),
    ] {
        assert_eq!(one(RuleKind::Allow, rule).rules()[0].is_anchored(), expected, "{rule}");
    }
}

/// Names that meet each other now and then.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["docs", "Docs", "src", "a", "b", "me", "home"])
}

fn content_path() -> impl Strategy<Value = String> {
    let segment =
        prop_oneof![4 => name().prop_map(str::to_owned), 1 => Just("*".to_owned()), 1 => Just("**".to_owned()), 1 => Just("d*".to_owned())];
    let start = prop::sample::select(vec!["", "~/", "/", "**/", "/home/me/ws/"]);
    (start, prop::collection::vec(segment, 1..4)).prop_map(|(start, segments)| format!("{start}{}", segments.join("/")))
}

fn rule() -> impl Strategy<Value = String> {
    let host = prop::sample::select(vec!["example.org", "*.example.org", "a.example.org", "*.org", "10.0.0.1", "*"]);
    prop_oneof![
        4 => (prop::sample::select(vec!["write", "read", "write_file", "delete"]), content_path()).prop_map(|(on, path)| format!("{on}({path})")),
        2 => host.prop_map(|host| format!("connect(domain:{host})")),
        2 => exec_rule(),
        1 => prop::sample::select(vec!["write", "exec", "write_file", "connect"]).prop_map(str::to_owned),
    ]
}

fn exec_rule() -> impl Strategy<Value = String> {
    let git = ["git push *", "git *", "/usr/bin/git status", "git * origin", "git -C * push", "git push --force *", "git pu* origin"];
    let others = ["ls", "ls docs", "* push", "bin/ls -l *"];
    prop::sample::select([&git[..], &others].concat()).prop_map(|pattern| format!("exec({pattern})"))
}

/// Commands with and without the words of the rules, with options between them, aliases, wrappers, and words that are known only when
/// they run.
fn command() -> impl Strategy<Value = Exec> {
    let lines = [
        "git push origin",
        "git status",
        "git -C docs push --force origin",
        "git -c alias.x=push x origin",
        "git undo origin",
        "git push push",
        "/usr/bin/git status",
        "ls",
        "./ls",
        "ls docs -l",
        "bin/ls -l docs",
        "Git push",
    ];
    let wrappers = prop::collection::vec(prop::sample::select(vec!["git push", "ls docs", "time"]), 0..2);
    (prop::sample::select(lines.to_vec()), wrappers, any::<bool>(), any::<bool>()).prop_map(
        |(line, wrappers, is_expanded, is_sandboxed)| {
            let mut exec = exec(line);
            exec.nature = if is_expanded { ExecNature::Expanded } else { exec.nature };
            exec.host = if is_sandboxed { ExecHost::Sandbox } else { ExecHost::Host };
            exec.reach.wrappers = wrappers.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
            exec
        },
    )
}

fn effect() -> impl Strategy<Value = Effect> {
    let place = || {
        let path = prop::collection::vec(name(), 1..5).prop_map(|names| names.join("/"));
        (any::<bool>(), any::<bool>(), path).prop_map(|(whole, is_tree, path)| {
            let path = if whole { format!("/{path}") } else { path };
            if is_tree { tree(&path) } else { file(&path) }
        })
    };
    let host = prop::sample::select(vec!["example.org", "a.example.org", "b.a.example.org", "other.net", "10.0.0.1"]);
    prop_oneof![
        1 => place().prop_map(Effect::Write),
        1 => place().prop_map(Effect::Read),
        1 => place().prop_map(Effect::Delete),
        1 => host.prop_map(|host| Effect::Connect(Connect::new("https", host, 443, "GET"))),
        2 => command().prop_map(Effect::Exec),
    ]
}

/// Every rule of a kind that matches, found by a look at every rule.
fn matching_rules<'a>(rules: &'a RuleSet, kind: RuleKind, tool: &Candidate<'_>, effect: &Effect) -> Vec<&'a Rule> {
    let all = || rules.rules().iter().filter(move |rule| rule.kind == kind);
    let mut found: Vec<&Rule> = all().filter(|rule| names_tool(rule, tool)).collect();
    let outer = if kind.restricts() { wrappers(effect) } else { Vec::new() };
    for effect in std::iter::once(effect).chain(&outer) {
        let kinds = Kinds::from_effect(effect);
        let speaks =
            |form: &EffectForm<'_>| all().filter(|rule| is_about(rule, kinds) && speaks(rule, tool, kinds, form)).collect::<Vec<_>>();
        for rule in with_effect_form(effect, speaks).unwrap_or_default() {
            if !found.iter().any(|known| std::ptr::eq(*known, rule)) {
                found.push(rule);
            }
        }
    }
    found
}

proptest! {
    /// The index only leaves out rules that cannot match.
    #[test]
    fn index_finds_the_rule_that_a_look_at_every_rule_finds(rules in prop::collection::vec((0..3_usize, rule()), 1..16), effect in effect()) {
        let of = |list: usize| rules.iter().filter(|(at, _)| *at == list).map(|(_, text)| text.as_str()).collect::<Vec<_>>();
        let compiled = RuleSet::compile(
            &lists(&of(0), &of(1), &of(2)),
            &Vocabulary::of_core(haft_builtin::metas()),
            Some(Path::new(HOME)),
        );
        prop_assume!(compiled.is_ok());
        let (rules, tool) = (compiled.unwrap(), Fixture::core("write_file"));
        let tool = tool.candidate();
        let mut all = Vec::new();
        for kind in [RuleKind::Deny, RuleKind::Ask, RuleKind::Allow] {
            let found = matching_rules(&rules, kind, &tool, &effect);
            let texts = |rules: &[&Rule]| rules.iter().map(|rule| rule.text().to_owned()).collect::<Vec<_>>();
            prop_assert_eq!(texts(&rules.all_on_effect(kind, &tool, &effect)), texts(&found));
            all.extend(found);
        }
        let first = rules.rules().iter().find(|rule| all.iter().any(|found| std::ptr::eq(*found, *rule)));
        prop_assert_eq!(said(rules.on_effect(&tool, &effect)), said(first));
    }

    /// Likewise for what a plain command could be.
    #[test]
    fn index_finds_what_a_plain_command_could_be(rules in prop::collection::vec((0..2_usize, exec_rule()), 1..16), exec in command()) {
        let of = |list: usize| rules.iter().filter(|(at, _)| *at == list).map(|(_, text)| text.as_str()).collect::<Vec<_>>();
        let vocabulary = Vocabulary::of_core(haft_builtin::metas());
        let rules = RuleSet::compile(&lists(&of(0), &of(1), &[]), &vocabulary, Some(Path::new(HOME))).unwrap();
        let mut exec = exec;
        exec.reach.wrappers.clear();
        let found = said(rules.possible_on(&exec));
        // The same command where it may also start one that no rule names is not plain, so every rule is looked at.
        exec.reach.commands.push(vec!["nothing".into()]);
        prop_assert_eq!(found, said(rules.possible_on(&exec)));
    }
}
