//! Limits on the tools of a session: what a skill or a command of the user leaves of them for a turn, and the type of a sub-agent for
//! good.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// When a limit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitEnd {
    /// With the turn.
    Turn,
    /// With the session, also when another process resumes it.
    Session,
    /// With the session; the type of the sub-agent sets it again when it is resumed.
    Type,
}

/// The tools that a turn or a session has at most, and because of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLimit {
    /// Canonical names; with a rule's content in parentheses, only calls that it covers: `exec(git *)`.
    pub tools: Vec<String>,
    /// What limits them, such as `the skill 'review'`.
    pub because: String,
    /// When it ends.
    pub end: LimitEnd,
}

impl TurnLimit {
    /// A limit that ends with the turn.
    pub fn new(tools: Vec<String>, because: impl Into<String>) -> Self {
        Self { tools, because: because.into(), end: LimitEnd::Turn }
    }
    /// The same for the whole session.
    #[must_use]
    pub fn for_session(self) -> Self {
        Self { end: if self.end == LimitEnd::Turn { LimitEnd::Session } else { self.end }, ..self }
    }
    /// The same, set by the type of a sub-agent.
    #[must_use]
    pub fn of_type(self) -> Self {
        Self { end: LimitEnd::Type, ..self }
    }

    /// The entries that name a tool which has these names.
    fn entries<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a String> {
        let is_named = |entry: &&String| names.iter().any(|name| name == entry.split('(').next().unwrap_or_default());
        self.tools.iter().filter(is_named)
    }
}

/// The limits of a session and of its turn. A limit can only be added; those of the turn end with it.
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
    next: Vec<TurnLimit>,
}

impl TurnTools {
    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the rest of this turn, or of the session, what the limit allows of what it has.
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
        self.limits().next.push(limit);
    }

    /// Begins a turn: limits of the last one end.
    pub fn begin(&self) {
        let mut limits = self.limits();
        limits.current.retain(|limit| limit.end != LimitEnd::Turn);
        let next = std::mem::take(&mut limits.next);
        limits.current.extend(next);
        self.any.store(!limits.current.is_empty(), Ordering::Release);
    }

    /// The limits that hold now.
    pub fn current(&self) -> Vec<TurnLimit> {
        if self.any.load(Ordering::Acquire) { self.limits().current.clone() } else { Vec::new() }
    }

    /// The limit that leaves nothing of a tool which has these names.
    pub fn excludes(&self, names: &[String]) -> Option<TurnLimit> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        self.limits().current.iter().find(|limit| limit.entries(names).next().is_none()).cloned()
    }

    /// The limits that leave a tool which has these names some calls only, each with the entries of which one must cover a call.
    pub fn narrowing(&self, names: &[String]) -> Vec<TurnLimit> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let entries = |limit: &TurnLimit| limit.entries(names).cloned().collect::<Vec<_>>();
        let limits = self.limits();
        let narrowed = limits.current.iter().map(|limit| TurnLimit { tools: entries(limit), ..limit.clone() });
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
        let excluded = |tool: &str| turn.excludes(&[tool.to_owned()]).map(|limit| limit.because);
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
    fn limit_of_a_session_outlives_its_turns() {
        let session = TurnTools::default();
        let of_session = limit(&["read_file", "exec(git *)"], "the agent type 'critic'").for_session();
        session.limit(of_session.clone());
        session.limit(limit(&["read_file"], "a"));
        assert_eq!(session.current().len(), 2);
        session.begin();
        session.limit_next(limit(&["exec"], "the command"));
        session.begin();
        assert_eq!(session.current(), [of_session.clone(), limit(&["exec"], "the command")]);
        session.begin();
        assert_eq!((session.current(), session.excludes(&["write_file".into()])), (vec![of_session.clone()], Some(of_session)));
        assert_eq!(session.narrowing(&["exec".into()]), [limit(&["exec(git *)"], "the agent type 'critic'").for_session()]);
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
