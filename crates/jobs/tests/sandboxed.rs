//! What sandboxed commands see: a private home with the toolchains and caches of the user, temporary folders of the session.
//!
//! The home folder and the `PATH` are those of the process, so each case runs in a process of its own, as this user and as an
//! ordinary one. The program is also the launcher of its sandboxes.
#![cfg_attr(not(target_os = "linux"), allow(unused, reason = "the sandbox is that of Linux"))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot continue has failed, and says why")]

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use haft_contract::{CommandRequest, JobOptions, SandboxBackend, ports::ProcessRunner};
use haft_host::SandboxDialer as _;
use haft_host::{LocalFiles, WorkspaceOptions};
use haft_jobs::{LocalProcesses, ShellOptions};
use haft_sandbox::Launcher;

const CASE: &str = "HAFT_TEST_CASE";
const UNPRIVILEGED: &str = "65534";
type Case = fn(&World);
const CASES: &[(&str, Case)] = &[
    ("home_is_private_and_kept", home_is_private_and_kept),
    ("temporary_folders_belong_to_the_session", temporary_folders_belong_to_the_session),
    ("toolchains_and_caches_are_there", toolchains_and_caches_are_there),
    ("git_identity_is_that_of_the_user", git_identity_is_that_of_the_user),
    ("read_only_view_changes_nothing", read_only_view_changes_nothing),
    ("home_can_be_the_workspace", home_can_be_the_workspace),
    ("secrets_and_data_are_absent", secrets_and_data_are_absent),
    ("server_in_the_background_answers_its_session", server_in_the_background_answers_its_session),
];

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    haft_sandbox::launcher::main_if_asked();
    if let Some(name) = std::env::var_os(CASE) {
        let (_, case) = CASES.iter().find(|(case, _)| name == *case).unwrap();
        return case(&World::new());
    }
    // What cargo-nextest asks of every test program, and how it runs one test.
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        CASES.iter().filter(|_| !words.iter().any(|word| word == "--ignored")).for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let is_asked = |name: &str| words.iter().all(|word| word.starts_with('-')) || words.iter().any(|word| word == name);
    let users: &[Option<&str>] = if rustix::process::geteuid().is_root() { &[None, Some(UNPRIVILEGED)] } else { &[None] };
    for (name, _) in CASES.iter().filter(|(name, _)| is_asked(name)) {
        for user in users {
            run_case(name, *user);
        }
    }
    println!("\ntest result: ok. {} passed", CASES.len());
}

/// Runs one case in a process with a home of its own.
fn run_case(name: &str, user: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    for path in [folder.path(), &root] {
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = match user {
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", user, "--regid", user, "--clear-groups"]).arg(&program);
            command
        }
        None => Command::new(&program),
    };
    let home = root.join("home");
    let path = format!("{0}/.cargo/bin:{0}/.local/bin:{0}/other/bin:{0}:/usr/local/bin:/usr/bin:/bin", home.display());
    let output =
        command.env(CASE, name).env("HOME", &home).env("PATH", path).env("TMPDIR", &root).env_remove("CARGO_HOME").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} as {user:?}: {text}");
    println!("test {name} as {} ... ok", user.unwrap_or("this user"));
}

/// A home of the user with a project, and Haft's data beside it.
struct World {
    root: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
}

impl World {
    fn new() -> Self {
        let root = std::env::temp_dir().canonicalize().unwrap();
        let home = root.join("home");
        let workspace = home.join("projects/one");
        for folder in
            ["projects/one/.git/hooks", "projects/two", ".cargo/bin", ".rustup", ".cargo/registry", ".local/bin", "other/bin", ".ssh"]
        {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for (file, text) in [
            ("notes.txt", "private"),
            (".ssh/id_ed25519", "private"),
            (".gitconfig", "[user]\n\tname = A User\n\temail = a@example.org\n[alias]\n\tx = !true\n[core]\n\tpager = evil\n"),
            (".cargo/credentials.toml", "private"),
            (".cargo/registry/crate", "host"),
            (".rustup/settings.toml", "rustup"),
            ("projects/two/source", "private"),
            ("projects/one/main.rs", "main"),
            ("projects/one/.env", "private"),
        ] {
            fs::write(home.join(file), text).unwrap();
        }
        for program in [".cargo/bin/cargo-tool", "other/bin/other-tool"] {
            fs::write(home.join(program), "#!/bin/sh\necho tool\n").unwrap();
            fs::set_permissions(home.join(program), Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(root.join("history.db"), "private").unwrap();
        Self { root, home, workspace }
    }

    fn processes(&self, options: WorkspaceOptions) -> LocalProcesses {
        let data = self.root.join("data");
        fs::create_dir_all(&data).unwrap();
        let usual = ShellOptions::new(Launcher::current().unwrap(), &data);
        let shell = ShellOptions { sandbox: SandboxBackend::Bubblewrap, ..usual };
        let files = Arc::new(LocalFiles::open(options).unwrap());
        LocalProcesses::default().with_shell(shell, files, Arc::default())
    }

    fn project(&self) -> LocalProcesses {
        self.processes(WorkspaceOptions::new(&self.workspace))
    }
}

/// Output of a command in a session.
fn run(processes: &LocalProcesses, session: &str, command: &str) -> String {
    start(processes, session, &CommandRequest { command: command.to_owned(), ..CommandRequest::default() })
}

fn start(processes: &LocalProcesses, session: &str, request: &CommandRequest) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut planned = processes.plan(request).unwrap();
        if request.read_only {
            planned = planned.with_read_only_view();
        }
        let options = JobOptions { session: session.to_owned(), ..JobOptions::default() };
        let job = processes.start(&planned, options).await.unwrap();
        job.wait().await;
        String::from_utf8_lossy(&job.output(0, 1 << 20).1).into_owned()
    })
}

fn home_is_private_and_kept(world: &World) {
    let seen = run(&world.project(), "s", "echo $HOME; cat ~/notes.txt 2>/dev/null || echo absent; ls -A ~ ~/projects; echo mine >~/file");
    let home = world.home.display();
    assert_eq!(seen, format!("{home}\nabsent\n{home}:\n.cargo\n.local\n.rustup\nother\nprojects\n\n{home}/projects:\none\n"));
    // Another process, another session, the same workspace.
    assert_eq!(run(&world.project(), "t", "cat ~/file"), "mine\n");
    assert!(!world.home.join("file").exists());
    let other = world.processes(WorkspaceOptions::new(world.home.join("projects/two")));
    assert_eq!(run(&other, "s", "cat ~/file 2>/dev/null || echo absent"), "absent\n");
}

fn temporary_folders_belong_to_the_session(world: &World) {
    let processes = world.project();
    run(&processes, "s", "echo t >/tmp/t; echo v >/var/tmp/v");
    assert_eq!(run(&world.project(), "s", "cat /tmp/t /var/tmp/v"), "t\nv\n");
    assert_eq!(run(&processes, "t", "ls /tmp/t /var/tmp/v 2>/dev/null || echo absent"), "absent\n");
    processes.end_session("s");
    assert_eq!(run(&processes, "s", "ls /tmp/t 2>/dev/null || echo absent"), "absent\n");
}

fn toolchains_and_caches_are_there(world: &World) {
    let processes = world.project();
    assert_eq!(run(&processes, "s", "cargo-tool; other-tool; cat ~/.rustup/settings.toml"), "tool\ntool\nrustup");
    // Nothing was added to the cache yet, so it is shown without an overlay.
    let command = "cat ~/.cargo/registry/crate; (echo x >~/.cargo/registry/x) 2>/dev/null || echo refused".to_owned();
    let reading = CommandRequest { command, read_only: true, ..CommandRequest::default() };
    assert_eq!(start(&processes, "s", &reading), "hostrefused\n");
    let script = "for f in ~/.cargo/bin/x ~/.rustup/x ~/other/bin/x; do (echo x >$f) 2>/dev/null && echo $f; done; cat ~/.cargo/registry/crate; echo new >~/.cargo/registry/crate; echo n >~/.cargo/registry/n";
    assert_eq!(run(&processes, "s", script), "host");
    assert_eq!(run(&processes, "t", "cat ~/.cargo/registry/crate ~/.cargo/registry/n"), "new\nn\n");
    assert_eq!(fs::read_to_string(world.home.join(".cargo/registry/crate")).unwrap(), "host");
    assert!(!world.home.join(".cargo/registry/n").exists());
}

fn git_identity_is_that_of_the_user(world: &World) {
    let script = "git config user.name; git config user.email; git config core.pager || git config alias.x || echo none";
    assert_eq!(run(&world.project(), "s", script), "A User\na@example.org\nnone\n");
}

fn read_only_view_changes_nothing(world: &World) {
    let command = "cat main.rs; echo; (echo x >new) 2>/dev/null || echo refused; echo t >/tmp/t; cat /tmp/t".to_owned();
    let seen = start(&world.project(), "s", &CommandRequest { command, read_only: true, ..CommandRequest::default() });
    assert_eq!(seen, "main\nrefused\nt\n");
    assert!(!world.workspace.join("new").exists());
}

fn home_can_be_the_workspace(world: &World) {
    let data = world.home.join(".local/share/haft");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("history.db"), "private").unwrap();
    let processes = world.processes(WorkspaceOptions { protected: vec![data], ..WorkspaceOptions::new(&world.home) });
    let script = "echo $HOME; cat notes.txt; echo; cat .ssh/id_ed25519 .cargo/credentials.toml .local/share/haft/history.db 2>/dev/null; cargo-tool; cat $HOME/.rustup/settings.toml; echo; (echo x >.cargo/bin/x) 2>/dev/null || echo refused; echo new >new; echo mine >$HOME/file";
    assert_eq!(run(&processes, "s", script), "/run/haft/home\nprivate\ntool\nrustup\nrefused\n");
    assert_eq!(fs::read_to_string(world.home.join("new")).unwrap(), "new\n");
    assert!(!world.home.join("file").exists());
}

fn server_in_the_background_answers_its_session(world: &World) {
    let processes = world.project();
    let server = "perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 9, LocalAddr => \"127.0.0.1:8000\") or die; while (my $c = $l->accept) { print $c qq(served\\n) }'";
    let client = "for i in $(seq 200); do (exec 3<>/dev/tcp/127.0.0.1/8000; cat <&3) 2>/dev/null && exit; sleep 0.02; done; echo none";
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let planned = processes.plan(&CommandRequest { command: server.to_owned(), ..CommandRequest::default() }).unwrap();
    let options = JobOptions { session: "s".to_owned(), ..JobOptions::default() };
    let job = runtime.block_on(processes.start(&planned, options)).unwrap();
    assert_eq!(run(&processes, "s", client), "served\n");
    let quick = "(exec 3<>/dev/tcp/127.0.0.1/8000; cat <&3) 2>/dev/null || echo none";
    assert_eq!(run(&processes, "t", quick), "none\n", "another session");
    let networks = processes.session_networks().unwrap();
    let mut line = String::new();
    networks.connect("s", 8000).unwrap().read_to_string(&mut line).unwrap();
    assert_eq!(line, "served\n");
    assert_eq!(networks.connect("t", 8000).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    assert_eq!(networks.connect("unknown", 8000).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    runtime.block_on(job.kill());
}

fn secrets_and_data_are_absent(world: &World) {
    let library = world.root.join("library");
    fs::create_dir_all(library.join("deep")).unwrap();
    fs::write(library.join("deep/.env"), "private").unwrap();
    fs::write(library.join("deep/secret.txt"), "private").unwrap();
    fs::write(library.join("deep/open.txt"), "open\n").unwrap();
    let options = WorkspaceOptions {
        read_only_roots: vec![library.clone()],
        deny_read: vec!["secret.txt".into()],
        ..WorkspaceOptions::new(&world.workspace)
    };
    let (root, two, library) = (world.root.display(), world.home.join("projects/two"), library.display());
    let script = format!(
        "cat .env {root}/history.db {two}/source {library}/deep/.env {library}/deep/s* 2>/dev/null; ls {root}/data 2>/dev/null; cat {library}/deep/open.txt; ls -A",
        two = two.display()
    );
    assert_eq!(run(&world.processes(options), "s", &script), "open\n.env\n.git\nmain.rs\n");
}
