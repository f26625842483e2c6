//! The wrappers, their options, and how one comes off.

use haft_programs::{WRAPPERS, Wrapper, environment};

use super::Parts;
use crate::analysis::Assignment;
use crate::builder::AnalysisBuilder;
use crate::options::{self, OptionScan};
use crate::programs::trusted_name;
use crate::reason::{Concern, Reason, cut};
use crate::word::{Expansion, Word};

/// Takes one wrapper off and gives its name. What cannot come off stays, and the line is not followed.
pub(super) fn peel(parts: &mut Parts, found: &mut AnalysisBuilder) -> Option<String> {
    let name = parts.words.first().and_then(trusted_name)?;
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let asks = parts.words.get(1).and_then(Word::as_literal).is_some_and(|word| matches!(word, "-v" | "-V"));
    if name == "command" && asks {
        return None;
    }
    match inner(wrapper, parts, found) {
        Ok(words) => parts.words = words?,
        Err(why) => {
            found.reason(stuck(wrapper.name, &why));
            return None;
        }
    }
    Some(wrapper.name.to_owned())
}

/// The words of the command inside, if there is one, or why they cannot be told from those of the wrapper.
fn inner(wrapper: &Wrapper, parts: &mut Parts, found: &mut AnalysisBuilder) -> Result<Option<Vec<Word>>, String> {
    let scan = options::scan_leading(wrapper.options, &parts.words[1..]);
    if let Some(fault) = scan.faults.first() {
        return Err(fault.message.clone());
    }
    let mut start = 1 + scan.used;
    if wrapper.name == "env" {
        start += env(parts, start, found);
    }
    let operands = parts.words.iter().skip(start).take(wrapper.operands);
    if let Some(operand) = operands.into_iter().find(|operand| operand.may_be_option()) {
        return Err(format!("'{}' may be an option", cut(operand.text())));
    }
    let mut words: Vec<Word> = parts.words.iter().skip(start + wrapper.operands).cloned().collect();
    match (wrapper.name, words.first()) {
        ("xargs", _) => feed(&mut words, &scan),
        // A keyword: what follows is read once more as the beginning of a command.
        ("time", Some(first)) if is_syntax(first) => return Err(format!("'{}' is syntax there", cut(first.text()))),
        _ => {}
    }
    Ok(Some(words).filter(|words| !words.is_empty()))
}

fn stuck(name: &str, why: &str) -> Reason {
    Reason::new(Concern::Wrapper, format!("'{name}' is not unwrapped: {why}; call the command directly"))
}

/// The variables that `env` sets; how many words they are.
fn env(parts: &mut Parts, start: usize, found: &mut AnalysisBuilder) -> usize {
    let rest = parts.words.get(start..).unwrap_or_default();
    let set: Vec<Assignment> = rest.iter().map_while(assignment).collect();
    for assignment in &set {
        if let Some(why) = environment::danger(&assignment.name) {
            found.unknown(Concern::Environment, format!("it sets {}, {why}; leave it as it is", cut(&assignment.name)));
        }
    }
    let count = set.len();
    parts.assignments.extend(set);
    count
}

fn assignment(word: &Word) -> Option<Assignment> {
    match word {
        Word::Literal(text) => {
            let (name, value) = text.split_once('=')?;
            Some(Assignment { name: name.to_owned(), value: Word::literal(value) })
        }
        Word::Expanded(expanded) if !expanded.splits && expanded.why != Expansion::Glob => {
            let (name, _) = expanded.prefix.split_once('=')?;
            Some(Assignment { name: name.to_owned(), value: word.clone() })
        }
        Word::Expanded(_) => None,
    }
}

/// What `xargs` reads goes to the end, or where its mark stands.
fn feed(words: &mut Vec<Word>, scan: &OptionScan) {
    if words.is_empty() {
        words.push(Word::literal("echo"));
    }
    let mark = scan.given.iter().rev().find(|given| given.name == "-I").and_then(|given| given.value.as_ref());
    let Some(mark) = mark else { return words.push(Word::input("(what xargs reads)")) };
    for word in words.iter_mut() {
        if mark.as_literal().is_none_or(|mark| word.text().contains(mark)) {
            *word = replaced(word, mark.text());
        }
    }
}

/// A word with something in its middle that is read: one word still.
fn replaced(word: &Word, mark: &str) -> Word {
    let Word::Expanded(mut expanded) = Word::input(word.text()) else { return word.clone() };
    expanded.splits = matches!(word, Word::Expanded(before) if before.splits);
    word.text().split(mark).next().unwrap_or_default().clone_into(&mut expanded.prefix);
    Word::Expanded(expanded)
}

fn is_syntax(word: &Word) -> bool {
    let text = word.text();
    text.contains('=')
        || ["!", "{", "[[", "((", "if", "for", "while", "until", "case", "select", "function", "coproc", "time"].contains(&text)
}
