//! Requests of Slack: messages, mentions, pressed buttons, and the check of the address.

use serde_json::{Value, json};

use super::text::unescape;
use crate::driver::{ButtonPress, HookAnswer, IncomingMessage, IncomingSender, VoiceNote};

/// Reads a request whose signature is right. What is not understood is accepted, or Slack would send it again.
pub(super) fn decode(body: &[u8]) -> HookAnswer {
    // Buttons come as a form with one field.
    let form = body.strip_prefix(b"payload=").map(|form| {
        let text = String::from_utf8_lossy(form).replace('+', " ");
        haft_text::percent::decode(&text).into_bytes()
    });
    let Ok(value) = serde_json::from_slice::<Value>(form.as_deref().unwrap_or(body)) else {
        return HookAnswer::refused(400, "The body is not JSON.");
    };
    if value["type"] == "url_verification" {
        return HookAnswer::accepted(json!({ "challenge": value["challenge"] }).to_string(), Vec::new());
    }
    HookAnswer::accepted("", messages(&value))
}

/// The messages of what Slack tells, by a request or over a socket.
pub(super) fn messages(value: &Value) -> Vec<IncomingMessage> {
    let message = match value["type"].as_str() {
        Some("event_callback") => message(&value["event"]),
        Some("block_actions") => press(value),
        _ => None,
    };
    message.into_iter().collect()
}

/// A message of a user. Those of bots, our own included, and changes of messages are none.
fn message(event: &Value) -> Option<IncomingMessage> {
    let is_message = matches!(event["type"].as_str(), Some("message" | "app_mention"));
    if !is_message || event.get("bot_id").is_some() || event.get("subtype").is_some_and(|subtype| subtype != "file_share") {
        return None;
    }
    let (conversation, ts) = (event["channel"].as_str()?, event["ts"].as_str()?);
    let (text, voice) = (event["text"].as_str().unwrap_or_default(), voice(event));
    if text.is_empty() && voice.is_none() {
        return None;
    }
    let sender = IncomingSender { id: event["user"].as_str()?.to_owned(), username: None, name: None };
    Some(IncomingMessage {
        conversation: conversation.to_owned(),
        thread: event["thread_ts"].as_str().map(str::to_owned),
        is_group: event["channel_type"] != "im",
        sender,
        // A mention comes as a message, too: both have the same time.
        id: format!("{conversation}:{ts}"),
        text: unescape(text),
        press: None,
        voice,
        doubt: None,
        subject: None,
    })
}

/// An audio clip, or a sound file.
fn voice(event: &Value) -> Option<VoiceNote> {
    let is_sound = |file: &&Value| {
        let is_audio = file["mimetype"].as_str().is_some_and(|mime| mime.starts_with("audio/"));
        is_audio || file["subtype"] == "slack_audio"
    };
    let file = event["files"].as_array()?.iter().find(is_sound)?;
    Some(VoiceNote {
        id: file["url_private_download"].as_str().or(file["url_private"].as_str())?.to_owned(),
        mime: file["mimetype"].as_str().unwrap_or("audio/mp4").to_owned(),
        seconds: file["duration_ms"].as_u64().map(|length| length / 1000),
    })
}

fn press(payload: &Value) -> Option<IncomingMessage> {
    let (action, user) = (&payload["actions"][0], &payload["user"]);
    let conversation = payload["channel"]["id"].as_str()?;
    Some(IncomingMessage {
        conversation: conversation.to_owned(),
        thread: payload["message"]["thread_ts"].as_str().map(str::to_owned),
        is_group: !conversation.starts_with('D'),
        sender: IncomingSender {
            id: user["id"].as_str()?.to_owned(),
            username: user["username"].as_str().map(str::to_owned),
            name: user["name"].as_str().map(str::to_owned),
        },
        id: format!("{conversation}:{}:{}", action["action_ts"].as_str()?, action["action_id"].as_str()?),
        text: String::new(),
        press: Some(ButtonPress { value: action["value"].as_str()?.to_owned(), acknowledge: None }),
        voice: None,
        doubt: None,
        subject: None,
    })
}
