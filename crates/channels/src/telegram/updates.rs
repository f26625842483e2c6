//! Messages and button presses that come in.

use serde_json::{Value, json};

use crate::driver::{ButtonPress, IncomingMessage, IncomingSender, PolledMessages, VoiceNote};

/// How long Telegram waits for an update.
const WAIT_SECONDS: u64 = 25;
/// What was written before the first start is skipped: `-1` is the newest update alone.
const NEWEST: i64 = -1;

pub(super) fn request(cursor: Option<&str>) -> Value {
    let offset = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(NEWEST);
    let timeout = if cursor.is_some() { WAIT_SECONDS } else { 0 };
    json!({ "offset": offset, "limit": 100, "timeout": timeout, "allowed_updates": ["message", "callback_query"] })
}

/// Updates that make no sense are skipped, and the cursor is behind them.
pub(super) fn decode(updates: &Value, cursor: Option<&str>) -> PolledMessages {
    let updates = updates.as_array().map(Vec::as_slice).unwrap_or_default();
    let newest = updates.iter().filter_map(|update| update["update_id"].as_i64()).max();
    let next = newest.and_then(|id| id.checked_add(1)).map(|id| id.to_string());
    // The first answer only says where to begin.
    let messages = if cursor.is_some() { updates.iter().filter_map(message).collect() } else { Vec::new() };
    PolledMessages { messages, cursor: next.or_else(|| Some(cursor.unwrap_or("0").to_owned())) }
}

fn message(update: &Value) -> Option<IncomingMessage> {
    let press = &update["callback_query"];
    let (message, from) =
        if press.is_object() { (&press["message"], &press["from"]) } else { (&update["message"], &update["message"]["from"]) };
    let chat = &message["chat"];
    let is_bot = from["is_bot"] == true && !press.is_object();
    let text = message["text"].as_str().or(message["caption"].as_str()).unwrap_or_default();
    // A button of a game stands for nothing.
    if press.is_object() && !press["data"].is_string() {
        return None;
    }
    let voice = voice(message).filter(|_| !press.is_object());
    if is_bot || (text.is_empty() && voice.is_none() && !press.is_object()) {
        return None;
    }
    Some(IncomingMessage {
        conversation: chat["id"].as_i64()?.to_string(),
        thread: message["message_thread_id"].as_i64().filter(|_| message["is_topic_message"] == true).map(|id| id.to_string()),
        is_group: chat["type"] != "private",
        sender: sender(from)?,
        id: update["update_id"].as_i64()?.to_string(),
        text: if press.is_object() { String::new() } else { text.to_owned() },
        press: press["data"]
            .as_str()
            .map(|data| ButtonPress { value: data.to_owned(), acknowledge: press["id"].as_str().map(str::to_owned) }),
        voice,
        doubt: None,
        subject: None,
    })
}

/// A voice message, or a sound file.
fn voice(message: &Value) -> Option<VoiceNote> {
    let sound = ["voice", "audio"].iter().map(|kind| &message[*kind]).find(|sound| sound.is_object())?;
    Some(VoiceNote {
        id: sound["file_id"].as_str()?.to_owned(),
        mime: sound["mime_type"].as_str().unwrap_or("audio/ogg").to_owned(),
        seconds: sound["duration"].as_u64(),
    })
}

fn sender(from: &Value) -> Option<IncomingSender> {
    let names: Vec<&str> = ["first_name", "last_name"].iter().filter_map(|key| from[*key].as_str()).collect();
    Some(IncomingSender {
        id: from["id"].as_i64()?.to_string(),
        username: from["username"].as_str().map(str::to_owned),
        name: (!names.is_empty()).then(|| names.join(" ")),
    })
}
