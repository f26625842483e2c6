//! What is known of programs: which run others, which options make them do so, which of their commands are harmless.

use haft_contract::Exec;

/// Shells, interpreters, and programs whose job is to run others. Version numbers at the end do not count.
#[rustfmt::skip] // as a list
const RUNNERS: &[&str] = &[
    "sh", "bash", "rbash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "csh", "tcsh", "nu", "elvish", "xonsh", "busybox", "toybox",
    "pwsh", "powershell", "cmd", "python", "pythonw", "pypy", "ipython", "node", "nodejs", "deno", "bun", "ruby", "irb", "perl", "php",
    "lua", "luajit", "tclsh", "expect", "rscript", "julia", "osascript", "groovy", "awk", "gawk", "mawk", "nawk", "env", "sudo", "doas",
    "su", "runuser", "pkexec", "xargs", "find", "parallel", "watch", "nohup", "timeout", "time", "nice", "ionice", "chrt", "taskset",
    "setsid", "stdbuf", "unbuffer", "script", "flock", "entr", "rlwrap", "strace", "ltrace", "gdb", "chroot", "unshare", "nsenter",
    "systemd-run", "ssh", "screen", "tmux", "at", "batch", "crontab", "eval", "exec", "command", "builtin", "source", "npx", "pnpx",
    "bunx", "uvx", "uv", "pipx", "docker", "podman", "nerdctl", "bwrap", "firejail", "vi", "vim", "nvim", "emacs", "ed", "ex", "m4",
];

/// Options that make a program run another one, or write a file that is then run.
struct Gadgets {
    programs: &'static [&'static str],
    /// Wherever they stand.
    anywhere: &'static [&'static str],
    /// Only before the first word that is no option: behind it they mean something else.
    before: &'static [&'static str],
}

#[rustfmt::skip] // one kind of program each
const GADGETS: &[Gadgets] = &[
    Gadgets {
        programs: &["git"],
        anywhere: &["--upload-pack", "--receive-pack", "--exec", "--exec-path", "--output", "--open-files-in-pager", "--ext-diff",
            "--extcmd", "--config-env", "--git-dir", "--work-tree"],
        before: &["-c", "-C"],
    },
    Gadgets { programs: &["cargo"], anywhere: &["--config"], before: &["-C", "-Z"] },
    Gadgets {
        programs: &["go"],
        anywhere: &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay", "--overlay"],
        before: &["-C"],
    },
    Gadgets {
        programs: &["npm", "pnpm", "yarn"],
        anywhere: &["--script-shell", "--node-options", "--prefix", "--globalconfig", "--userconfig"],
        before: &[],
    },
    Gadgets {
        programs: &["tar", "bsdtar", "gtar"],
        anywhere: &["--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command", "--info-script",
            "--new-volume-script", "-I", "-F"],
        before: &[],
    },
    Gadgets { programs: &["rg"], anywhere: &["--pre", "--hostname-bin"], before: &[] },
    Gadgets { programs: &["sort"], anywhere: &["--compress-program"], before: &[] },
    Gadgets { programs: &["rsync"], anywhere: &["--rsh", "--rsync-path", "-e"], before: &[] },
    Gadgets { programs: &["scp", "sftp"], anywhere: &["-S", "-o", "-D"], before: &[] },
    Gadgets { programs: &["man"], anywhere: &["--pager", "--html", "-P", "-H"], before: &[] },
    Gadgets { programs: &["zip"], anywhere: &["--unzip-command", "-TT"], before: &[] },
    Gadgets { programs: &["wget"], anywhere: &["--use-askpass"], before: &[] },
];

/// Commands of programs that stay what they are with any arguments.
#[rustfmt::skip] // one program a line
const HARMLESS: &[(&str, &[&str])] = &[
    ("git", &["status", "log", "diff", "show", "blame", "add", "commit", "rev-parse", "ls-files", "describe", "shortlog"]),
    ("cargo", &["build", "check", "test", "clippy", "fmt", "doc", "tree", "metadata", "bench"]),
    ("npm", &["test", "ls", "list", "outdated", "view", "audit"]),
    ("pnpm", &["test", "ls", "list", "outdated", "why", "audit"]),
    ("yarn", &["test", "list", "outdated", "why", "audit"]),
    ("go", &["build", "test", "vet", "fmt", "list", "doc", "version"]),
    ("pip", &["list", "show", "freeze", "check"]),
];

/// Variables that change how a program speaks, and nothing of what it does.
#[rustfmt::skip] // as a list
const CLEAN: &[&str] = &[
    "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLORTERM", "CI", "DEBUG",
    "RUST_LOG", "RUST_BACKTRACE", "CARGO_TERM_COLOR", "NODE_ENV",
];

/// Whether a program runs others, by its name or path.
pub(in super::super) fn runs_others(program: &str) -> bool {
    let name = super::lower(super::last_name(program)).into_owned();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    RUNNERS.contains(&name) || RUNNERS.contains(&stem)
}

/// Whether nothing in the environment can make the program another one.
pub(super) fn is_clean(exec: &Exec) -> bool {
    exec.environment.iter().all(|name| is_harmless_variable(name))
}

/// Whether a variable changes nothing of what a program does.
pub(in super::super) fn is_harmless_variable(name: &str) -> bool {
    name.starts_with("LC_") || CLEAN.contains(&name)
}

/// Whether a command of a program stays what it is with any arguments.
pub(in super::super) fn is_harmless(program: &str, command: &str) -> bool {
    HARMLESS.iter().any(|(name, commands)| *name == program && commands.contains(&command))
}

/// The arguments that make a program run another one. `program` is its file name.
pub(in super::super) fn gadgets<'a>(program: &str, arguments: &'a [String]) -> impl Iterator<Item = &'a str> {
    let known = GADGETS.iter().find(|gadgets| gadgets.programs.contains(&program));
    let before = arguments.iter().take_while(|argument| argument.starts_with('-')).count();
    arguments
        .iter()
        .enumerate()
        .filter(move |(place, argument)| {
            let named = |options: &[&str]| options.iter().any(|option| is_option(argument, option));
            known.is_some_and(|known| named(known.anywhere) || (*place < before && named(known.before)))
        })
        .map(|(_, argument)| argument.as_str())
}

/// Whether an argument is an option, also with its value or cut short.
fn is_option(argument: &str, option: &str) -> bool {
    if option.starts_with("--") {
        return argument == option || is_short_for(argument, option);
    }
    let is_letter = option.len() == 2;
    argument == option || argument.strip_prefix(option).is_some_and(|rest| is_letter || rest.starts_with('='))
}

/// Whether an argument can be a long option cut short, or one with its value: `--up=x` for `--upload-pack`.
pub(super) fn is_short_for(argument: &str, option: &str) -> bool {
    let name = argument.split('=').next().unwrap_or(argument);
    option.starts_with("--") && name.len() > 2 && option.starts_with(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_folders_do_not_hide_an_interpreter() {
        for name in ["sh", "python3", "python3.12", "/usr/bin/env", "Bash", "perl5.36.0", "ruby-3.1", "cmd.exe", "lua5.4", "node"] {
            assert!(runs_others(name), "{name}");
        }
        for name in ["git", "cargo", "ls", "shred", "nodemon2x", "sed", "make", "ssh-keygen"] {
            assert!(!runs_others(name), "{name}");
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
            ("git", "-c core.pager=x log", vec!["-c"]),
            ("git", "switch -c new", vec![]),
            ("git", "log --oneline -n 3", vec![]),
            ("go", "test -exec=x ./...", vec!["-exec=x"]),
            ("tar", "-Ix -f a", vec!["-Ix"]),
            ("ls", "--pre x", vec![]),
        ] {
            assert_eq!(found(program, line), expected, "{program} {line}");
        }
    }
}
