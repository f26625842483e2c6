//! Limits on the tools of a turn: what a skill or a command of the user leaves of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tools that a turn has at most, and because of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLimit {
    /// Canonical names; with a rule's content in parentheses, only calls that it covers: `exec(git *)`.
    pub tools: Vec<String>,
    /// What limits them, such as `the skill 'review'`.
    pub because: String,
}

impl TurnLimit {
    /// A limit.
    pub fn new(tools: Vec<String>, because: impl Into<String>) -> Self {
        Self { tools, because: because.into() }
    }

    /// The entries that name a tool which has these names.
    fn entries<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a String> {
        let is_named = |entry: &&String| names.iter().any(|name| name == entry.split('(').next().unwrap_or_default());
        self.tools.iter().filter(is_named)
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
    /// Each of them holds.
    current: Vec<TurnLimit>,
    next: Option<TurnLimit>,
}

impl TurnTools {
    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the rest of this turn what the limit allows of what it has.
    pub fn limit(&self, limit: TurnLimit) {
        let mut limits = self.limits();
        // A skill that is loaded twice limits once.
        if !limits.current.contains(&limit) {
            limits.current.push(limit);
        }
        self.any.store(true, Ordering::Release);
    }

    /// Limits the next turn, from its beginning.
    pub fn limit_next(&self, limit: TurnLimit) {
        self.limits().next = Some(limit);
    }

    /// Begins a turn: earlier limits end.
    pub fn begin(&self) {
        let mut limits = self.limits();
        limits.current = limits.next.take().into_iter().collect();
        self.any.store(!limits.current.is_empty(), Ordering::Release);
    }

    /// What limits a tool that has these names, if it is not among those that are left.
    pub fn excludes(&self, names: &[String]) -> Option<String> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let limits = self.limits();
        let excluding = limits.current.iter().find(|limit| limit.entries(names).next().is_none());
        excluding.map(|limit| limit.because.clone())
    }

    /// The limits that leave a tool which has these names some calls only, each with the entries of which one must cover a call.
    pub fn narrowing(&self, names: &[String]) -> Vec<TurnLimit> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let entries = |limit: &TurnLimit| limit.entries(names).cloned().collect::<Vec<_>>();
        let limits = self.limits();
        let narrowed = limits.current.iter().map(|limit| TurnLimit::new(entries(limit), limit.because.clone()));
        narrowed.filter(|limit| !limit.tools.is_empty() && limit.tools.iter().all(|entry| entry.contains('('))).collect()
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
        turn.limit(limit(&["read_file", "write_file"], "b"));
        assert_eq!(["read_file", "write_file", "exec"].map(excluded), [None, Some("a".into()), Some("b".into())]);
        turn.begin();
        assert_eq!(excluded("write_file"), None);
        turn.limit_next(limit(&["read_file"], "the command"));
        assert_eq!(excluded("write_file"), None, "not before the turn begins");
        turn.begin();
        assert_eq!(excluded("write_file"), Some("the command".into()));
        turn.begin();
        assert_eq!(excluded("write_file"), None);
    }

    #[test]
    fn entries_with_contents_narrow_a_tool_unless_it_is_named_as_a_whole() {
        let turn = TurnTools::default();
        let narrowing = |tool: &str| turn.narrowing(&[tool.to_owned()]);
        turn.limit(limit(&["exec(git *)", "read_file", "exec(make)", "read_file(docs/**)"], "a"));
        assert_eq!(narrowing("exec"), [limit(&["exec(git *)", "exec(make)"], "a")]);
        assert_eq!((narrowing("read_file"), narrowing("write_file")), (Vec::new(), Vec::new()));
        assert_eq!(turn.excludes(&["exec".into()]), None);
        turn.limit(limit(&["exec(git log)"], "b"));
        assert_eq!(narrowing("exec"), [limit(&["exec(git *)", "exec(make)"], "a"), limit(&["exec(git log)"], "b")]);
        turn.begin();
        assert_eq!(narrowing("exec"), Vec::new());
    }
}
