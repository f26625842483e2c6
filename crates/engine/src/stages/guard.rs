//! guard: loops that make no progress.
//!
//! Call and outcome are hashed, also of calls that were refused before they were understood. The same call with the same outcome is
//! noted (3 times), then not made (6), then the run should end (10). A new change resets the count of failures.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime};

use haft_contract::{Arguments, Content, ErrorKind, ToolCall, ToolError, ToolOutput};
use haft_policy::folded;

/// After how many attempts with the same outcome the loop guard acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopLimits {
    /// A note in the result.
    pub note: u32,
    /// The call is not made.
    pub block: u32,
    /// The run should end.
    pub stop: u32,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self { note: 3, block: 6, stop: 10 }
    }
}

/// Repeats that are further apart than this are no loop.
const FORGET_AFTER: Duration = Duration::from_mins(10);
/// How many different calls are remembered; the oldest are forgotten first.
const MAX_CALLS: usize = 256;

/// Remembers calls and their outcomes. Both are compared by hash.
#[derive(Debug)]
pub(crate) struct LoopDetector {
    limits: Option<LoopLimits>,
    calls: HashMap<u64, RepeatCount>,
    stop: bool,
}

#[derive(Debug)]
struct RepeatCount {
    outcome: u64,
    repeats: u32,
    last: SystemTime,
}

/// Which call this is, for the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallSignature(u64);

impl CallSignature {
    /// The signature of a call as it came: calls that are refused before they are understood repeat themselves most of all.
    pub(crate) fn new(call: &ToolCall) -> Self {
        let mut hasher = DefaultHasher::new();
        folded(&call.name).hash(&mut hasher);
        match &call.arguments {
            Arguments::Text(text) => text.hash(&mut hasher),
            Arguments::Json(value) => value.hash(&mut hasher),
        }
        Self(hasher.finish())
    }
}

impl LoopDetector {
    pub(crate) fn new(limits: Option<LoopLimits>) -> Self {
        Self { limits, calls: HashMap::new(), stop: false }
    }

    pub(crate) fn should_stop(&self) -> bool {
        self.stop
    }

    pub(crate) fn forget(&mut self) {
        self.calls.clear();
        self.stop = false;
    }

    /// Before a call: refused once it has given the same outcome too often.
    pub(crate) fn check(&mut self, signature: CallSignature, tool: &str, now: SystemTime) -> Result<(), ToolError> {
        let Some(limits) = self.limits else { return Ok(()) };
        let Some(seen) = self.calls.get_mut(&signature.0) else { return Ok(()) };
        if now.duration_since(seen.last).is_ok_and(|gap| gap > FORGET_AFTER) {
            self.calls.remove(&signature.0);
            return Ok(());
        }
        let attempt = seen.repeats + 1;
        if attempt < limits.block {
            return Ok(());
        }
        seen.repeats = attempt;
        seen.last = now;
        let end = if attempt >= limits.stop { " The run ends here." } else { "" };
        self.stop |= attempt >= limits.stop;
        Err(ToolError::new(
            ErrorKind::LoopBlocked,
            format!(
                "'{tool}' was called {attempt} times with the same arguments and gave the same outcome each time. \
                 It was not called again: change the arguments, try another way, or tell the user what is missing.{end}"
            ),
        ))
    }

    /// After a call: counts it, and returns the number of the attempt if it is worth a note.
    pub(crate) fn record(
        &mut self,
        signature: CallSignature,
        outcome: &Result<ToolOutput, ToolError>,
        progress: bool,
        now: SystemTime,
    ) -> Option<u32> {
        let limits = self.limits?;
        let outcome_hash = hash_outcome(outcome);
        if progress && outcome.is_ok() && !self.calls.contains_key(&signature.0) {
            // Something new was changed: a call that failed before may work now.
            self.calls.clear();
        }
        self.evict_oldest();
        let seen = self.calls.entry(signature.0).or_insert(RepeatCount { outcome: outcome_hash, repeats: 0, last: now });
        if seen.outcome == outcome_hash {
            seen.repeats += 1;
        } else {
            (seen.outcome, seen.repeats) = (outcome_hash, 1);
        }
        seen.last = now;
        (seen.repeats >= limits.note).then_some(seen.repeats)
    }

    fn evict_oldest(&mut self) {
        if self.calls.len() >= MAX_CALLS
            && let Some(oldest) = self.calls.iter().min_by_key(|(_, seen)| seen.last).map(|(key, _)| *key)
        {
            self.calls.remove(&oldest);
        }
    }
}

/// The outcome as the model sees it, without details: durations and ids change on every run.
fn hash_outcome(outcome: &Result<ToolOutput, ToolError>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match outcome {
        Ok(output) => output.content.iter().for_each(|block| match block {
            Content::Text(text) => text.hash(&mut hasher),
            Content::Image { data, .. } => data.hash(&mut hasher),
            other => format!("{other:?}").hash(&mut hasher),
        }),
        Err(error) => (error.kind(), error.message()).hash(&mut hasher),
    }
    hasher.finish()
}

/// The note that a repeated result carries.
pub(crate) fn note(attempt: u32) -> String {
    format!("\n\n(This call has now given the same outcome {attempt} times. Repeating it will not help.)")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[allow(clippy::unnecessary_wraps)] // the shape that the guard takes
    fn ok(text: &str) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(text))
    }
    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    #[test]
    fn repeats_are_noted_then_blocked_then_end_the_run() {
        let mut guard = LoopDetector::new(Some(LoopLimits { note: 2, block: 4, stop: 6 }));
        let call = CallSignature::new(&ToolCall::new("id", "t", json!({"a": 1})));
        let mut story = Vec::new();
        for _ in 0..6 {
            story.push(match guard.check(call, "t", NOW) {
                Ok(()) => guard.record(call, &ok("same"), false, NOW).map_or("runs", |_| "noted"),
                Err(_) if guard.should_stop() => "stop",
                Err(_) => "blocked",
            });
        }
        assert_eq!(story, ["runs", "noted", "noted", "blocked", "blocked", "stop"]);
    }

    #[test]
    fn another_outcome_other_arguments_time_and_progress_start_anew() {
        let limits = Some(LoopLimits { note: 9, block: 2, stop: 9 });
        let signature = |name: &str, arguments: serde_json::Value| CallSignature::new(&ToolCall::new("id", name, arguments));
        let (call, other) = (signature("t", json!({"a": 1})), signature("t", json!({"a": 2})));
        assert_eq!(call, signature(" T ", json!({"a": 1})));
        let mut guard = LoopDetector::new(limits);
        guard.record(call, &ok("x"), false, NOW);
        assert!(guard.check(call, "t", NOW).is_err());
        assert!(guard.check(other, "t", NOW).is_ok());
        assert!(guard.check(call, "t", NOW + FORGET_AFTER * 2).is_ok());
        guard.record(call, &ok("x"), false, NOW);
        guard.record(other, &ok("wrote"), true, NOW);
        assert!(guard.check(call, "t", NOW).is_ok());
    }

    #[test]
    fn memory_is_bounded() {
        let mut guard = LoopDetector::new(Some(LoopLimits::default()));
        for number in 0..1000_u64 {
            guard.record(CallSignature(number), &ok("x"), false, NOW + Duration::from_secs(number));
        }
        assert_eq!(guard.calls.len(), MAX_CALLS);
        assert!(guard.calls.contains_key(&999));
    }
}
