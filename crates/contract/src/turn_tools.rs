//! Limits on the tools of a turn: what a skill or a command of the user leaves of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tools that a turn has at most, and because of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLimit {
    /// Canonical names.
    pub tools: Vec<String>,
    /// What limits them, such as `the skill 'review'`.
    pub because: String,
}

impl TurnLimit {
    /// A limit.
    pub fn new(tools: Vec<String>, because: impl Into<String>) -> Self {
        Self { tools, because: because.into() }
    }

    /// What both allow.
    fn and(self, other: &Self) -> Self {
        let tools = self.tools.into_iter().filter(|tool| other.tools.contains(tool)).collect();
        let because = if self.because == other.because { self.because } else { format!("{} and {}", other.because, self.because) };
        Self { tools, because }
    }
}

/// The limits of a session's turn. A limit can only be added; all end with the turn.
#[derive(Debug, Default)]
pub struct TurnTools {
    /// So that nobody waits for the limits while there are none.
    any: AtomicBool,
    limits: Mutex<Limits>,
}

#[derive(Debug, Default)]
struct Limits {
    current: Option<TurnLimit>,
    next: Option<TurnLimit>,
}

impl TurnTools {
    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the rest of this turn what the limit allows of what it has; returns what that is.
    pub fn limit(&self, limit: TurnLimit) -> TurnLimit {
        let mut limits = self.limits();
        let left = match limits.current.take() {
            Some(before) => limit.and(&before),
            None => limit,
        };
        limits.current = Some(left.clone());
        self.any.store(true, Ordering::Release);
        left
    }

    /// Limits the next turn, from its beginning.
    pub fn limit_next(&self, limit: TurnLimit) {
        self.limits().next = Some(limit);
    }

    /// Begins a turn: earlier limits end.
    pub fn begin(&self) {
        let mut limits = self.limits();
        limits.current = limits.next.take();
        self.any.store(limits.current.is_some(), Ordering::Release);
    }

    /// What limits a tool that has these names, if it is not among those that are left.
    pub fn excludes(&self, names: &[String]) -> Option<String> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let limits = self.limits();
        let limit = limits.current.as_ref()?;
        (!limit.tools.iter().any(|tool| names.contains(tool))).then(|| limit.because.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(tools: &[&str], because: &str) -> TurnLimit {
        TurnLimit::new(tools.iter().map(ToString::to_string).collect(), because)
    }

    #[test]
    fn limits_only_tighten_and_end_with_the_turn() {
        let turn = TurnTools::default();
        let excluded = |tool: &str| turn.excludes(&[tool.to_owned()]);
        assert_eq!(excluded("exec"), None);
        turn.limit(limit(&["read_file", "exec"], "a"));
        assert_eq!((excluded("exec"), excluded("write_file")), (None, Some("a".into())));
        assert_eq!(turn.limit(limit(&["read_file", "write_file"], "b")), limit(&["read_file"], "a and b"));
        assert_eq!((excluded("read_file"), excluded("write_file")), (None, Some("a and b".into())));
        turn.begin();
        assert_eq!(excluded("write_file"), None);
        turn.limit_next(limit(&["read_file"], "the command"));
        assert_eq!(excluded("write_file"), None, "not before the turn begins");
        turn.begin();
        assert_eq!(excluded("write_file"), Some("the command".into()));
        turn.begin();
        assert_eq!(excluded("write_file"), None);
    }
}
