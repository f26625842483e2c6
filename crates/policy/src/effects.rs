//! From a plan's effects to a verdict: the access level, then the rules, then which programs run, then whether the user is
//! asked.

use std::ops::ControlFlow;

use haft_contract::{Access, AskMode, Effect, ErrorKind, Location, Need, Plan, RefusalCause, Zone};

use crate::apply::{self, LiftedRefusals};
use crate::catalog::Vocabulary;
use crate::exec::ProgramCheck;
use crate::outside;
use crate::{
    AccessLimit, AskSubject, Caller, Candidate, ConfigEdit, Decision, Denial, EditValue, ExecSpec, Owner, PolicySpec, Rule, RuleKind,
    RuleSet, canonical,
};

/// Everything that a plan is evaluated by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanCase<'a> {
    pub(crate) tool: &'a Candidate<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) caller: &'a Caller,
    pub(crate) rules: &'a RuleSet,
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) exec: &'a ExecSpec,
    pub(crate) ask: AskMode,
    pub(crate) spec: &'a PolicySpec,
    pub(crate) lifted: Option<&'a LiftedRefusals>,
}

/// Evaluates every effect; the strictest outcome counts, so a plan that does several things must satisfy each of them.
pub(crate) fn evaluate(decision: &mut Decision, case: PlanCase<'_>) {
    if let Some(wish) = case.plan.required_approval() {
        decision.ask_about(AskSubject::EveryTime, "asking", wish.to_owned());
    }
    if case.plan.effects().is_empty() {
        return case.nothing_named(decision);
    }
    for (index, effect) in case.plan.effects().iter().enumerate() {
        case.effect(decision, index, effect);
    }
    if case.exec.review && case.plan.committed().is_some() {
        decision.ask_about(AskSubject::EveryTime, "exec", "the user decides about what commands change (exec.changes = \"review\")");
        decision.set_span(&case.exec.review_span);
        decision.to_stop_asking.extend(case.spec.setting("exec.changes", "staged"));
    }
}

/// Evaluates every call of a tool at once, before there is one: only what no argument can change.
pub(crate) fn decide_without_arguments(decision: &mut Decision, case: PlanCase<'_>) {
    if case.ask == AskMode::Always && case.answer().note(decision).is_none() {
        case.ask_by_mode(decision, AskSubject::Tool, case.tool.name());
    }
}

/// Why the user is asked about an effect.
enum EffectQuestion {
    /// What it will do is not known, for this reason.
    Unknown(String),
    /// `ask` says so.
    ByMode,
}

/// What answers a question beforehand: what the user allowed for the session, or a rule.
#[derive(Default)]
struct PriorApproval<'a> {
    grants: Option<String>,
    rule: Option<&'a Rule>,
}

impl PriorApproval<'_> {
    /// Notes what answered; nothing if nothing did.
    fn note(self, decision: &mut Decision) -> Option<()> {
        match (self.rule, self.grants) {
            (Some(rule), _) => allowed(decision, rule),
            (None, Some(rule)) => decision.pass("asking", format!("allowed for this session: {rule}")),
            (None, None) => return None,
        }
        Some(())
    }
}

impl PlanCase<'_> {
    /// A tool that says nothing of its effects is taken at its word about its access.
    fn nothing_named(&self, decision: &mut Decision) {
        let (access, answer) = (self.tool.definition.access, self.answer());
        self.reach(decision, AskSubject::Tool, None, access, answer.grants.is_some());
        let asks = self.ask == AskMode::Always || self.ask == AskMode::Changes && access > Access::ReadOnly;
        if asks && answer.note(decision).is_none() {
            self.ask_by_mode(decision, AskSubject::Tool, self.tool.name());
        }
    }

    /// Asks because of `ask`.
    fn ask_by_mode(&self, decision: &mut Decision, about: AskSubject, what: &str) {
        decision.ask_about(about, "asking", asked_always(self.ask, what));
        decision.set_span(&self.spec.owner_of("ask").span);
        decision.to_stop_asking.extend(self.spec.setting("ask", AskMode::Rules.as_str()));
    }

    /// What answers for the tool as such.
    fn answer(&self) -> PriorApproval<'_> {
        PriorApproval {
            grants: self.caller.grants.allows_tool(self.tool),
            rule: self.rules.on_tool(self.tool).filter(|rule| is_allow(rule)),
        }
    }

    fn effect(&self, decision: &mut Decision, index: usize, effect: &Effect) {
        let strictest = self.rules.on_effect(self.tool, effect);
        let grants = self.caller.grants.allows_effect(self.tool, effect);
        match self.need(effect) {
            // The rule is blamed below, as that rule.
            Need::Never(..) if is_refused_by_rules(effect) && strictest.is_some_and(|rule| rule.kind() == RuleKind::Deny) => {}
            Need::Never(kind, why) => {
                let step = if is_refused_by_rules(effect) { "rules" } else { "access level" };
                decision.deny(step, format!("{}: {why}", effect.kind()), never(kind, &why, effect, self.spec));
            }
            Need::Access(needed) => {
                let answered = grants.is_some() || self.answers_beyond(strictest, needed, effect);
                match self.asks_below(strictest, needed, effect) {
                    Some(rule) => self.left_to_rule(decision, effect, needed, rule),
                    None => self.reach(decision, AskSubject::Effect(index), Some(effect), needed, answered),
                }
            }
        }
        let strict = self.strict_rules(decision, effect, strictest);
        let rule = strict.continue_value().flatten();
        rule.inspect(|rule| allowed(decision, rule));
        let asked = self.could_be(decision, effect, strictest) | strict.is_break();
        let asked = self.program(decision, index, effect, strictest, grants.as_deref(), strict.is_break()) || asked;
        if asked {
            return;
        }
        let Some(question) = self.question(effect).filter(|_| rule.is_none()) else { return };
        if (PriorApproval { grants, rule: None }).note(decision).is_some() {
            return;
        }
        match question {
            EffectQuestion::Unknown(why) => {
                decision.ask_about(AskSubject::Effect(index), "asking", format!("its effects are not known: {why}"));
            }
            EffectQuestion::ByMode => self.ask_by_mode(decision, AskSubject::Effect(index), effect.kind()),
        }
    }

    /// What an effect needs; advice that is tried may have lifted what refuses it.
    fn need(&self, effect: &Effect) -> Need {
        let need = match self.lifted {
            Some(lifted) => lifted.need(effect, self.rules.all_on_effect(RuleKind::Deny, self.tool, effect).is_empty()),
            None => effect.need(),
        };
        match (need, self.tool.definition.least_access) {
            (Need::Access(needed), Some(least)) => Need::Access(needed.max(least)),
            (need, _) => need,
        }
    }

    /// Asks about a sandboxed program that could become one that a rule holds back; whether it did. Outside the sandbox what
    /// is not known asks by itself.
    fn could_be(&self, decision: &mut Decision, effect: &Effect, rule: Option<&Rule>) -> bool {
        let Effect::Exec(exec) = effect else { return false };
        if !exec.host.is_sandboxed() || rule.is_some_and(|rule| !is_allow(rule)) {
            return false;
        }
        let Some(rule) = self.rules.possible_on(exec) else { return false };
        decision.ask_about_rule(&exec.named, rule);
        true
    }

    /// Evaluates a program by the settings for programs; whether the user is asked about the effect by now. What those settings
    /// refuse is not for a rule to ask about.
    fn program(
        &self,
        decision: &mut Decision,
        index: usize,
        effect: &Effect,
        rule: Option<&Rule>,
        grants: Option<&str>,
        asked: bool,
    ) -> bool {
        let Effect::Exec(exec) = effect else { return asked };
        let rule = match rule {
            Some(strict) if !is_allow(strict) => self.rules.all_on_effect(RuleKind::Allow, self.tool, effect).first().copied(),
            allows => allows,
        };
        let allowed = rule.map(|rule| format!("the rule '{}'", rule.text()));
        let allowed = allowed.or_else(|| grants.map(|rule| format!("what was said for this session: {rule}")));
        ProgramCheck { case: self, index, exec, allowed: allowed.as_deref(), asked }.evaluate(decision)
    }

    /// Lets rules deny and ask; what is left is the rule that allows, if there is one. What a denial hides holds as soon as
    /// the denial goes, so it is noted as well. Where a rule asks, that is all.
    fn strict_rules<'r>(&'r self, decision: &mut Decision, effect: &Effect, rule: Option<&'r Rule>) -> ControlFlow<(), Option<&'r Rule>> {
        let all = |kind| self.rules.all_on_effect(kind, self.tool, effect);
        let (mut asks, mut allows) = (rule, rule);
        if rule.is_some_and(|rule| rule.kind() == RuleKind::Deny) {
            for rule in all(RuleKind::Deny) {
                self.denied(decision, effect, rule);
            }
            (asks, allows) = (all(RuleKind::Ask).first().copied(), all(RuleKind::Allow).first().copied());
        }
        if let Some(rule) = asks.filter(|rule| rule.kind() == RuleKind::Ask) {
            decision.ask_by_rule(rule);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(allows)
    }

    /// Whether a rule answers for what goes beyond the access level; a rule that was not written for a certain place does
    /// not, though another one beside it may.
    fn answers_beyond(&self, rule: Option<&Rule>, needed: Access, effect: &Effect) -> bool {
        let is_asked = self.asks_beyond(Some(effect)) && needed > self.caller.access_now();
        is_asked
            && rule.is_some_and(is_allow)
            && self.rules.all_on_effect(RuleKind::Allow, self.tool, effect).iter().any(|rule| rule.is_anchored())
    }

    /// The rule of the user that asks about exactly this, though it goes beyond the access level: they want to be asked, not refused.
    /// One that was not written for it does not, nor one in a session that only reads, nor a project's, which would widen.
    fn asks_below<'r>(&self, rule: Option<&'r Rule>, needed: Access, effect: &Effect) -> Option<&'r Rule> {
        let is_beyond = needed > self.caller.access_now() && self.caller.access_now() > Access::ReadOnly;
        rule.filter(|rule| is_beyond && rule.asks_beyond_access() && !matches!(effect, Effect::Unknown { .. }))
    }

    fn left_to_rule(&self, decision: &mut Decision, effect: &Effect, needed: Access, rule: &Rule) {
        let entry = format!("{} needs {needed}, the session has {}, and '{}' asks", effect.kind(), self.caller.access_now(), rule.label());
        decision.pass("access level", entry);
        decision.set_span(&self.caller.access_span);
    }

    /// Why the user is asked about an effect that no rule speaks of.
    fn question(&self, effect: &Effect) -> Option<EffectQuestion> {
        match effect {
            Effect::Unknown { why } => return Some(EffectQuestion::Unknown(why.clone())),
            // Programs that nobody can list, though only some may run.
            Effect::Contained { why, .. } if self.exec.chooses_programs() => {
                return Some(EffectQuestion::Unknown(why.clone()));
            }
            _ => {}
        }
        let changes = self.lifted.map_or_else(|| effect.changes_something(), |lifted| lifted.changes(effect));
        let asks = self.ask == AskMode::Always || self.ask == AskMode::Changes && changes;
        asks.then_some(EffectQuestion::ByMode)
    }

    fn denied(&self, decision: &mut Decision, effect: &Effect, rule: &Rule) {
        let message = format!(
            "'{}' may not {} '{}': the rule '{}'{} refuses it. Do without it; only the user can change the rule.",
            self.tool.name(),
            verb(effect),
            effect.target(),
            rule.label(),
            if rule.of_project() { " of the project's file" } else { "" },
        );
        let ways = vec![self.lift(effect, rule)];
        decision.deny("rules", rule.label(), Denial { kind: ErrorKind::PermissionDenied, message, ways });
        decision.set_span(rule.span());
    }

    /// What would lift a denial: the rule goes, or what it denied joins its `only` list.
    fn lift(&self, effect: &Effect, rule: &Rule) -> Vec<ConfigEdit> {
        if !rule.is_only_list() {
            return vec![ConfigEdit::remove_rule(rule)];
        }
        let index = self.plan.effects().iter().position(|known| std::ptr::eq(known, effect));
        let named = index.map(|index| canonical(self.tool, self.plan, &[AskSubject::Effect(index)], &self.vocabulary.including(self.tool)));
        match named {
            Some(Ok(entries)) => entries.into_iter().map(|entry| ConfigEdit::add_rule(rule, entry)).collect(),
            _ => vec![ConfigEdit::Do(format!("no entry of {} can name it: only you can change that list", rule.key()))],
        }
    }

    /// Whether the caller's access suffices, for an effect or for a tool that names none. Where the user may be asked about
    /// what goes beyond, what they allowed for good needs no asking.
    fn reach(&self, decision: &mut Decision, about: AskSubject, effect: Option<&Effect>, needed: Access, answered: bool) {
        let access = self.caller.access_now();
        if needed <= access {
            return decision.pass("access level", access_note(needed));
        }
        let entry = match effect {
            Some(Effect::Connect(connect)) if self.is_egress(effect) => {
                format!("network access to {}:{} needs approval", connect.host, connect.port)
            }
            _ => format!("{} needs {needed}, the session has {access}", effect.map_or("the tool", Effect::kind)),
        };
        match (self.asks_beyond(effect), answered) {
            (true, true) => decision.pass("access level", format!("{entry}, and a rule allows it")),
            (true, false) => {
                decision.ask_about(about, "access level", entry);
                if !self.is_egress(effect) {
                    decision.to_stop_asking.extend(self.raise(self.needed().unwrap_or(needed)));
                }
            }
            _ => decision.deny("access level", entry, self.beyond(effect, needed)),
        }
        decision.set_span(&self.caller.access_span);
    }

    /// Whether the user is asked about what goes beyond the access level. Network access of a sandboxed command, to one named
    /// host, is theirs to give at every level, and a request that changes something on one named host, or what a paired machine does, where
    /// anything may be changed.
    fn asks_beyond(&self, effect: Option<&Effect>) -> bool {
        let is_request = match effect {
            Some(Effect::Connect(connect)) => !connect.is_tunnel(),
            Some(Effect::Node { .. }) => true,
            _ => false,
        };
        let is_request = is_request && self.caller.access_now() > Access::ReadOnly;
        self.ask == AskMode::Beyond || is_request || self.is_egress(effect)
    }

    /// Whether an effect is a connection of a sandboxed command.
    fn is_egress(&self, effect: Option<&Effect>) -> bool {
        matches!(effect, Some(Effect::Connect(connect)) if connect.is_tunnel()) && self.plan.runs_sandboxed()
    }

    /// The access that the whole plan needs: to grant one effect less would change nothing.
    fn needed(&self) -> Option<Access> {
        let needs = self.plan.effects().iter().filter_map(|effect| match self.need(effect) {
            Need::Access(access) => Some(access),
            Need::Never(..) => None,
        });
        needs.max()
    }

    fn beyond(&self, effect: Option<&Effect>, needed: Access) -> Denial {
        let whole = self.needed().unwrap_or(needed);
        let mut ways = vec![self.raise(whole)];
        let outside = effect.and_then(Effect::path).map(|(path, _)| &path.location).filter(|at| at.zone() == Zone::Outside);
        if let Some(at) = outside {
            ways.splice(0..0, effect.and_then(|effect| outside::reach(self, effect)));
            let message = format!(
                "Access denied: path is outside the workspace: {}. Use a path inside the workspace; only the user can grant {needed}.",
                as_spelled(at)
            );
            return Denial { kind: ErrorKind::PathNotAllowed, message, ways };
        }
        let purpose = match effect {
            Some(Effect::Unknown { why }) => format!(" ({why})"),
            Some(effect) => format!(" to {} '{}'", verb(effect), effect.target()),
            None => String::new(),
        };
        let message = format!(
            "'{}' needs the access level {needed}{purpose}, and this session has {}. Only the user can raise it (--access {needed}).",
            self.tool.name(),
            self.caller.access_now()
        );
        Denial { kind: ErrorKind::PermissionDenied, message, ways }
    }

    /// Raises every key that limits the access to a level.
    fn raise(&self, level: Access) -> Vec<ConfigEdit> {
        let limits = &self.caller.access_limits;
        if limits.is_empty() {
            return vec![ConfigEdit::Set {
                key: "access".to_owned(),
                value: EditValue::Text(level.to_string()),
                owner: Owner { span: self.caller.access_span.clone(), of_project: false },
            }];
        }
        let set = |limit: &AccessLimit| ConfigEdit::Set {
            key: limit.key.clone(),
            value: EditValue::Text(level.to_string()),
            owner: limit.owner.clone(),
        };
        limits.iter().filter(|limit| limit.access < level).map(set).collect()
    }
}

/// A path as it was written. Where its links lead is not told to who may not go there: that would say what is there.
fn as_spelled(at: &Location) -> String {
    let spelled = at.spellings().first();
    let path = spelled.map_or(at.path(), |spelled| &spelled.absolute).display();
    let is_led_out = spelled.is_some_and(|spelled| spelled.in_workspace.is_some());
    format!("'{path}'{}", if is_led_out { ", because a symbolic link on the way leads out" } else { "" })
}

fn is_allow(rule: &Rule) -> bool {
    rule.kind() == RuleKind::Allow
}

/// Whether nothing but rules refuses an effect at every access level.
fn is_refused_by_rules(effect: &Effect) -> bool {
    !effect.causes().is_empty() && effect.causes().iter().all(|cause| matches!(cause, RefusalCause::Rule(_)))
}

/// What an effect does, before the name of what it does it to.
fn verb(effect: &Effect) -> &'static str {
    match effect {
        Effect::Exec(_) | Effect::Contained { .. } => "run",
        Effect::Connect(_) => "connect to",
        Effect::Spawn { .. } => "start the agent",
        Effect::Configure { .. } => "change the setting",
        Effect::Node { .. } => "use the machine",
        other => other.kind(),
    }
}

fn allowed(decision: &mut Decision, rule: &Rule) {
    decision.pass("rules", ["allow ", rule.text()].concat());
    decision.set_span(rule.span());
}

fn asked_always(mode: AskMode, what: &str) -> String {
    match mode {
        AskMode::Always => format!("every call is asked about (ask = \"always\"): {what}"),
        _ => format!("every change is asked about (ask = \"changes\"): {what}"),
    }
}

fn never(kind: ErrorKind, why: &str, effect: &Effect, spec: &PolicySpec) -> Denial {
    let message = if kind == ErrorKind::PathNotAllowed { format!("Access denied: {why}") } else { why.to_owned() };
    Denial { kind, message, ways: vec![apply::lifting(effect, spec)] }
}

fn access_note(needed: Access) -> &'static str {
    match needed {
        Access::ReadOnly => "needs read-only",
        Access::WorkspaceWrite => "needs workspace-write",
        Access::FullAccess => "needs full-access",
    }
}
