//! `haft policy simulate`: evaluates recorded calls with the current policy.

use std::collections::BTreeMap;

use haft_contract::Arguments;
use haft_engine::{Explanation, HOOK, Session};
use haft_policy::{Sender, Verdict};
use haft_store::{CallFilter, CallLog, CallRecord};
use haft_text::display;
use serde_json::{Value, json};

use crate::arguments::Common;
use crate::commands::block_on;
use crate::commands::explain::because;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::table::{ColumnFit, Table, TableCell};
use crate::text_builder::TextBuilder;
use crate::wire::{self, Explainer, Wire};

/// Calls that would get another verdict; equal ones are counted together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct VerdictChange {
    tool: String,
    target: String,
    was: String,
    now: String,
    because: String,
}

/// The result of a simulation.
#[derive(Debug, Default)]
pub(crate) struct Simulation {
    differences: BTreeMap<VerdictChange, usize>,
    same: usize,
    /// Calls with too little recorded, or whose tool or agent is gone.
    unknown: usize,
}

pub(super) fn run(common: &Common, limit: u32, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let simulation = block_on(async {
        let log = wire::store(&wire.settings.data_folder)?;
        simulate(&wire, &*log, limit as usize).await
    })?;
    output.show(|| simulation.to_json(), || simulation.in_words(output.width))
}

/// Evaluates the newest calls of the workspace.
pub(crate) async fn simulate(wire: &Wire, log: &dyn CallLog, limit: usize) -> Result<Simulation, Failure> {
    let explainer = wire.explainer()?;
    let records = log.list(CallFilter::default()).await?;
    let here = records.iter().filter(|record| record.workspace == wire.settings.workspace).take(limit);
    let mut simulation = Simulation::default();
    for record in here {
        simulation.add(&explainer, record, wire).await;
    }
    Ok(simulation)
}

/// The recorded verdict without its session: taint, hooks and session grants.
fn recorded_verdict(decision: &Value) -> Option<&'static str> {
    let trace = decision["trace"].as_array().map_or(&[][..], Vec::as_slice);
    let of_session = |entry: &Value| matches!(entry["step"].as_str(), Some("taint guard" | HOOK));
    let granted = |entry: &Value| entry["entry"].as_str().is_some_and(|entry| entry.starts_with("allowed for this session"));
    let all = [Verdict::Allow, Verdict::Ask, Verdict::Deny];
    let recorded = all.into_iter().find(|verdict| decision["verdict"] == verdict.as_str())?;
    if !trace.iter().any(|entry| of_session(entry) || granted(entry)) {
        return Some(recorded.as_str());
    }
    let outcome = |entry: &Value| match entry["outcome"].as_str() {
        _ if granted(entry) => Verdict::Ask,
        Some("deny") => Verdict::Deny,
        Some("ask") => Verdict::Ask,
        _ => Verdict::Allow,
    };
    let rest: Vec<&Value> = trace.iter().filter(|entry| !of_session(entry)).collect();
    let asked = rest.iter().any(|entry| outcome(entry) == Verdict::Ask);
    // With `ask = "never"` a question is a denial; without the question there is none.
    let denied_question = |entry: &Value| entry["step"] == "asking" && !asked;
    Some(rest.into_iter().filter(|entry| !denied_question(entry)).map(outcome).max().unwrap_or(Verdict::Allow).as_str())
}

/// Decides a recorded call again, for the caller that it had. Fails if its tool or its agent is gone.
pub(crate) async fn decide_again(explainer: &Explainer<'_>, record: &CallRecord) -> Result<Explanation, Failure> {
    let session = recorded_session(explainer, record)?;
    // A tool that was not offered has no recorded arguments.
    let arguments = Some(&record.arguments).filter(|arguments| !arguments.is_null()).cloned().map(Arguments::Json);
    Ok(explainer.engine.explain(&record.tool, arguments, &session).await?)
}

/// The session of a recorded call; an error if its agent is gone.
fn recorded_session(explainer: &Explainer<'_>, record: &CallRecord) -> Result<Session, Failure> {
    let caller = &record.decision["caller"];
    let text = |name: &str| caller[name].as_str().map(str::to_owned);
    let mut session = explainer.builder(Some(&record.agent))?;
    session = session.depth(caller["depth"].as_u64().and_then(|depth| u32::try_from(depth).ok()).unwrap_or_default());
    if let Some(provider) = text("provider") {
        session = session.model(provider, text("model"));
    }
    if let Some(channel) = text("channel") {
        session = session.channel(channel);
    }
    if caller["sender"].is_object() {
        let part = |kind: &str| caller["sender"][kind].as_str().map(str::to_owned);
        session = session.sender(Sender { id: part("id"), e164: part("e164"), username: part("username"), name: part("name") });
    }
    session = if caller["sandboxed"] == true { session.sandboxed() } else { session };
    Ok(if caller["owner"] == false { session.guest() } else { session }.build())
}

impl Simulation {
    async fn add(&mut self, explainer: &Explainer<'_>, record: &CallRecord, wire: &Wire) {
        let (Some(was), Ok(explanation)) = (recorded_verdict(&record.decision), decide_again(explainer, record).await) else {
            self.unknown += 1;
            return;
        };
        let now = explanation.verdict.as_str();
        if was == now {
            self.same += 1;
            return;
        }
        let target = effects::all(&record.effects).first().map(|effect| effects::describe(effect, &wire.settings.workspace).1);
        let difference = VerdictChange {
            tool: record.tool.clone(),
            target: target.unwrap_or_default(),
            was: was.to_owned(),
            now: now.to_owned(),
            because: because(&explanation.trace),
        };
        *self.differences.entry(difference).or_default() += 1;
    }

    fn in_words(&self, width: Option<usize>) -> String {
        let mut page = TextBuilder::default();
        if !self.differences.is_empty() {
            let columns = [
                ("CALLS", ColumnFit::Keep),
                ("TOOL", ColumnFit::Keep),
                ("WHAT", ColumnFit::Wrap),
                ("WAS", ColumnFit::Keep),
                ("NOW", ColumnFit::Keep),
                ("BECAUSE", ColumnFit::Wrap),
            ];
            let mut table = Table::new(&columns);
            for (difference, count) in &self.differences {
                let (count, target) = (count.to_string(), display::escape_line(&difference.target));
                let texts = [count.as_str(), &difference.tool, &target, &difference.was, &difference.now, &difference.because];
                table.row(texts.into_iter().map(TableCell::new).collect());
            }
            page.text(&table.render(width));
            page.line("");
        }
        let changed: usize = self.differences.values().sum();
        page.line(format_args!("{changed} of {} calls would get another verdict", changed + self.same + self.unknown));
        if self.unknown > 0 {
            page.line(format_args!(
                "{} could not be evaluated: too little of them is recorded, or the tool or the agent is gone",
                self.unknown
            ));
        }
        page.finish()
    }

    pub(crate) fn to_json(&self) -> Value {
        let difference = |(difference, count): (&VerdictChange, &usize)| {
            let VerdictChange { tool, target, was, now, because } = difference;
            json!({ "tool": tool, "target": target, "was": was, "now": now, "because": because, "calls": count })
        };
        json!({ "differences": self.differences.iter().map(difference).collect::<Vec<_>>(), "same": self.same, "unknown": self.unknown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_checked_again_does_not_count() {
        let step = |step: &str, outcome: &str, entry: &str| json!({"step": step, "outcome": outcome, "entry": entry});
        let (tainted, hooked) = (step("taint guard", "ask", "x"), step("hook", "ask", "x"));
        let stands = step("asking", "pass", "allowed for this session: exec(ls)");
        let never_asked = step("asking", "deny", "nobody is asked (ask = \"never\")");
        let (rule, access) = (step("rules", "ask", "x"), step("access level", "deny", "x"));
        for (verdict, trace, expected) in [
            ("allow", vec![], "allow"),
            ("ask", vec![&rule], "ask"),
            ("ask", vec![&tainted], "allow"),
            ("ask", vec![&hooked, &rule], "ask"),
            ("deny", vec![&hooked, &access], "deny"),
            ("deny", vec![&tainted, &never_asked], "allow"),
            ("deny", vec![&tainted, &rule, &never_asked], "deny"),
            ("deny", vec![&rule, &never_asked], "deny"),
            ("allow", vec![&stands], "ask"),
        ] {
            assert_eq!(recorded_verdict(&json!({"verdict": verdict, "trace": trace})), Some(expected), "{verdict} {trace:?}");
        }
        assert_eq!(recorded_verdict(&json!({})), None);
    }
}
