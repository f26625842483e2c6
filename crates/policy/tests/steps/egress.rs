//! Network access of sandboxed commands.

use haft_contract::{Access, AskMode, Connect, Effect, Exec, ExecAsk, Plan, ToolSource};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Caller, Candidate, ListEntry, Policy, PolicySpec, StandardPolicy, Verdict};

use crate::exec::{HOST, SANDBOX, definition, plan, spec};
use crate::setting::program;

/// One host needs approval, or a rule that names it, at every access level but full-access.
#[test]
fn network_access_of_a_sandboxed_command_is_asked_about() {
    let tunnel = |programs: &[Exec]| plan(programs).connect(Connect::new("https", "packages.example.org", 443, "CONNECT"));
    let sandboxed = tunnel(&[program("npm ci", SANDBOX)]);
    let also_outside = tunnel(&[program("npm ci", SANDBOX), program("id", HOST)]);
    let no_program = tunnel(&[]);
    let running = Plan::egress(Connect::tunnel("packages.example.org", 443));
    let (write, by_rules) = (Access::WorkspaceWrite, AskMode::Rules);
    let (this, other) =
        (&["connect(domain:packages.example.org method:CONNECT)"][..], &["connect(domain:other.example.org method:CONNECT)"][..]);
    for (what, plan, access, ask, rules, verdict) in [
        ("the user decides", &sandboxed, write, by_rules, &[][..], Verdict::Ask),
        ("a rule on the host", &sandboxed, write, by_rules, this, Verdict::Allow),
        ("a rule on another", &sandboxed, write, by_rules, other, Verdict::Ask),
        ("nobody is there", &sandboxed, write, AskMode::Never, &[], Verdict::Deny),
        ("nothing may be changed", &sandboxed, Access::ReadOnly, by_rules, &[], Verdict::Deny),
        ("all is allowed", &sandboxed, Access::FullAccess, by_rules, &[], Verdict::Allow),
        ("not all are sandboxed", &also_outside, write, by_rules, &[], Verdict::Deny),
        ("nothing is sandboxed", &no_program, write, by_rules, &[], Verdict::Deny),
        ("it already runs", &running, write, by_rules, &[], Verdict::Ask),
        ("it runs and can change nothing", &running, Access::ReadOnly, by_rules, &[], Verdict::Ask),
        ("it runs, and a rule is on the host", &running, Access::ReadOnly, by_rules, this, Verdict::Allow),
        ("it runs, and all is allowed", &running, Access::FullAccess, by_rules, &[], Verdict::Allow),
    ] {
        let mut spec = spec(None, ExecAsk::Auto, rules);
        spec.ask = ask;
        let mut caller = Caller::default();
        caller.access = access;
        let policy = StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
        let decision = policy.decide(&Candidate::new(&definition(), &ToolSource::BuiltIn), Some(plan), &caller);
        assert_eq!(decision.verdict, verdict, "{what}: {:?}", decision.trace);
    }
}

/// Whether data may go to a host is answered by a rule on that host or on its registered domain, and by nothing wider.
#[test]
fn only_a_rule_on_the_host_or_its_domain_names_a_destination() {
    let (named, other) = ("packages.example.org", "evil.example.org");
    for (rules, host, names) in [
        (&["connect(domain:packages.example.org method:CONNECT)"][..], named, true),
        (&["connect(domain:packages.example.org method:CONNECT)"], other, false),
        (&["connect(domain:packages.example.org)"], named, true),
        (&["connect(domain:*.example.org method:CONNECT)"], named, true),
        (&["connect(domain:*.org method:CONNECT)"], named, false),
        (&["connect(domain:*.github.io method:CONNECT)"], "ann.github.io", false),
        (&["connect(method:CONNECT)"], named, false),
        (&["connect"], named, false),
        (&["connect(domain:10.0.0.1:443 method:CONNECT)"], "10.0.0.1", true),
        (&["connect(domain:10.0.0.0/8 method:CONNECT)"], "10.0.0.1", false),
        (&[], named, false),
    ] {
        let effect = Effect::Connect(Connect::tunnel(host, 443));
        let definition = definition();
        let tool = Candidate::new(&definition, &ToolSource::BuiltIn);
        let policy = StandardPolicy::compile(&spec(None, ExecAsk::Auto, rules), Vocabulary::of_core(haft_builtin::metas())).unwrap();
        assert_eq!(policy.names_destination(&tool, &effect, &Caller::default()), names, "{rules:?} {host}");
        let (policy, caller) = (StandardPolicy::default(), Caller::default());
        let granted: Vec<String> = rules.iter().filter(|rule| **rule != "connect").map(|&rule| rule.to_owned()).collect();
        policy.grant(&caller, &tool, &granted).unwrap();
        assert_eq!(policy.names_destination(&tool, &effect, &caller), names, "for the session: {rules:?} {host}");
    }
}

/// What a tool of the embedding program does without saying so is answered by a rule on that very tool, and by nothing wider; for
/// everybody else's tools by nothing.
#[test]
fn only_a_rule_on_the_tool_itself_names_what_it_does_unseen() {
    let (program, server) = (ToolSource::Plugin("program".into()), ToolSource::Mcp("s".into()));
    let mut definition = definition();
    definition.name = "own".into();
    let effect = Effect::Unknown { why: "it is new".into() };
    for (source, rule, of_project, names) in [
        (&program, "own", false, true),
        (&program, "OWN", false, true),
        (&program, "own(*)", false, true),
        (&program, "own", true, false),
        (&program, "ow*", false, false),
        (&program, "own(domain:example.org)", false, false),
        (&program, "read", false, false),
        (&program, "noop", false, false),
        (&server, "own", false, false),
        (&ToolSource::BuiltIn, "own", false, false),
    ] {
        let tool = Candidate::new(&definition, source);
        let mut spec = PolicySpec::default();
        spec.rules.allow = vec![ListEntry { of_project, ..ListEntry::new(rule) }];
        let vocabulary = Vocabulary::of_core(haft_builtin::metas()).with([(&definition, source)]);
        let policy = StandardPolicy::compile(&spec, vocabulary).unwrap();
        assert_eq!(policy.names_destination(&tool, &effect, &Caller::default()), names, "{source:?} {rule} {of_project}");
    }
    let (policy, caller, tool) = (StandardPolicy::default(), Caller::default(), Candidate::new(&definition, &program));
    policy.grant(&caller, &tool, &["own".to_owned()]).unwrap();
    assert!(policy.names_destination(&tool, &effect, &caller) && !policy.names_destination(&tool, &effect, &Caller::default()));
}

/// "Always" saves a rule that then really matches, on whatever port.
#[test]
fn saved_rule_of_a_connection_allows_the_next_one() {
    for port in [80, 443, 8443] {
        let plan = Plan::egress(Connect::tunnel("packages.example.org", port));
        let definition = definition();
        let tool = Candidate::new(&definition, &ToolSource::BuiltIn);
        let decide = |rules: &[&str]| {
            let policy = StandardPolicy::compile(&spec(None, ExecAsk::Auto, rules), Vocabulary::of_core(haft_builtin::metas())).unwrap();
            let decision = policy.decide(&tool, Some(&plan), &Caller::default());
            let rules = policy.persistent_rules(&tool, &plan, &decision);
            (decision, rules)
        };
        let (asked, rules) = decide(&[]);
        let rule = format!("connect(domain:packages.example.org:{port} method:CONNECT)");
        assert_eq!(asked.question(), format!("network access to packages.example.org:{port} needs approval"));
        assert_eq!((asked.verdict, rules), (Verdict::Ask, Ok(vec![rule.clone()])));
        assert_eq!(decide(&[&rule]).0.verdict, Verdict::Allow, "{rule}");
    }
}

/// A server in the sandbox is no one else's: reading needs nothing, and changing what a command could change as well.
#[test]
fn request_into_the_sandbox_needs_no_network_access() {
    let (read, write) = (Access::ReadOnly, Access::WorkspaceWrite);
    for (host, method, access, verdict) in [
        ("sandbox.localhost", "GET", read, Verdict::Allow),
        ("sandbox.localhost", "POST", read, Verdict::Deny),
        ("sandbox.localhost", "POST", write, Verdict::Allow),
        ("sandbox.localhost", "CONNECT", write, Verdict::Deny),
        ("sandbox.localhost.example.org", "POST", write, Verdict::Ask),
        ("example.org", "POST", write, Verdict::Ask),
    ] {
        let mut caller = Caller::default();
        caller.access = access;
        let plan = Plan::nothing().connect(Connect::new("http", host, 8000, method));
        let definition = definition();
        let tool = Candidate::new(&definition, &ToolSource::BuiltIn);
        let decision = StandardPolicy::default().decide(&tool, Some(&plan), &caller);
        assert_eq!(decision.verdict, verdict, "{method} {host} {access}");
        assert_eq!(plan.effects()[0].is_outward(), host != "sandbox.localhost" || method == "CONNECT", "{method} {host}");
    }
}
