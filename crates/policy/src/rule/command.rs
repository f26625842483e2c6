//! Patterns on the programs that a call runs.

mod expansion;
mod parse;
mod possible;
pub(super) mod programs;
mod words;

use std::borrow::Cow;
use std::path::Path;

use haft_contract::{Exec, ExecHost, ExecNature};
use haft_pattern::{NameGlob, fold_case};

use self::expansion::CommandWord;
pub(super) use self::parse::words;
pub(super) use self::possible::{called, is_plain, starts_other_than};
pub(super) use self::words::is_option;
use self::words::{OptionPattern, WordPattern};
use super::RuleKind;

/// The most words in a pattern: one bit each.
const MOST_WORDS: usize = 60;

/// A pattern on a command, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandPattern {
    kind: RuleKind,
    host: Option<ExecHost>,
    program: Program,
    /// The arguments; behind a program that can be any, the program as well.
    words: Vec<WordPattern>,
    /// The options among them, where the rule restricts: they hold wherever they stand.
    options: Vec<OptionPattern>,
    /// Whether `*` stands for files of options (`@file`) as well.
    any_option: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Program {
    /// Whichever; its name is the first of the words.
    Any,
    /// By its name alone.
    Name(NameGlob),
    /// By its whole path.
    Path(NameGlob),
    /// By the end of its path.
    Tail(String),
}

/// A command as rules see it.
#[derive(Debug)]
pub(super) struct ExecForm<'a> {
    exec: &'a Exec,
    /// The file name of the program, and of how it was called, without regard to case.
    file: Cow<'a, str>,
    called: Cow<'a, str>,
    is_clean: bool,
}

impl<'a> ExecForm<'a> {
    pub(super) fn new(exec: &'a Exec) -> Self {
        let file = exec.program.file_name().map_or(Cow::Borrowed(""), |name| match name.to_str() {
            Some(name) => fold_case(name),
            None => Cow::Owned(fold_case(&name.to_string_lossy()).into_owned()),
        });
        Self { exec, file, called: fold_case(last_name(&exec.named)), is_clean: programs::is_clean(exec) }
    }
    /// The names under which its rules are kept.
    pub(super) fn keys(&self) -> (&str, Option<&str>) {
        (&self.file, (self.called != self.file).then_some(&*self.called))
    }
    /// Its arguments, if rules compare them as they are: none is known only when the command runs, and none may be an alias.
    pub(super) fn literal_words(&self) -> Option<&'a [String]> {
        (self.exec.nature != ExecNature::Expanded && !self.may_be_alias()).then_some(&self.exec.arguments)
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
        Some(fold_case(last_name(name)).into_owned())
    }

    /// A word that a command must have, so that the rule can speak of it.
    pub(super) fn needed_word(&self) -> Option<&str> {
        self.words.iter().find_map(|word| if let WordPattern::One(glob) = word { glob.as_literal() } else { None })
    }

    /// Whether the rule speaks of a command.
    pub(super) fn matches(&self, command: &ExecForm<'_>) -> bool {
        if self.host.is_some_and(|host| host != command.exec.host) {
            return false;
        }
        if self.kind.restricts() { self.hits(command) } else { self.covers(command) }
    }

    /// The program that it speaks of with any arguments, in the sandbox: its name or whole path.
    pub(super) fn whole_program(&self) -> Option<String> {
        let (Program::Name(NameGlob::Literal(name)) | Program::Path(NameGlob::Literal(name))) = &self.program else { return None };
        let is_any = self.options.is_empty() && self.words.iter().all(|word| *word == WordPattern::Run);
        (is_any && self.host.is_none_or(|host| host == ExecHost::Sandbox)).then(|| name.clone())
    }

    /// Whether it names the program.
    pub(super) fn is_anchored(&self) -> bool {
        matches!(&self.program, Program::Name(NameGlob::Literal(_)) | Program::Path(NameGlob::Literal(_)))
    }

    /// In the sandbox a word that is known only when it runs is no other than it is written: what it may become asks by itself.
    fn hits(&self, command: &ExecForm<'_>) -> bool {
        let expands = command.exec.nature == ExecNature::Expanded && !command.exec.host.is_sandboxed();
        self.hits_words(command, expansion::command_arguments(command.exec, expands))
    }

    fn hits_words<'a>(&self, command: &'a ExecForm<'a>, arguments: impl Iterator<Item = CommandWord<'a>> + Clone) -> bool {
        if !self.program.is(command) {
            return false;
        }
        let program = (self.program == Program::Any).then_some(CommandWord::literal(&command.file));
        let given = program.into_iter().chain(arguments);
        words::begin(&self.words, given.clone()) && self.options.iter().all(|option| option.is_among(&self.words, given.clone()))
    }

    /// What a `*` stands for must not be an option that runs another program: a rule that means one writes it out.
    fn covers(&self, command: &ExecForm<'_>) -> bool {
        let arguments = &command.exec.arguments;
        if command.exec.nature == ExecNature::Expanded {
            return command.is_clean && self.program.is_called(command.exec) && self.covers_anything(command);
        }
        command.is_clean
            && self.program.is_called(command.exec)
            && words::cover(&self.words, arguments.iter().map(String::as_str), self.any_option)
            && ![&command.file, &command.called].iter().any(|name| programs::gadgets(name, arguments).any(|option| self.frees(option)))
    }

    /// Whether it permits the program whatever its words are: what is known only when it runs may be an option too.
    fn covers_anything(&self, command: &ExecForm<'_>) -> bool {
        let any_words = self.any_option && self.words.iter().all(|word| *word == WordPattern::Run) && !self.words.is_empty();
        let is_known = self.program == Program::Any || !expansion::is_open(&command.exec.named);
        let has_gadgets = || [&command.file, &command.called].iter().any(|name| programs::has_gadgets(name));
        any_words && is_known && (self.program == Program::Any || !has_gadgets())
    }

    fn frees(&self, argument: &str) -> bool {
        self.program != Program::Any && !self.words.iter().any(|word| word.writes_out(argument))
    }
}

impl Program {
    /// Whether the program is meant, under any of its names.
    fn is(&self, command: &ExecForm<'_>) -> bool {
        let (path, named) = (command.exec.program.to_string_lossy(), &command.exec.named);
        match self {
            Self::Any => true,
            Self::Name(name) => name.matches(&command.file) || name.matches(&command.called),
            Self::Path(wanted) => wanted.matches(&fold_case(&path)) || wanted.matches(&fold_case(named)),
            Self::Tail(wanted) => [fold_case(&path), fold_case(named)].iter().any(|path| Path::new(&**path).ends_with(wanted)),
        }
    }

    /// Whether exactly this program was called: a name only by that name, so that no file elsewhere can pass for it.
    fn is_called(&self, exec: &Exec) -> bool {
        match self {
            Self::Any => true,
            Self::Name(name) => name.matches(&exec.named),
            Self::Path(path) => exec.program.to_str().is_some_and(|program| path.matches(program)),
            Self::Tail(_) => false,
        }
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
