//! What a policy answers: whether a tool is offered, whether a call may run, and which rules would answer its questions for good.

use std::sync::Arc;

use haft_contract::{Effect, Plan, ports::GrantWidth};

use crate::{Caller, Candidate, ConfigEdit, Decision, Verdict};

/// Decides. Steps run in order, and each can only tighten.
pub trait Policy: Send + Sync {
    /// Whether the tool is offered to this caller at all.
    fn offer(&self, tool: &Candidate<'_>, caller: &Caller) -> Decision;
    /// Continues from [`Policy::offer`]: whether a call with these effects may run.
    fn permit(&self, offered: Decision, tool: &Candidate<'_>, plan: &Plan, caller: &Caller) -> Decision;
    /// Continues from [`Policy::offer`] where there is no call yet: what holds for every call, whatever its arguments.
    fn decide_without_arguments(&self, offered: Decision, tool: &Candidate<'_>, caller: &Caller) -> Decision {
        let _ = (tool, caller);
        offered
    }
    /// Both at once.
    fn decide(&self, tool: &Candidate<'_>, plan: Option<&Plan>, caller: &Caller) -> Decision {
        let offered = self.offer(tool, caller);
        match plan {
            Some(plan) if offered.verdict != Verdict::Deny => self.permit(offered, tool, plan, caller),
            _ => offered,
        }
    }
    /// The last word on a decision that others have added to: where nobody is ever asked, a question is a denial.
    fn finalize(&self, decision: Decision) -> Decision {
        decision
    }
    /// The rules that would answer a decision's questions for good, or why there are none.
    fn persistent_rules(&self, tool: &Candidate<'_>, plan: &Plan, decision: &Decision) -> Result<Vec<String>, String> {
        let _ = (tool, plan, decision);
        Err("this policy has no rules".into())
    }
    /// The widths at which a decision's questions could be answered for good, from narrow to wide; empty if there are none.
    fn grant_widths(&self, tool: &Candidate<'_>, plan: &Plan, decision: &Decision) -> Vec<GrantWidth> {
        let _ = (tool, plan, decision);
        Vec::new()
    }
    /// Whether rules that the user wrote may be saved, and answer a decision's questions for good; the error says what to change.
    fn check_answer(
        &self,
        rules: &[String],
        tool: &Candidate<'_>,
        plan: &Plan,
        caller: &Caller,
        decision: &Decision,
    ) -> Result<(), String> {
        let _ = (rules, tool, plan, caller, decision);
        Err("this policy has no rules".into())
    }
    /// The rules that cover calls like this one and no others, also where the user cannot save them; none if no rule can.
    fn similar_rules(&self, tool: &Candidate<'_>, plan: &Plan) -> Vec<String> {
        let _ = (tool, plan);
        Vec::new()
    }
    /// Whether `allow` rules would cover an effect of a tool.
    fn covers(&self, rules: &[String], tool: &Candidate<'_>, effects: &[Effect]) -> bool {
        let _ = (rules, tool, effects);
        false
    }
    /// Whether the user has named the destination of this effect in a rule that allows it, or for the session. That answers
    /// whether data may go there as well.
    fn names_destination(&self, tool: &Candidate<'_>, effect: &Effect, caller: &Caller) -> bool {
        let _ = (tool, effect, caller);
        false
    }
    /// The same policy after edits of its configuration, to try advice; nothing if they cannot be made.
    fn edited(&self, edits: &[ConfigEdit]) -> Option<Arc<dyn Policy>> {
        let _ = edits;
        None
    }
    /// Lets such rules of a tool hold for the rest of a caller's session.
    fn grant(&self, caller: &Caller, tool: &Candidate<'_>, rules: &[String]) -> Result<(), String> {
        let _ = (caller, tool, rules);
        Err("this policy has no rules".into())
    }
}
