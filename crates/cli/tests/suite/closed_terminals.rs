//! Terminals that disappear, as a window does that is closed, while something waits for a key.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use haft_testkit::{Hold, Moment, Round};
use rustix::process::Signal;

use super::chatting::at_the_prompt;
use super::harness::World;
use super::model::Talk;
use super::pty::Pty;

/// The process ends in an orderly way, or is ended after five seconds.
const PATIENCE: Duration = Duration::from_secs(30);
const CONFIG: &str = "[agents.coder]\nprompt = 'You are careful.'\n\n[rules]\nask = ['write(*.txt)']\n";

/// Whether a process ended because its terminal is gone.
fn hung_up(status: Option<ExitStatus>) -> bool {
    status.is_some_and(|status| status.signal() == Some(Signal::HUP.as_raw()) || status.code() == Some(129))
}

/// This terminal is not the one that the process was started from, so the system sends no signal. A prompt that sees the end of its input
/// first ends as a failure.
fn ends_when_the_terminal_closes(mut command: Command, waits_for: &str) {
    command.env("TERM", "xterm").env("HAFT_LOCAL_MODELS", "");
    let what = format!("{command:?}");
    let mut pty = Pty::start(command, 100);
    pty.waits_for(waits_for);
    let status = pty.closes(PATIENCE);
    assert!(hung_up(status) || status.is_some_and(|status| status.code() == Some(1)), "{what}: {status:?}");
}

#[test]
fn every_prompt_ends_with_its_terminal() {
    for (words, waits_for) in [
        (&["agents", "edit", "coder"][..], "esc leaves"),
        (&["agents", "edit", "reader"], "Create it?"),
        (&["call", "write_file", "--path", "a.txt", "--content", "x"], "> "),
    ] {
        let world = World::with_config(CONFIG);
        ends_when_the_terminal_closes(world.command(words), waits_for);
        assert!(!world.file("a.txt").exists(), "no answer is no");
    }
}

#[test]
fn process_that_ignores_the_signal_ends_all_the_same() {
    let world = World::with_config(CONFIG);
    let command = world.command(&["agents", "edit", "coder"]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ends_when_the_terminal_closes(shell, "esc leaves");
}

#[test]
fn conversation_ends_with_its_terminal() {
    let talk = Talk::new("openai", vec![Round::Text("heard".into())]);
    let status = at_the_prompt(&talk).closes(PATIENCE);
    assert!(hung_up(status), "{status:?}");
}

#[test]
fn running_turn_ends_with_its_terminal() {
    let hold = Hold::default();
    let talk = Talk::new("openai", vec![Round::Text("late".into()).held(Moment::Start, &hold)]);
    let mut pty = at_the_prompt(&talk);
    pty.types("hello\r");
    assert!(hold.reached());
    let status = pty.closes(PATIENCE);
    hold.release();
    assert!(status.is_some_and(|status| !status.success()), "{status:?}");
}
