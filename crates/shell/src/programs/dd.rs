//! `dd`: its operands are its options.

use super::wrote;
use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::reason::{Concern, Reason, cut};
use crate::word::Word;

const KNOWN: &[&str] = &["bs", "cbs", "conv", "count", "ibs", "iflag", "obs", "oflag", "seek", "skip", "status", "iseek", "oseek"];

pub(super) fn evaluate(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ReadsOnly;
    for word in command.arguments.clone() {
        match word.as_literal().and_then(|text| text.split_once('=')) {
            Some(("if", path)) => found.read(&Word::literal(path)),
            Some(("of", path)) => wrote(&Word::literal(path), command, found),
            Some((name, _)) if KNOWN.contains(&name) => {}
            _ => {
                command.nature = Nature::Ordinary;
                command.notes.push(Reason::new(Concern::Arguments, format!("dd: '{}' is not known here", cut(word.text()))));
                unclear(&word, found);
            }
        }
    }
}

/// What expands could be the file that is written.
fn unclear(word: &Word, found: &mut AnalysisBuilder) {
    if word.as_literal().is_none() {
        found.write(word);
    }
}
