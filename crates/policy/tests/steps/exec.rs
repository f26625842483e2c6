//! Which programs run without approval.

use haft_contract::{
    Access, AskMode, ChangeSet, Exec, ExecAsk, ExecHost, ExecNature, ExecSecurity, Location, Plan, ToolDefinition, ToolSource, Zone,
};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Caller, Candidate, Decision, ExecSpec, Policy, PolicySpec, StandardPolicy, StepOutcome, Verdict};
use serde_json::json;

use crate::setting::{advice, at, line, program, said};

pub(crate) const HOST: ExecHost = ExecHost::Host;
pub(crate) const SANDBOX: ExecHost = ExecHost::Sandbox;
const SECURITIES: [Option<ExecSecurity>; 4] = [None, Some(ExecSecurity::Full), Some(ExecSecurity::SafeBin), Some(ExecSecurity::Paranoid)];
const ASKS: [ExecAsk; 3] = [ExecAsk::Auto, ExecAsk::Smart, ExecAsk::Always];

/// Settings of lines 3 and 4.
pub(crate) fn spec(security: Option<ExecSecurity>, ask: ExecAsk, allow: &[&str]) -> PolicySpec {
    let mut spec = PolicySpec::default();
    let security_span = security.map(|_| line(3)).unwrap_or_default();
    spec.exec = ExecSpec { security, security_span, ask, ask_span: line(4), ..ExecSpec::default() };
    spec.rules.allow = allow.iter().map(|rule| at(rule)).collect();
    spec
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition::new("exec", "Runs.", json!({"type": "object"}))
}

fn decide(spec: &PolicySpec, programs: &[Exec]) -> Decision {
    let mut caller = Caller::default();
    caller.access = Access::FullAccess;
    decide_for(spec, programs, &caller)
}

fn decide_for(spec: &PolicySpec, programs: &[Exec], caller: &Caller) -> Decision {
    let policy = StandardPolicy::compile(spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
    policy.decide(&Candidate::new(&definition(), &ToolSource::BuiltIn), Some(&plan(programs)), caller)
}

pub(crate) fn plan(programs: &[Exec]) -> Plan {
    programs.iter().fold(Plan::nothing(), |plan, exec| plan.exec(exec.clone()))
}

fn of_nature(line: &str, host: ExecHost, nature: ExecNature) -> Exec {
    let mut exec = program(line, host);
    exec.nature = nature;
    exec
}

#[test]
fn a_call_that_wants_the_user_to_be_asked_needs_no_more_access_and_nothing_answers_for_them() {
    let mut caller = Caller::default();
    caller.access = Access::WorkspaceWrite;
    caller.grants.add(&["exec(cargo test *)".to_owned()], &Vocabulary::of_core(haft_builtin::metas()), None).unwrap();
    let policy =
        StandardPolicy::compile(&spec(None, ExecAsk::Auto, &["exec(cargo test *)"]), Vocabulary::of_core(haft_builtin::metas())).unwrap();
    let decide = |plan: Plan| policy.decide(&Candidate::new(&definition(), &ToolSource::BuiltIn), Some(&plan), &caller);
    let plan = plan(&[program("cargo test", SANDBOX)]);
    assert_eq!(decide(plan.clone()).verdict, Verdict::Allow);
    let decision = decide(plan.require_approval("the call wants it"));
    let asked = decision.trace.iter().filter(|entry| entry.outcome == StepOutcome::Ask).map(|entry| entry.entry.to_string());
    assert_eq!((decision.verdict, asked.collect::<Vec<_>>()), (Verdict::Ask, vec!["the call wants it".to_owned()]));
}

#[test]
fn every_mode_of_both_kinds_meets_every_kind_of_program() {
    use ExecSecurity::{Full, Paranoid, SafeBin};
    use Verdict::{Allow, Ask, Deny};
    let unknown = |host| program("make all", host);
    let filters = |host| of_nature("grep x", host, ExecNature::Filters);
    let reads = |host| of_nature("cat notes", host, ExecNature::Reads);
    let ruled = |host| program("cargo test", host);
    // Verdicts for auto, smart and always.
    for (security, exec, expected) in [
        (None, unknown(SANDBOX), [Allow, Allow, Ask]),
        (None, unknown(ExecHost::Container), [Allow, Allow, Ask]),
        (None, unknown(HOST), [Deny, Ask, Ask]),
        (None, unknown(ExecHost::Node), [Deny, Ask, Ask]),
        (None, filters(HOST), [Allow, Allow, Ask]),
        (None, ruled(HOST), [Allow, Allow, Ask]),
        (Some(Full), unknown(HOST), [Allow, Allow, Ask]),
        (Some(Full), unknown(SANDBOX), [Allow, Allow, Ask]),
        (Some(SafeBin), unknown(SANDBOX), [Deny, Ask, Ask]),
        (Some(SafeBin), reads(SANDBOX), [Deny, Ask, Ask]),
        (Some(SafeBin), filters(HOST), [Allow, Allow, Ask]),
        (Some(SafeBin), ruled(SANDBOX), [Allow, Allow, Ask]),
        (Some(Paranoid), filters(SANDBOX), [Deny, Ask, Ask]),
        (Some(Paranoid), ruled(HOST), [Deny, Ask, Ask]),
    ] {
        let verdicts = ASKS.map(|ask| decide(&spec(security, ask, &["exec(cargo test *)"]), std::slice::from_ref(&exec)).verdict);
        assert_eq!(verdicts, expected, "{security:?}: {} on {:?}", exec.named, exec.host);
    }
}

#[test]
fn the_trace_says_why_and_where_that_stands() {
    use ExecSecurity::{Full, Paranoid, SafeBin};
    let filter = of_nature("grep x", HOST, ExecNature::Filters);
    let make = || program("make all", HOST);
    let passes = |entry: &str| (StepOutcome::Pass, entry.to_owned());
    let asks = |entry: &str| (StepOutcome::Ask, entry.to_owned());
    for (security, ask, exec, expected, span) in [
        (None, ExecAsk::Smart, program("make", SANDBOX), passes("in the sandbox any program runs (host:sandbox)"), None),
        (None, ExecAsk::Smart, make(), asks("no rule allows 'make' (nothing holds it back on host:host)"), None),
        (Some(Full), ExecAsk::Smart, make(), passes("any program runs (exec.security = \"full\")"), Some(3)),
        (Some(SafeBin), ExecAsk::Smart, make(), asks("no rule allows 'make' (exec.security = \"safe-bin\")"), Some(3)),
        (Some(SafeBin), ExecAsk::Smart, filter, passes("'grep' only filters its input"), Some(3)),
        (Some(SafeBin), ExecAsk::Smart, program("cargo test", HOST), passes("allowed by the rule 'exec(cargo test *)'"), Some(3)),
        (Some(Paranoid), ExecAsk::Smart, make(), asks("every program needs approval (exec.security = \"paranoid\"): make"), Some(3)),
        (Some(Full), ExecAsk::Always, make(), asks("every program is asked about (exec.ask = \"always\"): make"), Some(4)),
        (
            Some(SafeBin),
            ExecAsk::Auto,
            make(),
            (
                StepOutcome::Deny,
                "no rule allows 'make' (exec.security = \"safe-bin\"), and nobody is asked (exec.ask = \"auto\")".to_owned(),
            ),
            Some(4),
        ),
    ] {
        let decision = decide(&spec(security, ask, &["exec(cargo test *)"]), &[exec]);
        assert_eq!(said(&decision, "exec"), std::slice::from_ref(&expected));
        let entry = decision.trace.iter().find(|entry| entry.step == "exec").unwrap();
        assert_eq!((entry.line, entry.file.is_some()), (span, span.is_some()), "{expected:?}");
    }
}

#[test]
fn a_refusal_teaches_the_rule_that_would_allow_it() {
    let told = |security, exec: Exec| {
        let decision = decide(&spec(security, ExecAsk::Auto, &[]), &[exec]);
        (decision.denial().unwrap().message.clone(), advice(&decision))
    };
    let nobody = "Nobody is asked (exec.ask = \"auto\"): do without it, or tell the user what you need.";
    assert_eq!(
        told(None, program("make all", HOST)),
        (
            format!(
                "'exec' may not run 'make': only programs run here that filter their input, or that a rule allows (nothing holds it back \
                 on host:host). Only the user can add the rule 'exec(make all)' to rules.allow. {nobody}"
            ),
            vec!["add 'exec(make all)' to rules.allow".to_owned()]
        )
    );
    assert_eq!(
        told(Some(ExecSecurity::SafeBin), program("bash x.sh", HOST)),
        (
            format!(
                "'exec' may not run 'bash': only programs run here that filter their input, or that a rule allows (exec.security = \
                 \"safe-bin\"), and no rule could say so: 'bash' runs other programs, so only this once. {nobody}"
            ),
            vec!["set exec.ask = \"smart\" (config.toml:4)".to_owned()]
        )
    );
    assert_eq!(
        told(Some(ExecSecurity::Paranoid), program("ls", SANDBOX)),
        (
            format!("'exec' may not run 'ls': no program runs here without approval (exec.security = \"paranoid\"). {nobody}"),
            vec!["set exec.ask = \"smart\" (config.toml:4)".to_owned()]
        )
    );
    let taught = decide(&spec(None, ExecAsk::Auto, &["exec(make all)"]), &[program("make all", HOST)]);
    assert_eq!(taught.verdict, Verdict::Allow, "what it teaches is enough");
}

#[test]
fn an_answer_for_good_answers_what_a_rule_can_answer() {
    let persistent_rules = |security, ask, line: &str| {
        let spec = spec(security, ask, &[]);
        let policy = StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
        let programs = [program(line, HOST)];
        let decision = decide(&spec, &programs);
        (
            policy.persistent_rules(&Candidate::new(&definition(), &ToolSource::BuiltIn), &plan(&programs), &decision),
            decision.to_stop_asking,
        )
    };
    let (rules, changes) = persistent_rules(None, ExecAsk::Smart, "make all");
    assert_eq!(rules, Ok(vec!["exec(make all)".to_owned()]));
    assert_eq!(changes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["set exec.security = \"full\""]);
    for (security, ask, change) in [
        (Some(ExecSecurity::Paranoid), ExecAsk::Smart, "set exec.security = \"safe-bin\" (config.toml:3)"),
        (None, ExecAsk::Always, "set exec.ask = \"smart\" (config.toml:4)"),
    ] {
        let (rules, changes) = persistent_rules(security, ask, "make all");
        assert_eq!(rules, Err("an ask rule, a setting or tainted data asks, which only the user can answer each time".into()));
        assert_eq!(changes.iter().map(ToString::to_string).collect::<Vec<_>>(), [change]);
    }
    let mut caller = Caller::default();
    caller.access = Access::FullAccess;
    caller.grants.add(&["exec(make all)".to_owned()], &Vocabulary::of_core(haft_builtin::metas()), None).unwrap();
    let decision = decide_for(&spec(None, ExecAsk::Smart, &[]), &[program("make all", HOST)], &caller);
    assert_eq!(said(&decision, "exec"), [(StepOutcome::Pass, "allowed by what was said for this session: exec(make all)".to_owned())]);
    assert_eq!(decision.verdict, Verdict::Allow);
}

/// A line runs as many programs as it names, and each must be fine.
#[test]
fn one_program_too_many_is_enough() {
    let spec = spec(Some(ExecSecurity::SafeBin), ExecAsk::Smart, &["exec(cargo test *)"]);
    let (fine, filter) = (program("cargo test", HOST), of_nature("grep x", HOST, ExecNature::Filters));
    assert_eq!(decide(&spec, &[fine.clone(), filter.clone()]).verdict, Verdict::Allow);
    let decision = decide(&spec, &[fine, program("curl x", HOST), filter]);
    assert_eq!((decision.verdict, decision.asks.len()), (Verdict::Ask, 1));
}

#[test]
fn other_rules_and_modes_hold_beside_it() {
    let make = || [program("make all", HOST)];
    let mut denied = spec(Some(ExecSecurity::Full), ExecAsk::Smart, &[]);
    denied.rules.deny = vec![at("exec(make *)")];
    assert_eq!(decide(&denied, &make()).verdict, Verdict::Deny, "full lifts no rule");
    let mut asked = spec(None, ExecAsk::Smart, &[]);
    asked.rules.ask = vec![at("exec(make *)")];
    let decision = decide(&asked, &make());
    assert_eq!((decision.verdict, decision.asks.len(), said(&decision, "exec")), (Verdict::Ask, 1, vec![]), "one question is enough");
    asked.exec.ask = ExecAsk::Auto;
    assert_eq!(decide(&asked, &make()).verdict, Verdict::Deny, "a rule that asks does not lift a refusal");
    asked.rules.allow = vec![at("exec(make all)")];
    assert_eq!(decide(&asked, &make()).verdict, Verdict::Ask, "allowed here, and asked by the rule");
    let mut changes = spec(None, ExecAsk::Smart, &[]);
    changes.ask = AskMode::Changes;
    assert_eq!(decide(&changes, &make()).asks.len(), 1, "one question is enough");
    changes.ask = AskMode::Never;
    assert_eq!(decide(&changes, &make()).verdict, Verdict::Deny, "where nobody is asked, a question is a denial");
}

#[test]
fn a_stricter_mode_never_gives_more() {
    let programs = [
        program("make all", HOST),
        program("make all", SANDBOX),
        program("cargo test", HOST),
        of_nature("grep x", HOST, ExecNature::Filters),
        of_nature("ls $x", HOST, ExecNature::Expanded),
    ];
    for exec in &programs {
        let verdict = |security, ask| decide(&spec(security, ask, &["exec(cargo test *)"]), std::slice::from_ref(exec)).verdict;
        for ask in ASKS {
            let stricter = SECURITIES.map(|security| verdict(security, ask));
            assert!(stricter[1..].is_sorted(), "{ask:?} {}: {stricter:?}", exec.named);
            assert!(stricter[0] >= stricter[1] && stricter[0] <= stricter[2], "{ask:?} {}: {stricter:?}", exec.named);
        }
        for security in SECURITIES {
            assert!(verdict(security, ExecAsk::Smart) <= verdict(security, ExecAsk::Always), "{security:?} {}", exec.named);
            assert!(verdict(security, ExecAsk::Smart) <= verdict(security, ExecAsk::Auto), "{security:?} {}", exec.named);
        }
    }
}

/// Staged changes: with `review` the user decides, whatever else would allow it.
#[test]
fn commit_under_review_is_decided_by_the_user() {
    let set = ChangeSet {
        id: "chg-1".into(),
        session: String::new(),
        workspace: "/w".into(),
        command: "make".into(),
        made: std::time::SystemTime::UNIX_EPOCH,
        changes: Vec::new(),
        refused: None,
    };
    let at = Location::new("a".into(), "/w/a".into(), "a".into(), Zone::Workspace, std::sync::Arc::new(()));
    let write = Plan::nothing().write(at);
    let commit = write.clone().commits(set.into());
    let entry = "the user decides about what commands change (exec.changes = \"review\")";
    for (review, plan, access, expected) in [
        (false, &commit, Access::WorkspaceWrite, Verdict::Allow),
        (true, &write, Access::WorkspaceWrite, Verdict::Allow),
        (true, &commit, Access::WorkspaceWrite, Verdict::Ask),
        (true, &commit, Access::FullAccess, Verdict::Ask),
        (true, &commit, Access::ReadOnly, Verdict::Deny),
    ] {
        let mut spec = spec(None, ExecAsk::Smart, &["write(**)"]);
        (spec.exec.review, spec.exec.review_span) = (review, line(5));
        let mut caller = Caller::default();
        caller.access = access;
        let policy = StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
        let decision = policy.decide(&Candidate::new(&definition(), &ToolSource::BuiltIn), Some(plan), &caller);
        assert_eq!(decision.verdict, expected, "{review} {access}");
        let asked: Vec<_> = decision.trace.iter().filter(|said| said.step == "exec").map(|said| (&*said.entry, said.line)).collect();
        let is_asked = review && plan.committed().is_some();
        assert_eq!(asked, if is_asked { vec![(entry, Some(5))] } else { vec![] });
    }
}
