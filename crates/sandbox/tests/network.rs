//! The one way out: the relay to the proxy, and that it is the only one.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod support;

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use haft_sandbox::{Command, Network, Policy, Sandbox, Wrapped};
use support::{Place, Ran, bubblewrap, run};

const PORT: u16 = 8080;

/// Plays the proxy: answers what it was sent, until the socket is gone.
fn echo(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                // Ends with an error where the other side has gone, as it may.
                std::io::copy(&mut stream.try_clone().unwrap(), &mut stream).ok();
            });
        }
    });
}

fn with_proxy(place: &Place) -> Policy {
    let socket = place.outside.join("proxy");
    echo(&socket);
    Policy { network: Network::Proxy { socket, port: PORT }, ..place.policy() }
}

#[test]
fn the_proxy_is_reached_and_named() {
    let place = Place::new();
    let script = "exec 3<>/dev/tcp/127.0.0.1/8080; echo hello >&3; head -n 1 <&3; head -c 300000 /dev/zero | tr '\\0' x >&3 & head -c 300000 <&3 | \
                  wc -c; echo $HTTPS_PROXY $https_proxy $NO_PROXY";
    let command = place.shell(script).variable("NO_PROXY", "*").variable("https_proxy", "http://127.0.0.1:1");
    let ran = run(&bubblewrap(), command, &with_proxy(&place));
    assert_eq!(
        (ran.stdout.as_str(), ran.code),
        ("hello\n300000\nhttp://127.0.0.1:8080 http://127.0.0.1:8080\n", Some(0)),
        "{}",
        ran.stderr
    );
}

#[test]
fn many_connections_at_once() {
    let place = Place::new();
    let script = "for i in {1..40}; do (exec 3<>/dev/tcp/127.0.0.1/8080; echo $i >&3; head -n 1 <&3) & done; wait";
    let ran = run(&bubblewrap(), place.shell(script), &with_proxy(&place));
    let mut numbers: Vec<u32> = ran.stdout.lines().map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>(), "{}", ran.stderr);
}

/// What a kernel without it would do.
fn forget_landlock(command: &mut Command) {
    let inner = command.arguments.iter().position(|argument| argument == "__haft_sandbox_inner").unwrap();
    let mut settings: serde_json::Value = serde_json::from_str(command.arguments[inner + 1].to_str().unwrap()).unwrap();
    assert!(settings["landlock"].is_object());
    settings["landlock"] = serde_json::Value::Null;
    command.arguments[inner + 1] = settings.to_string().into();
}

/// The relay has the command's user and is not held by its filter: it must not be for the taking.
#[test]
fn there_is_no_way_around_the_relay() {
    let place = Place::new();
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let port = host.local_addr().unwrap().port();
    let relay = "r=$(pgrep -f __haft_sandbox_rela[y]); [ -n \"$r\" ] || echo none;";
    let unix = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit; connect($s, sockaddr_un($ARGV[0])) and print qq(connected\\n)";
    let attacks = [
        ("another port of the host", format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected; echo held")),
        ("the socket of the proxy itself", format!("for s in /run/haft/proxy \"$OUT\"/proxy; do perl -e '{unix}' $s; done; echo held")),
        (
            "the memory of the relay",
            format!("{relay} (: >>/proc/$r/mem) 2>/dev/null && echo opened; cat /proc/$r/maps 2>/dev/null; echo held"),
        ),
        (
            "the descriptors of the relay",
            format!("{relay} for f in /proc/$r/fd/*; do readlink $f; done; cat /proc/$r/environ 2>/dev/null; echo held"),
        ),
        (
            "the listener under another name",
            "ls -A /run/haft | grep -vxE 'launcher|proxy'; rm -f /run/haft/proxy 2>/dev/null && echo removed; echo held".to_owned(),
        ),
    ];
    let policy = with_proxy(&place);
    for (name, script) in attacks {
        for kernel in ["with Landlock, if it has it", "without Landlock"] {
            let Wrapped { mut command, guard } = bubblewrap().wrap(place.shell(&script), &policy).unwrap();
            if kernel == "without Landlock" {
                forget_landlock(&mut command);
            }
            let ran = Ran::from(command.to_std().stdin(Stdio::null()).output().unwrap());
            drop(guard);
            assert_eq!(ran.stdout, "held\n", "{name}, on a kernel {kernel}: {}", ran.stderr);
        }
    }
    assert!(host.accept().is_err(), "a connection arrived");
}

/// C11, for the stage that only a proxy needs.
#[test]
fn without_its_relay_the_command_does_not_run() {
    let place = Place::new();
    let policy = with_proxy(&place);
    let Network::Proxy { socket, .. } = policy.network.clone() else { unreachable!() };
    let cases = [("a port that may not be taken", socket, 1), ("a proxy that is not there", place.outside.join("none"), PORT)];
    for (name, socket, port) in cases {
        let policy = Policy { network: Network::Proxy { socket, port }, ..policy.clone() };
        let ran = run(&bubblewrap(), place.shell("echo ran"), &policy);
        assert!(ran.setup_failure().is_some() && ran.stdout.is_empty(), "{name}: {ran:?}");
    }
}

#[test]
fn a_command_that_waits_for_all_its_children_does_not_wait_for_the_relay() {
    let place = Place::new();
    let ran = run(&bubblewrap(), place.shell("exec perl -e '1 while wait() > 0; print qq(done\\n)'"), &with_proxy(&place));
    assert_eq!(ran.stdout, "done\n");
}

#[test]
fn a_listener_inside_can_be_reached_from_inside() {
    let place = Place::new();
    let script = r#"perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:9999") or die; if (fork) { my $c = $l->accept; print <$c>; wait } else { my $c = IO::Socket::INET->new("127.0.0.1:9999") or die; print $c "inside\n" }'"#;
    let ran = run(&bubblewrap(), place.shell(script), &place.policy());
    assert_eq!(ran.stdout, "inside\n", "{}", ran.stderr);
}

#[test]
fn the_host_network_is_there_when_it_is_asked_for() {
    let place = Place::new();
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port();
    let policy = Policy { network: Network::Host, ..place.policy() };
    let script = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo connected; cat /etc/resolv.conf");
    let ran = run(&bubblewrap(), place.shell(&script), &policy);
    let resolver = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    assert_eq!(ran.stdout, format!("connected\n{resolver}"), "{}", ran.stderr);
}

#[test]
fn the_same_as_an_ordinary_person() {
    support::again_as_an_ordinary_person();
}
