//! Which programs run others, and by which words.

use haft_contract::Exec;
use haft_programs::{NARROWED, class_of, environment, family_of, run_options};

use super::super::problem::RuleProblem;
use super::words::{is_short_for, short_options};

/// Whether it is a program's job to run others, by its name or path.
pub(in super::super) fn runs_others(program: &str) -> bool {
    class_of(program).is_some_and(haft_programs::ProgramClass::runs_others)
}

/// Why `*` behind a program would let everything through.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OpenWords {
    /// The program runs others.
    Program,
    /// The program is many in one, and it is open which is meant.
    AnyCommand,
    /// The command of the program runs others.
    Command(String),
}

impl OpenWords {
    /// The message for such a rule.
    pub(super) fn fault(self, program: &str) -> RuleProblem {
        let everything = |what: String| format!("'{what}' runs other programs, so '*' behind it would let everything through");
        match self {
            Self::Program => {
                RuleProblem::new(everything(program.to_owned()), format!("write out the words, such as 'exec({program} scripts/check)'"))
            }
            Self::Command(command) => RuleProblem::new(
                everything(format!("{program} {command}")),
                format!("write out the words, as in 'exec({program} {command} x)'"),
            ),
            Self::AnyCommand => RuleProblem::new(
                format!("'{program}' has commands that run other programs, so '*' in their place would let everything through"),
                format!("write the command right behind the name, as in 'exec({program} COMMAND *)'"),
            ),
        }
    }
}

/// Why words that are not written out would let everything through, if they would. `first` is the word behind the program,
/// if that is written out.
pub(super) fn opened_by(program: &str, first: Option<&str>) -> Option<OpenWords> {
    if class_of(program).is_some_and(|class| class.runs_others() || class.runs_by_word()) {
        return Some(OpenWords::Program);
    }
    let family = family_of(program)?;
    match first.filter(|first| !first.starts_with(['-', '+'])) {
        None => Some(OpenWords::AnyCommand),
        Some(command) => family.running.contains(&command).then(|| OpenWords::Command(command.to_owned())),
    }
}

/// Whether nothing in the environment can make the program another one.
pub(super) fn is_clean(exec: &Exec) -> bool {
    exec.environment.iter().all(|name| environment::is_harmless(name))
}

/// Whether more words, as long as none is an option, only narrow what a command does.
pub(in super::super) fn is_narrowed(program: &str, command: &str) -> bool {
    NARROWED.contains(&(program, command))
}

/// Whether some words make a program run another one. `program` is its file name.
pub(super) fn has_gadgets(program: &str) -> bool {
    run_options(program).is_some()
}

/// The arguments that make a program run another one. `program` is its file name.
pub(in super::super) fn gadgets<'a>(program: &str, arguments: &'a [String]) -> impl Iterator<Item = &'a str> {
    let known = run_options(program);
    // To git, `ext::sh` is a way to reach a repository.
    let is_git = program == "git";
    let leads = move |argument: &&str| {
        (is_git && argument.contains("::")) || known.is_some_and(|known| known.options.iter().any(|option| is_option(argument, option)))
    };
    arguments.iter().map(String::as_str).filter(leads)
}

/// Whether an argument is an option, also with its value, cut short, or in a bundle with others.
fn is_option(argument: &str, option: &str) -> bool {
    match short_options(option) {
        None => is_short_for(argument, option),
        Some(ch) if ch.len() == 1 => short_options(argument).is_some_and(|chars| chars.contains(ch)),
        Some(_) => argument == option || argument.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_folders_do_not_hide_an_interpreter() {
        for name in [
            "sh",
            "python3",
            "python3.12",
            "/usr/bin/env",
            "Bash",
            "perl5.36.0",
            "ruby-3.1",
            "cmd.exe",
            "lua5.4",
            "node",
            "java",
            "guile",
            "ssh-agent",
            "prlimit",
            "fakeroot",
            "/lib64/ld-linux-x86-64.so.2",
            "ld.so",
        ] {
            assert!(runs_others(name), "{name}");
        }
        for name in ["git", "cargo", "ls", "shred", "nodemon2x", "sed", "make", "ssh-keygen"] {
            assert!(!runs_others(name), "{name}");
        }
    }

    #[test]
    fn a_star_is_open_where_a_word_can_run_a_program() {
        let command = |command: &str| Some(OpenWords::Command(command.to_owned()));
        for (program, first, expected) in [
            ("make", Some("test"), Some(OpenWords::Program)),
            ("sed", Some("-n"), Some(OpenWords::Program)),
            ("sqlite3", None, Some(OpenWords::Program)),
            ("tar", Some("cIf"), Some(OpenWords::Program)),
            ("git", None, Some(OpenWords::AnyCommand)),
            ("/usr/bin/git", Some("-C"), Some(OpenWords::AnyCommand)),
            ("git", Some("bisect"), command("bisect")),
            ("git", Some("rebase"), command("rebase")),
            ("git", Some("submodule"), command("submodule")),
            ("npm", Some("exec"), command("exec")),
            ("npm", Some("audit"), command("audit")),
            ("cargo", Some("run"), command("run")),
            ("cargo", Some("+nightly"), Some(OpenWords::AnyCommand)),
            ("pip3.12", Some("install"), command("install")),
            ("git", Some("push"), None),
            ("npm", Some("test"), None),
            ("ls", None, None),
        ] {
            assert_eq!(opened_by(program, first), expected, "{program} {first:?}");
        }
    }

    #[test]
    fn options_that_run_programs_are_known_in_every_form() {
        let found = |program: &str, line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            gadgets(program, &arguments).map(str::to_owned).collect::<Vec<_>>()
        };
        for (program, line, expected) in [
            ("git", "fetch --upload-pack=x a", vec!["--upload-pack=x"]),
            ("git", "fetch --upl x", vec!["--upl"]),
            ("git", "fetch ext::sh", vec!["ext::sh"]),
            ("git", "switch -c new", vec![]),
            ("git", "log --oneline -n 3", vec![]),
            ("go", "test -exec=x ./...", vec!["-exec=x"]),
            ("go", "build -ldflags=x", vec!["-ldflags=x"]),
            ("tar", "-Ix -f a", vec!["-Ix"]),
            ("tar", "-cIf x", vec!["-cIf"]),
            ("rsync", "-ave x", vec!["-ave"]),
            ("cargo", "build --manifest-path x", vec!["--manifest-path"]),
            ("ls", "--pre x", vec![]),
        ] {
            assert_eq!(found(program, line), expected, "{program} {line}");
        }
    }
}
