//! How much a text in a file may differ from the text of an edit.

use std::fmt;

/// Differences that were ignored to find a text. Each level ignores those of the levels before it as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FuzzyLevel {
    /// None: byte for byte.
    Exact,
    /// Line endings, and a final one that is missing.
    LineEndings,
    /// Blanks at the ends of lines.
    TrailingBlanks,
    /// Tabs or spaces at the starts of lines, and how deep the whole block stands.
    Indentation,
    /// Typographic quotes, dashes and spaces.
    Punctuation,
    /// Composed and decomposed characters (NFC, NFD).
    Canonical,
    /// Characters that look alike: ligatures, full-width forms (NFKC, NFKD).
    Compatible,
}

impl FuzzyLevel {
    /// All levels, in the order in which they are tried.
    pub const ALL: [Self; 7] =
        [Self::Exact, Self::LineEndings, Self::TrailingBlanks, Self::Indentation, Self::Punctuation, Self::Canonical, Self::Compatible];

    /// The name for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LineEndings => "line_endings",
            Self::TrailingBlanks => "trailing_blanks",
            Self::Indentation => "indentation",
            Self::Punctuation => "punctuation",
            Self::Canonical => "unicode_canonical",
            Self::Compatible => "unicode_compatible",
        }
    }
}

impl fmt::Display for FuzzyLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exactly",
            Self::LineEndings => "ignoring line endings",
            Self::TrailingBlanks => "ignoring blanks at line ends",
            Self::Indentation => "ignoring indentation",
            Self::Punctuation => "ignoring the style of quotes, dashes and spaces",
            Self::Canonical => "ignoring how characters are composed (Unicode NFC)",
            Self::Compatible => "ignoring variants of characters (Unicode NFKC)",
        })
    }
}
