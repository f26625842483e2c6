//! What a command may run besides itself, as far as its words tell.
//!
//! Nothing here permits anything: rules that forbid a program ask where a command could run it. So a guess too many is a question too
//! many, and only where there is such a rule. What files say (scripts, Makefiles, code of interpreters) is not looked at.

mod shells;

use haft_programs::{ProgramClass, class_of, family_of};

use crate::analysis::{Analysis, Command};
use crate::builder::AnalysisBuilder;
use crate::word::{Expanded, Expansion, Word};

/// How often texts inside texts are read.
pub(crate) const DEPTH: usize = 3;
/// The most commands that are kept for one.
const MOST: usize = 64;
/// Ends of names of variables that name a command.
const NAMING: &[&str] =
    &["COMMAND", "EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "ASKPASS", "WRAPPER", "_RSH", "EXTERNAL_DIFF"];
/// Variables that a shell expands, commands in them as well.
const EXPANDED: &[&str] = &["PS0", "PS1", "PS4", "ENV", "BASH_ENV", "PROMPT_COMMAND"];

/// Adds what each command may run.
pub(crate) fn add(analysis: &mut Analysis, depth: usize) {
    let mut commands = std::mem::take(&mut analysis.commands);
    for command in &mut commands {
        let mut guess = Guess { commands: Vec::new(), is_any: false, depth };
        guess.command(command);
        guess.commands.truncate(MOST);
        command.reach.commands = guess.commands;
        command.reach.is_any = guess.is_any;
    }
    analysis.commands = commands;
}

/// A variable that the line sets, and that makes later programs run a command.
pub(crate) fn by_variable(name: &str, value: &Word, found: &mut AnalysisBuilder) {
    let text = value.as_literal().unwrap_or_default();
    if EXPANDED.contains(&name) && (text.contains("$(") || text.contains('`')) {
        found.analysis.unclear = true;
    }
    if !NAMING.iter().any(|end| name.ends_with(end)) {
        return;
    }
    let mut guess = Guess { commands: Vec::new(), is_any: false, depth: DEPTH };
    guess.text(value);
    found.analysis.unclear |= guess.is_any;
    found.analysis.by_variable.extend(guess.commands);
    found.analysis.by_variable.truncate(MOST);
}

/// What has been guessed so far.
struct Guess {
    commands: Vec<Vec<Word>>,
    is_any: bool,
    depth: usize,
}

impl Guess {
    fn command(&mut self, command: &Command) {
        let Some(name) = command.name() else {
            self.is_any |= !is_home(&command.program);
            return;
        };
        match name {
            "eval" => self.joined(&command.arguments),
            "trap" => command.arguments.first().into_iter().for_each(|text| self.text(text)),
            "." | "source" => self.is_any |= command.arguments.first().is_some_and(shells::is_stream),
            // They give names another meaning, or run commands by names that they are given.
            "alias" | "compgen" | "complete" | "bind" | "fc" => self.is_any |= !command.arguments.is_empty(),
            "hash" => self.is_any |= command.arguments.iter().any(|word| word.may_be_option() && word.as_literal() != Some("-r")),
            "mapfile" | "readarray" => self.is_any |= command.arguments.iter().any(shells::may_call_back),
            "xargs" => {
                let fed: Vec<Word> = command.arguments.iter().cloned().chain([Word::input("(what xargs reads)")]).collect();
                self.words(&fed);
            }
            name if class_of(name) == Some(ProgramClass::Shell) => self.shell(name, command),
            name if runs_words(name, &command.arguments) => self.words(&command.arguments),
            _ if command.reach.by_option => command.arguments.iter().for_each(|word| self.value(word)),
            _ => {}
        }
    }

    /// Any word may be the program, with those behind it, and one that holds several may be a script.
    fn words(&mut self, words: &[Word]) {
        if words.len() > MOST {
            return self.is_any = true;
        }
        for (at, word) in words.iter().enumerate() {
            self.commands.push(words[at..].to_vec());
            if word.as_literal().is_some_and(is_text) {
                self.value(word);
            }
        }
    }

    /// The value of an option: a command, or one behind `=` or `!`.
    fn value(&mut self, word: &Word) {
        let Some(text) = word.as_literal() else { return self.is_any |= matches!(word, Word::Expanded(word) if word.may_run()) };
        let texts = std::iter::once(text).chain(text.match_indices('=').map(|(at, _)| &text[at + 1..]));
        for text in texts.take(4) {
            self.text(&Word::literal(text.trim_start_matches(['!', ':', '|'])));
        }
    }

    /// A text that is read as shell.
    fn text(&mut self, word: &Word) {
        match word.as_literal() {
            Some(text) => self.script(text),
            None => self.is_any = true,
        }
    }

    fn script(&mut self, text: &str) {
        let Some(depth) = self.depth.checked_sub(1) else { return self.is_any = true };
        if self.commands.len() >= MOST {
            return self.is_any = true;
        }
        let mut inner = crate::taken_apart(text);
        add(&mut inner, depth);
        self.is_any |= inner.unclear;
        self.commands.extend(inner.by_variable);
        for command in inner.commands {
            self.is_any |= command.reach.is_any;
            self.commands.push(std::iter::once(command.program).chain(command.arguments).collect());
            self.commands.extend(command.reach.wrappers.into_iter().chain(command.reach.commands));
        }
    }

    /// `eval` puts its words together first.
    fn joined(&mut self, words: &[Word]) {
        let texts: Option<Vec<&str>> = words.iter().map(Word::as_literal).collect();
        match texts {
            Some(texts) => self.script(&texts.join(" ")),
            None => self.is_any = true,
        }
    }
}

impl Expanded {
    /// Whether it may be a whole command: names of files and numbers are none.
    fn may_run(&self) -> bool {
        matches!(self.why, Expansion::Variable | Expansion::Substitution | Expansion::Input)
    }
}

/// A program in the home folder, whose name is known.
fn is_home(word: &Word) -> bool {
    matches!(word, Word::Expanded(word) if word.why == Expansion::Tilde && !word.splits && !word.text.contains(['$', '`', '*', '?', '[', '{']))
}

/// Whether a word holds more than one.
fn is_text(text: &str) -> bool {
    text.contains([' ', '\t', '\n', ';', '|', '&', '$', '`', '!'])
}

/// Whether a program, or a part of one, runs the words behind it: `sudo`, `npm exec`, `git bisect run`.
fn runs_words(name: &str, arguments: &[Word]) -> bool {
    use ProgramClass::{Editor, Finder, Launcher, PackageRunner, Wrapper};
    match class_of(name) {
        Some(Launcher | PackageRunner | Editor) => return true,
        Some(Wrapper) => return name != "command",
        Some(Finder) => return name != "find",
        _ => {}
    }
    let Some(family) = family_of(name) else { return false };
    let part = arguments.iter().filter_map(Word::as_literal).find(|word| !word.starts_with('-'));
    let is_running = |part: &str| match name {
        "git" => matches!(part, "bisect" | "submodule" | "filter-branch" | "for-each-repo" | "rebase" | "difftool" | "mergetool"),
        _ => family.running.contains(&part) && matches!(part, "exec" | "x" | "run" | "dlx" | "shell" | "explore" | "sh" | "cmd" | "tool"),
    };
    part.is_some_and(is_running)
}
