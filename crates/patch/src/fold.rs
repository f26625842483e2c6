//! Characters that count as equal, and blanks.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

/// Which characters count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fold {
    /// None.
    Nothing,
    /// Typographic quotes, dashes and spaces, and those of ASCII.
    Punctuation,
    /// Those, and characters that are canonically equivalent.
    Canonical,
    /// Those, and characters that are compatible.
    Compatible,
}

impl Fold {
    /// Decomposes a char and its combining marks; `None` where that changes nothing. Composed and decomposed text is compared
    /// decomposed, because then each cluster can be folded on its own.
    fn decompose(self, cluster: &str) -> Option<String> {
        let decomposed: String = match self {
            _ if cluster.is_ascii() => return None,
            Self::Nothing | Self::Punctuation => return None,
            Self::Canonical => cluster.nfd().collect(),
            Self::Compatible => cluster.nfkd().collect(),
        };
        (decomposed != cluster).then_some(decomposed)
    }

    /// Cuts a text into pieces, each with what it is folded to, or `None` where it stays.
    pub(crate) fn pieces(self, text: &str, mut each: impl FnMut(&str, Option<&str>)) {
        if self < Self::Canonical {
            return split(text, |ch| plain(ch).filter(|_| self == Self::Punctuation), each);
        }
        split(text, plain, |piece, folded| match folded {
            Some(_) => each(piece, folded),
            None => self.clusters(piece, &mut each),
        });
    }

    /// Cuts a text into what is decomposed already, and clusters that are not.
    fn clusters(self, text: &str, each: &mut impl FnMut(&str, Option<&str>)) {
        let (mut unchanged, mut start) = (0, 0);
        while start < text.len() {
            let end = start + cluster_length(&text[start..]);
            let cluster = &text[start..end];
            if let Some(decomposed) = self.decompose(cluster) {
                if unchanged < start {
                    each(&text[unchanged..start], None);
                }
                each(cluster, Some(&decomposed));
                unchanged = end;
            }
            start = end;
        }
        if unchanged < text.len() {
            each(&text[unchanged..], None);
        }
    }
}

/// Cuts a text at the characters that are folded.
fn split(text: &str, fold: impl Fn(char) -> Option<&'static str>, mut each: impl FnMut(&str, Option<&str>)) {
    let mut unchanged = 0;
    for (at, ch) in text.char_indices() {
        let Some(folded) = fold(ch) else { continue };
        let end = at + ch.len_utf8();
        if unchanged < at {
            each(&text[unchanged..at], None);
        }
        each(&text[at..end], Some(folded));
        unchanged = end;
    }
    if unchanged < text.len() {
        each(&text[unchanged..], None);
    }
}

/// Length of the first char and the combining marks that follow it.
fn cluster_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    chars.find(|(_, ch)| ch.is_ascii() || canonical_combining_class(*ch) == 0).map_or(text.len(), |(at, _)| at)
}

/// The ASCII form of a typographic quote, dash or space.
fn plain(ch: char) -> Option<&'static str> {
    match ch {
        '\u{2018}'..='\u{201b}' => Some("'"),
        '\u{201c}'..='\u{201f}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(" "),
        _ => None,
    }
}

/// Spaces outside of ASCII, and the zero-width space that some editors leave behind.
const WIDE: [&str; 14] = [
    "\u{a0}", "\u{2002}", "\u{2003}", "\u{2004}", "\u{2005}", "\u{2006}", "\u{2007}", "\u{2008}", "\u{2009}", "\u{200a}", "\u{202f}",
    "\u{205f}", "\u{3000}", "\u{feff}",
];

/// How many bytes of blanks the line starts with.
pub(crate) fn leading(line: &[u8], fold: Fold) -> usize {
    let mut rest = line;
    while let Some(width) = blank(rest.first(), fold, |wide| rest.starts_with(wide)) {
        rest = &rest[width..];
    }
    line.len() - rest.len()
}

/// The line without blanks at its end.
pub(crate) fn trim_end(line: &[u8], fold: Fold) -> &[u8] {
    let mut rest = line;
    while let Some(width) = blank(rest.last(), fold, |wide| rest.ends_with(wide)) {
        rest = &rest[..rest.len() - width];
    }
    rest
}

/// The line without blanks at either end.
pub(crate) fn trim(line: &[u8], fold: Fold) -> &[u8] {
    let rest = trim_end(line, fold);
    &rest[leading(rest, fold)..]
}

/// The width of the blank whose outermost byte this is.
fn blank(byte: Option<&u8>, fold: Fold, is: impl Fn(&[u8]) -> bool) -> Option<usize> {
    match byte? {
        b' ' | b'\t' | b'\r' => Some(1),
        0x80.. if fold != Fold::Nothing => WIDE.iter().map(|wide| wide.as_bytes()).find(|wide| is(wide)).map(<[u8]>::len),
        _ => None,
    }
}

/// The line without blanks around it and with ASCII punctuation: equal for any two lines that some level takes for equal.
pub(crate) fn plainest(line: &[u8]) -> Cow<'_, [u8]> {
    let line = trim(line, if line.is_ascii() { Fold::Nothing } else { Fold::Punctuation });
    if line.is_ascii() {
        return Cow::Borrowed(line);
    }
    let mut folded = Vec::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        Fold::Punctuation.pieces(chunk.valid(), |piece, plain| folded.extend_from_slice(plain.unwrap_or(piece).as_bytes()));
        folded.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(fold: Fold, text: &str) -> String {
        let mut all = String::new();
        fold.pieces(text, |piece, folded| all.push_str(folded.unwrap_or(piece)));
        all
    }

    #[test]
    fn each_fold_takes_what_it_says_for_the_same() {
        for (fold, text, expected) in [
            (Fold::Nothing, "“a”", "“a”"),
            (Fold::Punctuation, "‘a’ “b” – — −\u{a0}c\u{3000}é", "'a' \"b\" - - - c é"),
            (Fold::Canonical, "é “e\u{301}” ﬁ", "e\u{301} \"e\u{301}\" ﬁ"),
            (Fold::Canonical, "q\u{307}\u{323}q\u{323}\u{307}", "q\u{323}\u{307}q\u{323}\u{307}"),
            (Fold::Canonical, "\u{ac01}", "\u{1100}\u{1161}\u{11a8}"),
            (Fold::Compatible, "ﬁ ２ é", "fi 2 e\u{301}"),
            (Fold::Compatible, "", ""),
        ] {
            assert_eq!(folded(fold, text), expected, "{fold:?} {text}");
        }
    }

    #[test]
    fn blanks_are_trimmed_and_nothing_else() {
        for (fold, line, expected) in [
            (Fold::Nothing, "\t a b \t\r", "a b"),
            (Fold::Nothing, "\u{a0}a\u{a0}", "\u{a0}a\u{a0}"),
            (Fold::Punctuation, " \u{a0}a\u{3000}\t", "a"),
            (Fold::Punctuation, "\u{a0}", ""),
        ] {
            assert_eq!(trim(line.as_bytes(), fold), expected.as_bytes(), "{fold:?} {line:?}");
        }
        assert_eq!(*plainest("\t“é”\u{a0}".as_bytes()), *"\"é\"".as_bytes());
        assert_eq!(*plainest(b"\xff \xe2\x80"), *b"\xff \xe2\x80");
    }
}
