//! guard: the three facts that together let data leak, and secrets on their way out.

use std::borrow::Cow;

use haft_contract::{Effect, ErrorKind, Plan, Source};
use haft_policy::{Change, Decision, Refusal};
use serde_json::Value;

use super::settle::names_a_credential;
use crate::session::TaintPolicy;
use crate::{Session, redact};

/// What a session has done that matters for leaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taint {
    private: bool,
    untrusted: bool,
}

impl Taint {
    /// Remembers what a call that ran has brought in.
    pub(crate) fn record(&mut self, plan: &Plan, source: &Source) {
        self.private |= plan.effects().iter().any(reads_here);
        self.untrusted |= matches!(source, Source::Mcp(_)) || plan.effects().iter().any(brings_in);
    }
}

/// Whether private data may be read. Behind walls a program reads what is here too.
fn reads_here(effect: &Effect) -> bool {
    matches!(effect, Effect::Read(_) | Effect::Exec(_) | Effect::Unknown { .. })
}

/// Whether something may come from elsewhere. Nothing reaches a program behind walls but by a connection of its own.
fn brings_in(effect: &Effect) -> bool {
    match effect {
        Effect::Connect(_) | Effect::Unknown { .. } => true,
        Effect::Exec(exec) => !exec.host.is_walled(),
        _ => false,
    }
}

/// A call that could send data out is put before a person if that would complete private data + untrusted content + a way out,
/// or if a secret stands in its arguments.
pub(crate) fn judge(session: &Session, plan: &Plan, secret: Option<&'static str>, decision: &mut Decision) {
    if session.taint_policy() == TaintPolicy::Off || !plan.effects().iter().any(Effect::is_outward) {
        return;
    }
    let mut seen = *session.taint();
    // What the call itself reads is as private as what was read before.
    seen.private |= plan.effects().iter().any(reads_here);
    if seen == (Taint { private: true, untrusted: true }) {
        let why = "this session has read private data and seen untrusted content; this call could send data out";
        hold(session, why.into(), "Ask the person to make this call in a fresh session.", decision);
    }
    if let Some(name) = secret {
        let why = format!("its arguments hold a secret ({name}), and this call could send it out");
        hold(session, why.into(), "Make it without the secret.", decision);
    }
}

/// What the guard does with a call that could carry data out.
fn hold(session: &Session, why: Cow<'static, str>, instead: &str, decision: &mut Decision) {
    if session.taint_policy() == TaintPolicy::Ask {
        decision.ask("taint guard", why);
    } else {
        let to_change = Some(Change::Set { key: "guards.taint".into(), value: "ask".into() });
        let message = format!("Refused by the taint guard: {why}. {instead}");
        decision.deny("taint guard", why, Refusal { kind: ErrorKind::PermissionDenied, message, to_change });
    }
}

/// The shape of a known secret in the arguments of a call. What stands where a credential belongs, such as the header
/// `Authorization`, is meant for the other side.
pub(crate) fn secret_in(arguments: &Value) -> Option<&'static str> {
    match arguments {
        Value::String(text) => redact::first(text),
        Value::Array(items) => items.iter().find_map(secret_in),
        Value::Object(map) => {
            let mut others = map.iter().filter(|(key, value)| !(value.is_string() && names_a_credential(key)));
            others.find_map(|(key, value)| redact::first(key).or_else(|| secret_in(value)))
        }
        _ => None,
    }
}
