//! A word of a command: what the program will get, or why that is not known yet.

/// What makes a word known only when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expansion {
    /// `*`, `?` or `[`: names of files.
    Glob,
    /// `{a,b}`: several words.
    Brace,
    /// `~`: someone's home folder.
    Tilde,
    /// `$name`.
    Variable,
    /// `$(command)`: what a command prints.
    Substitution,
    /// `<(command)`: the name of a pipe.
    Process,
    /// `$((1 + 2))`.
    Arithmetic,
    /// What another program reads or finds: `xargs`, `find -exec`.
    Input,
}

/// A word that is known only when it runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Expanded {
    /// The word as it is written.
    pub text: String,
    /// What is known of its beginning, unquoted.
    pub prefix: String,
    /// Whether it can become several words, or none, that begin with anything.
    pub splits: bool,
    /// What expands first.
    pub why: Expansion,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Word {
    /// Exactly this text, unquoted.
    Literal(String),
    /// Known only when it runs.
    Expanded(Expanded),
}

impl Word {
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    /// A word that another program puts there.
    pub(crate) fn input(text: &str) -> Self {
        Self::Expanded(Expanded { text: text.to_owned(), prefix: String::new(), splits: true, why: Expansion::Input })
    }

    /// The text, if it is known.
    pub fn as_literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Expanded(_) => None,
        }
    }

    /// The text, or how the word is written.
    pub fn text(&self) -> &str {
        match self {
            Self::Literal(text) => text,
            Self::Expanded(expanded) => &expanded.text,
        }
    }

    /// Whether the program may take it for an option, because of its beginning or because the beginning is not known.
    pub fn may_be_option(&self) -> bool {
        match self {
            Self::Literal(text) => text.len() > 1 && text.starts_with('-'),
            Self::Expanded(expanded) => expanded.may_be_option(),
        }
    }
}

impl Expanded {
    fn may_be_option(&self) -> bool {
        let named = matches!(self.why, Expansion::Tilde | Expansion::Process | Expansion::Arithmetic);
        self.splits || self.prefix.starts_with('-') || (self.prefix.is_empty() && !named)
    }
}
