//! How much is at stake in a question, as the inbox shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::EffectView;

/// A level, and what it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RiskView {
    pub(crate) level: RiskLevel,
    /// Such as `deletes, outside the workspace, cannot be undone`.
    pub(crate) words: String,
}

/// How much is at stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RiskLevel {
    #[default]
    Low,
    Medium,
    High,
}

impl RiskView {
    /// The weightiest effect counts, then where it happens, what the session has read, and whether it can be taken back.
    pub(crate) fn new(effects: &[EffectView], is_tainted: bool, can_undo: bool) -> Self {
        let heaviest = effects.iter().map(|effect| effect.weight).min().unwrap_or(u8::MAX);
        let (base, word) = match heaviest {
            1 => (3, "deletes"),
            2 => (2, "runs"),
            3 => (2, "connects"),
            4 => (1, "writes"),
            5 => (0, "reads"),
            _ => (0, "other"),
        };
        let is_outside = effects.iter().any(|effect| effect.outside);
        let more =
            [(is_outside, "outside the workspace"), (is_tainted, "after untrusted content"), (!can_undo && base > 0, "cannot be undone")];
        let words: Vec<&str> = std::iter::once(word).chain(more.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word)).collect();
        let level = match base + words.len() - 1 {
            0 | 1 => RiskLevel::Low,
            2 | 3 => RiskLevel::Medium,
            _ => RiskLevel::High,
        };
        Self { level, words: words.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risk_follows_the_effects_their_place_and_what_was_read() {
        let effect = |weight, outside| EffectView { kind: String::new(), target: String::new(), weight, outside, place: None, words: None };
        for (effects, is_tainted, can_undo, level, words) in [
            (vec![], false, true, RiskLevel::Low, "other"),
            (vec![effect(5, false)], false, true, RiskLevel::Low, "reads"),
            (vec![effect(5, true)], true, true, RiskLevel::Medium, "reads, outside the workspace, after untrusted content"),
            (vec![effect(4, false), effect(5, false)], false, true, RiskLevel::Low, "writes"),
            (vec![effect(4, true)], false, true, RiskLevel::Medium, "writes, outside the workspace"),
            (vec![effect(3, false)], true, false, RiskLevel::High, "connects, after untrusted content, cannot be undone"),
            (vec![effect(2, false)], false, false, RiskLevel::Medium, "runs, cannot be undone"),
            (vec![effect(1, false)], false, true, RiskLevel::Medium, "deletes"),
            (vec![effect(1, true), effect(4, false)], false, true, RiskLevel::High, "deletes, outside the workspace"),
        ] {
            assert_eq!(RiskView::new(&effects, is_tainted, can_undo), RiskView { level, words: words.into() }, "{effects:?}");
        }
    }
}
