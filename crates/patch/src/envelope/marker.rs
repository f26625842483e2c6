//! The lines that give a patch its structure.

/// A line of structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker<'a> {
    Begin,
    End,
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    MoveTo(&'a str),
    EndOfFile,
}

impl<'a> Marker<'a> {
    /// Parses a line; blanks and case are ignored.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let words = line.strip_prefix("***")?.trim();
        let whole = |name: &str| words.eq_ignore_ascii_case(name);
        if whole("Begin Patch") {
            return Some(Self::Begin);
        }
        if whole("End Patch") {
            return Some(Self::End);
        }
        if whole("End of File") {
            return Some(Self::EndOfFile);
        }
        let (name, path) = words.split_once(':')?;
        let path = unquoted(path.trim());
        match &*name.trim_end().to_ascii_lowercase() {
            "add file" | "create file" => Some(Self::Add(path)),
            "delete file" | "remove file" => Some(Self::Delete(path)),
            "update file" => Some(Self::Update(path)),
            "move to" | "move file to" | "rename to" => Some(Self::MoveTo(path)),
            _ => None,
        }
    }

    /// Whether this begins or ends something outside of a hunk.
    pub(super) fn ends_hunk(self) -> bool {
        !matches!(self, Self::EndOfFile)
    }
}

/// A name without the quotes around it.
fn unquoted(name: &str) -> &str {
    let within = |quote: char| name.strip_prefix(quote)?.strip_suffix(quote).filter(|within| !within.is_empty());
    ['"', '\'', '`'].into_iter().find_map(within).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_lines_are_parsed() {
        for (line, expected) in [
            ("*** Begin Patch", Some(Marker::Begin)),
            ("***begin patch  ", Some(Marker::Begin)),
            ("*** End Patch", Some(Marker::End)),
            ("*** End of File", Some(Marker::EndOfFile)),
            ("*** Add File: a b.txt ", Some(Marker::Add("a b.txt"))),
            ("*** Update File: \"a:b\"", Some(Marker::Update("a:b"))),
            ("*** Delete File:`x`", Some(Marker::Delete("x"))),
            ("*** Move to: y", Some(Marker::MoveTo("y"))),
            ("*** Update File:", Some(Marker::Update(""))),
            ("*** Update File", None),
            (" *** End Patch", None),
            ("** End Patch", None),
            ("*** Something: else", None),
            ("***", None),
        ] {
            assert_eq!(Marker::parse(line), expected, "{line}");
        }
    }
}
