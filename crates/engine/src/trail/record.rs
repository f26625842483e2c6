//! Parts of a call's record in history: its id, and the decision with its caller.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use haft_policy::{Caller, Decision, Sender, TraceEntry, Verdict};
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::stages::taint::SessionTaint;

/// The key that says of a recorded decision that the session had seen untrusted content by the end of the call.
pub(crate) const UNTRUSTED: &str = "untrusted";

/// A decision, the advice on it if it was a refusal, the connections of its command, and its caller where that is not the owner in
/// front of the agent: so that it can be evaluated again.
#[derive(Serialize)]
pub(super) struct RecordedDecision<'a> {
    verdict: Verdict,
    trace: &'a [TraceEntry],
    /// Under [`UNTRUSTED`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    untrusted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_change: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connections: Vec<Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    caller: Map<String, Value>,
}

impl<'a> RecordedDecision<'a> {
    pub(super) fn new(
        decision: &'a Decision,
        advice: Option<&'a Value>,
        caller: &Caller,
        connections: Vec<Value>,
        taint: SessionTaint,
    ) -> Self {
        let (verdict, trace, untrusted) = (decision.verdict, decision.trace.as_slice(), taint.has_untrusted());
        Self { verdict, trace, untrusted, to_change: advice, connections, caller: caller_facts(caller) }
    }
}

fn caller_facts(caller: &Caller) -> Map<String, Value> {
    let sender = caller.sender.as_ref().map(|Sender { id, e164, username, name }| {
        let parts = [("id", id), ("e164", e164), ("username", username), ("name", name)];
        let known = parts.into_iter().filter_map(|(kind, value)| Some((kind.to_owned(), json!(value.as_ref()?))));
        Value::Object(known.collect())
    });
    let facts = [
        ("owner", (!caller.owner).then(|| json!(false))),
        ("depth", (caller.depth > 0).then(|| json!(caller.depth))),
        ("sandboxed", caller.sandboxed.then(|| json!(true))),
        ("provider", caller.provider.as_ref().map(|provider| json!(provider))),
        ("model", caller.model.as_ref().map(|model| json!(model))),
        ("channel", caller.channel.as_ref().map(|channel| json!(channel))),
        ("sender", sender),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// A UUID v7 without a system call: the time, a counter that keeps calls of one moment in order, and a random part that is
/// drawn once per process. The counter is in the tail as well, because users name calls by the last characters.
pub(super) fn new_id(now: SystemTime) -> Uuid {
    static SEED: OnceLock<[u8; 16]> = OnceLock::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let seed = SEED.get_or_init(|| haft_store::new_uuid().into_bytes());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // An odd factor makes neighbouring counts look different, and keeps them distinct.
    let scattered = u32::from_be_bytes([seed[12], seed[13], seed[14], seed[15]]).wrapping_add(count.wrapping_mul(0x9E37_79B1));
    let mut tail = [0; 10];
    tail[..4].copy_from_slice(&count.to_be_bytes());
    tail[4..6].copy_from_slice(&seed[10..12]);
    tail[6..].copy_from_slice(&scattered.to_be_bytes());
    let millis = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn record_ids_are_unique_and_sort_by_time_then_order() {
        let ids: Vec<String> = (0..1000).map(|_| new_id(SystemTime::UNIX_EPOCH).to_string()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 1000);
        assert_eq!(ids.iter().map(|id| &id[id.len() - 8..]).collect::<BTreeSet<_>>().len(), 1000, "the last characters name a call");
        assert!(new_id(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).to_string() > ids[999]);
    }
}
