//! `sed`: most scripts only print, but `e` runs commands and `w` writes files.

use super::{doubt, read_all, wrote};
use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::options::{self, OptionEffect, OptionScan};
use crate::reason::{Concern, cut};
use crate::word::Word;

const OPTIONS: &str = "-nErsuz -e= -f=! -l= -i> --quiet --silent --regexp-extended --separate --unbuffered --null-data --expression= \
    --posix --sandbox \
    --line-length= --debug --file=! --in-place?";

pub(super) fn evaluate(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ReadsOnly;
    let scan = options::scan(OPTIONS, &command.arguments.clone());
    doubt(command, &scan);
    let (scripts, files) = scripts(&scan);
    for script in &scripts {
        if !script.as_literal().is_some_and(is_plain) {
            command.nature = Nature::ExecutesOthers;
            let message = format!(
                "the sed script '{}' is not followed: it may run commands or write files; use edit_file, or simpler commands",
                cut(script.text())
            );
            found.unknown(Concern::Execution, message);
        }
    }
    if scan.has(&["-f", "--file"]) {
        super::runs("-f", command, found);
    }
    let in_place = scan.given.iter().any(|given| given.effect == OptionEffect::InPlace || given.name == "--in-place");
    if in_place {
        for file in files {
            wrote(file, command, found);
        }
        backups(&scan, files, command, found);
    }
    read_all(files, found);
}

/// The copies that `-i.bak` leaves; with a folder in it they lie anywhere.
fn backups(scan: &OptionScan, files: &[Word], command: &mut Command, found: &mut AnalysisBuilder) {
    let suffixes =
        scan.given.iter().filter(|given| given.name == "-i" || given.name == "--in-place").filter_map(|given| given.value.as_ref());
    for suffix in suffixes {
        let plain = suffix.as_literal().is_some_and(|suffix| !suffix.contains(['/', '*']));
        for file in files.iter().filter(|_| plain) {
            if let Some(path) = file.as_literal() {
                wrote(&Word::literal(format!("{path}{}", suffix.text())), command, found);
            }
        }
        if !plain {
            super::runs("-i", command, found);
        }
    }
}

fn scripts(scan: &OptionScan) -> (Vec<Word>, &[Word]) {
    let given: Vec<Word> = scan
        .given
        .iter()
        .filter(|given| matches!(given.name.as_str(), "-e" | "--expression"))
        .filter_map(|given| given.value.clone())
        .collect();
    if !given.is_empty() || scan.has(&["-f", "--file"]) {
        return (given, &scan.operands);
    }
    match scan.operands.split_first() {
        Some((script, files)) => (vec![script.clone()], files),
        None => (given, &[]),
    }
}

/// Whether every command of a script is one that only prints or changes what is printed.
fn is_plain(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '}', '{']);
        if rest.is_empty() {
            return true;
        }
        let Some(behind) = address(rest).and_then(command) else { return false };
        rest = behind;
    }
}

/// Goes past `12`, `$`, `/text/`, two of them, and `!`.
fn address(text: &str) -> Option<&str> {
    let mut rest = one_address(text)?;
    if let Some(second) = rest.strip_prefix(',') {
        rest = one_address(second.trim_start_matches([' ', '+', '~']))?;
    }
    Some(rest.trim_start_matches([' ', '!', '{']))
}

fn one_address(text: &str) -> Option<&str> {
    match text.chars().next()? {
        '0'..='9' => Some(text.trim_start_matches(|ch: char| ch.is_ascii_digit() || ch == '~')),
        '$' => Some(&text[1..]),
        '/' => delimited(&text[1..], '/').map(|rest| rest.trim_start_matches(['I', 'M'])),
        '\\' => None,
        _ => Some(text),
    }
}

/// Goes past one command that is known.
fn command(text: &str) -> Option<&str> {
    let ch = text.chars().next()?;
    let rest = &text[ch.len_utf8()..];
    let ended = |rest: &'_ str| rest.is_empty() || rest.starts_with([';', '\n', ' ', '}']);
    match ch {
        'p' | 'd' | '=' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | 'D' | 'P' | 'l' | 'F' if ended(rest) => Some(rest),
        'q' | 'Q' => Some(rest.trim_start_matches(|ch: char| ch == ' ' || ch.is_ascii_digit())).filter(|rest| ended(rest)),
        's' | 'y' => {
            let delimiter = rest.chars().next().filter(|ch| ch.is_ascii_punctuation() && *ch != '\\')?;
            let behind = delimited(delimited(&rest[1..], delimiter)?, delimiter)?;
            let behind = behind.trim_start_matches(|flag: char| "gpiIM".contains(flag) || flag.is_ascii_digit());
            Some(behind).filter(|rest| ended(rest))
        }
        _ => None,
    }
}

/// What stands behind the next delimiter. Classes in brackets, where it would be a plain character, are refused.
fn delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, ch)) = chars.next() {
        match ch {
            '\\' => drop(chars.next()?),
            '\n' => return None,
            ch if ch == delimiter => {
                let inside = &text[..at];
                let bracketed = inside.contains('[') && text[at..].contains(']') && !balanced(inside);
                return (!bracketed).then_some(&text[at + delimiter.len_utf8()..]);
            }
            _ => {}
        }
    }
    None
}

fn balanced(text: &str) -> bool {
    text.matches('[').count() == text.matches(']').count()
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn only_scripts_that_print_are_plain() {
        for script in [
            "p",
            "1,5p",
            "$d",
            "s/a/b/",
            "s/a/b/g;s|x|y|2p",
            "/x/,/y/p",
            "/a/!d",
            "10q",
            "s/[a-z]*/x/g",
            "1d;$d",
            "y/ab/cd/",
            "/x/{p;d}",
            "s/a\\/b/c/",
        ] {
            assert!(is_plain(script), "{script}");
        }
        for script in [
            "e",
            "1e id",
            "s/a/b/e",
            "s/a/b/ge",
            "s/a/b/w f",
            "w f",
            "r f",
            "W f",
            "a text",
            "s/a/b",
            "1!e",
            "s/[/]/x/;e",
            "p;e id",
            "{e}",
            "\\xaxe",
            "s,a,b,\ne",
            "b",
            "M",
            "1,e",
            "R f",
        ] {
            assert!(!is_plain(script), "{script}");
        }
    }
}
