//! Commands and options with which programs run others.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::class::{file_name, without_version};

/// Programs that are many in one: what free words can mean depends on the command behind their name.
#[derive(Debug, Clone, Copy)]
pub struct CommandFamily {
    programs: &'static [&'static str],
    /// Commands that run what the words behind them, or a file that those name, say.
    pub running: &'static [&'static str],
}

#[rustfmt::skip] // one family each
const FAMILIES: &[CommandFamily] = &[
    CommandFamily {
        programs: &["git"],
        running: &["bisect", "config", "difftool", "filter-branch", "filter-repo", "for-each-repo", "hook", "instaweb", "mergetool",
            "rebase", "send-email", "submodule", "web--browse"],
    },
    CommandFamily { programs: &["cargo"], running: &["run", "r", "install", "script", "miri", "expand"] },
    CommandFamily { programs: &["go"], running: &["run", "generate", "tool", "install", "get", "env"] },
    CommandFamily {
        programs: &["npm", "pnpm", "yarn"],
        running: &["exec", "x", "dlx", "explore", "run", "run-script", "init", "create", "install", "i", "add", "ci", "config", "set",
            "node", "audit", "update", "up", "upgrade", "link", "rebuild", "edit"],
    },
    CommandFamily { programs: &["pip", "poetry", "pdm", "hatch", "pipenv", "conda", "mamba"],
        running: &["install", "download", "wheel", "run", "shell", "config", "add", "update", "sync", "env"] },
    CommandFamily { programs: &["rustup", "mise", "asdf"], running: &["run", "exec", "x", "shell", "install"] },
    CommandFamily { programs: &["dotnet", "bundle", "composer", "mix"], running: &["run", "exec", "tool", "install", "config", "global", "cmd"] },
    CommandFamily { programs: &["kubectl", "helm", "gh"],
        running: &["exec", "run", "debug", "plugin", "extension", "alias", "edit", "codespace", "config", "install", "upgrade"] },
    CommandFamily { programs: &["systemctl", "brew", "apt", "apt-get", "snap", "flatpak"],
        running: &["edit", "run", "sh", "install", "start", "restart", "link", "set-environment", "set"] },
];

/// The family that a program belongs to, by its name or path.
pub fn family_of(program: &str) -> Option<&'static CommandFamily> {
    let name = file_name(program);
    let is_member = |family: &&CommandFamily| family.programs.contains(&name.as_str()) || family.programs.contains(&without_version(&name));
    FAMILIES.iter().find(is_member)
}

/// Options that make a program run another one, or write a file that is then run.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    programs: &'static [&'static str],
    /// The options.
    pub options: &'static [&'static str],
}

#[rustfmt::skip] // one kind of program each
const RUN_OPTIONS: &[RunOptions] = &[
    RunOptions {
        programs: &["git"],
        options: &["--upload-pack", "--receive-pack", "--exec", "--exec-path", "--output", "--open-files-in-pager", "--ext-diff",
            "--extcmd", "--config", "--config-env", "--git-dir", "--work-tree", "--no-index", "--template"],
    },
    RunOptions { programs: &["cargo"], options: &["--config", "--manifest-path", "-C", "-Z"] },
    RunOptions {
        programs: &["go"],
        options: &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay", "--overlay", "-C", "--C",
            "-ldflags", "--ldflags", "-gcflags", "--gcflags", "-asmflags", "--asmflags", "-modfile", "--modfile"],
    },
    RunOptions {
        programs: &["npm", "pnpm", "yarn"],
        options: &["--script-shell", "--node-options", "--prefix", "--globalconfig", "--userconfig", "--dir", "--cwd", "-C"],
    },
    RunOptions {
        programs: &["tar", "bsdtar", "gtar"],
        options: &["--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command", "--info-script",
            "--new-volume-script", "-I", "-F"],
    },
    RunOptions { programs: &["rg"], options: &["--pre", "--hostname-bin"] },
    RunOptions { programs: &["sort"], options: &["--compress-program", "--output", "-o"] },
    RunOptions { programs: &["rsync"], options: &["--rsh", "--rsync-path", "-e"] },
    RunOptions { programs: &["scp", "sftp"], options: &["-S", "-o", "-D", "-F"] },
    RunOptions { programs: &["zip"], options: &["--unzip-command", "-TT"] },
    RunOptions { programs: &["wget"], options: &["--use-askpass", "--config", "--execute", "-e"] },
    RunOptions { programs: &["curl"], options: &["--config", "-K"] },
    RunOptions { programs: &["gcc", "g++", "cc", "c++", "clang", "clang++"], options: &["-wrapper", "-B", "-fplugin", "-specs", "--specs"] },
];

/// The options that make a program run another one. `program` is its file name.
pub fn run_options(program: &str) -> Option<&'static RunOptions> {
    RUN_OPTIONS.iter().find(|row| row.programs.contains(&program))
}

/// The commands of git: any other word in that place is an alias, or a program of its own.
const GIT: &str = "add am annotate apply archimport archive backfill bisect blame branch bugreport bundle cat-file check-attr \
    check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit \
    commit-graph commit-tree config count-objects credential credential-cache credential-store cvsexportcommit cvsimport cvsserver \
    daemon describe diagnose diff diff-files diff-index diff-pairs diff-tree difftool fast-export fast-import fetch fetch-pack \
    filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck fsck-objects fsmonitor--daemon gc get-tar-commit-id grep \
    gui hash-object help hook http-backend http-fetch http-push imap-send index-pack init init-db instaweb interpret-trailers \
    last-modified lfs log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index \
    merge-one-file merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs \
    patch-id prune prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote repack replace \
    replay repo request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shell sh-i18n shortlog show \
    show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule svn switch symbolic-ref tag unpack-file \
    unpack-objects update-index update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag \
    version web--browse whatchanged worktree write-tree";

/// Whether git itself knows a command by this name.
pub fn is_git_command(name: &str) -> bool {
    static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| GIT.split_ascii_whitespace().collect());
    KNOWN.contains(name)
}

/// Commands whose words, as long as none is an option, can only narrow what is shown or tested: paths and revisions for
/// git, names of tests for cargo, which runs the same workspace with and without them. Neither can be renamed by an alias.
pub const NARROWED: &[(&str, &str)] = &[("git", "status"), ("git", "log"), ("cargo", "test")];
