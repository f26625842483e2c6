//! Which programs run without a person's word: `exec.security` and `exec.ask`.

use haft_contract::{ErrorKind, Exec, ExecNature};

use crate::effects::Case;
use crate::{About, AskMode, Change, Decision, Place, Refusal, canonical};

const STEP: &str = "exec";

/// Which programs run without a person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecSecurity {
    /// Any.
    Full,
    /// Those that only filter their input, and those that a rule allows.
    SafeBin,
    /// None.
    Paranoid,
}

impl ExecSecurity {
    /// The word in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::SafeBin => "safe-bin",
            Self::Paranoid => "paranoid",
        }
    }
}

/// What happens to a program that does not run without a person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ExecAsk {
    /// It is refused: nobody is asked.
    Auto,
    /// A person is asked.
    #[default]
    Smart,
    /// A person is asked about every program, whatever allows it.
    Always,
}

/// How programs are judged, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecSpec {
    /// Which programs run without a person's word; if nothing is said, any behind walls, and elsewhere as
    /// [`SafeBin`](ExecSecurity::SafeBin).
    pub security: Option<ExecSecurity>,
    /// Where that stands.
    pub security_place: Place,
    /// What happens to the others.
    pub ask: ExecAsk,
    /// Where that stands.
    pub ask_place: Place,
    /// Whether a person decides about every change that was kept apart.
    pub review: bool,
    /// Where that stands.
    pub review_place: Place,
}

/// A program that is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Running<'a> {
    pub(crate) case: &'a Case<'a>,
    /// Its place in the plan.
    pub(crate) index: usize,
    pub(crate) exec: &'a Exec,
    /// What allows it, if anything does: a rule, or what the person said for the session.
    pub(crate) allowed: Option<&'a str>,
    /// Whether a person is asked about it already.
    pub(crate) asked: bool,
}

impl Running<'_> {
    /// Judges it; whether a person is asked about it now.
    pub(crate) fn judge(self, decision: &mut Decision) -> bool {
        let (spec, name) = (self.case.exec, &self.exec.named);
        if spec.ask == ExecAsk::Always {
            let entry = format!("every program is asked about (exec.ask = \"always\"): {name}");
            return self.ask(decision, About::Firm, entry, &spec.ask_place, self.to_ask());
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
        let unsaid = if self.exec.host.is_walled() { ExecSecurity::Full } else { ExecSecurity::SafeBin };
        self.case.exec.security.unwrap_or(unsaid)
    }

    fn pass(self, decision: &mut Decision, entry: String) -> bool {
        decision.pass(STEP, entry);
        decision.source(&self.case.exec.security_place);
        self.asked
    }

    fn any_runs(self) -> String {
        match self.case.exec.security {
            Some(security) => format!("any program runs (exec.security = \"{}\")", security.as_str()),
            None => format!("behind walls any program runs (host:{})", self.exec.host.as_str()),
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
            let change = Change::Set { key: "exec.security".into(), value: ExecSecurity::Full.as_str().into() };
            return self.ask(decision, About::Effect(self.index), entry, &self.case.exec.security_place, change);
        }
        let start = format!("only programs run here that filter their input, or that a rule allows ({why})");
        match canonical(self.case.tool, self.case.plan, &[About::Effect(self.index)]) {
            Ok(rules) => {
                let rule = rules.join("', '");
                let change = Change::Do(format!("add '{rule}' to rules.allow, or {}", self.to_ask()));
                self.deny(decision, &entry, &format!("{start}. Only the person can add the rule '{rule}' to rules.allow"), change)
            }
            Err(why) => self.deny(decision, &entry, &format!("{start}, and no rule could say so: {why}"), self.to_ask()),
        }
    }

    fn distrusted(self, decision: &mut Decision) -> bool {
        let entry = format!("every program needs a person's word (exec.security = \"paranoid\"): {}", self.exec.named);
        if self.case.exec.ask == ExecAsk::Auto {
            return self.deny(
                decision,
                &entry,
                "no program runs here without a person's word (exec.security = \"paranoid\")",
                self.to_ask(),
            );
        }
        let change = Change::Do("set exec.security = \"safe-bin\", with which a rule can allow it".into());
        self.ask(decision, About::Firm, entry, &self.case.exec.security_place, change)
    }

    /// A rule that asks already asks for this as well.
    fn ask(self, decision: &mut Decision, about: About, entry: String, place: &Place, change: Change) -> bool {
        if !self.asked {
            decision.ask_about(about, STEP, entry);
            decision.source(place);
            decision.to_stop_asking.push(change);
        }
        true
    }

    fn deny(self, decision: &mut Decision, entry: &str, why: &str, change: Change) -> bool {
        let message = format!(
            "'{}' may not run '{}': {why}. Nobody is asked (exec.ask = \"auto\"): do without it, or tell the person what you need.",
            self.case.tool.name(),
            self.exec.named,
        );
        let refusal = Refusal { kind: ErrorKind::PermissionDenied, message, to_change: Some(change) };
        decision.deny(STEP, format!("{entry}, and nobody is asked (exec.ask = \"auto\")"), refusal);
        decision.source(&self.case.exec.ask_place);
        self.asked
    }

    /// What lets a person be asked.
    fn to_ask(self) -> Change {
        if self.case.ask == AskMode::Never {
            return Change::Do("set exec.ask = \"smart\" and ask = \"rules\"".into());
        }
        Change::Set { key: "exec.ask".into(), value: "smart".into() }
    }
}
