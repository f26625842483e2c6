//! `find`: it looks, or it runs and removes what it finds.

use super::{removed, runs, wrote};
use crate::analysis::{Command, Nature};
use crate::builder::{AnalysisBuilder, CommandPosition};
use crate::reason::{Concern, Reason, cut};
use crate::unwrap::{self, Parts};
use crate::word::Word;

/// Parts of an expression that stand alone.
const ALONE: &[&str] = &[
    "-H",
    "-L",
    "-P",
    "-print",
    "-print0",
    "-prune",
    "-empty",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-follow",
    "-noleaf",
    "-daystart",
    "-true",
    "-false",
    "-not",
    "-and",
    "-or",
    "-a",
    "-o",
    "!",
    "(",
    ")",
    ",",
    "-ls",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-quit",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-warn",
    "-nowarn",
];

/// Parts with a value.
const VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-type",
    "-xtype",
    "-maxdepth",
    "-mindepth",
    "-mtime",
    "-ctime",
    "-atime",
    "-mmin",
    "-cmin",
    "-amin",
    "-size",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-links",
    "-inum",
    "-fstype",
    "-samefile",
    "-lname",
    "-ilname",
    "-printf",
    "-regextype",
    "-used",
    "-context",
];

pub(super) fn evaluate(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ReadsOnly;
    let words = command.arguments.clone();
    let starts = starts(&words);
    for word in starts {
        found.read(word);
    }
    let mut at = starts.len();
    while let Some(word) = words.get(at) {
        at += 1;
        let Some(part) = word.as_literal() else {
            doubt(command, word);
            continue;
        };
        match part {
            part if ALONE.contains(&part) => {}
            part if VALUED.contains(&part) || part.starts_with("-newer") => at += 1,
            "-delete" => deletes(starts, command, found),
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                words.get(at).into_iter().for_each(|file| wrote(file, command, found));
                at += if part == "-fprintf" { 2 } else { 1 };
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => at += execute(part, words.get(at..).unwrap_or_default(), command, found),
            _ => doubt(command, word),
        }
    }
}

/// Where it begins to look: everything before the expression.
fn starts(words: &[Word]) -> &[Word] {
    let end = words.iter().position(|word| word.may_be_option() || matches!(word.text(), "!" | "(" | ")" | ","));
    &words[..end.unwrap_or(words.len())]
}

fn doubt(command: &mut Command, word: &Word) {
    command.nature = Nature::Ordinary;
    let message = format!("find: '{}' is not known here, or may become '-exec' or '-delete'", cut(word.text()));
    command.notes.push(Reason::new(Concern::Arguments, message));
}

fn deletes(starts: &[Word], command: &mut Command, found: &mut AnalysisBuilder) {
    let here = [Word::literal(".")];
    let starts = if starts.is_empty() { &here } else { starts };
    for word in starts {
        removed(word, command, found);
    }
}

/// The command that is run is listed, too: rules that forbid it must see it. How many words it took.
fn execute(part: &str, words: &[Word], command: &mut Command, found: &mut AnalysisBuilder) -> usize {
    runs(part, command, found);
    let end = words.iter().position(|word| matches!(word.as_literal(), Some(";" | "+"))).unwrap_or(words.len());
    let inner = words[..end].iter().map(|word| if word.text().contains("{}") { Word::input(word.text()) } else { word.clone() });
    let mut wrappers = command.wrappers.clone();
    wrappers.push(format!("find {part}"));
    let outer = command.reach.wrappers.clone();
    unwrap::add(
        Parts { words: inner.collect(), ..Parts::default() },
        found,
        &CommandPosition { wrappers, outer, ..CommandPosition::default() },
    );
    (end + 1).min(words.len())
}
