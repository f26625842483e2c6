//! Messages that were fetched, and pressed buttons.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::{ButtonPress, HookAnswer, IncomingMessage, IncomingSender, VoiceNote};

/// How long to wait before asking again: Discord allows about one request a second.
pub(super) const PAUSE: Duration = Duration::from_secs(5);
/// The kinds of interactions: a check of the address, and a pressed button.
const PING: u64 = 1;
const COMPONENT: u64 = 3;

/// The newest message of each channel that was read, as `ID=MESSAGE ID=MESSAGE`.
#[derive(Debug, Default)]
pub(super) struct Cursors(BTreeMap<String, u64>);

impl Cursors {
    pub(super) fn parse(text: Option<&str>) -> Self {
        let pair = |pair: &str| pair.split_once('=').and_then(|(room, id)| Some((room.to_owned(), id.parse().ok()?)));
        Self(text.unwrap_or_default().split(' ').filter_map(pair).collect())
    }
    pub(super) fn after(&self, room: &str) -> Option<u64> {
        self.0.get(room).copied()
    }
}

impl std::fmt::Display for Cursors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|(room, id)| format!("{room}={id}")).collect();
        f.write_str(&pairs.join(" "))
    }
}

/// The new messages of users, oldest first. The first time, only the place to begin is noted.
pub(super) fn messages(room: &str, list: &Value, cursors: &mut Cursors) -> Vec<IncomingMessage> {
    let is_first = cursors.after(room).is_none();
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let newest = list.iter().filter_map(number).max().or(is_first.then_some(0));
    if let Some(newest) = newest {
        let before = cursors.0.entry(room.to_owned()).or_insert(newest);
        *before = newest.max(*before);
    }
    if is_first { Vec::new() } else { list.iter().rev().filter_map(|item| message(room, item)).collect() }
}

fn number(message: &Value) -> Option<u64> {
    message["id"].as_str()?.parse().ok()
}

fn message(room: &str, message: &Value) -> Option<IncomingMessage> {
    if message["author"]["bot"] == true {
        return None;
    }
    let (text, voice) = (message["content"].as_str().unwrap_or_default(), voice(message));
    if text.is_empty() && voice.is_none() {
        return None;
    }
    Some(IncomingMessage {
        conversation: room.to_owned(),
        thread: None,
        is_group: true,
        sender: sender(&message["author"])?,
        id: message["id"].as_str()?.to_owned(),
        text: text.to_owned(),
        press: None,
        voice,
        doubt: None,
        subject: None,
    })
}

/// A voice message, or a sound file.
fn voice(message: &Value) -> Option<VoiceNote> {
    let is_sound = |file: &&Value| file["content_type"].as_str().is_some_and(|mime| mime.starts_with("audio/"));
    let file = message["attachments"].as_array()?.iter().find(is_sound)?;
    Some(VoiceNote {
        id: file["url"].as_str()?.to_owned(),
        mime: file["content_type"].as_str()?.to_owned(),
        seconds: file["duration_secs"]
            .as_f64()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .map(|length| length.as_secs()),
    })
}

fn sender(user: &Value) -> Option<IncomingSender> {
    Some(IncomingSender {
        id: user["id"].as_str()?.to_owned(),
        username: user["username"].as_str().map(str::to_owned),
        name: user["global_name"].as_str().map(str::to_owned),
    })
}

/// A request whose signature is right.
pub(super) fn interaction(body: &[u8]) -> HookAnswer {
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return HookAnswer::refused(400, "The body is not JSON.") };
    match value["type"].as_u64() {
        Some(PING) => HookAnswer::accepted(json!({ "type": 1 }).to_string(), Vec::new()),
        // Six: the message stays as it is for now.
        Some(COMPONENT) => HookAnswer::accepted(json!({ "type": 6 }).to_string(), press(&value).into_iter().collect()),
        _ => HookAnswer::refused(400, "Only pressed buttons are taken."),
    }
}

fn press(value: &Value) -> Option<IncomingMessage> {
    let member = &value["member"]["user"];
    let (_, chosen) = value["data"]["custom_id"].as_str()?.split_once(':')?;
    Some(IncomingMessage {
        conversation: value["channel_id"].as_str()?.to_owned(),
        thread: None,
        // As its messages are: a room is one conversation.
        is_group: true,
        sender: sender(if member.is_object() { member } else { &value["user"] })?,
        id: value["id"].as_str()?.to_owned(),
        text: String::new(),
        press: Some(ButtonPress { value: chosen.to_owned(), acknowledge: None }),
        voice: None,
        doubt: None,
        subject: None,
    })
}
