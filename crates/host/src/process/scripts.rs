//! Scripts that a line runs: what they held when the line was judged is what runs, or nothing does.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use haft_contract::{ToolError, visible};
use haft_shell::{Analysis, Command, Word};
use ring::digest::{Context, SHA256};

/// Programs whose arguments name what they run.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "fish", "python", "node", "deno", "bun", "perl", "ruby", "php", "lua", "awk", "source", "."];
/// Beyond these a file is data, and not what someone has read before saying yes.
const MOST: usize = 16;
const LARGEST: u64 = 8 << 20;

/// The scripts of a line, with their fingerprints.
pub(super) fn named(analysis: &Analysis, directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = analysis.commands.iter().flat_map(words).map(|word| directory.join(word)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.into_iter().take(MOST).filter_map(|path| Some((fingerprint(&path).ok()??, path))).map(|(print, path)| (path, print)).collect()
}

/// What of a command may be a script: the program by its path, and what an interpreter is given.
fn words(command: &Command) -> Vec<&str> {
    let program = command.program.text();
    let name = program.rsplit('/').next().unwrap_or(program).trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let interprets = INTERPRETERS.contains(&name) || program == ".";
    let given = command.arguments.iter().filter(|word| interprets && !matches!(word, Word::Expanded(_)));
    let given = given.map(Word::text).filter(|text| !text.starts_with('-'));
    program.contains('/').then_some(program).into_iter().chain(given).collect()
}

/// Whether all of them hold what they held.
pub(super) fn unchanged(scripts: &[(PathBuf, Vec<u8>)]) -> Result<(), ToolError> {
    let changed = |(path, print): &&(PathBuf, Vec<u8>)| fingerprint(path).ok().flatten().as_ref() != Some(print);
    let Some((path, _)) = scripts.iter().find(changed) else { return Ok(()) };
    let shown = visible::line(&path.to_string_lossy()).into_owned();
    Err(ToolError::denied(format!("'{shown}' was changed after the command was judged, so it was not run. Ask for it again.")))
}

/// `None` for what is no file, or too large to be one that someone has read.
fn fingerprint(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let metadata = path.metadata()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Ok(None);
    }
    let mut content = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut content)?;
    let mut hash = Context::new(&SHA256);
    hash.update(&content);
    Ok(Some(hash.finish().as_ref().to_vec()))
}
