//! What the user at a terminal sees.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use super::harness::World;

/// Runs a command in a terminal of this width and gives what it showed.
pub(crate) fn shown(world: &World, columns: u16, variables: &[(&str, &str)], words: &[&str]) -> String {
    shown_to(world, columns, variables, words, |_, _| ())
}

/// The same with a user in front of it, who sees the terminal and knows the process.
pub(crate) fn shown_to(
    world: &World,
    columns: u16,
    variables: &[(&str, &str)],
    words: &[&str],
    user: impl FnOnce(&mut Screen, &Child),
) -> String {
    let mut command = world.command(words);
    command.envs(variables.iter().copied());
    seen(command, columns, Program::Absent, user).0
}

/// Whether a program reads standard output, in place of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Absent,
    Reads,
}

/// Runs this command before the user; gives what the terminal showed, and what the program read.
pub(crate) fn seen(mut command: Command, columns: u16, program: Program, user: impl FnOnce(&mut Screen, &Child)) -> (String, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave: OwnedFd = rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    tcsetwinsize(&slave, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    if !command.get_envs().any(|(name, _)| name == "TERM") {
        command.env("TERM", "xterm");
    }
    let out = if program == Program::Reads { Stdio::piped() } else { Stdio::from(slave.try_clone().unwrap()) };
    command.stdin(slave.try_clone().unwrap()).stdout(out).stderr(Stdio::from(slave));
    let child = command.spawn().unwrap();
    // Our own copies of the slave's end go with the command, so that the read ends with the child.
    drop(command);
    let mut screen = Screen { terminal: File::from(master), seen: Vec::new() };
    user(&mut screen, &child);
    let Screen { mut terminal, mut seen } = screen;
    // At the end of the child Linux answers with an error where others say end of file; either way all has been read.
    terminal.read_to_end(&mut seen).ok();
    // What a program reads here fits into the pipe, so it can be read at the end.
    let read = child.wait_with_output().unwrap().stdout;
    (String::from_utf8(seen).unwrap().replace("\r\n", "\n"), String::from_utf8(read).unwrap())
}

/// A terminal, and what it has shown so far.
pub(crate) struct Screen {
    terminal: File,
    seen: Vec<u8>,
}

impl Screen {
    /// Waits until it shows this.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&self.seen).contains(text) {
            let count = self.terminal.read(&mut piece).unwrap_or_else(|error| panic!("{error}: {}", self.seen.escape_ascii()));
            self.seen.extend_from_slice(&piece[..count]);
        }
    }

    /// Types this.
    pub(crate) fn types(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }
}

pub(crate) const PROMPT: &str = " s left > ";

#[test]
fn output_after_an_unanswered_question_starts_on_its_own_line() {
    let world = World::with_config("ask = \"always\"\n");
    let words = ["call", "write_file", "--path", "a", "--content", &"long ".repeat(1000)];
    let plain = [("NO_COLOR", "1")];
    // Without what restores the modes of the terminal.
    let steady = |text: String| anstream::adapter::strip_str(&text).to_string();
    let left = steady(shown_to(&world, 80, &plain, &words, |screen, _| {
        screen.wait_for(PROMPT);
        screen.types("\x04");
    }));
    assert!(left.contains(&format!("{PROMPT}\nerror: ")), "{left}");
    let screen = "\nwrite_file: write a\n  @@ -0,0 +1 @@\n  +long long ";
    assert!(left.starts_with(screen) && left.contains("\nwhy: every call is asked about") && left.contains("\n[y] once  "), "{left}");
    let stopped = steady(shown_to(&world, 80, &plain, &words, |screen, child| {
        screen.wait_for(PROMPT);
        kill_process(Pid::from_child(child), Signal::INT).unwrap();
    }));
    assert!(stopped.contains(&format!("{PROMPT}\ncancelling; ")), "{stopped}");
    assert!(stopped.contains("\n(No answer is needed any more") && !stopped.contains("\n\n(No answer"), "{stopped}");
}

#[test]
fn symbols_and_colours_beside_words() {
    let world = World::new();
    world.call("noop", &json!({}));
    world.call("read_file", &json!({"path": "missing"}));
    let rich = shown(&world, 100, &[], &["history"]);
    assert!(rich.contains("\u{1b}[32m✓ ok") && rich.contains("✗ file_not_found"), "{rich}");
    for variables in [("NO_COLOR", "1"), ("TERM", "dumb"), ("HAFT_PLAIN", "1")] {
        let plain = shown(&world, 100, &[variables], &["history"]);
        assert!(!plain.contains('✓') && !plain.contains('✗') && plain.contains("file_not_found"), "{variables:?}: {plain}");
    }
    assert!(shown(&world, 100, &[], &["doctor"]).contains('✓'));
}

#[test]
fn the_width_is_the_terminals() {
    let world = World::new();
    let text = shown(&world, 40, &[("NO_COLOR", "1")], &["tools"]);
    assert!(text.lines().any(|line| line.starts_with("[x] read_file ") && line.contains(" - Read the ") && line.ends_with('…')), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
}

#[test]
fn a_file_cannot_drive_the_terminal() {
    let world = World::new();
    world.write("evil.txt", "safe\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}\ttab\n");
    let text = shown(&world, 80, &[("NO_COLOR", "1")], &["call", "read_file", "--path", "evil.txt"]);
    assert_eq!(text.replace("        ", "\t"), "safe\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{202e}\ttab\n");
}

/// What a terminal shows of a call that is answered when its server pleases.
fn shown_while_waiting(variables: &[(&str, &str)]) -> String {
    let world = World::with_config("[network]\nallow = [\"127.0.0.1\"]\n");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    let answer = thread::spawn(move || {
        let (mut connection, _) = server.accept().unwrap();
        connection.read_exact(&mut [0; 4]).unwrap();
        // Longer than the user waits without a word; nothing is raced for.
        thread::sleep(Duration::from_millis(3_500));
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone").unwrap();
    });
    let text = shown(&world, 80, variables, &["call", "http_request", "--url", &url]);
    answer.join().unwrap();
    text
}

#[test]
fn a_long_call_says_what_it_waits_for_and_leaves_nothing_behind() {
    let live = shown_while_waiting(&[("NO_COLOR", "1")]);
    let parts: Vec<&str> = live.split('\r').collect();
    let [before, lines @ .., blanks, result] = parts.as_slice() else { panic!("{live:?}") };
    assert!(lines.len() >= 2 && lines.iter().all(|line| line.starts_with("http_request … ") && line.ends_with(" s")), "{live:?}");
    assert_eq!((*before, *blanks), ("", &*" ".repeat("http_request … 3 s".chars().count())), "{live:?}");
    assert!(result.starts_with("HTTP 200 OK\n") && result.ends_with("done\n"), "{live:?}");
    for quiet in [("HAFT_PLAIN", "1"), ("TERM", "dumb")] {
        assert_eq!(shown_while_waiting(&[quiet]), *result, "{quiet:?}");
    }
}

#[test]
fn a_message_cannot_drive_the_terminal() {
    let world = World::new();
    let text = shown(&world, 80, &[("NO_COLOR", "1")], &["call", "\u{1b}[2Jtool\u{202e}", "{}"]);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && text.contains("\\u{1b}[2Jtool\\u{202e}"), "{text:?}");
}
