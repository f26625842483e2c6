//! What a program is by its name alone.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a program is by its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramClass {
    /// Runs shell commands.
    Shell,
    /// Runs code that it is given.
    Interpreter,
    /// Runs code that it is given; words that are written out say which.
    SqlClient,
    /// Starts others from inside, when a user or an option says so.
    Editor,
    /// Has options or file formats that start others.
    Tool,
    /// Starts the command behind its own words, in a way that is not followed.
    Launcher,
    /// Starts the command behind its own words, in a way that is followed.
    Wrapper,
    /// Starts a command for each file that it finds, if an option says so.
    Finder,
    /// Runs what its own small language says.
    Scripted,
    /// Runs what a project's files say: the words choose which.
    Builder,
    /// Runs what a project's files say, for one purpose.
    ProjectTool,
    /// Runs packages or containers.
    PackageRunner,
    /// Many programs in one ([`family_of`](crate::family_of)), some of which run what a project's files say.
    Family,
    /// Talks to hosts in ways that are not followed.
    NetworkClient,
}

impl ProgramClass {
    /// Whether it is its job to run other programs, so that free words let everything through.
    pub const fn runs_others(self) -> bool {
        use ProgramClass::{Editor, Finder, Interpreter, Launcher, PackageRunner, Shell, Wrapper};
        matches!(self, Shell | Interpreter | Editor | Launcher | Wrapper | Finder | PackageRunner)
    }
    /// Whether it runs the script that its arguments name.
    pub const fn runs_scripts(self) -> bool {
        matches!(self, Self::Shell | Self::Interpreter)
    }
    /// Whether it runs the command behind its own words.
    pub const fn runs_command(self) -> bool {
        matches!(self, Self::Wrapper | Self::Launcher)
    }
    /// Whether it has another job, and runs other programs if a word says so.
    pub const fn runs_by_word(self) -> bool {
        matches!(self, Self::SqlClient | Self::Builder | Self::Scripted)
    }
}

const CLASSES: &[(ProgramClass, &str)] = &[
    (ProgramClass::Shell, "sh bash dash zsh ksh ksh93 mksh pdksh ash fish csh tcsh rbash hush osh yash elvish nu xonsh cmd"),
    (
        ProgramClass::Interpreter,
        "python pythonw pypy ipython perl ruby irb node nodejs deno bun ts-node tsx php lua luajit awk gawk mawk nawk tclsh wish expect \
         rscript r julia ghci runghc runhaskell scala kotlin groovy jshell java jrunscript osascript pwsh powershell erl escript elixir \
         iex guile racket sbcl clisp clojure swift crystal dart raku ocaml octave gnuplot gdb lldb m4 dc bc mongosh redis-cli qemu wine",
    ),
    (ProgramClass::SqlClient, "sqlite3 psql mysql"),
    (
        ProgramClass::Editor,
        "less more most man info pg vi vim nvim view ex ed rvim vimdiff emacs nano pico micro hx joe mc ranger screen tmux top htop ftp \
         lftp mutt mail",
    ),
    (
        ProgramClass::Tool,
        "sftp split csplit pandoc zip unzip 7z cpio ffmpeg convert magick gs patch gpg openssl ld gcc g++ cc c++ clang clang++ rustc ldd \
         strip objcopy",
    ),
    (
        ProgramClass::Launcher,
        "sudo sudoedit doas su runuser pkexec setsid chrt ionice taskset choom watch script scriptreplay flock unshare nsenter chroot \
         arch-chroot systemd-run systemd-nspawn at batch crontab parallel entr strace ltrace perf valgrind proot fakeroot firejail bwrap \
         setarch linux32 linux64 numactl prlimit cpulimit torsocks proxychains unbuffer rlwrap dbus-run-session dbus-launch xvfb-run \
         setpriv capsh start-stop-daemon daemonize inotifywait inotifywatch watchexec run-parts setuidgid chpst gosu su-exec tini \
         dumb-init catchsegv noglob nocorrect gtimeout chronic ts time-machine hyperfine socat sshpass autossh mosh ssh ssh-agent rsh \
         rlogin x11vnc caffeinate eatmydata faketime unionfs logsave ld.so ld-linux.so ld-linux-x86-64.so coproc",
    ),
    (ProgramClass::Wrapper, "builtin busybox command env eval exec nice nohup source stdbuf time timeout toybox xargs"),
    (ProgramClass::Finder, "find fd fdfind"),
    (ProgramClass::Scripted, "sed gsed tar bsdtar gtar"),
    (
        ProgramClass::Builder,
        "make gmake bmake cmake ninja meson bazel just task rake gradle gradlew mvn ant sbt tox nox pre-commit ansible ansible-playbook \
         nix guix vagrant",
    ),
    (
        ProgramClass::ProjectTool,
        "ctest buck scons corepack lein pytest bundler gem rails phpunit rebar3 stack cabal msbuild nuget jest vitest mocha webpack vite \
         esbuild tsc eslint prettier docker-compose minikube terraform tofu pulumi service launchctl dpkg yum dnf rpm pacman apk port \
         nix-env hg svn glab jj bzr git-lfs",
    ),
    (ProgramClass::PackageRunner, "npx pnpx bunx pipx uv uvx docker podman nerdctl nix-shell direnv"),
    (
        ProgramClass::Family,
        "npm pnpm yarn cargo rustup go pip pipenv poetry pdm hatch conda mamba bundle composer mix dotnet kubectl helm gh systemctl apt \
         apt-get brew snap flatpak mise asdf",
    ),
    (
        ProgramClass::NetworkClient,
        "scp rsync nc ncat netcat telnet nmap dig nslookup host ping traceroute aria2c axel http https xh aws gcloud az rclone \
         ssh-keyscan ssh-copy-id smbclient tftp websocat grpcurl lynx w3m links",
    ),
];

static BY_NAME: LazyLock<HashMap<&'static str, ProgramClass>> =
    LazyLock::new(|| CLASSES.iter().flat_map(|(class, names)| names.split_ascii_whitespace().map(|name| (name, *class))).collect());

/// What a program is, by its name or path. Case and a version at the end do not count.
pub fn class_of(program: &str) -> Option<ProgramClass> {
    let name = file_name(program);
    let is_loader = ["ld-linux", "ld-musl"].iter().any(|loader| name.starts_with(loader));
    let class = BY_NAME.get(name.as_str()).or_else(|| BY_NAME.get(without_version(&name))).copied();
    class.or(is_loader.then_some(ProgramClass::Launcher))
}

/// The name of a program without its folder and without `.exe`, in lower case.
pub fn file_name(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or(program).to_lowercase();
    name.strip_suffix(".exe").map_or_else(|| name.clone(), str::to_owned)
}

/// `python3.11` is `python`.
pub(crate) fn without_version(name: &str) -> &str {
    name.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.' || ch == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_is_in_two_classes() {
        let names = CLASSES.iter().map(|(_, names)| names.split_ascii_whitespace().count()).sum::<usize>();
        assert_eq!(BY_NAME.len(), names);
    }

    #[test]
    fn versions_and_folders_do_not_hide_a_class() {
        for (name, class) in [
            ("python3.12", ProgramClass::Interpreter),
            ("/usr/bin/env", ProgramClass::Wrapper),
            ("Rscript", ProgramClass::Interpreter),
            ("linux32", ProgramClass::Launcher),
            ("7z", ProgramClass::Tool),
            ("/lib/ld-musl-x86_64.so.1", ProgramClass::Launcher),
            ("pip3.12", ProgramClass::Family),
        ] {
            assert_eq!(class_of(name), Some(class), "{name}");
        }
        assert_eq!(class_of("ls"), None);
    }
}
