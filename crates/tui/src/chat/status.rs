//! The status before each prompt: model, context window, cost, access level.

use haft_agent::Micros;
use haft_store::UsageSum;

use crate::terminal::short;

/// The status of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChatStatus {
    pub(super) model: String,
    /// Estimated tokens of the conversation; `window` is the limit of the model.
    pub(super) context: u64,
    pub(super) window: u64,
    pub(super) used: UsageSum,
    pub(super) access: &'static str,
}

impl ChatStatus {
    /// `work/m1 · 38% of 200k · $0.12 · workspace-write`.
    pub(super) fn with_symbols(&self) -> String {
        let window = self.percent().map(|percent| format!("{percent}% of {}", short(self.window)));
        self.parts(window).join(" · ")
    }

    /// `work/m1, 38 percent of 200k tokens, $0.12, workspace-write`.
    pub(super) fn in_words(&self) -> String {
        let window = self.percent().map(|percent| format!("{percent} percent of {} tokens", short(self.window)));
        self.parts(window).join(", ")
    }

    fn parts(&self, window: Option<String>) -> Vec<String> {
        [Some(self.model.clone()), window, cost(&self.used), Some(self.access.to_owned())].into_iter().flatten().collect()
    }

    fn percent(&self) -> Option<u64> {
        (self.window > 0).then(|| self.context.saturating_mul(100).div_ceil(self.window).min(100))
    }
}

/// The cost, or the tokens if no price is known; `None` if nothing was used.
pub(super) fn cost(used: &UsageSum) -> Option<String> {
    let tokens = used.input.saturating_add(used.output);
    match (used.requests, used.unpriced) {
        (0, _) => None,
        (_, 0) => Some(Micros(used.cost_micros).to_string()),
        (requests, unpriced) if requests == unpriced => Some(format!("{} tokens", short(tokens))),
        (_, unpriced) => Some(format!("{} and {unpriced} answers of unknown price", Micros(used.cost_micros))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(requests: u64, cost_micros: i64, unpriced: u64) -> UsageSum {
        UsageSum { requests, input: 11_500, output: 840, cost_micros, unpriced, ..UsageSum::default() }
    }

    #[test]
    fn chat_status_has_symbols_or_words() {
        let status =
            ChatStatus { model: "work/m1".into(), context: 75_001, window: 200_000, used: used(3, 120_000, 0), access: "workspace-write" };
        assert_eq!(status.with_symbols(), "work/m1 · 38% of 200k · $0.12 · workspace-write");
        assert_eq!(status.in_words(), "work/m1, 38 percent of 200k tokens, $0.12, workspace-write");
        let new = ChatStatus { window: 0, used: UsageSum::default(), ..status };
        assert_eq!(new.with_symbols(), "work/m1 · workspace-write");
    }

    #[test]
    fn cost_of_an_unknown_price_is_given_in_tokens() {
        for (sum, text) in [
            (UsageSum::default(), None),
            (used(2, 120_000, 0), Some("$0.12")),
            (used(2, 0, 2), Some("12.3k tokens")),
            (used(3, 120_000, 1), Some("$0.12 and 1 answers of unknown price")),
        ] {
            assert_eq!(cost(&sum).as_deref(), text);
        }
    }
}
