//! Where a line is no shell, for a message with a column.

/// Where the parser found no shell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyntaxFault {
    /// The quote or bracket that is not closed.
    pub unclosed: Option<&'static str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in it, in characters from 1.
    pub column: usize,
}

impl SyntaxFault {
    /// The fault of a text that the parser cannot read from this byte on.
    pub(crate) fn new(text: &str, at: usize) -> Self {
        match unclosed(text) {
            Some((mark, at)) => Self::at(text, at, Some(mark)),
            None => Self::at(text, at, None),
        }
    }

    fn at(text: &str, at: usize, unclosed: Option<&'static str>) -> Self {
        let before = text.get(..at).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { unclosed, line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }
}

/// What is open at a place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Single,
    Double,
    Backtick,
    Paren,
    Brace,
}

impl Open {
    const fn mark(self) -> &'static str {
        match self {
            Self::Single => "'",
            Self::Double => "\"",
            Self::Backtick => "`",
            Self::Paren => "(",
            Self::Brace => "${",
        }
    }
}

/// The innermost quote or bracket that is not closed, and where it begins. Texts with documents have quotes that mean nothing.
fn unclosed(text: &str) -> Option<(&'static str, usize)> {
    if text.contains("<<") {
        return None;
    }
    let mut open: Vec<(Open, usize)> = Vec::new();
    let mut bytes = text.bytes().enumerate().peekable();
    let mut before = b' ';
    while let Some((at, byte)) = bytes.next() {
        let inside = open.last().map(|(open, _)| *open);
        let next = bytes.peek().map(|(_, next)| *next);
        match (byte, inside) {
            (b'\'', Some(Open::Single))
            | (b'"', Some(Open::Double))
            | (b'`', Some(Open::Backtick))
            | (b'}', Some(Open::Brace))
            | (b')', Some(Open::Paren)) => drop(open.pop()),
            (b'\\', inside) if inside != Some(Open::Single) => drop(bytes.next()),
            (b'"', inside) if inside != Some(Open::Single) => open.push((Open::Double, at)),
            (b'`', inside) if inside != Some(Open::Single) => open.push((Open::Backtick, at)),
            (b'$', inside) if inside != Some(Open::Single) && matches!(next, Some(b'(' | b'{')) => {
                bytes.next();
                open.push((if next == Some(b'(') { Open::Paren } else { Open::Brace }, at));
            }
            (_, Some(Open::Single | Open::Double)) => {}
            (b'\'', _) => open.push((Open::Single, at)),
            (b'(', _) => open.push((Open::Paren, at)),
            (b'#', _) if before.is_ascii_whitespace() => while bytes.next_if(|(_, next)| *next != b'\n').is_some() {},
            _ => {}
        }
        before = byte;
    }
    open.last().map(|(open, at)| (open.mark(), *at))
}

#[cfg(test)]
mod tests {
    use super::SyntaxFault;

    #[test]
    fn what_is_not_closed_is_found_where_it_begins() {
        let table = [
            ("echo \"abc", Some("\""), (1, 6)),
            ("echo 'it''s", Some("'"), (1, 10)),
            ("echo \"a $(ls\"", Some("\""), (1, 13)),
            ("ls\necho größe 'x", Some("'"), (2, 12)),
            ("echo `ls", Some("`"), (1, 6)),
            ("(ls; (pwd)", Some("("), (1, 1)),
            ("echo ${x", Some("${"), (1, 6)),
            ("echo \\\" # it's\nfi", None, (1, 1)),
            ("echo 'a' \"b\" $(c) )", None, (1, 1)),
        ];
        for (text, unclosed, place) in table {
            let fault = SyntaxFault::new(text, 0);
            assert_eq!((fault.unclosed, (fault.line, fault.column)), (unclosed, place), "{text}");
        }
    }
}
