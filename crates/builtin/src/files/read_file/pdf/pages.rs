//! Which pages are wanted.

use haft_contract::ToolError;

use crate::shared::words;

/// How many pages a call shows if it does not say.
const FEW: usize = 10;
/// How many it shows at most.
pub(super) const MOST: usize = 20;

/// A range of pages, counted from 1; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Pages {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Default for Pages {
    fn default() -> Self {
        Self { first: 1, last: FEW }
    }
}

impl Pages {
    /// Reads `3`, `1-5` or `7-`.
    pub(in super::super) fn parse(text: &str) -> Result<Self, ToolError> {
        let wrong = || {
            ToolError::validation(format!(
                "Parameter 'pages' must be a page or a range of pages, such as '3', '1-5' or '7-', not '{}'.",
                words::shown(text)
            ))
        };
        let number = |part: &str| part.trim().parse::<usize>().ok().filter(|number| *number > 0).ok_or_else(wrong);
        let (first, last) = match text.split_once(['-', '–']) {
            None => (number(text)?, number(text)?),
            Some((first, rest)) if rest.trim().is_empty() => (number(first)?, usize::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
        };
        if last < first {
            return Err(wrong());
        }
        Ok(Self { first, last: last.min(first.saturating_add(MOST - 1)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_bounded() {
        for (text, first, last) in
            [("3", 3, 3), ("1-5", 1, 5), (" 2 - 4 ", 2, 4), ("2–4", 2, 4), ("7-", 7, 26), ("1-100", 1, 20), ("1-20", 1, 20)]
        {
            assert_eq!(Pages::parse(text).unwrap(), Pages { first, last }, "{text}");
        }
        for text in ["", "0", "-3", "5-2", "a", "1,3", "1-b", "99999999999999999999999"] {
            let error = Pages::parse(text).unwrap_err();
            let expected = format!("Parameter 'pages' must be a page or a range of pages, such as '3', '1-5' or '7-', not '{text}'.");
            assert_eq!(error.message(), expected);
        }
    }
}
