//! Which programs run without approval: `exec.security` and `exec.ask`.

use haft_contract::{ErrorKind, Exec, ExecAsk, ExecNature, ExecSecurity};

use crate::effects::PlanCase;
use crate::{AskSubject, ConfigEdit, Decision, Denial, SourceSpan, canonical};

const STEP: &str = "exec";

/// How programs are evaluated, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecSpec {
    /// Which programs run without approval; if nothing is said, any in the sandbox, and elsewhere as
    /// [`SafeBin`](ExecSecurity::SafeBin).
    pub security: Option<ExecSecurity>,
    /// Where that stands.
    pub security_span: SourceSpan,
    /// What happens to the others.
    pub ask: ExecAsk,
    /// Where that stands.
    pub ask_span: SourceSpan,
    /// Whether the user decides about every change that was staged.
    pub review: bool,
    /// Where that stands.
    pub review_span: SourceSpan,
}

impl ExecSpec {
    /// Whether only some programs run without approval in the sandbox, too.
    pub(crate) fn chooses_programs(&self) -> bool {
        matches!(self.security, Some(ExecSecurity::SafeBin | ExecSecurity::Paranoid))
    }
}

/// A program that is evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgramCheck<'a> {
    pub(crate) case: &'a PlanCase<'a>,
    /// Its place in the plan.
    pub(crate) index: usize,
    pub(crate) exec: &'a Exec,
    /// What allows it, if anything does: a rule, or what the user said for the session.
    pub(crate) allowed: Option<&'a str>,
    /// Whether the user is asked about it already.
    pub(crate) asked: bool,
}

impl ProgramCheck<'_> {
    /// Evaluates it; whether the user is asked about it now.
    pub(crate) fn evaluate(self, decision: &mut Decision) -> bool {
        let (spec, name) = (self.case.exec, &self.exec.named);
        if spec.ask == ExecAsk::Always {
            let entry = format!("every program is asked about (exec.ask = \"always\"): {name}");
            return self.ask(decision, AskSubject::EveryTime, entry, &spec.ask_span, self.to_ask());
        }
        match self.security() {
            ExecSecurity::Full => self.pass(decision, self.any_runs()),
            ExecSecurity::SafeBin if self.exec.nature == ExecNature::Filters => {
                self.pass(decision, format!("'{name}' only filters its input"))
            }
            ExecSecurity::SafeBin => match self.allowed {
                Some(rule) => self.pass(decision, format!("allowed by {rule}")),
                None => self.missed(decision),
            },
            ExecSecurity::Paranoid => self.distrusted(decision),
        }
    }

    fn security(self) -> ExecSecurity {
        let unsaid = if self.exec.host.is_sandboxed() { ExecSecurity::Full } else { ExecSecurity::SafeBin };
        self.case.exec.security.unwrap_or(unsaid)
    }

    fn pass(self, decision: &mut Decision, entry: String) -> bool {
        decision.pass(STEP, entry);
        decision.set_span(&self.case.exec.security_span);
        self.asked
    }

    fn any_runs(self) -> String {
        match self.case.exec.security {
            Some(security) => format!("any program runs (exec.security = \"{}\")", security.as_str()),
            None => format!("in the sandbox any program runs (host:{})", self.exec.host.as_str()),
        }
    }

    /// Why no rule that allows it is one too few.
    fn why(self) -> String {
        match self.case.exec.security {
            Some(security) => format!("exec.security = \"{}\"", security.as_str()),
            None => format!("nothing holds it back on host:{}", self.exec.host.as_str()),
        }
    }

    fn missed(self, decision: &mut Decision) -> bool {
        let (name, why) = (&self.exec.named, self.why());
        let entry = format!("no rule allows '{name}' ({why})");
        if self.case.exec.ask != ExecAsk::Auto {
            let change = self.case.spec.setting("exec.security", ExecSecurity::Full.as_str());
            return self.ask(decision, AskSubject::Effect(self.index), entry, &self.case.exec.security_span, change);
        }
        let start = format!("only programs run here that filter their input, or that a rule allows ({why})");
        match canonical(self.case.tool, self.case.plan, &[AskSubject::Effect(self.index)], &self.case.vocabulary.including(self.case.tool))
        {
            Ok(rules) => {
                let rule = rules.join("', '");
                let ways = vec![rules.iter().map(|rule| ConfigEdit::add("rules.allow", rule.as_str())).collect(), self.to_ask()];
                self.deny(decision, &entry, &format!("{start}. Only the user can add the rule '{rule}' to rules.allow"), ways)
            }
            Err(why) => self.deny(decision, &entry, &format!("{start}, and no rule could say so: {why}"), vec![self.to_ask()]),
        }
    }

    fn distrusted(self, decision: &mut Decision) -> bool {
        let entry = format!("every program needs approval (exec.security = \"paranoid\"): {}", self.exec.named);
        if self.case.exec.ask == ExecAsk::Auto {
            return self.deny(
                decision,
                &entry,
                "no program runs here without approval (exec.security = \"paranoid\")",
                vec![self.to_ask()],
            );
        }
        let change = self.case.spec.setting("exec.security", ExecSecurity::SafeBin.as_str());
        self.ask(decision, AskSubject::EveryTime, entry, &self.case.exec.security_span, change)
    }

    /// A rule that asks already asks for this as well.
    fn ask(self, decision: &mut Decision, about: AskSubject, entry: String, span: &SourceSpan, change: Vec<ConfigEdit>) -> bool {
        if !self.asked {
            decision.ask_about(about, STEP, entry);
            decision.set_span(span);
            decision.to_stop_asking.extend(change);
        }
        true
    }

    fn deny(self, decision: &mut Decision, entry: &str, why: &str, ways: Vec<Vec<ConfigEdit>>) -> bool {
        let message = format!(
            "'{}' may not run '{}': {why}. Nobody is asked (exec.ask = \"auto\"): do without it, or tell the user what you need.",
            self.case.tool.name(),
            self.exec.named,
        );
        let denial = Denial { kind: ErrorKind::PermissionDenied, message, ways };
        decision.deny(STEP, format!("{entry}, and nobody is asked (exec.ask = \"auto\")"), denial);
        decision.set_span(&self.case.exec.ask_span);
        self.asked
    }

    /// What lets the user be asked.
    fn to_ask(self) -> Vec<ConfigEdit> {
        self.case.spec.setting("exec.ask", ExecAsk::Smart.as_str())
    }
}
