//! What a command does, as far as its program and its options are known.

mod builtin;
mod dd;
mod find;
mod git;
mod jq;
mod network;
mod sed;
mod tar;

use haft_programs::{Operands, PROGRAMS, ProgramClass, ProgramEffect, ProgramOptions, class_of};

use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::options::{self, Given, OptionEffect, OptionScan};
use crate::reason::{Concern, Reason, cut};
use crate::word::Word;

/// Folders whose programs are the ones that their names promise.
const FOLDERS: &[&str] = &["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// The name of a program, if the shell will take an installed one.
pub(crate) fn trusted_name(word: &Word) -> Option<&str> {
    let program = word.as_literal()?;
    let name = FOLDERS.iter().find_map(|folder| program.strip_prefix(folder)).unwrap_or(program);
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

/// Says what kind of command it is, and adds what it reads, writes and reaches.
pub(crate) fn evaluate(command: &mut Command, found: &mut AnalysisBuilder) {
    let Some(name) = command.name().map(str::to_owned) else {
        let message = format!("which program '{}' is, is known only when it runs; name it", cut(command.program.text()));
        return found.unknown(Concern::Program, message);
    };
    let runs = match class_of(&name) {
        Some(ProgramClass::Launcher) => {
            command.nature = Nature::ExecutesOthers;
            let message =
                format!("'{name}' is not unwrapped: it starts another program in a way that is not followed; call the command directly");
            return found.unknown(Concern::Wrapper, message);
        }
        Some(ProgramClass::NetworkClient) => {
            let message = format!("whom '{name}' talks to is not followed; use the web tools, or curl with a whole address");
            return found.unknown(Concern::Network, message);
        }
        class => class.and_then(runner_nature),
    };
    if let Some((nature, why)) = runs {
        return runner(&name, nature, why, command, found);
    }
    let Some(trusted) = trusted_name(&command.program).map(str::to_owned) else {
        let message = format!("'{}' is a program of its own; only installed ones are known", cut(command.program.text()));
        return command.notes.push(Reason::new(Concern::Program, message));
    };
    evaluate_known(&trusted, command, found);
}

/// What a program that runs others is, and why that cannot be better.
fn runner_nature(class: ProgramClass) -> Option<(Nature, &'static str)> {
    use ProgramClass::{Builder, Editor, Family, Interpreter, PackageRunner, ProjectTool, Shell, SqlClient, Tool};
    match class {
        Shell => Some((Nature::Shell, "it runs shell commands that are not part of this one")),
        Interpreter | SqlClient => Some((Nature::Interpreter, "it runs code")),
        Editor | Tool => Some((Nature::ExecutesOthers, "its options and files can start other programs")),
        Builder | Family | PackageRunner | ProjectTool => Some((Nature::ExecutesOthers, "it runs what other files say")),
        _ => None,
    }
}

fn runner(name: &str, nature: Nature, why: &str, command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = nature;
    if nature == Nature::Shell && command.arguments.iter().any(is_script) {
        let message = format!("'{name}' runs a script that cannot be read here; write it out, as in bash -c 'command'");
        found.unknown(Concern::Execution, message);
    }
    command.notes.push(Reason::new(Concern::Execution, format!("'{name}': {why}")));
}

/// Whether a shell may be given a script by this word. Those that can be read were taken off before.
fn is_script(word: &Word) -> bool {
    word.may_be_option() && word.as_literal().is_none_or(|text| !text.starts_with("--") && text.contains('c'))
}

fn evaluate_known(name: &str, command: &mut Command, found: &mut AnalysisBuilder) {
    if builtin::evaluate(name, command, found) {
        return;
    }
    match name {
        "dd" => dd::evaluate(command, found),
        "find" => find::evaluate(command, found),
        "git" => git::evaluate(command, found),
        "sed" | "gsed" => sed::evaluate(command, found),
        "tar" | "bsdtar" | "gtar" => tar::evaluate(command, found),
        _ => match PROGRAMS.iter().find(|row| row.name == name) {
            Some(row) if name == "jq" => jq::evaluate(row, command, found),
            Some(row) => apply(row, &command.arguments.clone(), command, found),
            None => command.notes.push(Reason::new(Concern::Program, format!("'{}' is not a program that is known here", cut(name)))),
        },
    }
}

/// Evaluates by a row of the table.
fn apply(row: &ProgramOptions, arguments: &[Word], command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = match row.effect {
        ProgramEffect::Reads | ProgramEffect::Shows => Nature::ReadsOnly,
        ProgramEffect::Writes => Nature::Writes,
        ProgramEffect::Connects => Nature::Network,
    };
    match row.operands {
        Operands::Anything if row.options.is_empty() => return,
        Operands::Test => return builtin::test(command, found),
        _ => {}
    }
    let scan = options::scan(row.options, arguments);
    doubt(command, &scan);
    for given in &scan.given {
        option(given, command, found);
    }
    operands(row, &scan, command, found);
}

/// Options that are not known leave nothing certain.
fn doubt(command: &mut Command, scan: &OptionScan) {
    if !scan.faults.is_empty() {
        command.nature = Nature::Ordinary;
        command.notes.extend(scan.faults.iter().cloned());
    }
}

fn option(given: &Given, command: &mut Command, found: &mut AnalysisBuilder) {
    match (given.effect, &given.value) {
        (effect, _) if effect.runs() => runs(&given.name, command, found),
        (OptionEffect::Writes, Some(value)) => wrote(value, command, found),
        (OptionEffect::ReadsAt, Some(Word::Literal(value))) => {
            if let Some(path) = network::body(&given.name, value) {
                found.read(&path);
            }
        }
        (OptionEffect::Reads | OptionEffect::ReadsAt, Some(value)) => found.read(value),
        _ => {}
    }
}

/// An option with which a program runs another one, or has an unknown effect.
fn runs(option: &str, command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ExecutesOthers;
    command.reach.by_option = true;
    let name = command.name().unwrap_or_default().to_owned();
    let message = format!("'{name} {}' can run another program or reach beyond what it names; leave the option out", cut(option));
    found.unknown(Concern::Execution, message);
}

/// A file that an operand removes.
fn removed(word: &Word, command: &mut Command, found: &mut AnalysisBuilder) {
    wrote(word, command, found);
    found.delete(word);
}

/// A file that an option or an operand writes. `-` is what is printed.
fn wrote(word: &Word, command: &mut Command, found: &mut AnalysisBuilder) {
    if word.as_literal() == Some("-") {
        return;
    }
    if command.nature == Nature::ReadsOnly {
        command.nature = Nature::Writes;
    }
    found.write(word);
}

fn operands(row: &ProgramOptions, scan: &OptionScan, command: &mut Command, found: &mut AnalysisBuilder) {
    let all = scan.operands.as_slice();
    let given_first = scan.has(&["-e", "-f", "--regexp", "--file", "--reference", "--files"]);
    let behind_first = if given_first { all } else { all.get(1..).unwrap_or_default() };
    match row.operands {
        Operands::None if !all.is_empty() => {
            command.nature = Nature::Ordinary;
            let message = format!("'{} {}' does more than print", row.name, cut(all[0].text()));
            command.notes.push(Reason::new(Concern::Arguments, message));
        }
        Operands::Reads => read_all(all, found),
        Operands::FirstThenReads => read_all(behind_first, found),
        Operands::Writes if matches!(row.name, "rm" | "rmdir" | "unlink") => all.iter().for_each(|word| removed(word, command, found)),
        Operands::Writes if row.name == "mv" => moved(scan, command, found),
        Operands::Writes => all.iter().for_each(|word| wrote(word, command, found)),
        Operands::FirstThenWrites => behind_first.iter().for_each(|word| wrote(word, command, found)),
        Operands::CopyTo => copy(scan, command, found),
        Operands::ReadThenWritten => {
            read_all(all.get(..1).unwrap_or_default(), found);
            all.iter().skip(1).for_each(|word| wrote(word, command, found));
        }
        Operands::Hosts => network::evaluate(row.name, scan, command, found),
        Operands::None | Operands::Text | Operands::Anything | Operands::Test => {}
    }
}

fn read_all(words: &[Word], found: &mut AnalysisBuilder) {
    words.iter().filter(|word| word.as_literal() != Some("-")).for_each(|word| found.read(word));
}

/// What is moved is gone where it was.
fn moved(scan: &OptionScan, command: &mut Command, found: &mut AnalysisBuilder) {
    let sources = scan.operands.len() - usize::from(!scan.has(&["-t", "--target-directory"]) && !scan.operands.is_empty());
    for (index, word) in scan.operands.iter().enumerate() {
        if index < sources { removed(word, command, found) } else { wrote(word, command, found) }
    }
}

/// The last operand is where it goes, unless an option says so.
fn copy(scan: &OptionScan, command: &mut Command, found: &mut AnalysisBuilder) {
    let directed = scan.has(&["-t", "--target-directory"]);
    // 'install -d' makes all of them; of 'ln -s NAME' alone the link is here.
    let makes = scan.has(&["-d", "--directory"]) && command.name() == Some("install");
    match scan.operands.split_last() {
        Some((_, _)) if makes => scan.operands.iter().for_each(|word| wrote(word, command, found)),
        Some((_, [])) if !directed => wrote(&Word::literal("."), command, found),
        Some((last, before)) if !directed => {
            read_all(before, found);
            wrote(last, command, found);
        }
        _ => read_all(&scan.operands, found),
    }
}
