//! People who are asked, and what they are asked about.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use haft_contract::{
    Access, AskMode, BoxFuture, Exec, ExecSecurity, Plan, TaintPolicy,
    ports::{ApprovalAnswer, ApprovalRequest, Approver, RuleStore},
};
use haft_engine::{EngineBuilder, Event, EventSink, SessionBuilder};
use haft_policy::catalog::Vocabulary;
use haft_policy::{PolicySpec, RuleLists, StandardPolicy};
use haft_testkit::ScriptedTool;
use serde_json::{Value, json};

use crate::harness::Harness;

/// A user who gives these answers, one after the other, and then none.
#[derive(Default)]
pub(crate) struct ScriptedUser {
    answers: Mutex<VecDeque<ApprovalAnswer>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl ScriptedUser {
    pub(crate) fn saying(answers: impl IntoIterator<Item = ApprovalAnswer>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() })
    }
    pub(crate) fn asked(&self) -> Vec<ApprovalRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approver for ScriptedUser {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.asked.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

/// Remembers what it was told to keep, or cannot keep it.
pub(crate) struct ScriptedRuleStore {
    pub(crate) kept: Mutex<Vec<Vec<String>>>,
    pub(crate) says: Result<String, String>,
}

impl ScriptedRuleStore {
    pub(crate) fn saying(says: Result<&str, &str>) -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), says: says.map(str::to_owned).map_err(str::to_owned) })
    }
}

impl RuleStore for ScriptedRuleStore {
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, String>> {
        self.kept.lock().unwrap().push(rules.to_vec());
        Box::pin(async { self.says.clone() })
    }
}

/// What was told about questions, in words.
#[derive(Default)]
pub(crate) struct EventRecorder(pub(crate) Mutex<Vec<String>>);

impl EventRecorder {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl EventSink for EventRecorder {
    fn event(&self, event: &Event<'_>) {
        let line = match event {
            Event::Asked { request } => format!("asked about {} of {}", request.call.tool, request.call.id),
            Event::Answered { call, answer, .. } => format!("answered {}: {answer:?}", call.id),
            Event::NotKept { call, rules, why } => format!("not kept {}: {}: {why}", call.id, rules.join(", ")),
            Event::Started { call } => format!("started {}", call.id),
            Event::Finished { call, error, .. } => format!("finished {}: {error:?}", call.id),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

/// Runs the program that its arguments name; built in, so that it runs on the test's own clock.
pub(crate) fn runner() -> ScriptedTool {
    ScriptedTool::new("exec").returns("ran").plan(|arguments, _| {
        let words = arguments["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned());
        let words: Vec<String> = words.collect();
        let mut exec = Exec::new(PathBuf::from("/usr/bin").join(&words[0]), words[1..].to_vec(), "/workspace");
        exec.named.clone_from(&words[0]);
        Ok(Plan::nothing().exec(exec))
    })
}

pub(crate) fn argv(line: &str) -> Value {
    json!({"argv": line.split(' ').collect::<Vec<_>>()})
}

/// A policy that asks in this mode and has these rules.
pub(crate) fn policy(mode: AskMode, ask: &[&str], allow: &[String]) -> StandardPolicy {
    let mut spec = PolicySpec::default();
    spec.ask = mode;
    // So that only the mode and the rules ask.
    spec.exec.security = Some(ExecSecurity::Full);
    let listed = |rule: &str| rule.into();
    spec.rules = RuleLists {
        ask: ask.iter().copied().map(listed).collect(),
        allow: allow.iter().map(String::as_str).map(listed).collect(),
        ..RuleLists::default()
    };
    StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap()
}

/// An engine that asks about every change.
pub(crate) fn asks_about_changes(builder: EngineBuilder) -> EngineBuilder {
    builder.policy(Arc::new(policy(AskMode::Changes, &[], &[])))
}

/// A session with full access and without the guards that would ask or refuse on their own.
pub(crate) fn unguarded(builder: SessionBuilder) -> SessionBuilder {
    builder.access(Access::FullAccess).taint(TaintPolicy::Off).loop_limits(None)
}

/// How the newest call was approved, as history has it.
pub(crate) async fn approval(harness: &Harness) -> Option<String> {
    let record = harness.history().await.remove(0);
    let trace = record.decision["trace"].as_array().unwrap().clone();
    let entry = trace.iter().find(|entry| entry["step"] == "approval")?;
    assert_eq!(entry["outcome"], "pass");
    Some(entry["entry"].as_str().unwrap().to_owned())
}
