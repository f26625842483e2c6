//! What a decision costs: 200 rules, 60 tools, beside a bare hash lookup in the same run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

mod measure;

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use haft::catalog::{NOT_BUILT_YET, Vocabulary};
use haft::{
    AgentSpec, AllowList, Caller, Candidate, Connect, Exec, ListEntry, Location, Plan, Policy, PolicySpec, StandardPolicy, ToolDefinition,
    ToolSource, Zone, names,
};
use serde_json::json;

use crate::measure::{head, median, row, time};

const TOOLS: usize = 60;
const RULES: usize = 200;

fn main() {
    head();
    let definitions = definitions();
    let candidates: Vec<Candidate<'_>> = definitions.iter().map(|(definition, source)| Candidate::new(definition, source)).collect();
    let policy = compile(&definitions);
    let caller = caller();
    let table: HashMap<String, u32> =
        (0..).zip(&definitions).map(|(place, (definition, _))| (names(definition)[0].clone(), place)).collect();
    let lookup = median(|| time(200_000, || assert!(black_box(table.get(black_box("read_file"))).is_some())));

    for (what, tool, plan) in plans() {
        let candidate = candidates.iter().find(|candidate| candidate.name() == tool).expect("a tool of the list");
        let ours = median(|| time(20_000, || drop(black_box(policy.decide(black_box(candidate), Some(&plan), &caller)))));
        row(&format!("decide: {what}"), ours, lookup, "one hash lookup");
    }
    let listing = median(|| {
        time(200, || {
            for candidate in &candidates {
                drop(black_box(policy.offer(candidate, &caller)));
            }
        })
    });
    row(&format!("list {TOOLS} tools for an agent"), listing, lookup * u32::try_from(TOOLS).expect("small"), "as many hash lookups");
    let compiling = median(|| time(20, || drop(black_box(compile(&definitions)))));
    row(&format!("compile {RULES} rules and the lists"), compiling, lookup, "one hash lookup; once per configuration");
}

/// The tools of Haft, built or not, and tools of a server up to [`TOOLS`].
fn definitions() -> Vec<(ToolDefinition, ToolSource)> {
    let core = haft::builtin::metas().chain(NOT_BUILT_YET);
    let core = core.map(|meta| (ToolDefinition::from_meta(meta, json!({"type": "object"})), ToolSource::BuiltIn));
    let served = (0..).map(|number| {
        let definition = ToolDefinition::new(format!("mcp__files__tool_{number}"), "Does something.", json!({"type": "object"}));
        (definition, ToolSource::Mcp("files".into()))
    });
    core.chain(served).take(TOOLS).collect()
}

fn compile(definitions: &[(ToolDefinition, ToolSource)]) -> StandardPolicy {
    let mut spec = PolicySpec::default();
    spec.tools.profiles = vec!["coding".into()];
    spec.tools.also_allow = vec!["group:web".into(), "group:mcp".into()];
    spec.tools.deny = vec!["powershell".into(), "browser".into()];
    let agent = AgentSpec { tools: haft::ToolLists { allow: vec![AllowList::from(["*"])], ..Default::default() }, ..AgentSpec::default() };
    spec.agents = vec![("coder".into(), agent)];
    spec.by_provider = vec![("work".into(), haft::ToolLists { deny: vec!["tts".into()], ..Default::default() })];
    let rule = |number: usize| -> ListEntry {
        match number % 5 {
            0 => format!("exec(git sub{number} *)"),
            1 => format!("write_file(docs/part{number}/**)"),
            2 => format!("read(~/private{number}/**)"),
            3 => format!("web_fetch(domain:*.host{number}.example)"),
            _ => format!("mcp__files__tool_{}", number % 10),
        }
        .as_str()
        .into()
    };
    spec.rules.deny = (0..RULES / 4).map(rule).filter(|rule| !rule.pattern.starts_with("mcp")).collect();
    spec.rules.ask = (RULES / 4..RULES / 2).map(rule).collect();
    spec.rules.allow = (RULES / 2..RULES + RULES / 20).map(rule).collect();
    spec.home = Some("/home/user".into());
    let vocabulary = Vocabulary::default().with(definitions.iter().map(|(definition, source)| (definition, source)));
    StandardPolicy::compile(&spec, vocabulary).expect("rules that can be read")
}

fn caller() -> Caller {
    let mut caller = Caller::default();
    (caller.agent, caller.provider, caller.model) = ("coder".into(), Some("work".into()), Some("qwen3".into()));
    caller.access = haft::Access::FullAccess;
    caller
}

fn plans() -> [(&'static str, &'static str, Plan); 4] {
    let place = |name: &str| Location::new(name.into(), format!("/ws/{name}").into(), name.into(), Zone::Workspace, Arc::new(()));
    let mut exec = Exec::new("/usr/bin/git", vec!["status".into(), "--short".into()], "/ws");
    exec.named = "git".into();
    [
        ("read a file", "read_file", Plan::nothing().read(place("src/main.rs"))),
        ("write a file", "write_file", Plan::nothing().write(place("docs/part151/page.md"))),
        ("run a program", "exec", Plan::nothing().exec(exec)),
        ("fetch a page", "web_fetch", Plan::nothing().connect(Connect::new("https", "www.host103.example", 443, "GET"))),
    ]
}
