//! Options of sub-agents and sessions: folder, thinking, runtime, the model of a session, and how often one is steered.

use haft_testkit::{Hold, Moment, Round};
use serde_json::{Value, json};

use super::chatting::{PROMPT, at_the_prompt, leaves};
use super::family::{call, children, family, text, transcript};
use super::model::{Talk, in_every_protocol};

fn spawn(id: &str, more: &Value) -> (String, String, Value) {
    let mut arguments = json!({"task": "CHILD", "label": id});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call(id, "sessions_spawn", arguments)
}

/// The requests of the conversation that does not hold this text.
fn asked_without(talk: &Talk, text: &str) -> Vec<Value> {
    talk.server.asked().iter().map(|asked| asked.body.clone()).filter(|body| !body.to_string().contains(text)).collect()
}

#[test]
fn sub_agent_is_steered_once_in_two_seconds() {
    let (first, second) = (Hold::default(), Hold::default());
    let begin = |id: &str| call(id, "sessions_spawn", json!({"task": id, "label": id}));
    let steer = |id: &str, target: &str| call(id, "subagents", json!({"action": "steer", "target": target, "message": format!("{id}!")}));
    let steered = Hold::default();
    let parent = vec![
        Round::Calls(vec![begin("FIRST"), begin("SECOND")]),
        Round::Calls(vec![steer("s1", "FIRST")]),
        Round::Calls(vec![steer("s2", "FIRST"), steer("s3", "SECOND")]),
        text("I wait.").held(Moment::Start, &steered),
        text("And still."),
        text("Over."),
    ];
    let child = |hold: &Hold| vec![text("One.").held(Moment::Start, hold), text("Two.")];
    let talk = family("openai", "", vec![("PARENT", parent), ("FIRST", child(&first)), ("SECOND", child(&second))]);
    let turn = talk.begin(&["PARENT"]);
    assert!(steered.reached() && first.reached() && second.reached());
    [&first, &second, &steered].into_iter().for_each(Hold::release);
    turn.finish(&talk.world);
    let lines = transcript(&talk, "last").join("\n");
    assert!(lines.contains("result subagents error: The message is not sent: you steered this sub-agent less than 2 s ago"), "{lines}");
    assert!(lines.contains(" s, or say everything in one message."), "{lines}");
    assert_eq!(lines.matches("reads the message with its next results").count(), 2, "another one is steered meanwhile: {lines}");
}

/// Complaint: there is no way to wait for one, and its result is lost.
#[test]
fn sub_agent_is_waited_for_and_its_answer_is_found_again() {
    let (held, late) = (Hold::default(), Hold::default());
    let wait = |id: &str, seconds: u64| Round::call(id, "subagents", json!({"action": "wait", "target": "1", "timeoutSeconds": seconds}));
    let result = || json!({"action": "result", "target": "waited"});
    let parent = vec![
        Round::call("p", "sessions_spawn", json!({"task": "CHILD", "label": "waited-for"})),
        Round::call("r1", "subagents", result()),
        wait("w1", 1),
        wait("w2", 300).held(Moment::Start, &late),
        Round::call("r2", "subagents", result()),
        text("Over."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("CHILD", vec![text("Worth it.").held(Moment::Start, &held)])]);
    let turn = talk.begin(&["PARENT"]);
    assert!(held.reached() && late.reached());
    held.release();
    late.release();
    let happened = turn.finish(&talk.world);
    assert_eq!(happened.outcomes(), ["success", "validation_error", "success", "success", "success"], "{happened:?}");
    let lines = transcript(&talk, "last").join("\n");
    assert!(lines.contains("has not ended") && lines.contains("still runs after 1 s"), "{lines}");
    assert_eq!(lines.matches("]\n\nWorth it.").count(), 2, "by 'wait' and by 'result', and not once more by a notice: {lines}");
    assert_eq!(lines.matches("Worth it.").count(), 2, "{lines}");
}

#[test]
fn options_that_cannot_be_had_are_refused_with_what_to_do() {
    let calls = vec![
        spawn("a", &json!({"runtime": "acp"})),
        spawn("b", &json!({"thinking": "deep"})),
        spawn("c", &json!({"cwd": "/etc"})),
        spawn("d", &json!({"cwd": "out"})),
        spawn("e", &json!({"cwd": "a.txt"})),
        spawn("f", &json!({"cwd": "nowhere"})),
        spawn("g", &json!({"cwd": "../.."})),
    ];
    let count = calls.len();
    let talk = family("openai", "", vec![("PARENT", vec![Round::Calls(calls), text("Over.")])]);
    talk.world.write("a.txt", "x");
    std::os::unix::fs::symlink("/etc", talk.world.file("out")).unwrap();
    let happened = talk.turn(&["PARENT"]);
    assert_eq!(happened.outcomes(), vec!["validation_error"; count], "{happened:?}");
    let said: Vec<String> = talk.results().iter().map(|(_, result)| result.to_string()).collect();
    let expected = [
        "'acp' is not available: sub-agents run in Haft alone",
        "There is no thinking level 'deep'. Levels are: off, minimal, low, medium, high, xhigh.",
        "'/etc' (cwd) is not in the workspace",
        "'out' (cwd) is not in the workspace",
        "there is no folder 'a.txt' (cwd)",
        "there is no folder 'nowhere' (cwd)",
        "'../..' (cwd) is not in the workspace",
    ];
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    assert_eq!(children(&talk).len(), 0);
}

/// The folder is where commands start; it changes neither what they may do nor what paths of files mean.
#[test]
fn commands_of_a_sub_agent_start_in_its_folder_also_when_it_is_resumed() {
    let pwd = |id: &str| Round::Calls(vec![call(id, "exec", json!({"command": "pwd; cat here.txt"}))]);
    let read = Round::call("r", "read_file", json!({"path": "sub/here.txt"}));
    let parent = vec![Round::Calls(vec![spawn("p", &json!({"cwd": "sub", "runtime": "subagent"}))]), text("I wait."), text("Over.")];
    let talk = family("openai", "", vec![("PARENT", parent), ("CHILD", vec![pwd("e"), read, text("Looked.")])]);
    std::fs::create_dir(talk.world.file("sub")).unwrap();
    talk.world.write("sub/here.txt", "an axe\n");
    talk.turn(&["PARENT"]);
    let id = children(&talk)[0]["id"].as_str().unwrap().to_owned();
    let lines = transcript(&talk, &id).join("\n");
    assert!(lines.contains("[Your commands start in the folder sub; paths of files are relative to the workspace.]"), "{lines}");
    assert!(lines.contains("/sub\nan axe") && lines.contains("result read_file success: "), "{lines}");
    let talk = talk.next(vec![pwd("again"), text("Looked again.")]);
    talk.turn(&["look again", "--session", &id]);
    assert_eq!(transcript(&talk, &id).join("\n").matches("/sub\nan axe").count(), 2);
}

#[test]
fn thinking_level_is_sent_in_every_protocol_and_to_the_sub_agent_alone() {
    in_every_protocol(|protocol| {
        for (level, expected) in [("high", ["high", "high", "16384", "16384"]), ("off", ["none", "none", "null", "0"])] {
            let parent = vec![Round::Calls(vec![spawn("p", &json!({"thinking": level}))]), text("I wait."), text("Over.")];
            let talk = family(protocol, "", vec![("PARENT", parent), ("CHILD", vec![text("Thought.")])]);
            assert_eq!(talk.says(&["PARENT"]).code, 0);
            let [of_child] = asked_without(&talk, "PARENT").try_into().unwrap();
            let sent = |body: &Value| match protocol {
                "openai" => body["reasoning_effort"].clone(),
                "openai-responses" => body["reasoning"]["effort"].clone(),
                "anthropic" => body["thinking"]["budget_tokens"].clone(),
                _ => body["generationConfig"]["thinkingConfig"]["thinkingBudget"].clone(),
            };
            let index = super::model::PROTOCOLS.iter().position(|known| *known == protocol).unwrap();
            let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(text(sent(&of_child)), expected[index], "{protocol} {level}: {of_child}");
            for asked in talk.server.asked().iter().filter(|asked| asked.body.to_string().contains("PARENT")) {
                assert_eq!(sent(&asked.body), Value::Null, "{protocol}: {}", asked.body);
            }
        }
    });
}

fn status(id: &str, arguments: Value) -> Round {
    Round::call(id, "session_status", arguments)
}

fn models(talk: &Talk) -> Vec<String> {
    talk.server.asked().iter().map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn model_of_a_session_is_changed_from_its_next_turn_and_reset() {
    let talk = Talk::new("openai", vec![status("s", json!({"model": "work/m2"})), text("Changed.")]);
    let first = talk.turn(&["take m2"]);
    assert_eq!((first.outcomes(), models(&talk)), (vec!["success"], vec!["m1".to_owned(); 2]));
    let said = talk.results().last().unwrap().1.to_string();
    assert!(said.contains("The model is work/m2 from the next message of the user on."), "{said}");
    let talk = talk.next(vec![status("s", json!({"model": "default"})), text("Reset.")]);
    talk.resume("reset it");
    assert_eq!(models(&talk), ["m2", "m2"]);
    let talk = talk.next(vec![text("Back.")]);
    talk.resume("who are you?");
    assert_eq!(models(&talk), ["m1"]);
}

#[test]
fn model_that_cannot_be_had_is_refused_and_nothing_changes() {
    let config = "[providers.other]\nprotocol = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodels = [\"small\"]\n\
                  api_key_env = \"NO_SUCH_KEY\"\n";
    let calls = ["nowhere/m1", "m2", "other/large", "other/small"].map(|model| ("m", json!({"model": model})));
    let more = [json!({"model": "work/m2", "session": "nope"})].map(|arguments| ("n", arguments));
    let calls: Vec<Round> = calls.into_iter().chain(more).map(|(id, arguments)| status(id, arguments)).collect();
    let count = calls.len();
    let talk = Talk::with("openai", config, calls.into_iter().chain([text("Over.")]).collect());
    let turn = talk.turn(&["try"]);
    assert_eq!(turn.outcomes(), vec!["validation_error"; count], "{turn:?}");
    let said: Vec<String> = talk.results().iter().map(|(_, result)| result.to_string()).collect();
    assert!(said[0].contains("nowhere") && said[1].contains("provider/model"), "{said:?}");
    assert!(said[2].contains("not among the models of the provider 'other'") && said[2].contains("small"), "{said:?}");
    assert!(said[3].contains("NO_SUCH_KEY"), "{said:?}");
    let talk = talk.next(vec![status("s", json!({"model": "work/m2"})), text("Over.")]);
    let turn = talk.turn(&["try", "--access", "read-only"]);
    assert_ne!(turn.outcomes(), ["success"], "{turn:?}");
    let talk = talk.next(vec![text("Still.")]);
    talk.resume("who are you?");
    assert_eq!(models(&talk), ["m1"]);
}

#[test]
fn model_of_a_chat_changes_with_the_next_message_and_that_of_an_open_sub_agent_when_it_is_continued() {
    let parent = vec![
        Round::Calls(vec![spawn("p", &json!({"thread": true}))]),
        text("Started."),
        text("It has answered."),
        Round::Calls(vec![
            call("s1", "session_status", json!({"session": "p", "model": "work/m3"})),
            call("s2", "session_status", json!({"model": "work/m2"})),
        ]),
        Round::call("m", "sessions_send", json!({"label": "p", "message": "And now?"})),
        text("Both changed."),
        text("I am another."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("CHILD", vec![text("One."), text("Two.")])]);
    let mut pty = at_the_prompt(&talk);
    for (line, shown) in [("PARENT: go", "It has answered.\n"), ("change", "Both changed.\n"), ("who?", "I am another.\n")] {
        pty.types(&format!("{line}\r"));
        pty.waits_for(shown);
        pty.waits_for(PROMPT);
    }
    leaves(pty, &talk);
    let of_child: Vec<Value> = asked_without(&talk, "PARENT").iter().map(|body| body["model"].clone()).collect();
    assert_eq!(of_child, [json!("m1"), json!("m3")]);
    assert_eq!(models(&talk).last().unwrap(), "m2", "{:?}", models(&talk));
}
