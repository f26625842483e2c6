//! Ctrl-C and the other signals that stop: the first cancels the call, the second ends the process.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::harness::World;

/// A call that waits for a server which never answers; returns when the request has arrived.
fn waiting(world: &World) -> (Child, TcpStream) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    let words = ["call", "http_request", "--url", &url, "--json"];
    let child = world.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut connection, _) = server.accept().unwrap();
    connection.read_exact(&mut [0; 4]).unwrap();
    (child, connection)
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn press_ctrl_c(child: &Child) {
    send(child, Signal::INT);
}

fn world() -> World {
    World::with_config("[network]\nallow = [\"127.0.0.1\"]\n")
}

#[test]
fn the_first_cancels_the_call_and_its_result_is_still_given() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let world = world();
        let (child, _connection) = waiting(&world);
        send(&child, signal);
        let ran = world.ran(&child.wait_with_output().unwrap());
        assert_eq!((ran.code, &ran.json()["error_type"]), (code, &json!("cancelled")), "{ran:?}");
        assert!(ran.stderr.starts_with("cancelling"), "{ran:?}");
        assert_eq!(world.run(&["history", "--json"]).json()[0]["error_type"], "cancelled");
    }
}

#[test]
fn the_second_does_not_wait() {
    let world = world();
    world.call("noop", &json!({}));
    let (mut child, _connection) = waiting(&world);
    // The call is cancelled, but the history cannot be written yet: haft waits for it.
    let lock = Connection::open(world.state().join("haft.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    press_ctrl_c(&child);
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert_eq!(told, "cancelling; press Ctrl-C again to end at once\n");
    press_ctrl_c(&child);
    let ran = world.ran(&child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (130, ""));
    drop(lock);
    let calls = world.run(&["history", "--json"]).json();
    assert_eq!(calls.as_array().map(Vec::len), Some(1), "{}", Value::from(calls.to_string()));
}

/// A call whose after-hook keeps a pipe open, with all it started; returns when the hook runs, and what reads the pipe to its end.
fn hooked(world: &World) -> (Child, File) {
    let pipe = world.path("pipe");
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    let command = format!("trap '' TERM; exec 9>'{}'; sleep 60 & sleep 60", pipe.display());
    let hook = format!("[[hooks]]\nevent = \"after_tool_call\"\ntimeout_seconds = 120\ncommand = \"{command}\"\n");
    std::fs::write(world.path("config/haft/config.toml"), hook).unwrap();
    let child = world.command(&["call", "noop", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    (child, File::open(pipe).unwrap())
}

/// How long it takes until nobody has the pipe any more.
fn until_gone(mut pipe: File) -> Duration {
    let started = Instant::now();
    pipe.read_to_end(&mut Vec::new()).unwrap();
    started.elapsed()
}

#[test]
fn hooks_of_a_call_that_is_to_stop_are_ended_and_told_as_failed() {
    let world = World::new();
    let (child, pipe) = hooked(&world);
    press_ctrl_c(&child);
    let gone = until_gone(pipe);
    let ran = world.ran(&child.wait_with_output().unwrap());
    assert_eq!((ran.code, &ran.json()["status"]), (0, &json!("success")), "{ran:?}");
    assert!(ran.stderr.contains("the call was cancelled while it ran"), "{ran:?}");
    assert!(gone < Duration::from_secs(20), "{gone:?}");
}

#[test]
fn immediate_exit_ends_all_programs() {
    let world = World::new();
    let (mut child, pipe) = hooked(&world);
    press_ctrl_c(&child);
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.starts_with("cancelling"), "{told}");
    press_ctrl_c(&child);
    let ran = world.ran(&child.wait_with_output().unwrap());
    let gone = until_gone(pipe);
    assert_eq!((ran.code, ran.stdout.as_str()), (130, ""));
    assert!(gone < Duration::from_secs(20), "{gone:?}");
}
