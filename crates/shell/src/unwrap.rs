//! Programs that only start another one: they come off, until the command that does the work is found.

mod peel;
mod script;

use crate::analysis::{Assignment, Command, Nature, Redirection};
use crate::builder::{AnalysisBuilder, CommandPosition, MOST_WRAPPERS};
use crate::programs;
use crate::read;
use crate::reason::{Concern, cut};
use crate::word::Word;

/// A command as it is written.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) words: Vec<Word>,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) redirections: Vec<Redirection>,
}

/// Takes off what wraps a command, evaluates it and adds it.
pub(crate) fn add(mut parts: Parts, found: &mut AnalysisBuilder, around: &CommandPosition) {
    let mut around = around.clone();
    loop {
        if around.wrappers.len() > MOST_WRAPPERS {
            return found.refuse(format!("more than {MOST_WRAPPERS} programs wrap one command; call it directly"));
        }
        match peel::peel(&mut parts, found) {
            Some(wrapper) => around.wrappers.push(wrapper),
            None => break,
        }
    }
    match script::of(&parts.words) {
        Some((shell, script)) => run_script(&shell, &script, &parts, found, around),
        None => finish(parts, found, around),
    }
}

/// A script that is written out is read like the line itself.
fn run_script(shell: &str, text: &str, parts: &Parts, found: &mut AnalysisBuilder, mut around: CommandPosition) {
    let first = found.analysis.commands.len();
    around.wrappers.push(shell.to_owned());
    if around.wrappers.len() > MOST_WRAPPERS {
        return found.refuse(format!("scripts and wrappers are nested deeper than {MOST_WRAPPERS} levels; call the command directly"));
    }
    let outside = std::mem::take(&mut found.analysis.needs_bash);
    read::read(text, found, &around);
    if found.analysis.needs_bash && shell != "bash -c" {
        found.unknown(
            Concern::Syntax,
            format!("'{shell}' may read '{}' in another way than bash; call bash, or write it simpler", cut(text)),
        );
    }
    found.analysis.needs_bash = outside;
    for command in found.analysis.commands.iter_mut().skip(first) {
        command.redirections.extend(parts.redirections.iter().cloned());
        command.assignments.extend(parts.assignments.iter().cloned());
    }
}

fn finish(parts: Parts, found: &mut AnalysisBuilder, around: CommandPosition) {
    let mut words = parts.words.into_iter();
    let Some(program) = words.next() else { return };
    let mut command = Command {
        program,
        arguments: words.collect(),
        assignments: parts.assignments,
        redirections: parts.redirections,
        wrappers: around.wrappers,
        background: around.background,
        piped: around.piped,
        nature: Nature::Ordinary,
        notes: Vec::new(),
    };
    programs::evaluate(&mut command, found);
    found.command(command);
}
