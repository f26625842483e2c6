//! Cutting long lines around a match.

use super::rows::ResultRow;

/// Most characters of a line.
const COLUMNS: usize = 500;
/// Characters before the match.
const LEAD: usize = 100;

/// A line as text, cut around a byte position if it is long.
pub(super) fn clip_line(line: &[u8], around: impl FnOnce() -> usize) -> ResultRow {
    let text = String::from_utf8_lossy(line);
    let is_text = matches!(text, std::borrow::Cow::Borrowed(_));
    if line.len() <= COLUMNS || text.chars().nth(COLUMNS).is_none() {
        return ResultRow { text: text.into_owned(), is_text, is_cut: false };
    }
    // Cut before decoding: a line may be very long.
    let start = back(line, around().min(line.len()), LEAD);
    let end = on(line, start, COLUMNS);
    let piece = String::from_utf8_lossy(&line[start..end]);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    ResultRow { text: format!("{before}{piece}{after}"), is_text, is_cut: true }
}

/// The position so many characters before.
fn back(line: &[u8], location: usize, characters: usize) -> usize {
    let begins = (0..=location).rev().filter(|at| begins_character(line, *at));
    begins.take(characters + 1).last().unwrap_or(0)
}

/// The position so many characters after.
fn on(line: &[u8], location: usize, characters: usize) -> usize {
    let mut begins = (location..line.len()).filter(|at| begins_character(line, *at));
    begins.nth(characters).unwrap_or(line.len())
}

fn begins_character(line: &[u8], at: usize) -> bool {
    line.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str, around: usize) -> String {
        clip_line(line.as_bytes(), || around).text
    }

    #[test]
    fn short_lines_are_as_they_are() {
        for line in ["", "a", &"é".repeat(COLUMNS)] {
            assert_eq!(cut(line, 0), *line);
        }
        assert_eq!(clip_line(b"a\xffb", || 0), ResultRow { text: "a\u{fffd}b".into(), is_text: false, is_cut: false });
    }

    #[test]
    fn long_lines_are_cut_around_what_matters() {
        let (xs, line) = (|count| "x".repeat(count), format!("{}needle{}", "x".repeat(1000), "x".repeat(1000)));
        assert_eq!(cut(&line, 1000), format!("…{}needle{}…", xs(100), xs(394)));
        assert_eq!(cut(&line, 0), format!("{}…", xs(500)));
        assert_eq!(cut(&line, 2006), format!("…{}", xs(100)));
        assert_eq!(cut(&line, 50), format!("{}…", xs(500)));
        let wide = "é".repeat(1000);
        assert_eq!(cut(&wide, 1001), format!("…{}…", "é".repeat(500)));
        assert!(clip_line(line.as_bytes(), || 0).is_cut);
    }

    #[test]
    fn a_line_without_characters_is_cut_as_well() {
        let line = [0x80; 5000];
        assert!(clip_line(&line, || 2500).text.chars().count() <= 5000);
    }
}
