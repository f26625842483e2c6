//! Citations: `path#L10-L24`.

/// Lines of a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The first.
    pub first: usize,
    /// The last.
    pub last: usize,
}

/// Splits a citation into the path and its lines; without lines it is a path. The error says what is wrong.
pub fn parse_citation(text: &str) -> Result<(&str, Option<LineRange>), String> {
    let Some((path, lines)) = text.rsplit_once("#L") else { return Ok((text, None)) };
    let wrong = || format!("'{text}' names no lines: write PATH#L10 or PATH#L10-L24");
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.strip_prefix('L').unwrap_or(text).parse::<usize>().ok().filter(|line| *line > 0);
    let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
    if path.is_empty() || last < first { Err(wrong()) } else { Ok((path, Some(LineRange { first, last }))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_paths_with_lines() {
        let lines = |first, last| Some(LineRange { first, last });
        for (text, expected) in [
            ("MEMORY.md#L3", Some(("MEMORY.md", lines(3, 3)))),
            ("memory/a.md#L3-L9", Some(("memory/a.md", lines(3, 9)))),
            ("memory/a.md#L3-9", Some(("memory/a.md", lines(3, 9)))),
            ("memory/c#.md", Some(("memory/c#.md", None))),
            ("a#L0", None),
            ("a#L9-L3", None),
            ("a#Lx", None),
            ("#L3", None),
        ] {
            assert_eq!(parse_citation(text).ok(), expected, "{text}");
        }
    }
}
