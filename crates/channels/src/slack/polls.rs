//! Polls: Slack has none of its own, so each answer is a reaction that people click.

use haft_contract::ports::{ChannelCommand, ChannelReceipt};
use serde_json::{Value, json};

use super::text::{escape, unescape};
use super::{Slack, thread};
use crate::SendFailure;

/// One reaction for each answer.
const NUMBERS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "keycap_ten"];

impl Slack {
    /// Sends the question with its answers, and then the reactions to click.
    pub(super) async fn ask_all(&self, command: &ChannelCommand) -> Result<ChannelReceipt, SendFailure> {
        let sent = self.call("chat.postMessage", &question(command)).await?;
        // The id of the room: a reaction takes no name.
        let (Some(ts), Some(room)) = (sent["ts"].as_str(), sent["channel"].as_str()) else {
            return Err(SendFailure::unknown("Slack did not say which message it is"));
        };
        let mut receipt = ChannelReceipt::delivered(Some(ts.to_owned()));
        for name in &NUMBERS[..command.choices.len().min(NUMBERS.len())] {
            let reaction = json!({ "channel": room, "timestamp": ts, "name": name });
            // The question is out already: without a reaction to click people can still add theirs.
            if let Err(failure) = self.call("reactions.add", &reaction).await {
                receipt.reason = Some(format!("the reaction :{name}: could not be added: {}", failure.message));
                break;
            }
        }
        Ok(receipt)
    }
}

fn question(command: &ChannelCommand) -> Value {
    let answers = command.choices.iter().zip(NUMBERS).map(|(answer, name)| format!("\n:{name}: {answer}"));
    let text: String = std::iter::once(command.text.clone()).chain(answers).collect();
    let mut body = json!({ "channel": command.to, "text": escape(&text), "unfurl_links": false, "unfurl_media": false });
    if let Some(thread) = thread(command) {
        body["thread_ts"] = json!(thread);
    }
    body
}

/// The text of a message, with how often each reaction was clicked: the answers of a poll.
pub(super) fn with_reactions(message: &Value) -> String {
    let text = unescape(message["text"].as_str().unwrap_or_default());
    let count = |reaction: &Value| Some(format!(":{}: {}", reaction["name"].as_str()?, reaction["count"].as_u64()?));
    let counts: Vec<String> = message["reactions"].as_array().into_iter().flatten().filter_map(count).collect();
    if counts.is_empty() { text } else { format!("{text}\n(reactions: {})", counts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use haft_contract::ports::ChannelAction;

    use super::*;

    #[test]
    fn answers_are_numbered_and_their_reactions_counted() {
        let mut command = ChannelCommand::new("slack", "#ops", ChannelAction::Poll, "Lunch?");
        (command.choices, command.thread_id) = (vec!["Pizza".into(), "Soup".into()], Some("1.2".into()));
        let expected = json!({"channel": "#ops", "text": "Lunch?\n:one: Pizza\n:two: Soup", "unfurl_links": false, "unfurl_media": false, "thread_ts": "1.2"});
        assert_eq!(question(&command), expected);
        let reactions = json!([{"name": "one", "count": 3}, {"name": "two", "count": "x"}, 4]);
        assert_eq!(with_reactions(&json!({"text": "Lunch?", "reactions": reactions})), "Lunch?\n(reactions: :one: 3)");
        assert_eq!(with_reactions(&json!({"text": "Lunch?", "reactions": []})), "Lunch?");
    }
}
