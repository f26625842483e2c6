//! Why a line, or a part of it, is not followed.

use std::fmt;

use haft_text::truncate::ellipsize;

/// What a reason is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Concern {
    /// The line is not shell, or shell that this crate does not follow.
    Syntax,
    /// Characters that hide something, or that shells read in different ways.
    Characters,
    /// A limit is exceeded.
    Limit,
    /// Which program runs is known only when it runs.
    Program,
    /// A program that runs another one in a way that is not unwrapped.
    Wrapper,
    /// Options that are not known.
    Arguments,
    /// An expansion that can do more than give a text.
    Expansion,
    /// Which file is written is known only when it runs.
    Target,
    /// A variable that changes what programs do.
    Environment,
    /// Something that changes the shell for what comes later.
    Shell,
    /// A program is made to run something else.
    Execution,
    /// Whom it talks to is not known.
    Network,
    /// It looks as if something is being hidden.
    Obfuscated,
}

/// One reason: what was found, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason {
    /// What it is about.
    pub concern: Concern,
    /// The reason in words, with the text that it is about. It may hold anything that the line holds: escape it to show it.
    pub message: String,
}

impl Reason {
    pub(crate) fn new(concern: Concern, message: impl Into<String>) -> Self {
        Self { concern, message: message.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// The longest piece of a line that a message repeats.
const QUOTED: usize = 80;

/// A piece of the line for a message, cut where it is long.
pub(crate) fn cut(text: &str) -> String {
    ellipsize(text, QUOTED).into_owned()
}
