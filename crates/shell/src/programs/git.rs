//! `git`: parts of it only look; the others run hooks, filters and whatever its configuration names.

use haft_programs::GIT_COMMANDS;

use super::{apply, runs};
use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::options;
use crate::reason::{Concern, Reason, cut};
use crate::word::Word;

/// Options before the part's name.
const GLOBAL: &str = "-pP -C=< -c=! --paginate --no-pager --no-optional-locks --no-replace-objects --literal-pathspecs --glob-pathspecs \
    --noglob-pathspecs --icase-pathspecs --bare --no-lazy-fetch --config-env=! --exec-path? --git-dir=! --work-tree=! --namespace=! \
    --super-prefix=!";

/// Settings that `-c` may set: they say who commits, and how things look. `*` stands for one name.
const HARMLESS_SETTINGS: &[&str] = &[
    "advice.*",
    "author.email",
    "author.name",
    "color.*",
    "committer.email",
    "committer.name",
    "core.quotepath",
    "init.defaultbranch",
    "user.email",
    "user.name",
];

/// Options that run what they are given, whichever part they are for.
const GADGETS: &[&str] = &[
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--exec-path",
    "--ext-diff",
    "--open-files-in-pager",
    "--extcmd",
    "--config",
    "--template",
];

/// Parts that run whatever they are told to.
const RUNNING: &[&str] = &[
    "config",
    "filter-branch",
    "difftool",
    "mergetool",
    "bisect",
    "submodule",
    "credential",
    "daemon",
    "instaweb",
    "send-email",
    "shell",
    "hook",
    "for-each-repo",
    "maintenance",
];

pub(super) fn evaluate(command: &mut Command, found: &mut AnalysisBuilder) {
    if matches!(command.arguments.as_slice(), [Word::Literal(only)] if only == "--version") {
        command.nature = Nature::ReadsOnly;
        return;
    }
    gadgets(command, found);
    let scan = options::scan_leading(GLOBAL, &command.arguments);
    for given in &scan.given {
        match given.effect {
            _ if given.name == "-c" && given.value.as_ref().is_some_and(is_harmless_setting) => {}
            effect if effect.runs() || given.name == "--exec-path" => runs(&given.name, command, found),
            _ => given.value.iter().for_each(|folder| found.read(folder)),
        }
    }
    let faults = scan.faults.first().cloned();
    let part = command.arguments.get(scan.used).and_then(Word::as_literal).map(str::to_owned);
    match (faults, part) {
        (Some(fault), _) => command.notes.push(fault),
        (None, Some(part)) => evaluate_part(&part, scan.used + 1, command, found),
        (None, None) => command.notes.push(Reason::new(Concern::Arguments, "which part of git is meant is not known")),
    }
}

/// Whether a word sets something that Git neither runs nor trusts.
fn is_harmless_setting(word: &Word) -> bool {
    let Some((key, _)) = word.as_literal().and_then(|text| text.split_once('=')) else { return false };
    let Some((section, name)) = key.split_once('.') else { return false };
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let matches = |known: &&str| {
        let (known_section, known_name) = known.split_once('.').unwrap_or_default();
        section.eq_ignore_ascii_case(known_section) && (known_name == "*" || name.eq_ignore_ascii_case(known_name))
    };
    is_plain && HARMLESS_SETTINGS.iter().any(matches)
}

fn evaluate_part(part: &str, start: usize, command: &mut Command, found: &mut AnalysisBuilder) {
    let arguments = command.arguments.get(start..).unwrap_or_default().to_vec();
    let already = command.nature;
    match GIT_COMMANDS.iter().find(|row| row.name == part) {
        Some(row) => {
            apply(row, &arguments, command, found);
            outside(&arguments, found);
        }
        None if RUNNING.contains(&part) || configures(part, &arguments) => runs(part, command, found),
        None => {
            command.nature = Nature::ExecutesOthers;
            let message = format!("'git {}' can run hooks and filters of the repository", cut(part));
            command.notes.push(Reason::new(Concern::Execution, message));
        }
    }
    // An option that runs something before the part stays the worse of both.
    if already == Nature::ExecutesOthers {
        command.nature = already;
    }
}

/// Short options that set configuration or run a program; elsewhere the same flags are harmless.
fn configures(part: &str, arguments: &[Word]) -> bool {
    let begins = |start: &str| arguments.iter().any(|word| word.text().starts_with(start));
    match part {
        "clone" => begins("-c") || begins("-u"),
        "rebase" => begins("-x"),
        _ => false,
    }
}

/// Operands are revisions or paths; those that lead out of the repository are files to git.
fn outside(arguments: &[Word], found: &mut AnalysisBuilder) {
    let leads_out = |word: &&Word| word.as_literal().is_none_or(|text| text.starts_with('/') || text.contains("../"));
    for word in arguments.iter().filter(|word| !word.text().starts_with('-')).filter(leads_out) {
        found.read(word);
    }
}

fn gadgets(command: &mut Command, found: &mut AnalysisBuilder) {
    for word in command.arguments.clone() {
        let text = word.text();
        let name = text.split('=').next().unwrap_or_default();
        // Git takes long options by their beginning, and an address can name a program.
        let shortened = name.len() > 5 && GADGETS.iter().any(|gadget| gadget.starts_with(name));
        if GADGETS.contains(&name) || shortened || text.contains("ext::") || text.contains("fd::") {
            runs(name, command, found);
        }
    }
}
