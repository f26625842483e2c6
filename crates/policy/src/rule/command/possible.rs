//! Whether a command could be one that a rule forbids, though its words do not say so yet.

use haft_contract::{Exec, ExecNature};
use haft_pattern::fold_case;
use haft_programs::is_git_command;

use super::expansion::{self, is_open};
use super::{CommandPattern, ExecForm, last_name};

/// Programs that put a file somewhere else, where it can be run by another name.
const COPYING: &[&str] = &["cp", "mv", "ln", "link", "install", "rsync", "dd", "cat", "tee"];

/// Options of git that stand before what it is told to do, each with a value.
const VALUED: &[&str] = &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"];

impl CommandPattern {
    /// Whether the rule could speak of a command, of a wrapper of it, or of what it may start. What is excepted it does not speak of.
    pub(in super::super) fn may_hit(&self, exec: &Exec, is_excepted: &dyn Fn(&Exec) -> bool) -> bool {
        if self.host.is_some_and(|host| host != exec.host) {
            return false;
        }
        let wrappers = exec.reach.wrappers.iter().filter_map(|words| called(exec, words));
        let started = exec.reach.commands.iter().filter_map(|words| called(exec, words));
        let may_be = |exec: &Exec, expands| !is_excepted(exec) && self.may_be(exec, expands);
        exec.reach.is_any
            || may_be(exec, exec.nature == ExecNature::Expanded)
            || wrappers.into_iter().any(|wrapper| may_be(&wrapper, shows_open(&wrapper)))
            || started.into_iter().any(|started| is_open_program(&started.named) || may_be(&started, shows_open(&started)))
            || self.copies(exec)
    }

    fn may_be(&self, exec: &Exec, expands: bool) -> bool {
        let form = ExecForm::new(exec);
        let given = expansion::command_arguments(exec, expands).skip(if form.file == "git" { places(exec) } else { 0 });
        self.hits_words(&form, given) || self.by_alias(&form)
    }

    /// What git is told to do may have another name.
    fn by_alias(&self, form: &ExecForm<'_>) -> bool {
        !self.words.is_empty() && form.may_be_alias() && self.program.is(form)
    }

    /// Whether the program is given another name, by which no rule knows it.
    fn copies(&self, exec: &Exec) -> bool {
        let Some(name) = self.key().filter(|_| COPYING.contains(&last_name(&exec.named))) else { return false };
        let is_it = |word: &String| {
            let word = fold_case(word);
            let parts = word.split(|ch: char| !ch.is_alphanumeric() && !matches!(ch, '-' | '_' | '.' | '+'));
            let named = parts.filter(|part| !part.is_empty()).any(|part| part == name);
            named && (word.contains('/') && last_name(&word).starts_with(&name) || is_open(&word))
        };
        exec.arguments.iter().any(is_it)
    }
}

impl ExecForm<'_> {
    /// Whether it is git, and is told what to do by a name that its configuration may explain.
    pub(super) fn may_be_alias(&self) -> bool {
        if self.file != "git" && self.called != "git" {
            return false;
        }
        let arguments = &self.exec.arguments;
        let names_alias = arguments.iter().any(|word| word.contains("alias.") || word.starts_with("--config-env"));
        let by_variable = self.exec.environment.iter().any(|name| name.starts_with("GIT_CONFIG"));
        names_alias || by_variable || part(arguments).is_some_and(|part| !is_open(part) && !is_git_command(part))
    }
}

/// Whether a command starts, or may start, a program that is not among these.
pub(in super::super) fn starts_other_than(exec: &Exec, is_among: &dyn Fn(&Exec) -> bool) -> bool {
    let started = exec.reach.commands.iter().filter_map(|words| called(exec, words));
    exec.reach.is_any || started.into_iter().any(|started| !is_among(&started))
}

/// Whether a command is what it says: it starts no other program, and gives none another name.
pub(in super::super) fn is_plain(exec: &Exec) -> bool {
    let reach = &exec.reach;
    !reach.is_any && reach.wrappers.is_empty() && reach.commands.is_empty() && !COPYING.contains(&last_name(&exec.named))
}

/// A command by its words, where another one runs.
pub(in super::super) fn called(by: &Exec, words: &[String]) -> Option<Exec> {
    let (program, arguments) = words.split_first()?;
    let mut exec = Exec::new(program, arguments.to_vec(), &by.directory);
    (exec.host, exec.nature) = (by.host, by.nature);
    Some(exec)
}

/// Whether a word of a command looks as if it were known only when it runs.
fn shows_open(exec: &Exec) -> bool {
    exec.arguments.iter().any(|word| is_open(word))
}

/// Whether a word that stands for a program is known only when it runs.
fn is_open_program(word: &str) -> bool {
    is_open(word.strip_prefix('~').unwrap_or(word)) && !matches!(word, "[" | "[[")
}

/// How many words at the beginning say where git works, each with its value.
fn places(exec: &Exec) -> usize {
    let is_one = |word: &str| !is_open(word) || (word.len() > 1 && word.starts_with('"') && word.ends_with('"') && !word.contains('@'));
    let pairs = exec.arguments.chunks_exact(2).take_while(|pair| pair[0] == "-C" && is_one(&pair[1]));
    pairs.count() * 2
}

/// What git is told to do: the first word that is no option and no value of one.
fn part(arguments: &[String]) -> Option<&str> {
    let mut is_value = false;
    for word in arguments {
        let is_part = !is_value && !word.starts_with('-');
        if is_part {
            return Some(word);
        }
        is_value = !is_value && VALUED.contains(&word.as_str());
    }
    None
}
