//! Programs that run others, by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::analysis::Nature;
use crate::unwrap::SHELLS;

/// Programs that run code they are given.
const INTERPRETERS: &str = "python pypy perl ruby node nodejs deno bun php lua luajit awk gawk mawk nawk tclsh wish expect Rscript R \
    julia ghci \
    runghc scala groovy jshell java osascript pwsh powershell ipython irb erl elixir iex guile racket sbcl clojure swift \
    ts-node tsx sqlite3 psql mysql mongosh redis-cli gdb lldb m4 dc bc jrunscript raku crystal dart ocaml octave gnuplot \
    qemu";

/// Programs from inside of which a person, or an option, starts others.
const VIEWERS: &str = "less more most man info vi vim nvim view ex ed emacs nano pico micro hx screen tmux top htop ftp sftp lftp mutt \
    mail pg \
    vimdiff rvim joe mc ranger split csplit pandoc zip unzip 7z cpio ffmpeg convert magick gs patch gpg openssl ld gcc g++ \
    cc clang rustc ldd strip objcopy";

/// Programs that run what a project's own files say, or whole containers and machines.
const RUNNERS: &str = "make gmake cmake ctest ninja meson bazel buck scons just task npm npx pnpm pnpx yarn bunx corepack cargo rustup \
    go \
    gradle gradlew mvn ant sbt lein pip pip3 pipx poetry pdm uv uvx hatch tox nox pytest conda mamba bundle bundler gem rake \
    rails composer phpunit mix rebar3 stack cabal dotnet msbuild nuget jest vitest mocha webpack vite esbuild tsc eslint \
    prettier pre-commit docker docker-compose podman nerdctl kubectl helm minikube vagrant ansible ansible-playbook \
    terraform tofu pulumi systemctl service launchctl apt apt-get dpkg yum dnf rpm pacman apk brew port snap flatpak nix \
    nix-shell nix-env guix hg svn gh glab jj bzr git-lfs";

/// Programs that start another one in a way that is not followed.
const STARTERS: &str = "sudo sudoedit doas su runuser pkexec setsid chrt ionice taskset watch script scriptreplay flock unshare nsenter \
    chroot \
    systemd-run systemd-nspawn at batch crontab parallel entr strace ltrace perf valgrind proot fakeroot firejail bwrap \
    setarch linux32 linux64 numactl prlimit cpulimit torsocks proxychains unbuffer rlwrap dbus-run-session dbus-launch \
    xvfb-run setpriv capsh start-stop-daemon daemonize inotifywait inotifywatch watchexec run-parts setuidgid chpst gosu \
    su-exec tini dumb-init catchsegv noglob nocorrect gtimeout chronic ts time-machine hyperfine socat sshpass autossh mosh \
    ssh ssh-agent rsh rlogin x11vnc caffeinate arch-chroot eatmydata faketime unionfs logsave ld.so ld-linux.so \
    ld-linux-x86-64.so coproc";

/// Programs that talk to others in ways that are not followed.
const TALKERS: &str = "scp rsync nc ncat netcat telnet socat nmap dig nslookup host ping traceroute aria2c axel http https xh aws \
    gcloud az \
    rclone ssh-keyscan ssh-copy-id smbclient tftp websocat grpcurl lynx w3m links";

/// What a name says of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It starts another program in a way that is not followed.
    Starter,
    /// It talks to others in a way that is not followed.
    Talker,
    /// It runs others, and why that cannot be better.
    Runs(Nature, &'static str),
}

/// Later lists win: a program that is in two is the worse of both.
static KINDS: LazyLock<HashMap<&'static str, Kind>> = LazyLock::new(|| {
    let lists = [
        (VIEWERS, Kind::Runs(Nature::ExecutesOthers, "its options and files can start other programs")),
        (RUNNERS, Kind::Runs(Nature::ExecutesOthers, "it runs what other files say")),
        (INTERPRETERS, Kind::Runs(Nature::Interpreter, "it runs code")),
        (SHELLS, Kind::Runs(Nature::Shell, "it runs shell lines that are not part of this one")),
        (TALKERS, Kind::Talker),
        (STARTERS, Kind::Starter),
    ];
    lists.into_iter().flat_map(|(names, kind)| names.split_ascii_whitespace().map(move |name| (name, kind))).collect()
});

/// What a program is by its name alone.
pub(super) fn kind(name: &str) -> Option<Kind> {
    // python3.11 is a python.
    let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-');
    KINDS.get(name).or_else(|| KINDS.get(base)).copied()
}
