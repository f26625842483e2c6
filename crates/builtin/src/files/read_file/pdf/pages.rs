//! The parameter `pages`.

use haft_contract::ToolError;

use crate::shared::brief;

/// Pages of a call that names none.
const DEFAULT_COUNT: usize = 10;
/// Most pages of a call.
pub(super) const MOST: usize = 20;

/// A range of pages, counted from 1; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRange {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Default for PageRange {
    fn default() -> Self {
        Self { first: 1, last: DEFAULT_COUNT }
    }
}

impl PageRange {
    /// Parses `3`, `1-5` or `7-`.
    pub(in super::super) fn parse(text: &str) -> Result<Self, ToolError> {
        let invalid = || {
            ToolError::validation(format!(
                "Parameter 'pages' must be a page or a range of pages, such as '3', '1-5' or '7-', not '{}'.",
                brief(text)
            ))
        };
        let number = |part: &str| part.trim().parse::<usize>().ok().filter(|number| *number > 0).ok_or_else(invalid);
        let (first, last) = match text.split_once(['-', '–']) {
            None => (number(text)?, number(text)?),
            Some((first, rest)) if rest.trim().is_empty() => (number(first)?, usize::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
        };
        if last < first {
            return Err(invalid());
        }
        Ok(Self { first, last: last.min(first.saturating_add(MOST - 1)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_ranges_are_parsed_and_bounded() {
        for (text, first, last) in
            [("3", 3, 3), ("1-5", 1, 5), (" 2 - 4 ", 2, 4), ("2–4", 2, 4), ("7-", 7, 26), ("1-100", 1, 20), ("1-20", 1, 20)]
        {
            assert_eq!(PageRange::parse(text).unwrap(), PageRange { first, last }, "{text}");
        }
        for text in ["", "0", "-3", "5-2", "a", "1,3", "1-b", "99999999999999999999999"] {
            let error = PageRange::parse(text).unwrap_err();
            let expected = format!("Parameter 'pages' must be a page or a range of pages, such as '3', '1-5' or '7-', not '{text}'.");
            assert_eq!(error.message(), expected);
        }
    }
}
