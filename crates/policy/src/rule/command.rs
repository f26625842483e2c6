//! Patterns on the programs that a call runs.

mod parse;
pub(super) mod programs;

use std::borrow::Cow;
use std::path::Path;

use haft_contract::{Exec, ExecHost};

pub(super) use self::parse::words;
use super::RuleKind;
use super::glob::{Glob, lower};

/// The most words in a pattern: one bit each.
const MOST_WORDS: usize = 60;

/// A pattern on a command, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandPattern {
    kind: RuleKind,
    host: Option<ExecHost>,
    program: Program,
    /// The arguments; behind a program that can be any, the program as well.
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Program {
    /// Whichever; its name is the first of the words.
    Any,
    /// By its name alone.
    Name(Glob),
    /// By its whole path.
    Path(Glob),
    /// By the end of its path.
    Tail(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    /// Any number of words, also none.
    Run,
    One(Glob),
}

/// A command as rules see it.
#[derive(Debug)]
pub(super) struct Command<'a> {
    exec: &'a Exec,
    /// The file name of the program, and of how it was called, without regard to case.
    file: Cow<'a, str>,
    called: Cow<'a, str>,
    is_clean: bool,
}

impl<'a> Command<'a> {
    pub(super) fn new(exec: &'a Exec) -> Self {
        let file = exec.program.file_name().map_or(Cow::Borrowed(""), |name| match name.to_str() {
            Some(name) => lower(name),
            None => Cow::Owned(lower(&name.to_string_lossy()).into_owned()),
        });
        Self { exec, file, called: lower(last_name(&exec.named)), is_clean: programs::is_clean(exec) }
    }
    /// The names under which its rules are kept.
    pub(super) fn keys(&self) -> (&str, Option<&str>) {
        (&self.file, (self.called != self.file).then_some(&*self.called))
    }
}

impl CommandPattern {
    /// The name under which the rule is kept; nothing if it speaks of several programs.
    pub(super) fn key(&self) -> Option<String> {
        let name = match &self.program {
            Program::Name(glob) | Program::Path(glob) => glob.as_literal()?,
            Program::Tail(path) => path,
            Program::Any => return None,
        };
        Some(lower(last_name(name)).into_owned())
    }

    /// Whether the rule speaks of a command.
    pub(super) fn matches(&self, command: &Command<'_>) -> bool {
        if self.host.is_some_and(|host| host != command.exec.host) {
            return false;
        }
        if self.kind.restricts() { self.hits(command) } else { self.covers(command) }
    }

    fn hits(&self, command: &Command<'_>) -> bool {
        let arguments = command.exec.arguments.iter().map(String::as_str);
        match &self.program {
            Program::Any => run(&self.words, std::iter::once(&*command.file).chain(arguments), fits_widely, true),
            program => program.is(command) && run(&self.words, arguments, fits_widely, true),
        }
    }

    /// What a `*` stands for must not be an option that runs another program: whoever means one writes it out.
    fn covers(&self, command: &Command<'_>) -> bool {
        let arguments = &command.exec.arguments;
        command.is_clean
            && self.program.is_called(command.exec)
            && run(&self.words, arguments.iter().map(String::as_str), Glob::fits, false)
            && ![&command.file, &command.called].iter().any(|name| programs::gadgets(name, arguments).any(|option| self.frees(option)))
    }

    fn frees(&self, argument: &str) -> bool {
        self.program != Program::Any && !self.words.iter().any(|word| matches!(word, Word::One(Glob::Literal(word)) if word == argument))
    }
}

impl Program {
    /// Whether the program is meant, under any of its names.
    fn is(&self, command: &Command<'_>) -> bool {
        let (path, named) = (command.exec.program.to_string_lossy(), &command.exec.named);
        match self {
            Self::Any => true,
            Self::Name(name) => name.fits(&command.file) || name.fits(&command.called),
            Self::Path(wanted) => wanted.fits(&lower(&path)) || wanted.fits(&lower(named)),
            Self::Tail(wanted) => [lower(&path), lower(named)].iter().any(|path| Path::new(&**path).ends_with(wanted)),
        }
    }

    /// Whether exactly this program was called: a name only by that name, so that no file elsewhere can pass for it.
    fn is_called(&self, exec: &Exec) -> bool {
        match self {
            Self::Any => true,
            Self::Name(name) => name.fits(&exec.named),
            Self::Path(path) => exec.program.to_str().is_some_and(|program| path.fits(program)),
            Self::Tail(_) => false,
        }
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a word fits, also in the forms that a program takes for the same: `--option=value`, and an option cut short.
fn fits_widely(glob: &Glob, word: &str) -> bool {
    glob.fits(word) || glob.as_literal().is_some_and(|wanted| programs::is_short_for(word, wanted))
}

/// Matches words with every reading at once, one bit for each place in the pattern, so no pattern takes long. Where options
/// may stand in between, each may have a value of its own.
fn run<'a>(words: &[Word], given: impl Iterator<Item = &'a str>, fits: impl Fn(&Glob, &str) -> bool, options: bool) -> bool {
    let mut places = Places { plain: closed(words, 1), behind_option: 0 };
    for word in given {
        places = places.step(words, word, &fits, options);
        if places.all() == 0 {
            return false;
        }
    }
    places.all() & (1 << words.len()) != 0
}

/// Where in the pattern a reading can be.
#[derive(Clone, Copy)]
struct Places {
    plain: u64,
    behind_option: u64,
}

impl Places {
    fn all(self) -> u64 {
        self.plain | self.behind_option
    }

    fn step(self, words: &[Word], given: &str, fits: impl Fn(&Glob, &str) -> bool, options: bool) -> Self {
        // Whatever stands behind an option may be its value.
        let mut next = Self { plain: self.behind_option, behind_option: 0 };
        let is_option = options && given.starts_with('-');
        for (place, word) in words.iter().enumerate().filter(|(place, _)| self.all() & (1 << place) != 0) {
            match word {
                Word::Run => next.plain |= 1 << place,
                Word::One(glob) => {
                    next.plain |= u64::from(fits(glob, given)) << (place + 1);
                    next.behind_option |= u64::from(is_option) << place;
                }
            }
        }
        Self { plain: closed(words, next.plain), behind_option: next.behind_option }
    }
}

/// A run can be of no words.
fn closed(words: &[Word], mut places: u64) -> u64 {
    for (place, word) in words.iter().enumerate() {
        if *word == Word::Run && places & (1 << place) != 0 {
            places |= 1 << (place + 1);
        }
    }
    places
}

#[cfg(test)]
mod tests;
