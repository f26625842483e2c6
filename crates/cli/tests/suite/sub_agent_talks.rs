//! Sub-agents of a conversation that a user holds at a terminal.

use haft_testkit::{Hold, Moment, Round};
use serde_json::json;

use super::chatting::{PROMPT, at_the_prompt, begins, leaves};
use super::family::{call, children, family, states, text};

#[test]
fn end_of_a_sub_agent_begins_a_turn_at_once_and_what_was_typed_stays() {
    let held = Hold::default();
    let parent = vec![
        Round::call("p1", "sessions_spawn", json!({"task": "Look.", "label": "looker"})),
        text("Started."),
        text("It found an axe."),
        text("Half is heard."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("Look.", vec![text("An axe.").held(Moment::Start, &held)])]);
    let mut pty = at_the_prompt(&talk);
    pty.types("PARENT: go\r");
    pty.waits_for("Started.\n");
    pty.waits_for(PROMPT);
    assert!(held.reached());
    pty.types("ha");
    pty.waits_for("ha");
    held.release();
    pty.waits_for("sub-agent 'looker' (general-purpose) is done");
    pty.waits_for("It found an axe.\n");
    pty.waits_for(PROMPT);
    pty.types("lf\r");
    pty.waits_for("Half is heard.\n");
    pty.waits_for(PROMPT);
    leaves(pty, &talk);
    let asked = talk.server.asked();
    let told: Vec<String> = asked.iter().map(|asked| asked.body["messages"].to_string()).collect();
    assert_eq!(told.iter().filter(|told| told.contains("Its answer:\\nAn axe.")).count(), 2, "{told:?}");
    assert!(told.last().unwrap().contains("\"half\""), "{told:?}");
    assert_eq!(states(&talk), ["looker done"]);
}

#[test]
fn plain_terminal_is_told_as_well() {
    let held = Hold::default();
    let parent = vec![Round::call("p1", "sessions_spawn", json!({"task": "Look."})), text("Started."), text("It found an axe.")];
    let talk = family("openai", "", vec![("PARENT", parent), ("Look.", vec![text("An axe.").held(Moment::Start, &held)])]);
    let mut pty = begins(&talk, &[("HAFT_PLAIN", "1")], &[]);
    pty.waits_for("you: ");
    pty.types("PARENT: go\r");
    pty.waits_for("Started.");
    pty.waits_for("you: ");
    held.release();
    pty.waits_for("sub-agent 'Look.' (general-purpose) is done");
    pty.waits_for("It found an axe.");
    pty.waits_for("you: ");
    leaves(pty, &talk);
}

#[test]
fn approval_names_the_sub_agent_that_asks() {
    let child = vec![Round::Calls(vec![call("c1", "write_file", json!({"path": "made.txt", "content": "x"}))]), text("Written.")];
    let parent = vec![Round::call("p1", "agent", json!({"prompt": "Write it.", "name": "the writer"})), text("Over.")];
    let config = "[rules]\nask = [\"write(*.txt)\"]\n";
    let talk = family("openai", config, vec![("PARENT", parent), ("Write it.", child)]);
    let mut pty = at_the_prompt(&talk);
    pty.types("PARENT: go\r");
    pty.waits_for("the sub-agent 'the writer' asks: ");
    pty.waits_for("> ");
    pty.types("y");
    pty.waits_for("Over.\n");
    pty.waits_for(PROMPT);
    leaves(pty, &talk);
    assert_eq!(talk.world.read("made.txt"), "x");
    assert_eq!(children(&talk).len(), 1);
}
