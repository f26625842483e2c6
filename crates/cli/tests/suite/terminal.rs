//! What a person at a terminal sees.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use super::harness::World;

/// Runs a command in a terminal of this width and gives what it showed.
fn shown(world: &World, columns: u16, variables: &[(&str, &str)], words: &[&str]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave: OwnedFd = rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    tcsetwinsize(&slave, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let mut command = world.command(words);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(Stdio::from(slave));
    let mut child = command.spawn().unwrap();
    // Our own copies of the slave's end go with the command, so that the read ends with the child.
    drop(command);
    let mut seen = Vec::new();
    // At the end of the child Linux answers with an error where others say end of file; either way all has been read.
    File::from(master).read_to_end(&mut seen).ok();
    child.wait().unwrap();
    String::from_utf8(seen).unwrap().replace("\r\n", "\n")
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
    assert!(text.contains("[x] read_file        - Read the content…\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
}

#[test]
fn a_file_cannot_drive_the_terminal() {
    let world = World::new();
    world.write("evil.txt", "safe\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}\ttab\n");
    let text = shown(&world, 80, &[("NO_COLOR", "1")], &["call", "read_file", "--path", "evil.txt"]);
    assert_eq!(text.replace("        ", "\t"), "safe\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{202e}\ttab\n");
}

#[test]
fn a_message_cannot_drive_the_terminal() {
    let world = World::new();
    let text = shown(&world, 80, &[("NO_COLOR", "1")], &["call", "\u{1b}[2Jtool\u{202e}", "{}"]);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && text.contains("\\u{1b}[2Jtool\\u{202e}"), "{text:?}");
}
