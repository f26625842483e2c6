//! Letters that are taken for each other, and blanks.

use std::borrow::Cow;

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

const CLASSES: CanonicalCombiningClassMapBorrowed<'static> = CanonicalCombiningClassMapBorrowed::new();

/// Which letters are taken for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fold {
    /// None.
    Nothing,
    /// Typographic marks and spaces, for those of ASCII.
    Punctuation,
    /// Those, and letters that are canonically equivalent.
    Canonical,
    /// Those, and letters that are compatible.
    Compatible,
}

impl Fold {
    /// Both composed and decomposed letters are compared decomposed: then each letter can be folded apart from its neighbours.
    fn normalizer(self) -> Option<DecomposingNormalizerBorrowed<'static>> {
        match self {
            Self::Nothing | Self::Punctuation => None,
            Self::Canonical => Some(DecomposingNormalizerBorrowed::new_nfd()),
            Self::Compatible => Some(DecomposingNormalizerBorrowed::new_nfkd()),
        }
    }

    /// Cuts a text into pieces, each with what it is folded to, or `None` where it stays.
    pub(crate) fn pieces(self, text: &str, mut each: impl FnMut(&str, Option<&str>)) {
        let Some(normalizer) = self.normalizer() else {
            return split(text, |letter| plain(letter).filter(|_| self == Self::Punctuation), each);
        };
        split(text, plain, |piece, folded| match folded {
            Some(_) => each(piece, folded),
            None => clusters(&normalizer, piece, &mut each),
        });
    }
}

/// Cuts a text at the letters that are folded.
fn split(text: &str, fold: impl Fn(char) -> Option<&'static str>, mut each: impl FnMut(&str, Option<&str>)) {
    let mut kept = 0;
    for (at, letter) in text.char_indices() {
        let Some(folded) = fold(letter) else { continue };
        let end = at + letter.len_utf8();
        if kept < at {
            each(&text[kept..at], None);
        }
        each(&text[at..end], Some(folded));
        kept = end;
    }
    if kept < text.len() {
        each(&text[kept..], None);
    }
}

/// Cuts a text into what is normal already, and letters with their marks that are not.
fn clusters(normalizer: &DecomposingNormalizerBorrowed<'static>, mut text: &str, each: &mut impl FnMut(&str, Option<&str>)) {
    while !text.is_empty() {
        let (normal, rest) = normalizer.split_normalized(text);
        if !normal.is_empty() {
            each(normal, None);
        }
        let (cluster, behind) = rest.split_at(cluster_length(rest));
        if !cluster.is_empty() {
            each(cluster, Some(&normalizer.normalize(cluster)));
        }
        text = behind;
    }
}

/// How long the first letter is with all marks that follow it.
fn cluster_length(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    letters.find(|(_, letter)| CLASSES.get_u8(*letter) == 0).map_or(text.len(), |(at, _)| at)
}

/// The ASCII form of a typographic mark or space.
fn plain(letter: char) -> Option<&'static str> {
    match letter {
        '\u{2018}'..='\u{201b}' => Some("'"),
        '\u{201c}'..='\u{201f}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(" "),
        _ => None,
    }
}

/// Spaces outside of ASCII, and the mark of zero width that some editors leave behind.
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

/// The line without blanks around it and with plain marks: what two lines have in common that any rule takes for each other.
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
