//! What is known of programs. No such list is ever complete; what it leaves out is why `*` stands for no options, and why an
//! answer for good is about the exact words.

/// Shells, interpreters, and programs whose job is to run others. Version numbers at the end do not count.
#[rustfmt::skip] // as a list
pub(super) const RUNNERS: &[&str] = &[
    // shells
    "sh", "bash", "rbash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "csh", "tcsh", "nu", "elvish", "xonsh", "busybox", "toybox",
    "pwsh", "powershell", "cmd", "eval", "exec", "command", "builtin", "source",
    // interpreters
    "python", "pythonw", "pypy", "ipython", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "irb", "perl", "raku", "php",
    "lua", "luajit", "tclsh", "wish", "expect", "r", "rscript", "julia", "octave", "osascript", "groovy", "java", "jshell", "scala",
    "kotlin", "clojure", "guile", "racket", "sbcl", "clisp", "ghci", "runghc", "runhaskell", "ocaml", "erl", "escript", "elixir", "iex",
    "awk", "gawk", "mawk", "nawk", "dc", "m4", "gnuplot", "wine",
    // what runs what stands behind it
    "env", "sudo", "doas", "su", "runuser", "pkexec", "gosu", "su-exec", "setpriv", "capsh", "xargs", "find", "fd", "fdfind", "parallel",
    "watch", "nohup", "timeout", "time", "nice", "ionice", "chrt", "taskset", "numactl", "prlimit", "choom", "setsid", "stdbuf",
    "unbuffer", "script", "flock", "entr", "rlwrap", "strace", "ltrace", "gdb", "lldb", "perf", "valgrind", "setarch", "linux32",
    "linux64", "chroot", "unshare", "nsenter", "fakeroot", "proot", "systemd-run", "dbus-run-session", "xvfb-run", "torsocks",
    "proxychains", "ssh", "ssh-agent", "rsh", "socat", "screen", "tmux", "at", "batch", "crontab", "start-stop-daemon", "tini",
    "dumb-init", "ld.so", "npx", "pnpx", "bunx", "uvx", "uv", "pipx", "direnv", "nix-shell", "docker", "podman", "nerdctl", "bwrap",
    "firejail",
    // editors and pagers with commands of their own
    "vi", "vim", "nvim", "view", "emacs", "ed", "ex", "less", "more", "man",
];

/// Programs with another job, which run others if a word tells them to: a recipe, a script, a letter of a bundle. To write
/// the words out is to say which.
#[rustfmt::skip] // as a list
pub(super) const LED: &[&str] = &[
    "make", "gmake", "bmake", "cmake", "ninja", "meson", "just", "task", "rake", "ant", "mvn", "gradle", "gradlew", "bazel", "sbt",
    "tox", "nox", "pre-commit", "ansible", "ansible-playbook", "sed", "gsed", "tar", "bsdtar", "gtar", "sqlite3", "psql", "mysql",
    "nix", "guix", "vagrant",
];

/// Programs that are many in one: what `*` can mean depends on the command behind their name.
pub(super) struct Family {
    pub(super) programs: &'static [&'static str],
    /// Commands that run what the words behind them, or a file that those name, say.
    pub(super) running: &'static [&'static str],
}

#[rustfmt::skip] // one family each
pub(super) const FAMILIES: &[Family] = &[
    Family {
        programs: &["git"],
        running: &["bisect", "config", "difftool", "filter-branch", "filter-repo", "for-each-repo", "hook", "instaweb", "mergetool",
            "rebase", "send-email", "submodule", "web--browse"],
    },
    Family { programs: &["cargo"], running: &["run", "r", "install", "script", "miri", "expand"] },
    Family { programs: &["go"], running: &["run", "generate", "tool", "install", "get", "env"] },
    Family {
        programs: &["npm", "pnpm", "yarn"],
        running: &["exec", "x", "dlx", "explore", "run", "run-script", "init", "create", "install", "i", "add", "ci", "config", "set",
            "node", "audit", "update", "up", "upgrade", "link", "rebuild", "edit"],
    },
    Family { programs: &["pip", "poetry", "pdm", "hatch", "pipenv", "conda", "mamba"],
        running: &["install", "download", "wheel", "run", "shell", "config", "add", "update", "sync", "env"] },
    Family { programs: &["rustup", "mise", "asdf"], running: &["run", "exec", "x", "shell", "install"] },
    Family { programs: &["dotnet", "bundle", "composer", "mix"], running: &["run", "exec", "tool", "install", "config", "global", "cmd"] },
    Family { programs: &["kubectl", "helm", "gh"],
        running: &["exec", "run", "debug", "plugin", "extension", "alias", "edit", "codespace", "config", "install", "upgrade"] },
    Family { programs: &["systemctl", "brew", "apt", "apt-get", "snap", "flatpak"],
        running: &["edit", "run", "sh", "install", "start", "restart", "link", "set-environment", "set"] },
];

/// Options that make a program run another one, or write a file that is then run, for rules that let options through.
pub(super) struct Gadgets {
    pub(super) programs: &'static [&'static str],
    pub(super) options: &'static [&'static str],
}

#[rustfmt::skip] // one kind of program each
pub(super) const GADGETS: &[Gadgets] = &[
    Gadgets {
        programs: &["git"],
        options: &["--upload-pack", "--receive-pack", "--exec", "--exec-path", "--output", "--open-files-in-pager", "--ext-diff",
            "--extcmd", "--config", "--config-env", "--git-dir", "--work-tree", "--no-index", "--template"],
    },
    Gadgets { programs: &["cargo"], options: &["--config", "--manifest-path", "-C", "-Z"] },
    Gadgets {
        programs: &["go"],
        options: &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay", "--overlay", "-C", "--C",
            "-ldflags", "--ldflags", "-gcflags", "--gcflags", "-asmflags", "--asmflags", "-modfile", "--modfile"],
    },
    Gadgets {
        programs: &["npm", "pnpm", "yarn"],
        options: &["--script-shell", "--node-options", "--prefix", "--globalconfig", "--userconfig", "--dir", "--cwd", "-C"],
    },
    Gadgets {
        programs: &["tar", "bsdtar", "gtar"],
        options: &["--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command", "--info-script",
            "--new-volume-script", "-I", "-F"],
    },
    Gadgets { programs: &["rg"], options: &["--pre", "--hostname-bin"] },
    Gadgets { programs: &["sort"], options: &["--compress-program", "--output", "-o"] },
    Gadgets { programs: &["rsync"], options: &["--rsh", "--rsync-path", "-e"] },
    Gadgets { programs: &["scp", "sftp"], options: &["-S", "-o", "-D", "-F"] },
    Gadgets { programs: &["zip"], options: &["--unzip-command", "-TT"] },
    Gadgets { programs: &["wget"], options: &["--use-askpass", "--config", "--execute", "-e"] },
    Gadgets { programs: &["curl"], options: &["--config", "-K"] },
    Gadgets { programs: &["gcc", "g++", "cc", "c++", "clang", "clang++"], options: &["-wrapper", "-B", "-fplugin", "-specs", "--specs"] },
];

/// Programs that show, and have no option that runs another one or writes a file: read from their manuals, one by one.
pub(super) const SHOWING: &[&str] =
    &["ls", "cat", "head", "tail", "wc", "echo", "pwd", "grep", "stat", "du", "df", "basename", "dirname", "realpath", "cut", "tr", "nl"];

/// Commands whose words, as long as none is an option, can only narrow what is shown or tested: paths and revisions for
/// git, names of tests for cargo, which runs the same workspace with and without them. Neither can be renamed by an alias.
pub(super) const NARROWED: &[(&str, &str)] = &[("git", "status"), ("git", "log"), ("cargo", "test")];

/// Variables that change how a program speaks, and nothing of what it does.
#[rustfmt::skip] // as a list
pub(super) const CLEAN: &[&str] = &[
    "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLORTERM", "CI", "DEBUG",
    "RUST_LOG", "RUST_BACKTRACE", "CARGO_TERM_COLOR", "NODE_ENV",
];
