//! Commands at a terminal: that it is a real one, and that its sandbox is the same.

use std::net::TcpListener;

use haft_contract::{ExecHost, JobOptions};

use super::jobs::{Shop, ended, shows, text};

fn at_a_terminal() -> JobOptions {
    JobOptions { terminal: Some((120, 30)), input: true, ..JobOptions::default() }
}

const HOSTS: [ExecHost; 2] = [ExecHost::Sandbox, ExecHost::Host];

#[tokio::test]
async fn a_command_has_a_terminal_of_its_own() {
    let shop = Shop::new();
    let line = "test -t 0 && test -t 1 && test -t 2 && stty size && echo $TERM && stty -a < /dev/tty | grep -c icanon";
    for host in HOSTS {
        let job = shop.start(line, host, at_a_terminal()).await;
        assert_eq!((ended(&job).await.code, text(&job).as_str()), (Some(0), "30 120\r\nxterm-256color\r\n1\r\n"), "{host:?}");
        assert!(job.has_terminal());
        let job = shop.start("test -t 1 || echo none", host, JobOptions { terminal: None, ..at_a_terminal() }).await;
        assert_eq!((ended(&job).await.code, text(&job).as_str(), job.has_terminal()), (Some(0), "none\n", false), "{host:?}");
    }
}

#[tokio::test]
async fn keys_reach_the_program_in_front() {
    let shop = Shop::new();
    for host in HOSTS {
        let job = shop.start("python3 -q -i -c 'import time, sys; sys.ps1 = \"ask> \"'", host, at_a_terminal()).await;
        shows(&job, "ask> ").await;
        job.write(b"6 * 8 - 6\r", false).await.unwrap();
        shows(&job, "42\r\n").await;
        // In small pieces: Python does not see a key that comes right before it falls asleep until it wakes.
        job.write(b"print('going'); any(time.sleep(0.1) for _ in iter(int, 1))\r", false).await.unwrap();
        shows(&job, "going\r\n").await;
        // Control and C: what sleeps is interrupted, and nobody else.
        job.write(b"\x03", false).await.unwrap();
        shows(&job, "KeyboardInterrupt\r\n").await;
        job.write(b"print('still', 'here')\r", false).await.unwrap();
        shows(&job, "still here\r\nask> ").await;
        job.write(b"", true).await.unwrap();
        assert_eq!(ended(&job).await.code, Some(0), "{host:?}");
    }
}

#[tokio::test]
async fn a_shell_at_its_prompt_edits_lines_and_has_jobs() {
    let shop = Shop::new();
    for host in HOSTS {
        let job = shop.start("bash --norc --noprofile -i", host, at_a_terminal()).await;
        shows(&job, "bash-").await;
        // A letter is taken back.
        job.write(b"echo one twoo\x7f three$((1+1))\r", false).await.unwrap();
        shows(&job, "one two three2\r\n").await;
        job.write(b"sh -c 'echo go; exec sleep 9876'\r", false).await.unwrap();
        shows(&job, "go\r\n").await;
        job.write(b"\x1a", false).await.unwrap();
        shows(&job, "Stopped").await;
        job.write(b"jobs | wc -l; kill -9 %1; disown -a; exit 5\r", false).await.unwrap();
        let end = ended(&job).await;
        assert_eq!(end.code, Some(5), "{host:?}: {}", text(&job));
        assert!(!text(&job).contains("no job control"), "{host:?}: {}", text(&job));
    }
}

#[tokio::test]
async fn what_is_typed_blind_is_not_shown() {
    let shop = Shop::new();
    for host in HOSTS {
        let job = shop.start("read -s -p 'word? ' x; echo; echo ${#x}", host, at_a_terminal()).await;
        shows(&job, "word? ").await;
        job.write(b"hunter2\r", false).await.unwrap();
        assert_eq!((ended(&job).await.code, text(&job).as_str()), (Some(0), "word? \r\n7\r\n"), "{host:?}");
    }
}

/// Ways out, as programs: each says what became of it.
const ATTEMPTS: &[(&str, &str)] = &[
    ("write outside", "open(OUTSIDE, 'w'); print('in a place of its own')"),
    ("connect", "import socket; socket.create_connection(('127.0.0.1', PORT), 2)"),
    ("a packet socket", "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
    ("type into the terminal", "import fcntl; fcntl.ioctl(0, 0x5412, b'x')"),
    ("select in a console", "import fcntl; fcntl.ioctl(0, 0x541c, b'x')"),
    ("see others", "import os; print(len([name for name in os.listdir('/proc') if name.isdigit()]))"),
    ("signal others", "import os; print(os.getpid() < 10); os.kill(os.getpid() + 1000, 0)"),
    ("trace", "import ctypes; print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))"),
    ("become root", "import os; print(open('/proc/self/status').read().count('CapEff:\\t0000000000000000'))"),
    ("other descriptors", "import os; print(sorted(os.listdir('/proc/self/fd'))[:3])"),
    ("another session", "import os; print(os.getsid(0) == 1)"),
];

#[tokio::test]
async fn c05_c12_sandbox_is_the_same_at_a_terminal() {
    let shop = Shop::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (port, outside) = (listener.local_addr().unwrap().port(), shop.outside("escaped"));
    for (name, attempt) in ATTEMPTS {
        let attempt = attempt.replace("PORT", &port.to_string()).replace("OUTSIDE", &format!("{:?}", outside.to_str().unwrap()));
        shop.write("attempt.py", &format!("try:\n    {attempt}\nexcept OSError as error:\n    print(error.errno)\n"));
        let mut seen = Vec::new();
        for terminal in [None, Some((120, 30))] {
            let job = shop.start("python3 attempt.py", ExecHost::Sandbox, JobOptions { terminal, ..at_a_terminal() }).await;
            seen.push((ended(&job).await.code, text(&job).replace('\r', "")));
        }
        assert_eq!(seen[0], seen[1], "{name}");
        assert!(seen[0].0 == Some(0) && !seen[0].1.is_empty(), "{name}: {seen:?}");
        if attempt.contains("ioctl") {
            assert_eq!(seen[1].1, "1\n", "{name}: not permitted");
        }
    }
    assert!(!outside.exists() && listener.accept().is_err(), "something came through");
}
