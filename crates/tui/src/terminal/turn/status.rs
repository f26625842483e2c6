//! The end of a turn: why it ended, if the model is not done, and its usage.

use std::borrow::Cow;
use std::time::Duration;

use haft_agent::{EndReason, TurnEnd};
use haft_provider::Usage;
use haft_text::numbers::{self, count, group_digits};

use super::style::SymbolSet;
use crate::time::duration;

/// Why a turn ended, and what to do about it; `None` if the model is done.
pub(super) fn sentence(end: &TurnEnd) -> Option<Cow<'_, str>> {
    let error_or = |otherwise: &'static str| end.error.as_deref().unwrap_or(otherwise);
    Some(match end.reason {
        EndReason::Done => return None,
        EndReason::MaxTokens => "The answer was cut at the model's limit. Say \"continue\" to get the rest.".into(),
        EndReason::Refused => {
            "The model, or a filter of its provider, refused to answer. Rephrase the question, or use another model.".into()
        }
        EndReason::Loop => "The model repeated itself, so the turn was stopped. Tell it what to do differently.".into(),
        EndReason::MaxRounds => format!("The turn was stopped after {}, which is the limit.", count(end.rounds, "round")).into(),
        EndReason::Budget => error_or("The budget is used up.").into(),
        EndReason::Cancelled => "The turn was cancelled. Messages and results so far are kept.".into(),
        EndReason::Failed => error_or("There was no answer.").into(),
        _ => error_or("The turn was ended.").into(),
    })
}

/// `↑12.3k (9k cached) ↓840`, `$0.02`, `3 tools`, `8 s`, or the same in words. Empty if nothing was used.
pub(super) fn facts(end: &TurnEnd, symbols: SymbolSet) -> Vec<String> {
    let (tokens, calls) = (tokens(end.usage, symbols), calls(end.calls, symbols));
    if tokens.is_none() && calls.is_none() {
        return Vec::new();
    }
    // Without a known price only tokens are shown.
    let cost = end.cost.map(|cost| cost.to_string());
    tokens.into_iter().chain(cost).chain(calls).chain([time(end.elapsed)]).collect()
}

fn tokens(usage: Usage, symbols: SymbolSet) -> Option<String> {
    if usage.input + usage.output == 0 {
        return None;
    }
    let cached = |number: String| if usage.cached > 0 { format!(" ({number} cached)") } else { String::new() };
    Some(match symbols {
        SymbolSet::Symbols => format!("↑{}{} ↓{}", short(usage.input), cached(short(usage.cached)), short(usage.output)),
        SymbolSet::Words => {
            format!("{} tokens in{}, {} out", group_digits(usage.input), cached(group_digits(usage.cached)), group_digits(usage.output))
        }
    })
}

fn calls(count: u32, symbols: SymbolSet) -> Option<String> {
    let what = if symbols == SymbolSet::Symbols { "tool" } else { "call" };
    (count > 0).then(|| numbers::count(count, what))
}

/// Nobody counts the tenths of a turn's seconds.
fn time(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        0 | 60.. => duration(elapsed),
        seconds => format!("{seconds} s"),
    }
}

/// `840`, `12.3k`, `9k`, `1.2M`.
pub(crate) fn short(number: u64) -> String {
    let (unit, sign) = match number {
        0..1_000 => return number.to_string(),
        1_000..999_950 => (1_000, "k"),
        _ => (1_000_000, "M"),
    };
    let tenths = (u128::from(number) * 10 + unit / 2) / unit;
    if tenths.is_multiple_of(10) { format!("{}{sign}", tenths / 10) } else { format!("{}.{}{sign}", tenths / 10, tenths % 10) }
}

#[cfg(test)]
mod tests {
    use haft_agent::Micros;

    use super::*;

    #[test]
    fn token_counts_are_short_or_whole() {
        for (number, brief, long) in [
            (0, "0", "0"),
            (840, "840", "840"),
            (9_000, "9k", "9,000"),
            (12_345, "12.3k", "12,345"),
            (999_949, "999.9k", "999,949"),
            (999_950, "1M", "999,950"),
            (1_234_567, "1.2M", "1,234,567"),
        ] {
            assert_eq!((short(number).as_str(), group_digits(number).as_str()), (brief, long));
        }
    }

    #[test]
    fn turn_usage_is_shown_in_symbols_or_words() {
        let end = |input, cached, cost: Option<i64>, calls, milliseconds| {
            let mut end = TurnEnd::new(EndReason::Done);
            (end.usage.input, end.usage.output, end.usage.cached) = (input, if input > 0 { 840 } else { 0 }, cached);
            (end.cost, end.calls, end.elapsed) = (cost.map(Micros), calls, Duration::from_millis(milliseconds));
            end
        };
        for (end, symbols, words) in [
            (
                end(12_300, 9_000, Some(21_000), 3, 8_200),
                "↑12.3k (9k cached) ↓840 · $0.0210 · 3 tools · 8 s",
                "12,300 tokens in (9,000 cached), 840 out, $0.0210, 3 calls, 8 s",
            ),
            (end(500, 0, None, 0, 340), "↑500 ↓840 · 340 ms", "500 tokens in, 840 out, 340 ms"),
            (end(0, 0, None, 1, 65_000), "1 tool · 1 min 5 s", "1 call, 1 min 5 s"),
            (end(0, 0, None, 0, 65_000), "", ""),
        ] {
            assert_eq!(facts(&end, SymbolSet::Symbols).join(SymbolSet::Symbols.separator()), symbols);
            assert_eq!(facts(&end, SymbolSet::Words).join(SymbolSet::Words.separator()), words);
        }
    }

    #[test]
    fn each_end_reason_but_done_has_a_sentence() {
        for (reason, error, expected) in [
            (EndReason::Done, None, None),
            (EndReason::MaxTokens, None, Some("The answer was cut at the model's limit. Say \"continue\" to get the rest.")),
            (
                EndReason::Refused,
                None,
                Some("The model, or a filter of its provider, refused to answer. Rephrase the question, or use another model."),
            ),
            (EndReason::Loop, None, Some("The model repeated itself, so the turn was stopped. Tell it what to do differently.")),
            (EndReason::MaxRounds, None, Some("The turn was stopped after 2 rounds, which is the limit.")),
            (EndReason::Budget, Some("The budget is used up: $1 of $1."), Some("The budget is used up: $1 of $1.")),
            (EndReason::Cancelled, None, Some("The turn was cancelled. Messages and results so far are kept.")),
            (EndReason::Failed, Some("The key is wrong."), Some("The key is wrong.")),
            (EndReason::Failed, None, Some("There was no answer.")),
        ] {
            let mut end = TurnEnd::new(reason);
            (end.rounds, end.error) = (2, error.map(str::to_owned));
            assert_eq!(sentence(&end).as_deref(), expected, "{reason:?}");
        }
    }
}
