//! Commands that look as if something were being hidden, and code that reaches a shell by a pipe.

use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::reason::{Concern, cut};
use crate::word::{Expansion, Word};

/// Programs that transcode text.
const DECODERS: &[&str] = &["base64", "base32", "xxd", "openssl", "uudecode", "gunzip", "zcat", "rev", "tr", "printf", "echo", "od"];
/// Programs that fetch.
const FETCHERS: &[&str] = &["curl", "wget", "fetch", "aria2c", "nc", "ncat", "http"];
/// What code that is hidden in a text does with it.
const DECODING: &[&str] = &[
    "b64decode",
    "base64",
    "fromhex",
    "unhexlify",
    "atob(",
    "Buffer.from",
    "exec(",
    "eval(",
    "__import__",
    "os.system",
    "child_process",
    "pack(",
    "decode(",
];

/// Adds what the user should know before such commands run.
pub(crate) fn note(found: &mut AnalysisBuilder) {
    let commands = std::mem::take(&mut found.analysis.commands);
    for (index, command) in commands.iter().enumerate() {
        if matches!(command.nature, Nature::Shell | Nature::Interpreter) {
            note_one(command, &commands[..index], found);
        }
    }
    found.analysis.commands = commands;
}

fn note_one(command: &Command, before: &[Command], found: &mut AnalysisBuilder) {
    let name = command.name().unwrap_or_default();
    if command.piped && reads_code(command) {
        let source = source(before);
        found.unknown(
            Concern::Obfuscated,
            format!("'{name}' runs what {source} prints; save it with the file tools, look at it, and run that"),
        );
    }
    if command.has_here_text() {
        found.unknown(
            Concern::Obfuscated,
            format!("'{name}' runs a text that is given to it here; save it with the file tools and run that"),
        );
    }
    if command.arguments.iter().any(is_pipe) {
        found.unknown(
            Concern::Obfuscated,
            format!("'{name}' runs what a command prints; save it with the file tools, look at it, and run that"),
        );
    }
    for word in command.arguments.iter().filter(|word| is_hidden(command, word)) {
        found
            .unknown(Concern::Obfuscated, format!("'{name}' decodes or evaluates a text: '{}'; write the code as it is", cut(word.text())));
    }
}

/// Whether the input is code: no file and no code is named. For a shell, any pipe is suspicious.
fn reads_code(command: &Command) -> bool {
    let named = command.arguments.iter().any(|word| !word.text().starts_with('-'));
    let codes = |word: &Word| matches!(word.as_literal(), Some("-c" | "-e" | "-m" | "-n" | "-p" | "-pe" | "-ne" | "-r"));
    command.nature == Nature::Shell || !(named || command.arguments.iter().any(codes))
}

fn is_pipe(word: &Word) -> bool {
    matches!(word, Word::Expanded(expanded) if expanded.why == Expansion::Process)
}

/// Where the code comes from, as far as one can say.
fn source(before: &[Command]) -> String {
    let names: Vec<&str> = before.iter().rev().filter_map(Command::name).collect();
    let known = |list: &[&str]| names.iter().find(|name| list.contains(name)).map(|name| format!("'{name}'"));
    known(FETCHERS).or_else(|| known(DECODERS)).unwrap_or_else(|| "another command".to_owned())
}

fn is_hidden(command: &Command, word: &Word) -> bool {
    let given = command.arguments.iter().any(|word| word.text().starts_with('-'));
    given && DECODING.iter().any(|sign| word.text().contains(sign))
}
