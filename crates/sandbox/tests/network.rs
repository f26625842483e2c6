//! Network access: the relay to the proxy, and that nothing else can be reached.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod support;

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use haft_sandbox::{ConfinedCommand, Launcher, NetworkAccess, OverlayLayer, ProcessSpec, Sandbox, SandboxPolicy, SessionNetwork};
use support::{RunOutput, RunningCommand, TestWorkspace, bubblewrap, processes_with, run, until};

const PORT: u16 = 8080;

/// A proxy that echoes its input.
fn echo(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                // Fails where the client has closed the connection.
                std::io::copy(&mut stream.try_clone().unwrap(), &mut stream).ok();
            });
        }
    });
}

fn with_proxy(ws: &TestWorkspace) -> SandboxPolicy {
    let socket = ws.outside.join("proxy");
    echo(&socket);
    SandboxPolicy { network: NetworkAccess::Proxy { socket, port: PORT }, ..ws.policy() }
}

#[test]
fn proxy_is_reachable_and_set_in_the_environment() {
    let ws = TestWorkspace::new();
    let script = "exec 3<>/dev/tcp/127.0.0.1/8080; echo hello >&3; head -n 1 <&3; head -c 300000 /dev/zero | tr '\\0' x >&3 & head -c 300000 <&3 | \
                  wc -c; echo $HTTPS_PROXY $https_proxy $NO_PROXY";
    let command = ws.shell(script).variable("NO_PROXY", "*").variable("https_proxy", "http://127.0.0.1:1");
    let ran = run(&bubblewrap(), command, &with_proxy(&ws));
    assert_eq!(
        (ran.stdout.as_str(), ran.code),
        ("hello\n300000\nhttp://127.0.0.1:8080 http://127.0.0.1:8080 localhost,127.0.0.1,::1\n", Some(0)),
        "{}",
        ran.stderr
    );
}

#[test]
fn relay_serves_many_connections_at_once() {
    let ws = TestWorkspace::new();
    let script = "for i in {1..40}; do (exec 3<>/dev/tcp/127.0.0.1/8080; echo $i >&3; head -n 1 <&3) & done; wait";
    let ran = run(&bubblewrap(), ws.shell(script), &with_proxy(&ws));
    let mut numbers: Vec<u32> = ran.stdout.lines().map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>(), "{}", ran.stderr);
}

/// Simulates a kernel without Landlock.
fn remove_landlock(command: &mut ProcessSpec) {
    let inner = command.arguments.iter().position(|argument| argument == "__haft_sandbox_inner").unwrap();
    let mut settings: serde_json::Value = serde_json::from_str(command.arguments[inner + 1].to_str().unwrap()).unwrap();
    assert!(settings["landlock"].is_object());
    settings["landlock"] = serde_json::Value::Null;
    command.arguments[inner + 1] = settings.to_string().into();
}

/// The relay has the user of the command and a wider system call filter: the command must not take it over.
#[test]
fn relay_cannot_be_bypassed_or_taken_over() {
    let ws = TestWorkspace::new();
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let port = host.local_addr().unwrap().port();
    let relay = "r=$(pgrep -f __haft_sandbox_rela[y]); [ -n \"$r\" ] || echo none;";
    let unix = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit; connect($s, sockaddr_un($ARGV[0])) and print qq(connected\\n)";
    let attacks = [
        ("another port of the host", format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected; echo blocked")),
        ("the socket of the proxy itself", format!("for s in /run/haft/proxy \"$OUT\"/proxy; do perl -e '{unix}' $s; done; echo blocked")),
        (
            "the memory of the relay",
            format!("{relay} (: >>/proc/$r/mem) 2>/dev/null && echo opened; cat /proc/$r/maps 2>/dev/null; echo blocked"),
        ),
        (
            "the descriptors of the relay",
            format!("{relay} for f in /proc/$r/fd/*; do readlink $f; done; cat /proc/$r/environ 2>/dev/null; echo blocked"),
        ),
        (
            "the listener under another name",
            "ls -A /run/haft | grep -vxE 'launcher|proxy'; rm -f /run/haft/proxy 2>/dev/null && echo removed; echo blocked".to_owned(),
        ),
    ];
    let policy = with_proxy(&ws);
    for (name, script) in attacks {
        for kernel in ["with Landlock, if it has it", "without Landlock"] {
            let ConfinedCommand { mut command, guard } = bubblewrap().wrap(ws.shell(&script), &policy).unwrap();
            if kernel == "without Landlock" {
                remove_landlock(&mut command);
            }
            let ran = RunOutput::from(command.to_std().stdin(Stdio::null()).output().unwrap());
            drop(guard);
            assert_eq!(ran.stdout, "blocked\n", "{name}, on a kernel {kernel}: {}", ran.stderr);
        }
    }
    assert!(host.accept().is_err(), "a connection arrived");
}

/// C11, for the relay.
#[test]
fn command_does_not_run_without_its_relay() {
    let ws = TestWorkspace::new();
    let policy = with_proxy(&ws);
    let NetworkAccess::Proxy { socket, .. } = policy.network.clone() else { unreachable!() };
    let cases = [("a port that cannot be bound", socket, 1), ("a missing proxy", ws.outside.join("none"), PORT)];
    for (name, socket, port) in cases {
        let policy = SandboxPolicy { network: NetworkAccess::Proxy { socket, port }, ..policy.clone() };
        let ran = run(&bubblewrap(), ws.shell("echo ran"), &policy);
        assert!(ran.setup_failure().is_some() && ran.stdout.is_empty(), "{name}: {ran:?}");
    }
}

#[test]
fn relay_is_no_child_of_the_command() {
    let ws = TestWorkspace::new();
    let ran = run(&bubblewrap(), ws.shell("exec perl -e '1 while wait() > 0; print qq(done\\n)'"), &with_proxy(&ws));
    assert_eq!(ran.stdout, "done\n");
}

#[test]
fn listener_inside_is_reachable_from_inside() {
    let ws = TestWorkspace::new();
    let script = r#"perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:9999") or die; if (fork) { my $c = $l->accept; print <$c>; wait } else { my $c = IO::Socket::INET->new("127.0.0.1:9999") or die; print $c "inside\n" }'"#;
    let ran = run(&bubblewrap(), ws.shell(script), &ws.policy());
    assert_eq!(ran.stdout, "inside\n", "{}", ran.stderr);
}

#[test]
fn host_network_is_reachable_when_allowed() {
    let ws = TestWorkspace::new();
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port();
    let policy = SandboxPolicy { network: NetworkAccess::Host, ..ws.policy() };
    let script = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo connected; cat /etc/resolv.conf");
    let ran = run(&bubblewrap(), ws.shell(&script), &policy);
    let resolver = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    assert_eq!(ran.stdout, format!("connected\n{resolver}"), "{}", ran.stderr);
}

/// A server in the background that answers each connection with one line.
const SERVER: &str = r#"exec perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 9, ReuseAddr => 1, LocalAddr => "127.0.0.1:9999") or die; while (my $c = $l->accept) { print $c "served\n" }'"#;
/// Prints the line of the server, once it listens.
const CLIENT: &str = "for i in {1..200}; do (exec 3<>/dev/tcp/127.0.0.1/9999; cat <&3) 2>/dev/null && exit; sleep 0.02; done; echo none";
const QUICK_CLIENT: &str = "(exec 3<>/dev/tcp/127.0.0.1/9999; cat <&3) 2>/dev/null || echo none";

fn in_session(ws: &TestWorkspace, network: &SessionNetwork) -> SandboxPolicy {
    SandboxPolicy { shared_network: Some(network.namespace().clone()), ..ws.policy() }
}

#[test]
fn commands_of_a_session_share_a_network_and_others_do_not() {
    let ws = TestWorkspace::new();
    let sandbox = bubblewrap();
    let [session, other] = [(); 2].map(|()| SessionNetwork::start(&support::launcher()).unwrap());
    let server = RunningCommand::start(&sandbox, ws.shell(SERVER), &in_session(&ws, &session));
    assert_eq!(run(&sandbox, ws.shell(CLIENT), &in_session(&ws, &session)).stdout, "served\n");
    let mut line = String::new();
    session.connect(9999).unwrap().read_to_string(&mut line).unwrap();
    assert_eq!(line, "served\n");
    assert_eq!(run(&sandbox, ws.shell(QUICK_CLIENT), &in_session(&ws, &other)).stdout, "none\n", "another session");
    assert_eq!(run(&sandbox, ws.shell(QUICK_CLIENT), &ws.policy()).stdout, "none\n", "a command without a session");
    assert_eq!(other.connect(9999).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    assert_eq!(session.connect(9998).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    session.connect(9999).unwrap();
    server.kill();
}

#[test]
fn session_network_leads_nowhere_but_to_the_proxy() {
    let ws = TestWorkspace::new();
    let session = SessionNetwork::start(&support::launcher()).unwrap();
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let port = host.local_addr().unwrap().port();
    let script =
        format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected; sed 1,2d /proc/net/dev | grep -c eth; echo end");
    assert_eq!(run(&bubblewrap(), ws.shell(&script), &in_session(&ws, &session)).stdout, "0\nend\n");
    assert!(host.accept().is_err(), "a connection arrived");
    // Two commands at once, each with a relay on a port of its own.
    let NetworkAccess::Proxy { socket, .. } = with_proxy(&ws).network else { unreachable!() };
    thread::scope(|scope| {
        for port in [8081, 8082] {
            let (socket, ws, session) = (socket.clone(), &ws, &session);
            scope.spawn(move || {
                let policy = SandboxPolicy { network: NetworkAccess::Proxy { socket, port }, ..in_session(ws, session) };
                let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo hello >&3; head -n 1 <&3; echo $HTTPS_PROXY");
                let ran = run(&bubblewrap(), ws.shell(&script), &policy);
                assert_eq!(ran.stdout, format!("hello\nhttp://127.0.0.1:{port}\n"), "{}", ran.stderr);
            });
        }
    });
}

/// What the user permitted to one command must not be of use to another.
#[test]
fn relay_serves_its_own_command_alone() {
    let ws = TestWorkspace::new();
    let session = SessionNetwork::start(&support::launcher()).unwrap();
    let NetworkAccess::Proxy { socket, .. } = with_proxy(&ws).network else { unreachable!() };
    let policy = |port| SandboxPolicy { network: NetworkAccess::Proxy { socket: socket.clone(), port }, ..in_session(&ws, &session) };
    let ready = ws.workspace.join("ready");
    let first = RunningCommand::start(&bubblewrap(), ws.shell("touch ready; exec sleep 60"), &policy(8083));
    until("the first command runs", || ready.exists());
    let ask = |port: u16| format!("(exec 3<>/dev/tcp/127.0.0.1/{port}; echo hello >&3; head -n 1 <&3 || true) 2>/dev/null; echo end;");
    let script = format!("{} {}", ask(8083), ask(8084));
    let ran = run(&bubblewrap(), ws.shell(&script), &policy(8084));
    assert_eq!(ran.stdout, "end\nhello\nend\n", "{}", ran.stderr);
    let mut answer = String::new();
    // The holder of the network is no process of the command either.
    let mut connection = session.connect(8083).unwrap();
    std::io::Write::write_all(&mut connection, b"hello\n").ok();
    connection.read_to_string(&mut answer).ok();
    assert_eq!(answer, "");
    first.kill();
}

#[test]
fn session_network_can_be_joined_with_an_overlay() {
    let ws = TestWorkspace::new();
    let session = SessionNetwork::start(&support::launcher()).unwrap();
    let git = ws.workspace.join(".git");
    let layer = OverlayLayer::prepare(&ws.folder.path().join("layer"), &git).unwrap();
    let policy = SandboxPolicy { layers: vec![layer.clone()], protected: Vec::new(), ..in_session(&ws, &session) };
    let ran = run(&bubblewrap(), ws.shell("echo x >.git/x; rm -r .git/hooks; cat .git/x"), &policy);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("x\n", ""));
    assert!(layer.upper.join("x").exists() && !git.join("x").exists() && git.join("hooks").exists());
}

/// It never runs in the network of the host instead.
#[test]
fn command_does_not_run_without_the_network_of_its_session() {
    let ws = TestWorkspace::new();
    let session = SessionNetwork::start(&support::launcher()).unwrap();
    let policy = in_session(&ws, &session);
    drop(session);
    let ran = run(&bubblewrap(), ws.shell("echo ran"), &policy);
    assert!(ran.setup_failure().unwrap().contains("the network of the session has ended"), "{ran:?}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn holder_of_a_session_network_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    // A launcher of its own, so that its processes are distinct from those of other tests.
    let launcher = Launcher::at(folder.path().join("launcher"));
    std::fs::copy(support::launcher().path(), launcher.path()).unwrap();
    let word = launcher.path().to_str().unwrap();
    let session = SessionNetwork::start(&launcher).unwrap();
    assert!(!processes_with(word).is_empty());
    drop(session);
    until("the holder has ended", || processes_with(word).is_empty());
    // Also if the host is killed: its end of the socket is closed, and bubblewrap ends with the thread that started it.
    let path = launcher.path().to_owned();
    thread::spawn(move || std::mem::forget(SessionNetwork::start(&Launcher::at(path)).unwrap())).join().unwrap();
    until("the holder has ended", || processes_with(word).is_empty());
    let missing = SessionNetwork::start(&Launcher::at("/no/such/launcher")).unwrap_err().to_string();
    assert!(missing.contains("/no/such/launcher"), "{missing}");
}

#[test]
fn tests_pass_as_an_unprivileged_user() {
    support::rerun_as_unprivileged_user();
}
