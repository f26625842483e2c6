//! Advice: the smallest edit of the configuration that makes exactly one call pass.
//!
//! Every step that denies or asks names candidates. Whether they suffice is not believed but tried: the call is decided again
//! with them, until nothing is against it or nothing more can be edited. Then every edit that is not needed is dropped again. So
//! advice that is printed was followed once, and gave the verdict that it promises.

use std::fmt;

use serde::Serialize;

use crate::{ConfigEdit, Decision, Denial, EditValue, Verdict};

/// How often a step may find something new against a call that was edited.
const ROUNDS: usize = 12;

/// What the user can do to get another verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The verdict that it starts from.
    #[serde(skip)]
    pub from: Verdict,
    /// The edits, all of them together; none if only the user's own hand helps.
    pub edits: Vec<ConfigEdit>,
    /// The verdict that follows from them.
    pub then: Verdict,
    /// What the user can do where no edit helps, or why the question stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

/// A call, decided again after some edits.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The decision.
    pub decision: Decision,
    /// The rules that would answer its questions for good, or why there are none.
    pub rules: Result<Vec<String>, String>,
}

impl Advice {
    /// The advice on a decision. `retry` decides the same call with edits made; nothing if they cannot be made.
    pub fn search(first: Trial, retry: &dyn Fn(&[ConfigEdit]) -> Option<Trial>) -> Self {
        let from = first.decision.verdict;
        match (Search { retry }).run(first) {
            Ok(state) => Self { from, then: state.trial.decision.verdict, by_hand: state.reason(), edits: state.edits },
            Err(by_hand) => Self { from, edits: Vec::new(), then: from, by_hand: Some(by_hand) },
        }
    }
    /// What would refuse a call that passes.
    pub fn to_refuse(edits: Vec<ConfigEdit>) -> Self {
        Self { from: Verdict::Allow, edits, then: Verdict::Deny, by_hand: None }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edits = self.edits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        match (self.from, self.then, &self.by_hand) {
            (Verdict::Deny, Verdict::Deny, by_hand) => f.write_str(by_hand.as_deref().unwrap_or("no setting changes it")),
            (Verdict::Deny, Verdict::Ask, _) => write!(f, "{edits}; then you are asked"),
            (Verdict::Deny, Verdict::Allow, _) => f.write_str(&edits),
            (Verdict::Ask, Verdict::Allow, _) => write!(f, "to allow it without asking, {edits}"),
            (Verdict::Ask, _, by_hand) => {
                write!(f, "it needs approval each time: {}", by_hand.as_deref().unwrap_or("no setting changes it"))
            }
            (Verdict::Allow, ..) => write!(f, "to refuse it, {edits}"),
        }
    }
}

/// A call after some edits.
#[derive(Clone)]
struct State {
    edits: Vec<ConfigEdit>,
    trial: Trial,
}

impl State {
    fn verdict(&self) -> Verdict {
        self.trial.decision.verdict
    }
    /// Why the user is asked each time, if that is what remains.
    fn reason(&self) -> Option<String> {
        (self.verdict() == Verdict::Ask).then(|| self.trial.decision.question())
    }
    /// What denies besides that nobody is asked.
    fn refusals(&self) -> impl Iterator<Item = &Denial> {
        self.trial.decision.denials.iter().filter(|denial| !is_unasked(denial))
    }
}

/// Whether a denial is one only because nobody is asked.
fn is_unasked(denial: &Denial) -> bool {
    denial.ways.first().and_then(|way| way.first()).is_some_and(|edit| matches!(edit, ConfigEdit::Set { key, .. } if key == "ask"))
}

#[derive(Clone, Copy)]
struct Search<'a> {
    retry: &'a dyn Fn(&[ConfigEdit]) -> Option<Trial>,
}

impl Search<'_> {
    /// The best that can be had: a call that passes, or else one that is asked about. What only the user can do is the error.
    fn run(self, first: Trial) -> Result<State, String> {
        let undenied = self.lift(State { edits: Vec::new(), trial: first })?;
        if let Some(allowed) = self.answer(undenied.clone()) {
            return Ok(self.smallest(allowed));
        }
        let asked = if undenied.verdict() == Verdict::Deny { self.let_ask(&undenied)? } else { undenied };
        Ok(self.smallest(asked))
    }

    /// Takes away what denies, until nothing does or nobody would be asked.
    fn lift(self, mut state: State) -> Result<State, String> {
        for _ in 0..ROUNDS {
            if state.refusals().next().is_none() {
                return Ok(state);
            }
            let mut more = Vec::new();
            for denial in state.refusals() {
                more.extend_from_slice(next_way(denial, &state.edits)?);
            }
            state = self.with(&state, &more).ok_or_else(unknown)?;
        }
        Err(unknown())
    }

    /// Answers all questions for good: by rules on exactly this call, or else by what asks.
    fn answer(self, mut state: State) -> Option<State> {
        for _ in 0..ROUNDS {
            if state.verdict() == Verdict::Allow {
                return Some(state);
            }
            let rules: Vec<ConfigEdit> =
                state.trial.rules.iter().flatten().map(|rule| ConfigEdit::add("rules.allow", rule.as_str())).collect();
            let by_rules = if rules.is_empty() { None } else { self.with(&state, &rules) };
            if let Some(allowed) = by_rules.filter(|state| state.verdict() == Verdict::Allow) {
                return Some(allowed);
            }
            let asking = state.trial.decision.to_stop_asking.clone();
            let is_new = |edit: &ConfigEdit| !state.edits.iter().any(|made| made == edit || edit.takes_back(made));
            let more: Vec<ConfigEdit> = asking.into_iter().filter(is_new).collect();
            if more.is_empty() || more.iter().any(|edit| matches!(edit, ConfigEdit::Do(_))) {
                return None;
            }
            state = self.lift(self.with(&state, &more)?).ok()?;
        }
        None
    }

    /// Lets the user be asked, where nobody is.
    fn let_ask(self, state: &State) -> Result<State, String> {
        let way = state.trial.decision.denials.iter().find(|denial| is_unasked(denial)).and_then(|denial| denial.ways.first()).cloned();
        let asked = way.and_then(|way| self.with(state, &way)).ok_or_else(unknown)?;
        if asked.verdict() == Verdict::Deny { Err(unknown()) } else { Ok(asked) }
    }

    fn with(self, state: &State, more: &[ConfigEdit]) -> Option<State> {
        let mut edits = state.edits.clone();
        for edit in more {
            // The last value of a key counts.
            edits.retain(|known| !replaces(edit, known));
            if !edits.contains(edit) {
                edits.push(edit.clone());
            }
        }
        let trial = (self.retry)(&edits)?;
        Some(State { edits, trial })
    }

    /// Without every edit that is not needed.
    fn smallest(self, mut state: State) -> State {
        let mut at = 0;
        while at < state.edits.len() && state.edits.len() > 1 {
            let mut fewer = state.edits.clone();
            fewer.remove(at);
            match (self.retry)(&fewer).filter(|trial| trial.decision.verdict == state.verdict()) {
                Some(trial) => state = State { edits: fewer, trial },
                None => at += 1,
            }
        }
        state
    }
}

fn replaces(edit: &ConfigEdit, known: &ConfigEdit) -> bool {
    match (edit, known) {
        (ConfigEdit::Set { key, owner, .. }, ConfigEdit::Set { key: other, owner: others, .. }) => key == other && owner == others,
        _ => false,
    }
}

/// The first way of a denial that was not tried; what only the user can do is the error.
fn next_way<'a>(denial: &'a Denial, made: &[ConfigEdit]) -> Result<&'a [ConfigEdit], String> {
    let untried = |way: &&Vec<ConfigEdit>| way.iter().any(|edit| !made.contains(edit));
    let way = denial.ways.iter().find(untried).ok_or_else(unknown)?;
    let by_hand = way.iter().find_map(|edit| if let ConfigEdit::Do(what) = edit { Some(what.clone()) } else { None });
    by_hand.map_or(Ok(way), Err)
}

fn unknown() -> String {
    "no setting allows it".to_owned()
}

impl EditValue {
    /// The word, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}
