//! From a plan's effects to a verdict: the access level, then the rules, then whether a person is asked.

use haft_contract::{Access, Effect, ErrorKind, Need, Plan, Zone};

use crate::{About, AskMode, Caller, Candidate, Change, Decision, Hit, Refusal, RuleKind, RuleSet};

/// Everything that a plan is judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) tool: &'a Candidate<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) caller: &'a Caller,
    pub(crate) rules: &'a RuleSet,
    pub(crate) ask: AskMode,
}

/// Judges every effect; the strictest outcome counts, so a plan that does several things must satisfy each of them.
pub(crate) fn judge(decision: &mut Decision, case: Case<'_>) {
    if case.plan.effects().is_empty() {
        return case.nothing_named(decision);
    }
    for (index, effect) in case.plan.effects().iter().enumerate() {
        case.effect(decision, index, effect);
    }
}

impl Case<'_> {
    /// A tool that says nothing of its effects is taken at its word about its access.
    fn nothing_named(&self, decision: &mut Decision) {
        let covered = self.rules.on_tool(self.tool).is_some_and(|hit| hit.rule.kind() == RuleKind::Allow);
        self.reach(
            decision,
            About::Tool,
            None,
            self.tool.definition.access,
            covered || self.caller.standing.allows_tool(self.tool).is_some(),
        );
        let changes = self.tool.definition.access > Access::ReadOnly;
        let asks = self.ask == AskMode::Always || self.ask == AskMode::Changes && changes;
        if !asks {
            return;
        }
        if let Some(hit) = self.rules.on_tool(self.tool).filter(|hit| hit.rule.kind() == RuleKind::Allow) {
            return allowed(decision, hit);
        }
        match self.caller.standing.allows_tool(self.tool) {
            Some(rule) => decision.pass("asking", format!("allowed for this session: {rule}")),
            None => decision.ask_about(About::Tool, "asking", asked_always(self.ask, self.tool.name())),
        }
    }

    fn effect(&self, decision: &mut Decision, index: usize, effect: &Effect) {
        let hit = self.rules.on_effect(self.tool, effect);
        let standing = self.caller.standing.allows_effect(self.tool, effect);
        let covered = standing.is_some() || hit.is_some_and(|hit| hit.rule.kind() == RuleKind::Allow);
        match effect.need() {
            Need::Never(kind, why) => decision.deny("access level", effect.kind(), never(kind, &why)),
            Need::Access(needed) => self.reach(decision, About::Effect(index), Some(effect), needed, covered),
        }
        match hit.map(|hit| (hit, hit.rule.kind())) {
            Some((hit, RuleKind::Deny)) => return self.denied(decision, effect, hit),
            Some((hit, RuleKind::Ask)) => return decision.ask_by_rule(hit.rule.text(), hit.rule.place()),
            Some((hit, RuleKind::Allow)) => allowed(decision, hit),
            None => {}
        }
        if let Some(why) = self.question(effect) {
            match standing {
                Some(rule) => decision.pass("asking", format!("allowed for this session: {rule}")),
                None if covered => {}
                None => decision.ask_about(About::Effect(index), "asking", why),
            }
        }
    }

    /// Why a person is asked about an effect that no rule speaks of.
    fn question(&self, effect: &Effect) -> Option<String> {
        if let Effect::Unknown { why } = effect {
            return Some(format!("its effects are not known: {why}"));
        }
        let asks = self.ask == AskMode::Always || self.ask == AskMode::Changes && effect.changes_something();
        asks.then(|| asked_always(self.ask, effect.kind()))
    }

    fn denied(&self, decision: &mut Decision, effect: &Effect, hit: Hit<'_>) {
        let rule = hit.rule.text();
        let message = format!(
            "'{}' may not {} '{}': the rule 'deny {rule}' refuses it. Do without it; only the person can change the rule.",
            self.tool.name(),
            effect.kind(),
            effect.target()
        );
        let to_change = Some(Change::Remove { key: "rules.deny".into(), entry: rule.to_owned() });
        decision.deny("rules", format!("deny {rule}"), Refusal { kind: ErrorKind::PermissionDenied, message, to_change });
        decision.source(hit.rule.place());
    }

    /// Whether the caller's access suffices, for an effect or for a tool that names none. Where a person may be asked about
    /// what goes beyond, what they allowed for good needs no asking.
    fn reach(&self, decision: &mut Decision, about: About, effect: Option<&Effect>, needed: Access, covered: bool) {
        let access = self.caller.access;
        if needed <= access {
            return decision.pass("access level", access_note(needed));
        }
        let what = effect.map_or("the tool", Effect::kind);
        let entry = format!("{what} needs {needed}, the session has {access}");
        match (self.ask, covered) {
            (AskMode::Beyond, true) => decision.pass("access level", format!("{entry}, and a rule allows it")),
            (AskMode::Beyond, false) => decision.ask_about(about, "access level", entry),
            _ => decision.deny("access level", entry, self.beyond(effect, needed)),
        }
        decision.source(&self.caller.access_place);
    }

    fn beyond(&self, effect: Option<&Effect>, needed: Access) -> Refusal {
        let to_change = Some(Change::Set { key: "access".into(), value: needed.to_string() });
        let outside = effect.and_then(Effect::path).is_some_and(|(path, _)| path.location.zone() == Zone::Outside);
        let target = effect.map(Effect::target).unwrap_or_default();
        if outside {
            let message = format!(
                "Access denied: path is outside the workspace: '{target}'. Use a path inside the workspace; only the person can grant {needed}."
            );
            return Refusal { kind: ErrorKind::PathNotAllowed, message, to_change };
        }
        let purpose = effect.map(|effect| format!(" to {} '{target}'", effect.kind())).unwrap_or_default();
        let message = format!(
            "'{}' needs the access level {needed}{purpose}, and this session has {}. Only the person can raise it (--access {needed}).",
            self.tool.name(),
            self.caller.access
        );
        Refusal { kind: ErrorKind::PermissionDenied, message, to_change }
    }
}

fn allowed(decision: &mut Decision, hit: Hit<'_>) {
    decision.pass("rules", format!("allow {}", hit.rule.text()));
    decision.source(hit.rule.place());
}

fn asked_always(mode: AskMode, what: &str) -> String {
    match mode {
        AskMode::Always => format!("every call is asked about (ask = \"always\"): {what}"),
        _ => format!("every change is asked about (ask = \"changes\"): {what}"),
    }
}

fn never(kind: ErrorKind, why: &str) -> Refusal {
    let message = if kind == ErrorKind::PathNotAllowed { format!("Access denied: {why}") } else { why.to_owned() };
    Refusal { kind, message, to_change: None }
}

fn access_note(needed: Access) -> &'static str {
    match needed {
        Access::ReadOnly => "needs read-only",
        Access::WorkspaceWrite => "needs workspace-write",
        Access::FullAccess => "needs full-access",
    }
}
