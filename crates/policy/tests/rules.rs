//! What must hold of rules whatever they say.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{Connect, Effect, Exec, ExecHost, Extent, Location, PathEffect, Plan, ToolDefinition, ToolSource, Zone};
use haft_policy::catalog::Vocabulary;
use haft_policy::{AllowList, AskSubject, Candidate, ListEntry, RuleKind, RuleLists, RuleSet, SessionGrants, canonical};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use serde_json::json;

const WORKSPACE: &str = "/home/me/ws";
const KINDS: [RuleKind; 3] = [RuleKind::Deny, RuleKind::Ask, RuleKind::Allow];
/// Core tools that do each kind of thing, and some that do none of it.
const TOOLS: [&str; 11] =
    ["read_file", "write_file", "edit_file", "apply_patch", "exec", "powershell", "http_request", "notify", "agent", "config", "cron"];

fn home() -> &'static Path {
    Path::new("/home/me")
}

#[derive(Debug)]
struct Tool {
    definition: ToolDefinition,
    source: ToolSource,
}

impl Tool {
    fn core(name: &str) -> Self {
        Self { definition: ToolDefinition::new(name.to_owned(), "", json!({})), source: ToolSource::BuiltIn }
    }
    fn plugin() -> Self {
        Self { definition: ToolDefinition::new("weather_now", "", json!({})), source: ToolSource::Plugin("weather".into()) }
    }
    fn candidate(&self) -> Candidate<'_> {
        Candidate::new(&self.definition, &self.source)
    }
    fn vocabulary(&self) -> Vocabulary {
        Vocabulary::of_core(haft_builtin::metas()).with([(&self.definition, &self.source)])
    }
}

fn tools() -> impl Strategy<Value = Arc<Tool>> {
    prop_oneof![select(TOOLS.as_slice()).prop_map(|name| Arc::new(Tool::core(name))), Just(()).prop_map(|()| Arc::new(Tool::plugin()))]
}

fn location(path: &str) -> Location {
    let whole = Path::new(WORKSPACE).join(path);
    let (zone, display) = match whole.strip_prefix(WORKSPACE) {
        Ok(rest) => (Zone::Workspace, rest.display().to_string()),
        Err(_) => (Zone::Outside, whole.display().to_string()),
    };
    Location::new(path.into(), whole, display, zone, Arc::new(()))
}

/// Few names, so that rules and effects meet; and some with marks in them.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(["a", "b", "docs", "src", ".env", "A", "key.pem", "x y"].as_slice()).prop_map(str::to_owned),
        1 => "[a-c*?\\[\\](){}\\\\'\" ~$:!.-]{1,6}".prop_filter("a name", |name| !matches!(name.as_str(), "." | "..")),
    ]
}

fn paths() -> impl Strategy<Value = String> {
    (any::<bool>(), vec(names(), 1..4)).prop_map(|(outside, names)| format!("{}{}", if outside { "/" } else { "" }, names.join("/")))
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(["status", "push", "-C", "-rf", "--force", "log", "test", "*", ";", "&&", "a:*", ""].as_slice()).prop_map(str::to_owned),
        1 => "[a-c*?(){}\\\\'\" ~$:!.=-]{0,6}",
    ]
}

fn commands() -> impl Strategy<Value = Exec> {
    let programs = select(["git", "ls", "cargo", "bash", "./run", "/opt/x", "A=b", "host:x", "g*t"].as_slice());
    (programs, vec(words(), 0..4), select(ExecHost::ALL.as_slice()), any::<bool>()).prop_map(|(named, arguments, host, poisoned)| {
        let folder = if named.contains('/') { WORKSPACE } else { "/usr/bin" };
        let mut exec = Exec::new(Path::new(folder).join(named.trim_start_matches("./")), arguments, WORKSPACE);
        named.clone_into(&mut exec.named);
        exec.host = host;
        if poisoned {
            exec.environment = vec!["LD_PRELOAD".into()];
        }
        exec
    })
}

fn connections() -> impl Strategy<Value = Connect> {
    let hosts = select(["a.org", "www.a.org", "b.example", "127.0.0.1", "[::1]", "localhost"].as_slice());
    let methods = select(["GET", "POST", "PUT", "ODD"].as_slice());
    (select(["http", "https"].as_slice()), hosts, select([80, 443, 8080].as_slice()), methods)
        .prop_map(|(scheme, host, port, method)| Connect::new(scheme, host, port, method))
}

fn effects() -> impl Strategy<Value = Effect> {
    let path = (paths(), any::<bool>())
        .prop_map(|(path, tree)| PathEffect { location: location(&path), extent: if tree { Extent::Tree } else { Extent::File } })
        .boxed();
    prop_oneof![
        path.clone().prop_map(Effect::Read),
        path.clone().prop_map(Effect::Write),
        path.prop_map(Effect::Delete),
        commands().prop_map(Effect::Exec),
        connections().prop_map(Effect::Connect),
        (names(), names()).prop_map(|(channel, to)| Effect::Send { channel, to, outward: true }),
        names().prop_map(|agent| Effect::Spawn { agent }),
        names().prop_map(|key| Effect::Configure { key }),
        (names(), names(), names()).prop_map(|(node, action, target)| Effect::Node { node, action, target }),
        Just(Effect::Unknown { why: "x".into() }),
    ]
}

/// Rules that are right more often than not.
fn rules() -> impl Strategy<Value = String> {
    let name = select(
        [
            "read",
            "write",
            "delete",
            "exec",
            "connect",
            "send",
            "spawn",
            "configure",
            "node",
            "Read-File",
            "edit",
            "WebFetch",
            "web_*",
            "bash",
            "weather_*",
        ]
        .as_slice(),
    );
    let content = prop_oneof![
        vec(select(["a", "docs", "*", "**", "?", ".env", "x y"].as_slice()), 1..4).prop_map(|names| names.join("/")),
        vec(select(["git", "ls", "push", "status", "*", "-*", "-f", "host:container", "bash", "--force"].as_slice()), 1..4)
            .prop_map(|words| words.join(" ")),
        select(
            ["domain:a.org", "domain:*.a.org:8080", "method:POST", "domain:* method:PUT", "channel:a", "to:*", "~/x", "/**", "**/*.pem"]
                .as_slice()
        )
        .prop_map(str::to_owned),
        "[a-c*?/(){}\\\\ :.]{0,8}",
    ];
    prop_oneof![1 => name.clone().prop_map(str::to_owned), 5 => (name, content).prop_map(|(name, content)| format!("{name}({content})"))]
}

fn listed(texts: &[String], kind: RuleKind, vocabulary: &Vocabulary) -> Vec<ListEntry> {
    texts
        .iter()
        .filter(|text| RuleSet::check(kind, text, vocabulary, Some(home())).is_ok())
        .map(|text| ListEntry::new(text.as_str()))
        .collect()
}

fn lists(rules: &[Vec<String>; 3], vocabulary: &Vocabulary) -> RuleLists {
    let [deny, ask, allow] = [0, 1, 2].map(|index| listed(&rules[index], KINDS[index], vocabulary));
    RuleLists { deny, ask, allow, ..RuleLists::default() }
}

fn outcome(lists: &RuleLists, tool: &Tool, effect: &Effect) -> Option<RuleKind> {
    let set = RuleSet::compile(lists, &tool.vocabulary(), Some(home())).unwrap_or_else(|faults| panic!("{faults:?}"));
    set.on_effect(&tool.candidate(), effect).map(haft_policy::Rule::kind)
}

/// Deny before ask before nothing, which leaves the question to the rest of the policy, before allow.
fn strictness(outcome: Option<RuleKind>) -> u8 {
    match outcome {
        Some(RuleKind::Deny | RuleKind::Only) => 3,
        Some(RuleKind::Ask) => 2,
        None => 1,
        Some(RuleKind::Allow) => 0,
    }
}

/// Almost the same effect: what a rule that says a little too much would cover.
fn almost(effect: &Effect, ch: &str, way: usize) -> Effect {
    let change = |text: &str| match way {
        0 => text.replace(['*', '?', '[', '\\'], ch),
        1 => format!("{text}{ch}"),
        2 => format!("{ch}{text}"),
        3 => text.to_uppercase(),
        _ => text.replacen(' ', "", 1),
    };
    let path = |path: &PathEffect| {
        let whole = path.location.path().to_string_lossy();
        let name = whole.rsplit('/').next().unwrap_or_default();
        let changed = format!("{}{}", whole.strip_suffix(name).unwrap_or_default(), change(name));
        PathEffect { location: location(&changed), extent: path.extent }
    };
    match effect {
        Effect::Read(effect) => Effect::Read(path(effect)),
        Effect::Write(effect) => Effect::Write(path(effect)),
        Effect::Delete(effect) => Effect::Delete(path(effect)),
        Effect::Exec(exec) => {
            let mut exec = exec.clone();
            match exec.arguments.last_mut() {
                Some(argument) => *argument = change(argument),
                None => exec.arguments.push(change("")),
            }
            Effect::Exec(exec)
        }
        Effect::Connect(connect) => Effect::Connect(Connect::new(
            connect.scheme.as_str(),
            change(&connect.host).to_lowercase(),
            connect.port,
            connect.method.as_str(),
        )),
        Effect::Send { channel, to, outward } => Effect::Send { channel: channel.clone(), to: change(to), outward: *outward },
        Effect::Spawn { agent } => Effect::Spawn { agent: change(agent) },
        Effect::Configure { key } => Effect::Configure { key: change(key) },
        other => other.clone(),
    }
}

/// What must not be covered by a rule that was made for something else: another kind of effect, another place, another port.
fn is_other(tool: &Tool, made_for: &Effect, other: &Effect) -> bool {
    // A change in the middle of a file includes reading it.
    let reads_to_change =
        ["edit_file", "apply_patch"].contains(&&*tool.definition.name) && (made_for.kind(), other.kind()) == ("write", "read");
    if made_for.kind() != other.kind() && !reads_to_change {
        return true;
    }
    match (made_for, other) {
        (Effect::Exec(a), Effect::Exec(b)) => {
            a.program != b.program || (a.named != b.named && !a.named.contains('/')) || a.host != b.host || !is_same_command(a, b)
        }
        (Effect::Connect(a), Effect::Connect(b)) => {
            let is_same_scheme = a.scheme == b.scheme || !matches!(a.port, 80 | 443);
            let is_same_method = a.method == b.method || (a.only_reads() && b.only_reads());
            a.host != b.host.trim_end_matches('.') || a.port != b.port || !is_same_scheme || !is_same_method
        }
        (Effect::Send { channel, to, .. }, Effect::Send { channel: other_channel, to: other_to, .. }) => {
            channel != other_channel || to != other_to
        }
        (Effect::Spawn { agent: a }, Effect::Spawn { agent: b }) | (Effect::Configure { key: a }, Effect::Configure { key: b }) => a != b,
        (a, b) => match (a.path(), b.path()) {
            (Some((a, _)), Some((b, _))) if a.extent == Extent::File => a.location.path() != b.location.path() || b.extent == Extent::Tree,
            (Some((a, _)), Some((b, _))) => !b.location.path().starts_with(a.location.path()),
            _ => false,
        },
    }
}

/// The same words; or, behind the few commands that more words only narrow, any words but options.
fn is_same_command(a: &Exec, b: &Exec) -> bool {
    let command = |exec: &Exec| (exec.named.clone(), exec.arguments.first().cloned().unwrap_or_default());
    let narrowed = [("git", "status"), ("git", "log"), ("cargo", "test")].map(|(name, word)| (name.to_owned(), word.to_owned()));
    let is_plain = |exec: &Exec| !exec.arguments.iter().any(|word| word.starts_with(['-', '@']) || word.contains("::"));
    a.arguments == b.arguments || (narrowed.contains(&command(a)) && command(a) == command(b) && is_plain(a) && is_plain(b))
}

/// The same, done by other means: what a rule for one kind of effect, one port or one workspace must not cover.
fn otherwise(effect: &Effect) -> Vec<Effect> {
    match effect {
        Effect::Read(path) | Effect::Write(path) | Effect::Delete(path) => {
            let elsewhere = PathEffect { location: beneath("/home/me/other", &path.location), extent: path.extent };
            vec![Effect::Read(path.clone()), Effect::Write(path.clone()), Effect::Delete(path.clone()), Effect::Read(elsewhere)]
        }
        Effect::Connect(connect) => {
            let with = |scheme: &str, port| Effect::Connect(Connect::new(scheme, connect.host.as_str(), port, connect.method.as_str()));
            vec![with("http", connect.port), with("https", connect.port), with("https", 22), with("http", 80), with("https", 443)]
        }
        _ => Vec::new(),
    }
}

/// The place of the same name in another workspace.
fn beneath(workspace: &str, location: &Location) -> Location {
    let name = location.display();
    Location::new(name.into(), Path::new(workspace).join(name), name.to_owned(), location.zone(), Arc::new(()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn no_text_panics_and_every_fault_says_something(text in prop_oneof![any::<String>(), rules(), "[a-z*]{0,8}\\(.{0,40}\\)?"], kind in select(KINDS.as_slice())) {
        let vocabulary = Vocabulary::of_core(haft_builtin::metas());
        for home in [Some(home()), None] {
            if let Err(fault) = RuleSet::check(kind, &text, &vocabulary, home) {
                prop_assert!(!fault.message.is_empty() && fault.help.is_some_and(|help| !help.is_empty()));
                prop_assert_eq!((fault.rule, fault.kind), (text.clone(), kind));
            }
        }
    }

    #[test]
    fn what_a_rule_says_of_itself_is_the_same_rule(text in rules(), kind in select(KINDS.as_slice()), tool in tools(), effect in effects()) {
        let vocabulary = tool.vocabulary();
        let compile = |text: &str| {
            let mut rules = RuleLists::default();
            match kind {
                RuleKind::Deny | RuleKind::Only => &mut rules.deny,
                RuleKind::Ask => &mut rules.ask,
                RuleKind::Allow => &mut rules.allow,
            }
            .push(ListEntry::new(text));
            RuleSet::compile(&rules, &vocabulary, Some(home()))
        };
        let Ok(set) = compile(&format!("  {text} ")) else { return Ok(()) };
        if let Some(rule) = set.on_effect(&tool.candidate(), &effect) {
            prop_assert_eq!(rule.text(), text.trim());
            let again = compile(rule.text()).unwrap();
            prop_assert_eq!(again.on_effect(&tool.candidate(), &effect).map(|rule| rule.text().to_owned()), Some(rule.text().to_owned()));
        }
    }

    #[test]
    fn a_rule_that_restricts_never_loosens_and_one_that_permits_never_overrides(
        rules in [vec(rules(), 0..3), vec(rules(), 0..3), vec(rules(), 0..4)],
        added in rules(),
        tool in tools(),
        effect in effects(),
    ) {
        let vocabulary = tool.vocabulary();
        let before = lists(&rules, &vocabulary);
        let outcome_before = outcome(&before, &tool, &effect);
        for (kind, span) in KINDS.into_iter().zip(0..) {
            let mut more = before.clone();
            let list = [&mut more.deny, &mut more.ask, &mut more.allow].into_iter().nth(span).unwrap();
            list.insert(0, ListEntry::new(added.as_str()));
            if RuleSet::check(kind, &added, &vocabulary, Some(home())).is_err() {
                continue;
            }
            let after = outcome(&more, &tool, &effect);
            match kind {
                RuleKind::Deny | RuleKind::Only | RuleKind::Ask => prop_assert!(strictness(after) >= strictness(outcome_before)),
                RuleKind::Allow if matches!(outcome_before, Some(RuleKind::Deny | RuleKind::Ask)) => prop_assert_eq!(after, outcome_before),
                RuleKind::Allow => prop_assert!(matches!(after, None | Some(RuleKind::Allow))),
            }
        }
    }

    #[test]
    fn an_exception_lifts_what_an_only_list_would_leave_and_nothing_else(
        rule in rules(), exception in rules(), kind in select(&[RuleKind::Deny, RuleKind::Ask][..]), tool in tools(), effect in effects(),
    ) {
        let vocabulary = tool.vocabulary();
        let whole = format!("{rule} except {exception}");
        let are_rules = RuleSet::check(kind, &whole, &vocabulary, Some(home())).is_ok()
            && RuleSet::check(RuleKind::Only, &exception, &vocabulary, Some(home())).is_ok();
        if !are_rules {
            return Ok(());
        }
        let restricting = |text: &str| {
            let one = vec![ListEntry::new(text)];
            let lists = match kind {
                RuleKind::Ask => RuleLists { ask: one, ..RuleLists::default() },
                _ => RuleLists { deny: one, ..RuleLists::default() },
            };
            outcome(&lists, &tool, &effect)
        };
        let only = AllowList { entries: vec![ListEntry::new(exception.as_str())], ..AllowList::default() };
        let every = RuleLists { deny: vec![ListEntry::new(effect.kind())], ..RuleLists::default() };
        let is_left = outcome(&RuleLists { only: vec![only], ..RuleLists::default() }, &tool, &effect).is_none();
        // Of another effect an only list says nothing.
        let speaks = exception.split('(').next().is_some_and(|name| name.trim() == effect.kind());
        let is_excepted = speaks && is_left && outcome(&every, &tool, &effect).is_some();
        if speaks {
            prop_assert_eq!(restricting(&whole), restricting(&rule).filter(|_| !is_excepted));
        } else {
            prop_assert!(restricting(&whole).is_none() || restricting(&rule).is_some());
        }
    }

    #[test]
    fn the_index_finds_what_a_look_at_every_rule_would(rules in vec((rules(), select(KINDS.as_slice())), 0..8), tool in tools(), effect in effects()) {
        let vocabulary = tool.vocabulary();
        let of = |kind| rules.iter().filter(|(_, of)| *of == kind).map(|(text, _)| text.clone()).collect::<Vec<_>>();
        let all = lists(&KINDS.map(of), &vocabulary);
        let alone = |rule: &ListEntry, kind| {
            let one = vec![rule.clone()];
            let rules = match kind {
                RuleKind::Deny | RuleKind::Only => RuleLists { deny: one, ..RuleLists::default() },
                RuleKind::Ask => RuleLists { ask: one, ..RuleLists::default() },
                RuleKind::Allow => RuleLists { allow: one, ..RuleLists::default() },
            };
            outcome(&rules, &tool, &effect)
        };
        let each = [(&all.deny, RuleKind::Deny), (&all.ask, RuleKind::Ask), (&all.allow, RuleKind::Allow)];
        let expected = each.into_iter().flat_map(|(list, kind)| list.iter().filter_map(move |rule| alone(rule, kind))).min();
        prop_assert_eq!(outcome(&all, &tool, &effect), expected);
    }

    #[test]
    fn what_is_permitted_by_a_rule_is_forbidden_by_the_same_words(text in rules(), tool in tools(), effect in effects()) {
        let vocabulary = tool.vocabulary();
        let words = [text];
        let (deny, allow) = (listed(&words, RuleKind::Deny, &vocabulary), listed(&words, RuleKind::Allow, &vocabulary));
        // A right to change a file includes reading it, and its absence does not exclude reading.
        let reads_to_change = matches!(effect, Effect::Read(_));
        if outcome(&RuleLists { allow, ..RuleLists::default() }, &tool, &effect).is_some() && !reads_to_change {
            prop_assert_eq!(outcome(&RuleLists { deny, ..RuleLists::default() }, &tool, &effect), Some(RuleKind::Deny));
        }
    }

    #[test]
    fn the_rule_for_an_answer_covers_what_was_asked_and_nothing_else(
        tool in tools(),
        plan in vec(effects(), 1..3),
        other in effects(),
        ch in select(["z", ".", " ", "*", "-c"].as_slice()),
        way in 0..5_usize,
    ) {
        let vocabulary = tool.vocabulary();
        let asks: Vec<AskSubject> = (0..plan.len()).map(AskSubject::Effect).collect();
        let whole = plan.iter().cloned().fold(Plan::nothing(), Plan::with);
        let Ok(rules) = canonical(&tool.candidate(), &whole, &asks, &vocabulary) else { return Ok(()) };
        let grants = SessionGrants::default();
        prop_assert_eq!(grants.add(&rules, &vocabulary, Some(home())), Ok(()), "{:?}", rules);
        for effect in &plan {
            prop_assert!(grants.allows_effect(&tool.candidate(), effect).is_some(), "{rules:?} on {effect:?}");
        }
        let names_the_tool = rules.iter().any(|rule| !rule.contains('('));
        let others = plan.iter().flat_map(|effect| otherwise(effect).into_iter().chain([almost(effect, ch, way)]));
        for other in others.chain([other]) {
            if !names_the_tool && plan.iter().all(|effect| is_other(&tool, effect, &other)) {
                prop_assert_eq!(grants.allows_effect(&tool.candidate(), &other), None, "{:?} on {:?}", rules, other);
            }
        }
    }
}

#[test]
fn most_questions_have_a_rule() {
    let (tool, mut runner) = (Tool::core("edit_file"), proptest::test_runner::TestRunner::deterministic());
    let answered = (0..200).filter(|_| {
        let path = paths().new_tree(&mut runner).unwrap().current();
        canonical(&tool.candidate(), &Plan::nothing().write(location(&path)), &[AskSubject::Effect(0)], &tool.vocabulary()).is_ok()
    });
    assert_eq!(answered.count(), 200, "every path of visible characters can be named");
}
