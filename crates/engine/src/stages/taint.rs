//! guard: the taint of a session, which together with outbound access lets data leak, and secrets in outbound calls.
//!
//! The session remembers whether it has read private data and seen untrusted content; a call that could then send data out needs
//! approval, and so does a redirect to a host that was not planned. Reads of the call itself count as well, and a program reads its
//! workspace. A known secret in the arguments of an outbound call needs approval in any session, unless it is where a credential
//! belongs, as in the header `Authorization`.

use std::borrow::Cow;

use haft_contract::{Effect, ErrorKind, Plan, TaintPolicy, ToolSource};
use haft_policy::{ConfigEdit, Decision, Denial};
use haft_redact::first_secret;
use haft_text::secrets::names_secret;
use serde_json::Value;

use crate::Session;

/// What a session has read, as far as it matters for leaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SessionTaint {
    private: bool,
    untrusted: bool,
}

impl SessionTaint {
    /// Remembers what a call that ran has brought in.
    pub(crate) fn record(&mut self, plan: &Plan, source: &ToolSource) {
        self.private |= plan.effects().iter().any(reads_here);
        self.untrusted |= matches!(source, ToolSource::Mcp(_)) || plan.effects().iter().any(brings_in);
    }
}

/// Whether private data may be read. A sandboxed program reads local files too.
fn reads_here(effect: &Effect) -> bool {
    matches!(effect, Effect::Read(_) | Effect::Exec(_) | Effect::Unknown { .. })
}

/// Whether untrusted content may come in. A sandboxed program gets some only through a connection of its own.
fn brings_in(effect: &Effect) -> bool {
    match effect {
        Effect::Connect(_) | Effect::Unknown { .. } => true,
        Effect::Exec(exec) => !exec.host.is_sandboxed(),
        _ => false,
    }
}

/// Makes an outbound call need approval, or refuses it, if the session has both private data and untrusted content, or if the
/// arguments hold a secret.
pub(crate) fn check(session: &Session, plan: &Plan, secret: Option<&'static str>, decision: &mut Decision) {
    if session.taint_policy() == TaintPolicy::Off || !plan.effects().iter().any(Effect::is_outward) {
        return;
    }
    let mut taint = *session.taint();
    // Data that the call itself reads is as private as data that was read before.
    taint.private |= plan.effects().iter().any(reads_here);
    if taint == (SessionTaint { private: true, untrusted: true }) {
        let why = "this session has read private data and seen untrusted content; this call could send data out";
        restrict(session, why.into(), "Ask the user to make this call in a fresh session.", decision);
    }
    if let Some(name) = secret {
        let why = format!("its arguments hold a secret ({name}), and this call could send it out");
        restrict(session, why.into(), "Make it without the secret.", decision);
    }
}

/// Applies the taint policy to a call that could send data out.
fn restrict(session: &Session, why: Cow<'static, str>, instead: &str, decision: &mut Decision) {
    if session.taint_policy() == TaintPolicy::Ask {
        decision.ask("taint guard", why);
    } else {
        let to_change = Some(ConfigEdit::Set { key: "guards.taint".into(), value: "ask".into() });
        let message = format!("Refused by the taint guard: {why}. {instead}");
        decision.deny("taint guard", why, Denial { kind: ErrorKind::PermissionDenied, message, to_change });
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
