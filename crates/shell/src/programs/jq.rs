//! `jq`: its text is a program, which can read modules and data of its own.

use haft_programs::ProgramOptions;

use super::apply;
use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::reason::{Concern, Reason, cut};
use crate::word::Word;

/// Words with which a program reads files.
const READING: &[&str] = &["import", "include", "modulemeta", "$__prog"];

pub(super) fn evaluate(row: &ProgramOptions, command: &mut Command, found: &mut AnalysisBuilder) {
    apply(row, &command.arguments.clone(), command, found);
    let reads = |word: &&Word| word.as_literal().is_none_or(|text| READING.iter().any(|sign| text.contains(sign)));
    if let Some(word) = command.arguments.iter().find(reads) {
        let message = format!("jq: the program '{}' may read files that are not named", cut(word.text()));
        command.notes.push(Reason::new(Concern::Arguments, message));
        command.nature = Nature::Ordinary;
    }
}
