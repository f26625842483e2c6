//! Polls (MSC3381), by the names that clients and servers use for them.

use haft_contract::ports::ChannelCommand;
use serde_json::{Value, json};

pub(super) const START: &str = "org.matrix.msc3381.poll.start";
const RESPONSE: &str = "org.matrix.msc3381.poll.response";
const TEXT: &str = "org.matrix.msc1767.text";

/// A question that shows how many have chosen what. Clients without polls show the text.
pub(super) fn start(command: &ChannelCommand) -> Value {
    let answers: Vec<Value> =
        command.choices.iter().enumerate().map(|(number, answer)| json!({ "id": id(number), TEXT: answer })).collect();
    let listed = command.choices.iter().enumerate().map(|(number, answer)| format!("\n{}. {answer}", number + 1));
    let text: String = std::iter::once(command.text.clone()).chain(listed).collect();
    json!({
        TEXT: text,
        START: { "question": { TEXT: command.text }, "kind": "org.matrix.msc3381.poll.disclosed", "max_selections": 1, "answers": answers },
    })
}

fn id(number: usize) -> String {
    (number + 1).to_string()
}

/// A poll or an answer to one, as text; `None` for other events.
pub(super) fn text(event: &Value) -> Option<String> {
    let content = &event["content"];
    if event["type"] == START {
        return Some(format!("[poll] {}", content[TEXT].as_str()?));
    }
    if event["type"] != RESPONSE {
        return None;
    }
    let chosen: Vec<&str> = content[RESPONSE]["answers"].as_array()?.iter().filter_map(Value::as_str).collect();
    Some(format!("[answer to the poll {}] {}", content["m.relates_to"]["event_id"].as_str()?, chosen.join(", ")))
}

#[cfg(test)]
mod tests {
    use haft_contract::ports::ChannelAction;

    use super::*;

    #[test]
    fn poll_has_the_form_that_clients_know_and_answers_are_read() {
        let mut command = ChannelCommand::new("matrix", "!r:x", ChannelAction::Poll, "Lunch?");
        command.choices = vec!["Pizza".into(), "Soup".into()];
        let content = start(&command);
        let expected = json!({
            "org.matrix.msc1767.text": "Lunch?\n1. Pizza\n2. Soup",
            "org.matrix.msc3381.poll.start": {
                "question": {"org.matrix.msc1767.text": "Lunch?"},
                "kind": "org.matrix.msc3381.poll.disclosed",
                "max_selections": 1,
                "answers": [{"id": "1", "org.matrix.msc1767.text": "Pizza"}, {"id": "2", "org.matrix.msc1767.text": "Soup"}],
            },
        });
        assert_eq!(content, expected);
        assert_eq!(text(&json!({"type": START, "content": content})).as_deref(), Some("[poll] Lunch?\n1. Pizza\n2. Soup"));
        let answer = json!({"m.relates_to": {"rel_type": "m.reference", "event_id": "$1"}, RESPONSE: {"answers": ["2"]}});
        assert_eq!(text(&json!({"type": RESPONSE, "content": answer})).as_deref(), Some("[answer to the poll $1] 2"));
        for other in [json!({"type": "m.room.message", "content": {"body": "x"}}), json!({"type": RESPONSE, "content": {}}), json!(3)] {
            assert_eq!(text(&other), None, "{other}");
        }
    }
}
