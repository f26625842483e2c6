//! A model that answers several conversations: those of agents and of the sub-agents that they start.

use haft_testkit::{ModelServer, Round};
use serde_json::{Value, json};

use super::harness::World;
use super::model::{Happened, Talk};

/// A world whose model answers several conversations; each is known by a text of its own.
pub(crate) fn family(protocol: &'static str, config: &str, conversations: Vec<(&str, Vec<Round>)>) -> Talk {
    let talk = Talk { protocol, world: World::new(), server: ModelServer::for_conversations(conversations).unwrap() };
    talk.configure(config);
    talk
}

pub(crate) fn call(id: &str, tool: &str, arguments: Value) -> (String, String, Value) {
    (id.to_owned(), tool.to_owned(), arguments)
}

pub(crate) fn text(text: &str) -> Round {
    Round::Text(text.to_owned())
}

/// A parent with one call of `agent`, and then its end.
pub(crate) fn asks(arguments: Value) -> Vec<Round> {
    vec![Round::call("p1", "agent", arguments), text("The parent is done.")]
}

pub(crate) fn explorer(task: &str) -> Value {
    json!({"prompt": task, "description": task, "subagent_type": "explore"})
}

pub(crate) fn background(task: &str, kind: &str) -> Value {
    json!({"prompt": task, "description": task, "subagent_type": kind, "run_in_background": true})
}

/// The texts and calls of a stored session, one line each, without what differs from run to run.
pub(crate) fn transcript(talk: &Talk, id: &str) -> Vec<String> {
    let exported = talk.world.run(&["sessions", "export", id]).json();
    let mut lines = Vec::new();
    for entry in exported["entries"].as_array().unwrap() {
        let kind = entry["kind"].as_str().unwrap();
        if kind == "begun" {
            continue;
        }
        for block in entry["message"]["blocks"].as_array().unwrap() {
            let line = match block["type"].as_str().unwrap() {
                "text" => block["text"].as_str().unwrap().to_owned(),
                "call" => format!("call {} {}", block["name"].as_str().unwrap(), block["arguments"].as_str().unwrap()),
                "result" => {
                    let envelope = block["content"][0]["text"].as_str().unwrap();
                    let envelope: Value = serde_json::from_str(envelope).unwrap_or_else(|_| Value::from(envelope));
                    let said = envelope.get("result").or(envelope.get("message")).and_then(Value::as_str).unwrap_or_default().to_owned();
                    format!("result {} {}: {said}", block["name"].as_str().unwrap(), envelope["status"].as_str().unwrap_or_default())
                }
                other => other.to_owned(),
            };
            lines.push(format!("{kind}: {line}"));
        }
    }
    lines
}

/// The sub-agents of the last session, oldest first.
pub(crate) fn children(talk: &Talk) -> Vec<Value> {
    let listed = talk.world.run(&["sessions", "list", "--all", "--sub-agents", "--json"]).json();
    let mut found: Vec<Value> = listed.as_array().unwrap().iter().filter(|session| session.get("sub_agent").is_some()).cloned().collect();
    found.sort_by_key(|session| session["id"].as_str().unwrap().to_owned());
    found
}

pub(crate) fn states(talk: &Talk) -> Vec<String> {
    let word = |session: &Value, name: &str| session["sub_agent"][name].as_str().unwrap_or_default().to_owned();
    children(talk).iter().map(|session| format!("{} {}", session["title"].as_str().unwrap(), word(session, "state"))).collect()
}

/// The text of the result of the parent's call.
pub(crate) fn result(happened: &Happened) -> String {
    let end = happened.of("tool_end").next().unwrap();
    end.get("result").or(end.get("message")).unwrap().as_str().unwrap().to_owned()
}
