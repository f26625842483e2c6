//! Programs that only start another one: they come off, until the command that does the work is found.

mod peel;
mod script;

use crate::analysis::{Assignment, Command, Nature, Reach, Redirection};
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
        let whole = parts.words.clone();
        match peel::peel(&mut parts, found) {
            Some(wrapper) => {
                around.wrappers.push(wrapper);
                around.outer.push(whole);
            }
            None => break,
        }
    }
    match script::find(&parts.words) {
        Some((shell, script)) => run_script(&shell, &script, parts, found, around),
        None => finish(parts, found, around),
    }
}

/// A script that is written out is read like the line itself.
fn run_script(shell: &str, text: &str, parts: Parts, found: &mut AnalysisBuilder, around: CommandPosition) {
    let first = found.analysis.commands.len();
    let outside = around.clone();
    let mut around = around;
    around.wrappers.push(shell.to_owned());
    around.outer.push(parts.words.clone());
    if around.wrappers.len() > MOST_WRAPPERS {
        return found.refuse(format!("scripts and wrappers are nested deeper than {MOST_WRAPPERS} levels; call the command directly"));
    }
    let needs_bash = std::mem::take(&mut found.analysis.needs_bash);
    read::read(text, found, &around);
    if found.analysis.needs_bash && shell != "bash -c" {
        found.analysis.unclear = true;
        found.unknown(
            Concern::Syntax,
            format!("'{shell}' may read '{}' in another way than bash; call bash, or write it simpler", cut(text)),
        );
    }
    found.analysis.needs_bash = needs_bash;
    // A script without commands: rules on shells must see it.
    if found.analysis.commands.len() == first {
        return command(parts, outside).into_iter().for_each(|shell| found.command(Command { nature: Nature::Shell, ..shell }));
    }
    for command in found.analysis.commands.iter_mut().skip(first) {
        command.redirections.extend(parts.redirections.iter().cloned());
        command.assignments.extend(parts.assignments.iter().cloned());
    }
}

fn finish(parts: Parts, found: &mut AnalysisBuilder, around: CommandPosition) {
    let Some(mut command) = command(parts, around) else { return };
    programs::evaluate(&mut command, found);
    found.command(command);
}

fn command(parts: Parts, around: CommandPosition) -> Option<Command> {
    let mut words = parts.words.into_iter();
    Some(Command {
        program: words.next()?,
        arguments: words.collect(),
        assignments: parts.assignments,
        redirections: parts.redirections,
        wrappers: around.wrappers,
        background: around.background,
        piped: around.piped,
        nature: Nature::Ordinary,
        notes: Vec::new(),
        reach: Reach { wrappers: around.outer, ..Reach::default() },
    })
}
