//! guard: the taint of a session, which together with outbound access lets data leak, and secrets in outbound calls.
//!
//! The session remembers whether it has read private data and seen untrusted content; a call that could then send data out needs
//! approval, and so does a redirect to a host that was not planned, unless a rule of the user names the destination. Reads of the
//! call itself count as well, and a program reads its workspace. A known secret in the arguments of an outbound call needs approval in any session, unless it is where a credential
//! belongs, as in the header `Authorization`.

use std::borrow::Cow;

use haft_contract::{Connect, Effect, ErrorKind, ExecHost, Plan, TaintPolicy, ToolSource};
use haft_policy::{AskSubject, ConfigEdit, Decision, Denial};
use haft_redact::first_secret;
use haft_text::secrets::names_secret;
use serde_json::Value;
use uuid::Uuid;

use super::permit::DecisionCase;
use crate::trail::record::UNTRUSTED;

/// What a session has read, as far as it matters for leaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SessionTaint {
    private: bool,
    untrusted: UntrustedContent,
}

/// Which calls have brought untrusted content in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum UntrustedContent {
    #[default]
    None,
    /// One call, by its record.
    One(Uuid),
    Several,
}

/// What the taint guard must know of a call besides its plan.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaintFacts {
    /// The shape of a secret in the arguments.
    pub(crate) secret: Option<&'static str>,
    /// The record of the call while its command runs: the model has not seen yet what this command itself brings in.
    pub(crate) running: Option<Uuid>,
}

impl SessionTaint {
    /// Remembers what a call that ran has brought in.
    pub(crate) fn record(&mut self, plan: &Plan, source: &ToolSource, record: Uuid) {
        self.private |= plan.effects().iter().any(reads_here);
        if matches!(source, ToolSource::Mcp(_)) || plan.effects().iter().any(brings_in) {
            self.record_untrusted(record);
        }
    }

    /// Remembers that a call has brought untrusted content in.
    pub(crate) fn record_untrusted(&mut self, record: Uuid) {
        self.untrusted = match self.untrusted {
            UntrustedContent::None => UntrustedContent::One(record),
            UntrustedContent::One(one) if one == record => UntrustedContent::One(record),
            _ => UntrustedContent::Several,
        };
    }

    /// Remembers what the session brought in before this process.
    pub(crate) fn restore(&mut self, before: RecordedTaint) {
        self.private |= before.private;
        if before.untrusted {
            self.untrusted = UntrustedContent::Several;
        }
    }

    /// What it has brought in, without the calls that did.
    pub(crate) fn summary(self) -> RecordedTaint {
        RecordedTaint { private: self.private, untrusted: self.has_untrusted() }
    }

    /// Whether the session has seen untrusted content.
    pub(crate) fn has_untrusted(self) -> bool {
        self.untrusted != UntrustedContent::None
    }

    /// Whether data of this session could be sent out by order of untrusted content.
    fn can_leak(self, plan: &Plan, running: Option<Uuid>) -> bool {
        // Data that the call itself reads is as private as data that was read before, and a running command reads the workspace; a page
        // does not.
        let reads_workspace = plan.is_egress() && !plan.uses_browser();
        let private = self.private || reads_workspace || plan.effects().iter().any(reads_here);
        let untrusted = match self.untrusted {
            UntrustedContent::None => false,
            UntrustedContent::One(record) => running != Some(record),
            UntrustedContent::Several => true,
        };
        private && untrusted
    }
}

/// Whether private data may be read. A sandboxed program reads local files too, and a server that it runs may serve them.
fn reads_here(effect: &Effect) -> bool {
    match effect {
        Effect::Read(_) | Effect::Exec(_) | Effect::Node { .. } | Effect::Unknown { .. } | Effect::Contained { .. } => true,
        Effect::Connect(connect) => connect.is_sandbox(),
        _ => false,
    }
}

/// Whether untrusted content may come in. A sandboxed program gets some only through a connection of its own.
fn brings_in(effect: &Effect) -> bool {
    match effect {
        Effect::Connect(connect) => !connect.is_sandbox() && !connect.is_provider,
        // Another machine may have been taken over.
        Effect::Unknown { .. } | Effect::Node { .. } => true,
        Effect::Exec(exec) => !exec.host.is_sandboxed(),
        _ => false,
    }
}

/// What a recorded call has brought into its session, by its effects as history keeps them; or what a session has brought in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordedTaint {
    /// It may have read private data.
    pub private: bool,
    /// It may have brought untrusted content in.
    pub untrusted: bool,
}

impl RecordedTaint {
    /// As the guard sees the same effects before the call. Connections that a command made while it ran are not among them.
    pub fn of_effects(effects: &Value) -> Self {
        let mut taint = Self::default();
        for effect in effects.as_array().into_iter().flatten() {
            if effect["provider"] == true {
                continue;
            }
            let host = effect["host"].as_str().unwrap_or_default();
            let in_sandbox = match effect["effect"].as_str() {
                Some("read") => true,
                Some("node") => false,
                Some("exec" | "unknown") => host.parse().is_ok_and(ExecHost::is_sandboxed),
                Some("connect") => Connect::new("", host, 0, effect["method"].as_str().unwrap_or_default()).is_sandbox(),
                _ => continue,
            };
            taint.private |= in_sandbox || effect["effect"] != "connect";
            taint.untrusted |= !in_sandbox;
        }
        taint
    }

    /// Both together.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { private: self.private || other.private, untrusted: self.untrusted || other.untrusted }
    }

    /// Whether the session had seen untrusted content by the end of a call, by the decision as history keeps it.
    pub fn seen_by(decision: &Value) -> bool {
        decision[UNTRUSTED] == true
    }
}

/// A call on which the guard decides.
#[derive(Clone, Copy)]
pub(crate) struct TaintCheck<'a> {
    pub(crate) case: DecisionCase<'a>,
}

impl TaintCheck<'_> {
    /// Makes an outbound call need approval, or refuses it, if the session has both private data and untrusted content, or if
    /// the arguments hold a secret. A destination that the user has named in a rule is one to which data may go.
    pub(crate) fn apply(self, decision: &mut Decision) {
        let DecisionCase { plan, session, facts, taint_policy, .. } = self.case;
        if taint_policy == TaintPolicy::Off || !plan.effects().iter().any(Effect::is_outward) {
            return;
        }
        let taint = *session.taint();
        if taint.can_leak(plan, facts.running) {
            self.check_destinations(decision);
        }
        if let Some(name) = facts.secret {
            let why = format!("its arguments hold a secret ({name}), and this call could send it out");
            restrict(taint_policy, &[AskSubject::EveryTime], why.into(), "Make it without the secret.", decision);
        }
    }

    fn check_destinations(self, decision: &mut Decision) {
        let DecisionCase { policy, entry, plan, caller, .. } = self.case;
        let tool = entry.candidate();
        let outward = plan.effects().iter().enumerate().filter(|(_, effect)| effect.is_outward());
        let unnamed = outward.filter(|(_, effect)| !policy.names_destination(&tool, effect, caller));
        // A rule can answer for what names its destination, and for a tool that the embedding program vouches for; nothing can answer
        // for what else may go anywhere.
        let subjects: Vec<AskSubject> = unnamed
            .map(|(index, effect)| match effect {
                Effect::Connect(_) | Effect::Exec(_) | Effect::Send { .. } | Effect::Node { .. } => AskSubject::Effect(index),
                Effect::Unknown { .. } if matches!(tool.source, ToolSource::Plugin(_)) => AskSubject::Effect(index),
                _ => AskSubject::EveryTime,
            })
            .collect();
        if subjects.is_empty() {
            return decision.pass("taint guard", "a rule names the destination");
        }
        let why = "this session has read private data and seen untrusted content; this call could send data out";
        restrict(self.case.taint_policy, &subjects, why.into(), "Ask the user to make this call in a fresh session.", decision);
    }
}

/// Applies the taint policy to a call that could send data out.
fn restrict(policy: TaintPolicy, subjects: &[AskSubject], why: Cow<'static, str>, instead: &str, decision: &mut Decision) {
    if policy == TaintPolicy::Ask {
        let [first, rest @ ..] = subjects else { return };
        decision.ask_about(*first, "taint guard", why);
        decision.asks.extend_from_slice(rest);
    } else {
        let ways = vec![vec![ConfigEdit::set("guards.taint", "ask")]];
        let message = format!("Refused by the taint guard: {why}. {instead}");
        decision.deny("taint guard", why, Denial { kind: ErrorKind::PermissionDenied, message, ways });
    }
}

/// The shape of a known secret in the arguments of a call. A value under a credential name, such as the header
/// `Authorization`, is meant for the other side and does not count.
pub(crate) fn secret_in(arguments: &Value) -> Option<&'static str> {
    match arguments {
        Value::String(text) => first_secret(text),
        Value::Array(items) => items.iter().find_map(secret_in),
        Value::Object(map) => {
            let mut others = map.iter().filter(|(key, value)| !(value.is_string() && names_secret(key)));
            others.find_map(|(key, value)| first_secret(key).or_else(|| secret_in(value)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::Exec;

    use super::*;

    #[test]
    fn recorded_effects_taint_as_planned_ones_do() {
        let exec = |host| {
            let mut exec = Exec::new("/bin/ls", Vec::new(), "/");
            exec.host = host;
            Effect::Exec(exec)
        };
        let why = String::new;
        for effect in [
            exec(ExecHost::Host),
            exec(ExecHost::Sandbox),
            exec(ExecHost::Container),
            exec(ExecHost::Node),
            Effect::Connect(Connect::new("https", "example.org", 443, "GET")),
            Effect::Connect(Connect::new("http", Connect::SANDBOX_HOST, 80, "GET")),
            Effect::Connect(Connect::tunnel(Connect::SANDBOX_HOST, 80)),
            Effect::Unknown { why: why() },
            Effect::Contained { why: why(), read_only: false },
            Effect::Send { channel: "mail".into(), to: "ann".into(), outward: true },
            Effect::Spawn { agent: "docs".into() },
            Effect::Node { node: "laptop".into(), action: "read".into(), target: "a".into() },
        ] {
            let expected = RecordedTaint { private: reads_here(&effect), untrusted: brings_in(&effect) };
            let recorded = serde_json::to_value([&effect]).unwrap();
            assert_eq!(RecordedTaint::of_effects(&recorded), expected, "{effect:?}");
        }
        let read = serde_json::json!([{"effect": "read", "path": "/a"}]);
        assert_eq!(RecordedTaint::of_effects(&read), RecordedTaint { private: true, untrusted: false });
    }
}
