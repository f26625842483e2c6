//! `haft chat` with somebody in front of it.

use haft_testkit::{Hold, Moment, Round};
use rusqlite::Connection;
use rustix::process::Signal;
use rustix::termios::LocalModes;
use serde_json::{Value, json};

use super::model::{KEY, Talk};
use super::pty::Pty;

/// What stands before everything that is typed at the prompt.
pub(crate) const PROMPT: &str = "· workspace-write\n> ";

fn says(text: &str) -> Round {
    Round::Text(text.into())
}

pub(crate) fn begins(talk: &Talk, variables: &[(&str, &str)], words: &[&str]) -> Pty {
    let mut command = talk.world.command(&[&["chat"], words].concat());
    command.env("TERM", "xterm").env(KEY.0, KEY.1).envs(variables.iter().copied());
    Pty::start(command, 100)
}

/// A conversation whose prompt has come.
pub(crate) fn at_the_prompt(talk: &Talk) -> Pty {
    let mut pty = begins(talk, &[], &[]);
    pty.waits_for("work/m1 answers; /model changes that, /help lists the commands\n");
    pty.waits_for(PROMPT);
    pty
}

/// Leaves with Ctrl-D, and sees how to resume.
pub(crate) fn leaves(mut pty: Pty, talk: &Talk) {
    pty.types("\x04");
    pty.waits_for("haft chat --resume ");
    let (status, _) = pty.ends();
    assert_eq!(status.code(), Some(0));
    assert_eq!(talk.faults(), Vec::<String>::new());
}

/// What the user said last in a request.
fn last_said(body: &Value) -> String {
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "user", "{body}");
    last["content"].as_str().map_or_else(|| last["content"][0]["text"].as_str().unwrap().to_owned(), str::to_owned)
}

#[test]
fn what_is_typed_on_several_lines_is_said_as_one_and_known_the_next_time() {
    let talk = Talk::new("openai", vec![says("heard"), says("pasted"), says("again")]);
    let mut pty = at_the_prompt(&talk);
    pty.types("first\\\rsecond\x1b\rthird\r");
    pty.waits_for("heard\n");
    pty.waits_for(PROMPT);
    pty.types("\x1b[200~one\ntwo\x1b[201~\r");
    pty.waits_for("pasted\n");
    pty.waits_for(PROMPT);
    leaves(pty, &talk);
    let mut pty = at_the_prompt(&talk);
    pty.types("\x1b[A\x1b[A");
    pty.waits_for("third");
    pty.types("\r");
    pty.waits_for("again\n");
    pty.waits_for(PROMPT);
    leaves(pty, &talk);
    let asked: Vec<String> = talk.server.asked().iter().map(|asked| last_said(&asked.body)).collect();
    assert_eq!(asked, ["first\nsecond\nthird", "one\ntwo", "first\nsecond\nthird"]);
}

#[test]
fn commands_and_files_are_completed_and_nothing_of_it_is_sent() {
    let talk = Talk::new("openai", Vec::new());
    talk.world.write("notes/today.txt", "");
    let mut pty = at_the_prompt(&talk);
    pty.types("/hel");
    pty.waits_for("list these commands");
    pty.types("\t\r");
    pty.waits_for("Ctrl-D                leave");
    pty.waits_for(PROMPT);
    pty.types("/");
    pty.types("\t");
    pty.waits_for("/compact   let the model summarize the conversation");
    pty.types("\r\x15@tod\t");
    pty.waits_for("@notes/today.txt");
    pty.types("\x15/modle\r");
    pty.waits_for("did you mean /model?");
    pty.waits_for(PROMPT);
    pty.types("\x04");
    assert_eq!(pty.ends().0.code(), Some(0));
    assert_eq!(talk.server.asked().len(), 0);
}

#[test]
fn what_is_said_while_the_model_works_is_delivered_with_the_results_or_after_the_turn() {
    let hold = Hold::default();
    let rounds = vec![Round::call("1", "noop", json!({})).held(Moment::Start, &hold), says("hurried"), says("at last")];
    let talk = Talk::new("openai", rounds);
    let mut pty = at_the_prompt(&talk);
    pty.types("go\r");
    assert!(hold.reached());
    pty.waits_for("> type to send more; Esc stops");
    assert!(pty.local_modes().contains(LocalModes::ISIG) && !pty.local_modes().contains(LocalModes::ICANON));
    pty.types("hurry");
    pty.waits_for("> hurry_");
    pty.types("\r");
    pty.waits_for("queued: hurry\n");
    pty.types("oops\r");
    pty.waits_for("queued: oops\n");
    pty.types("\x1b[A");
    pty.waits_for("taken back: oops\n");
    pty.waits_for("> oops_");
    pty.types("\x15later\x1b\r");
    pty.waits_for("queued for after the turn: later\n");
    pty.types("still typed");
    pty.waits_for("> still typed_");
    hold.release();
    pty.waits_for("hurried\n");
    pty.waits_for("> later\n");
    pty.waits_for("at last\n");
    pty.waits_for("> still typed");
    pty.types("\x15");
    leaves(pty, &talk);
    let asked = talk.server.asked();
    let second = asked[1].body["messages"].as_array().unwrap();
    assert_eq!((&second[second.len() - 2]["role"], last_said(&asked[1].body).as_str()), (&json!("tool"), "hurry"));
    assert_eq!((asked.len(), last_said(&asked[2].body).as_str()), (3, "later"));
}

#[test]
fn ctrl_c_and_esc_stop_the_turn_and_what_was_typed_stays() {
    for stop in ["\x03", "\x1b"] {
        let hold = Hold::default();
        let talk = Talk::new("openai", vec![says("never").held(Moment::Start, &hold), says("heard")]);
        let mut pty = at_the_prompt(&talk);
        pty.types("go\r");
        assert!(hold.reached());
        pty.waits_for("Esc stops");
        pty.types("unheard\r");
        pty.waits_for("queued: unheard\n");
        pty.types("and typed");
        pty.waits_for("> and typed_");
        match stop {
            "\x03" => pty.signals(Signal::INT),
            key => pty.types(key),
        }
        pty.waits_for("cancelling; press Ctrl-C again to end at once\n");
        pty.waits_for("The turn was cancelled. Messages and results so far are kept.\n");
        pty.waits_for("> unheard\n  and typed");
        pty.types("\r");
        pty.waits_for("heard\n");
        pty.waits_for(PROMPT);
        leaves(pty, &talk);
        assert!(last_said(&talk.server.asked()[1].body).ends_with("unheard\nand typed"));
    }
}

#[test]
fn ctrl_c_takes_the_line_away_then_warns_then_leaves() {
    let talk = Talk::new("openai", vec![says("heard")]);
    let mut pty = at_the_prompt(&talk);
    pty.types("hello\r");
    pty.waits_for("heard\n");
    pty.waits_for(PROMPT);
    pty.types("something");
    pty.waits_for("something");
    pty.types("\x03");
    pty.waits_for("> ");
    pty.types("\x03");
    pty.waits_for("press Ctrl-C again, or Ctrl-D, to leave\n");
    pty.waits_for("> ");
    pty.types("again");
    pty.waits_for("again");
    pty.signals(Signal::INT);
    pty.waits_for("> ");
    pty.types("\x03");
    pty.waits_for("press Ctrl-C again, or Ctrl-D, to leave\n");
    pty.waits_for("> ");
    pty.types("\x03");
    pty.waits_for("haft chat --resume ");
    assert_eq!(pty.ends().0.code(), Some(0));
    assert_eq!(talk.server.asked().len(), 1);
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_the_turn_to_end() {
    let hold = Hold::default();
    // A protocol that says when a call is complete, before the answer is.
    let talk = Talk::new("anthropic", vec![says("heard"), Round::call("1", "noop", json!({})).held(Moment::End, &hold)]);
    let mut pty = at_the_prompt(&talk);
    pty.types("hello\r");
    pty.waits_for("heard\n");
    pty.waits_for(PROMPT);
    pty.types("go\r");
    assert!(hold.reached());
    pty.waits_for("✓ noop");
    // What the model said cannot be kept yet, so the turn does not end.
    let lock = Connection::open(talk.world.state().join("haft.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    pty.signals(Signal::INT);
    pty.waits_for("cancelling; press Ctrl-C again to end at once\n");
    pty.signals(Signal::INT);
    pty.waits_for("haft chat --resume ");
    assert_eq!(pty.ends().0.code(), Some(130));
}

#[test]
fn a_question_gets_the_keyboard_and_nothing_typed_before_it_is_an_answer() {
    const QUESTION: &str = " s left > ";
    let hold = Hold::default();
    let write = |id: &str| Round::call(id, "write_file", json!({"path": id, "content": "x"}));
    let rounds = vec![write("one").held(Moment::Start, &hold), write("two"), write("three"), says("done")];
    let talk = Talk::new("openai", rounds);
    let config = std::fs::read_to_string(talk.world.path("config/haft/config.toml")).unwrap();
    std::fs::write(talk.world.path("config/haft/config.toml"), format!("ask = \"always\"\n{config}")).unwrap();
    let mut pty = at_the_prompt(&talk);
    pty.types("go\r");
    assert!(hold.reached());
    pty.waits_for("Esc stops");
    pty.types("y\r");
    pty.waits_for("queued: y\n");
    pty.types("y");
    pty.waits_for("> y_");
    hold.release();
    pty.waits_for(QUESTION);
    // One key answers; one that was not offered does not.
    pty.types("xy");
    pty.waits_for("write_file one");
    pty.waits_for(QUESTION);
    // Esc is always safe.
    pty.types("\x1b");
    pty.waits_for("write_file two");
    pty.waits_for("permission_denied");
    pty.waits_for(QUESTION);
    pty.types("c");
    pty.waits_for("to the model: ");
    pty.types("not that one\r");
    pty.waits_for("not that one");
    pty.waits_for("done\n");
    pty.waits_for("> y");
    pty.types("\x15");
    leaves(pty, &talk);
    let there = ["one", "two", "three"].map(|name| talk.world.file(name).exists());
    assert_eq!(there, [true, false, false]);
}

#[test]
fn a_program_that_ends_it_leaves_a_terminal_that_can_be_used() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let hold = Hold::default();
        let talk = Talk::new("openai", vec![says("heard"), says("never").held(Moment::Start, &hold)]);
        let mut pty = at_the_prompt(&talk);
        pty.types("hello\r");
        pty.waits_for("heard\n");
        pty.waits_for(PROMPT);
        pty.signals(signal);
        pty.waits_for("haft chat --resume ");
        assert_eq!(pty.ends().0.code(), Some(code));
        let mut pty = begins(&talk, &[], &["-c"]);
        pty.waits_for(PROMPT);
        pty.types("go\r");
        assert!(hold.reached());
        pty.waits_for("Esc stops");
        pty.signals(signal);
        pty.waits_for("haft chat --resume ");
        assert_eq!(pty.ends().0.code(), Some(code));
    }
}

#[test]
fn resumed_session_is_shown_and_can_be_chosen_from_a_list() {
    let talk = Talk::new("openai", vec![says("the axe"), says("the saw"), says("more of it")]);
    for line in ["sharpen what?", "and what else?"] {
        assert_eq!(talk.world.ran(&talk.command(&["run", line]).output().unwrap()).code, 0);
    }
    let mut pty = begins(&talk, &[], &["--resume"]);
    pty.waits_for("Which one?");
    pty.waits_for("sharpen what?");
    pty.types("sharp");
    pty.waits_for("Which one? sharp");
    pty.types("\r");
    pty.waits_for(" resumed\nyou: sharpen what?\nmodel: the axe\n");
    pty.waits_for(PROMPT);
    pty.types("/access read-only\r");
    pty.waits_for("· read-only\n> ");
    pty.types("/access workspace-write\r");
    pty.waits_for("Raise access from read-only?");
    pty.types("\r");
    pty.waits_for("the access level stays read-only\n");
    pty.waits_for("· read-only\n> ");
    pty.types("/access workspace-write\r");
    pty.waits_for("Raise access from read-only?");
    pty.types("y\r");
    pty.waits_for(PROMPT);
    pty.types("more\r");
    pty.waits_for("more of it\n");
    pty.waits_for(PROMPT);
    leaves(pty, &talk);
    assert!(talk.server.asked()[2].body.to_string().contains("sharpen what?"));
}

#[test]
fn a_plain_terminal_gets_lines_and_words_and_no_escape_codes() {
    for variable in [("HAFT_PLAIN", "1"), ("TERM", "dumb")] {
        let hold = Hold::default();
        let talk = Talk::new("openai", vec![Round::call("1", "noop", json!({})).held(Moment::Start, &hold), says("heard")]);
        let mut pty = begins(&talk, &[variable, ("NO_COLOR", "1")], &[]);
        pty.waits_for("work/m1 answers");
        pty.waits_for("you: ");
        pty.types("go\\\non\n");
        assert!(hold.reached());
        pty.types("hurry\n");
        pty.waits_for("queued: hurry\n");
        hold.release();
        pty.waits_for("ok noop");
        pty.waits_for("heard\n");
        pty.waits_for("percent of 128k tokens");
        pty.waits_for("you: ");
        pty.signals(Signal::INT);
        pty.waits_for("press Ctrl-C again, or Ctrl-D, to leave\nyou: ");
        assert!(!pty.raw().contains(&0x1b), "{}", pty.raw().escape_ascii());
        pty.types("\x04");
        pty.waits_for("\nhaft chat --resume ");
        assert_eq!(pty.ends().0.code(), Some(0));
        let asked = talk.server.asked();
        assert_eq!((last_said(&asked[0].body), last_said(&asked[1].body)), ("go\non".to_owned(), "hurry".to_owned()));
    }
}
