//! Every step alone, and every pair of neighbouring steps, with both outcomes.

use haft_contract::{Access, AskMode, ExecHost, ExecSecurity};
use haft_policy::{ChannelSpec, STEPS, StepOutcome, ToolLists, Verdict};

use crate::setting::{Setting, allow, at, deny, main_agent, profile, program, provider, said};

type Arrange = fn(&mut Setting);

/// A step, how it removes the tool (or asks), how it lets the tool through, and the entry of either.
struct Step {
    name: &'static str,
    remove: Arrange,
    removes_with: (StepOutcome, &'static str),
    keep: Arrange,
    keeps_with: Option<&'static str>,
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn steps() -> Vec<Step> {
    let denied = |entry| (StepOutcome::Deny, entry);
    vec![
        Step {
            name: "switched off",
            remove: |s| s.spec.disabled = vec![at("cron")],
            removes_with: denied("cron"),
            keep: |s| s.spec.disabled = vec![at("exec")],
            keeps_with: None,
        },
        Step {
            name: "profile",
            remove: |s| s.spec.tools.profiles = profile("messaging").profiles,
            removes_with: denied("not in profile messaging"),
            keep: |s| s.spec.tools.profiles = profile("coding").profiles,
            keeps_with: Some("in profile coding"),
        },
        Step {
            name: "provider profile",
            remove: |s| {
                provider(s);
                s.spec.by_provider.push(("work".into(), profile("minimal")));
            },
            removes_with: denied("not in profile minimal"),
            keep: |s| {
                provider(s);
                s.spec.by_provider.push(("work".into(), profile("full")));
            },
            keeps_with: Some("in profile full"),
        },
        Step {
            name: "global",
            remove: |s| s.spec.tools.deny = deny(&["group:automation"]).deny,
            removes_with: denied("deny group:automation"),
            keep: |s| s.spec.tools.allow = allow(&["c*"]).allow,
            keeps_with: Some("allow c*"),
        },
        Step {
            name: "global per provider",
            remove: |s| {
                provider(s);
                s.spec.by_provider.push(("work/big".into(), deny(&["cron"])));
            },
            removes_with: denied("deny cron"),
            keep: |s| {
                provider(s);
                s.spec.by_provider.push(("work/big".into(), allow(&["cron"])));
            },
            keeps_with: Some("allow cron"),
        },
        Step {
            name: "agent",
            remove: |s| main_agent(s).tools = allow(&["exec"]),
            removes_with: denied("not in agents.main.tools.allow"),
            keep: |s| main_agent(s).tools = allow(&["Cron"]),
            keeps_with: Some("allow Cron"),
        },
        Step {
            name: "agent per provider",
            remove: |s| {
                provider(s);
                main_agent(s).by_provider = vec![("WORK".into(), deny(&["*"]))];
            },
            removes_with: denied("deny *"),
            keep: |s| {
                provider(s);
                main_agent(s).by_provider = vec![("WORK".into(), allow(&["*"]))];
            },
            keeps_with: Some("allow *"),
        },
        Step {
            name: "group",
            remove: |s| {
                s.caller.channel = Some("telegram:-100".into());
                s.spec.channels.push(("telegram".into(), ChannelSpec { tools: deny(&["cron"]), ..ChannelSpec::default() }));
            },
            removes_with: denied("deny cron"),
            keep: |s| {
                s.caller.channel = Some("telegram:-100".into());
                s.spec.channels.push(("telegram".into(), ChannelSpec { tools: allow(&["cron"]), ..ChannelSpec::default() }));
            },
            keeps_with: Some("allow cron"),
        },
        Step {
            name: "sandbox",
            remove: |s| s.caller.sandboxed = true,
            removes_with: denied("deny cron (built-in default)"),
            keep: |s| {
                s.caller.sandboxed = true;
                s.spec.sandbox = ToolLists { allow: allow(&["cron"]).allow, ..deny(&["browser"]) };
            },
            keeps_with: Some("allow cron"),
        },
        Step {
            name: "sub-agent",
            remove: |s| s.caller.depth = 1,
            removes_with: denied("not for sub-agents by default"),
            keep: |s| {
                s.caller.depth = 1;
                s.spec.subagents.also_allow = vec![at("cron")];
            },
            keeps_with: Some("named in subagents.tools"),
        },
        Step {
            name: "owner-only",
            remove: |s| s.caller.owner = false,
            removes_with: denied("the sender is not the owner"),
            keep: |s| s.caller.owner = true,
            keeps_with: Some("the sender is the owner"),
        },
        Step {
            name: "access level",
            remove: |s| s.caller.access = Access::ReadOnly,
            removes_with: denied("write needs workspace-write, the session has read-only"),
            keep: |s| s.caller.access = Access::WorkspaceWrite,
            keeps_with: Some("needs workspace-write"),
        },
        Step {
            name: "rules",
            remove: |s| s.spec.rules.deny = vec![at("write(docs/**)"), at("exec(make)")],
            removes_with: denied("deny write(docs/**)"),
            keep: |s| s.spec.rules.allow = vec![at("cron")],
            keeps_with: Some("allow cron"),
        },
        Step {
            name: "exec",
            remove: |s| {
                s.program = Some(program("make all", ExecHost::Sandbox));
                s.spec.exec.security = Some(ExecSecurity::SafeBin);
            },
            removes_with: (StepOutcome::Ask, "no rule allows 'make' (exec.security = \"safe-bin\")"),
            keep: |s| s.program = Some(program("make all", ExecHost::Sandbox)),
            keeps_with: Some("in the sandbox any program runs (host:sandbox)"),
        },
        Step {
            name: "asking",
            remove: |s| s.spec.ask = AskMode::Changes,
            removes_with: (StepOutcome::Ask, "every change is asked about (ask = \"changes\"): write"),
            keep: |s| s.spec.ask = AskMode::Rules,
            keeps_with: None,
        },
    ]
}

fn verdict_of(outcome: StepOutcome) -> Verdict {
    match outcome {
        StepOutcome::Pass => Verdict::Allow,
        StepOutcome::Ask => Verdict::Ask,
        StepOutcome::Deny => Verdict::Deny,
    }
}

#[test]
fn the_table_covers_every_step_in_order() {
    assert_eq!(steps().iter().map(|step| step.name).collect::<Vec<_>>(), STEPS);
}

#[test]
fn each_step_alone_removes_and_keeps() {
    for step in steps() {
        let mut removed = Setting::new();
        (step.remove)(&mut removed);
        let decision = removed.decide();
        let (outcome, entry) = step.removes_with;
        assert_eq!(decision.verdict, verdict_of(outcome), "{}", step.name);
        assert!(said(&decision, step.name).contains(&(outcome, entry.to_owned())), "{}: {:?}", step.name, decision.trace);

        let mut kept = Setting::new();
        (step.keep)(&mut kept);
        let decision = kept.decide();
        assert_eq!((decision.verdict, decision.denial()), (Verdict::Allow, None), "{}", step.name);
        let passed = step.keeps_with.map(|entry| (StepOutcome::Pass, entry.to_owned()));
        assert_eq!(said(&decision, step.name).into_iter().next(), passed, "{}", step.name);
    }
}

#[test]
fn neighbouring_steps_add_up_and_the_earlier_one_is_told() {
    let steps = steps();
    for pair in steps.windows(2) {
        let (first, second) = (&pair[0], &pair[1]);
        for (first_removes, second_removes) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut setting = Setting::new();
            (if first_removes { first.remove } else { first.keep })(&mut setting);
            (if second_removes { second.remove } else { second.keep })(&mut setting);
            let decision = setting.decide();
            // The one thing that a step gives: an allow rule answers the question that comes after it.
            let second_removes = second_removes && (first_removes || first.name != "rules");
            let expected = [(first_removes, first), (second_removes, second)]
                .into_iter()
                .map(|(removes, step)| if removes { verdict_of(step.removes_with.0) } else { Verdict::Allow })
                .max();
            let names = format!("{} {first_removes}, {} {second_removes}", first.name, second.name);
            assert_eq!(Some(decision.verdict), expected, "{names}: {:?}", decision.trace);
            let blamed = decision.trace.iter().find(|entry| entry.outcome != StepOutcome::Pass).map(|entry| entry.step);
            let earliest = if first_removes { Some(first.name) } else { second_removes.then_some(second.name) };
            assert_eq!(blamed, earliest, "{names}");
        }
    }
}
