//! What an answer "always" would save.

use crate::analysis::{Analysis, Command, Nature, Verdict};
use crate::word::Word;

/// Programs whose first word says what they do: a rule without it would allow all the rest.
const WITH_PARTS: &[&str] = &[
    "apk",
    "apt",
    "apt-get",
    "brew",
    "bundle",
    "bun",
    "cargo",
    "composer",
    "conda",
    "dnf",
    "docker",
    "dotnet",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "helm",
    "hg",
    "jj",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "svn",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// Parts whose next word says more.
const WITH_MORE: &[(&str, &str)] = &[
    ("npm", "run"),
    ("pnpm", "run"),
    ("yarn", "run"),
    ("docker", "compose"),
    ("git", "remote"),
    ("git", "stash"),
    ("git", "worktree"),
    ("gh", "pr"),
    ("gh", "issue"),
    ("gh", "repo"),
    ("kubectl", "get"),
];

/// Programs, and parts of programs, that run whatever they are told to.
const ANYTHING: &[(&str, &str)] = &[
    ("npx", ""),
    ("pnpx", ""),
    ("bunx", ""),
    ("uvx", ""),
    ("nix-shell", ""),
    ("npm", "exec"),
    ("npm", "x"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("uv", "run"),
    ("uv", "tool"),
    ("poetry", "run"),
    ("pipx", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("conda", "run"),
    ("bundle", "exec"),
    ("docker", "run"),
    ("docker", "exec"),
    ("podman", "run"),
    ("podman", "exec"),
    ("kubectl", "exec"),
    ("kubectl", "run"),
    ("go", "run"),
    ("nix", "run"),
    ("nix", "shell"),
    ("nix", "develop"),
    ("gh", "api"),
    ("gh", "alias"),
    ("gh", "extension"),
    ("gh", "codespace"),
    ("git", "config"),
    ("git", "submodule"),
    ("git", "bisect"),
    ("git", "rebase"),
    ("dotnet", "run"),
    ("cargo", "run"),
    ("rustup", "run"),
];

/// The patterns that would allow the line next time, one for each program in it, in the notation of [`Pattern`](crate::Pattern).
///
/// Nothing where a rule would allow more than anyone wants: a line that is not followed, a shell, an interpreter, a program that runs
/// whatever it is told to, or one that is not named by plain words.
pub fn inner_programs(analysis: &Analysis) -> Option<Vec<String>> {
    if analysis.verdict() != Verdict::Followed {
        return None;
    }
    let mut patterns = Vec::new();
    for command in analysis.commands.iter().filter(|command| command.nature != Nature::ChangesShell) {
        let pattern = pattern(command)?;
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    (!patterns.is_empty()).then_some(patterns)
}

fn pattern(command: &Command) -> Option<String> {
    let program = command.program.as_literal().filter(|program| is_plain(program))?;
    let name = command.name()?;
    let part =
        |place: usize| command.arguments.get(place).and_then(Word::as_literal).filter(|word| is_plain(word) && !word.starts_with('-'));
    let runs_code = matches!(command.nature, Nature::Shell | Nature::Interpreter);
    if runs_code || ANYTHING.contains(&(name, "")) || part(0).is_some_and(|part| ANYTHING.contains(&(name, part))) {
        return None;
    }
    if !WITH_PARTS.contains(&name) {
        // A viewer or an editor that starts others is no better than a shell.
        return (command.nature != Nature::ExecutesOthers).then(|| format!("{program} *"));
    }
    let first = part(0)?;
    match part(1) {
        Some(second) if WITH_MORE.contains(&(name, first)) => Some(format!("{program} {first} {second} *")),
        None if WITH_MORE.contains(&(name, first)) => Some(format!("{program} {first}")),
        _ => Some(format!("{program} {first} *")),
    }
}

/// A word that a pattern can hold as it is.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@+=,".contains(&byte))
}
