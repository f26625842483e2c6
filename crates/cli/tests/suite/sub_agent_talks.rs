//! Sub-agents of a conversation that a user holds at a terminal.

use haft_testkit::{Hold, Moment, Round};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::chatting::{PROMPT, at_the_prompt, begins, leaves};
use super::family::{call, children, family, states, text, transcript};
use super::model::Talk;
use super::pty::Pty;

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

/// A conversation at its prompt, with a sub-agent in the background that makes a call as soon as it is let.
struct Waiting {
    talk: Talk,
    pty: Pty,
    calls: Hold,
    answers: Hold,
}

fn waiting(config: &str, variables: &[(&str, &str)], (tool, arguments): (&str, Value)) -> Waiting {
    let (calls, answers) = (Hold::default(), Hold::default());
    let parent = vec![
        Round::call("p1", "sessions_spawn", json!({"task": "Work.", "label": "worker"})),
        text("Started."),
        text("It is over."),
        text("Half is heard."),
    ];
    let child =
        vec![Round::Calls(vec![call("c1", tool, arguments)]).held(Moment::Start, &calls), text("Worked.").held(Moment::Start, &answers)];
    let talk = family("openai", config, vec![("PARENT", parent), ("Work.", child)]);
    let prompt = if variables.is_empty() { PROMPT } else { "you: " };
    let mut pty = if variables.is_empty() { at_the_prompt(&talk) } else { begins(&talk, variables, &[]) };
    if !variables.is_empty() {
        pty.waits_for(prompt);
    }
    pty.types("PARENT: go\r");
    pty.waits_for("Started.");
    pty.waits_for(prompt);
    assert!(calls.reached());
    Waiting { talk, pty, calls, answers }
}

impl Waiting {
    /// The sub-agent answers, a turn begins on it, and what the user had typed is sent.
    fn ends(self) -> Talk {
        let Self { talk, mut pty, answers, .. } = self;
        answers.release();
        pty.waits_for("It is over.\n");
        pty.waits_for(PROMPT);
        pty.types("lf\r");
        pty.waits_for("Half is heard.\n");
        pty.waits_for(PROMPT);
        leaves(pty, &talk);
        assert!(talk.server.asked().last().unwrap().body.to_string().contains("\"half\""));
        talk
    }
}

const ASKS: &str = "[rules]\nask = [\"write(*.txt)\"]\n";

fn writes() -> (&'static str, Value) {
    ("write_file", json!({"path": "made.txt", "content": "x"}))
}

/// What the user types at the prompt is no answer, and the answer is no message.
#[test]
fn sub_agent_in_the_background_is_approved_at_the_prompt_and_what_was_typed_stays() {
    let mut waiting = waiting(ASKS, &[], writes());
    waiting.pty.types("ha");
    waiting.pty.waits_for("ha");
    waiting.calls.release();
    waiting.pty.waits_for("the sub-agent 'worker' asks: ");
    waiting.pty.waits_for("s left > ");
    assert!(!waiting.talk.world.file("made.txt").exists());
    waiting.pty.types("y");
    assert!(waiting.answers.reached());
    assert_eq!(waiting.talk.world.read("made.txt"), "x");
    waiting.pty.waits_for(PROMPT);
    let talk = waiting.ends();
    assert_eq!(talk.server.asked().iter().filter(|asked| asked.body.to_string().contains("\"y\"")).count(), 0);
}

#[test]
fn sub_agent_in_the_background_is_denied_at_the_prompt_by_what_stops_a_turn() {
    for stop in ["\x1b", "\x03"] {
        let mut waiting = waiting(ASKS, &[], writes());
        waiting.pty.types("ha");
        waiting.pty.waits_for("ha");
        waiting.calls.release();
        waiting.pty.waits_for("s left > ");
        match stop {
            "\x03" => waiting.pty.signals(Signal::INT),
            key => waiting.pty.types(key),
        }
        assert!(waiting.answers.reached());
        waiting.pty.waits_for(PROMPT);
        let talk = waiting.ends();
        assert!(!talk.world.file("made.txt").exists(), "{stop:?}");
        assert_eq!(states(&talk), ["worker done"]);
    }
}

#[test]
fn plain_terminal_answers_a_sub_agent_in_the_background_with_a_line() {
    let Waiting { talk, mut pty, calls, answers } = waiting(ASKS, &[("HAFT_PLAIN", "1")], writes());
    calls.release();
    pty.waits_for("the sub-agent 'worker' asks: ");
    pty.waits_for("answer, then Enter: ");
    pty.types("y\r");
    assert!(answers.reached());
    assert_eq!(talk.world.read("made.txt"), "x");
    pty.waits_for("you: ");
    answers.release();
    pty.waits_for("It is over.");
    pty.waits_for("you: ");
    leaves(pty, &talk);
}

/// Its tool says that the user has seen it.
#[test]
fn message_of_a_sub_agent_in_the_background_stands_above_the_prompt() {
    let mut waiting = waiting("", &[], ("send_user_message", json!({"message": "Halfway there.", "status": "proactive"})));
    waiting.pty.types("ha");
    waiting.pty.waits_for("ha");
    waiting.calls.release();
    waiting.pty.waits_for("\n• sub-agent 'worker': Halfway there.\n");
    waiting.pty.waits_for(PROMPT);
    assert!(waiting.answers.reached());
    waiting.ends();
}

/// A lower level holds at once, also for what runs already.
#[test]
fn access_that_the_user_lowers_is_lowered_for_running_sub_agents() {
    for (level, is_written) in [("read-only", false), ("workspace-write", true)] {
        let Waiting { talk, mut pty, calls, answers } = waiting("", &[], writes());
        pty.types(&format!("/access {level}\r"));
        let prompt = format!("· {level}\n> ");
        pty.waits_for(&prompt);
        calls.release();
        assert!(answers.reached());
        assert_eq!(talk.world.file("made.txt").exists(), is_written, "{level}");
        answers.release();
        pty.waits_for("It is over.\n");
        pty.waits_for(&prompt);
        leaves(pty, &talk);
        let lines = transcript(&talk, children(&talk)[0]["id"].as_str().unwrap()).join("\n");
        assert_eq!(lines.contains("and this session has read-only"), !is_written, "{lines}");
    }
}

/// What a skill left to a turn holds for what the turn started, also when the turn is over.
#[test]
fn limit_of_a_skill_holds_for_a_sub_agent_that_outlives_the_turn() {
    let calls = Hold::default();
    let parent = vec![
        Round::call("p0", "skill", json!({"skill": "commit"})),
        Round::call("p1", "sessions_spawn", json!({"task": "Work.", "label": "worker"})),
        text("Started."),
        Round::call("p2", "exec", json!({"command": "echo $((20 + 22))"})),
        text("It is over."),
    ];
    let run = |id: &str, line: &str| call(id, "exec", json!({"command": line}));
    let child = vec![
        Round::Calls(vec![
            run("c1", "git --version"),
            run("c2", "ls"),
            call("c3", "write_file", json!({"path": "made.txt", "content": "x"})),
        ])
        .held(Moment::Start, &calls),
        text("Worked."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("Work.", child)]);
    let folder = talk.world.path("home/.claude/skills/commit");
    std::fs::create_dir_all(&folder).unwrap();
    let skill = "---\nname: commit\ndescription: Commits\nallowed-tools: Bash(git:*), sessions_spawn\n---\nCommit it.\n";
    std::fs::write(folder.join("SKILL.md"), skill).unwrap();
    let mut pty = at_the_prompt(&talk);
    pty.types("PARENT: go\r");
    pty.waits_for("Started.\n");
    pty.waits_for(PROMPT);
    assert!(calls.reached());
    calls.release();
    pty.waits_for("It is over.\n");
    pty.waits_for(PROMPT);
    leaves(pty, &talk);
    let lines = transcript(&talk, children(&talk)[0]["id"].as_str().unwrap()).join("\n");
    assert!(lines.contains("result exec success: git version"), "{lines}");
    assert!(lines.contains("result exec error: 'exec /usr/bin/ls' is not covered by the tools of the skill 'commit'"), "{lines}");
    assert!(!talk.world.file("made.txt").exists(), "{lines}");
    let parent = transcript(&talk, "last").join("\n");
    assert!(parent.contains("42"), "the limit of the parent has ended with its turn: {parent}");
}

#[test]
fn folder_of_a_loaded_skill_stays_readable_when_settings_change() {
    let folder = "home/.claude/skills/greet";
    let talk = Talk::new("openai", Vec::new());
    let script = talk.world.path(folder).join("hello.sh");
    let run = |id: &str| Round::call(id, "exec", json!({"command": format!("sh {}", script.display())}));
    let rounds =
        vec![Round::call("s", "skill", json!({"skill": "greet"})), text("Loaded."), run("e1"), text("Once."), run("e2"), text("Twice.")];
    let talk = talk.next(rounds);
    std::fs::create_dir_all(talk.world.path(folder)).unwrap();
    let skill = "---\nname: greet\ndescription: Greets\n---\nRun hello.sh.\n";
    std::fs::write(talk.world.path(folder).join("SKILL.md"), skill).unwrap();
    std::fs::write(&script, "echo greetings from a skill\n").unwrap();
    let mut pty = at_the_prompt(&talk);
    for (line, shown) in [("load it", "Loaded.\n"), ("/model work/m1", "work/m1 answers now\n"), ("run it", "Once.\n")] {
        pty.types(&format!("{line}\r"));
        pty.waits_for(shown);
        pty.waits_for(PROMPT);
    }
    pty.types("/access read-only\r");
    pty.waits_for("· read-only\n> ");
    pty.types("/access workspace-write\r");
    pty.waits_for("Raise access from read-only?");
    pty.types("y\r");
    pty.waits_for(PROMPT);
    pty.types("again\r");
    pty.waits_for("Twice.\n");
    pty.waits_for(PROMPT);
    leaves(pty, &talk);
    let lines = transcript(&talk, "last").join("\n");
    assert_eq!(lines.matches("success: greetings from a skill").count(), 2, "{lines}");
}
