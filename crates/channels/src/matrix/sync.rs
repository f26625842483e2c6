//! Messages that come in with `/sync`.

use serde_json::Value;

use super::CLIENT;
use crate::driver::{IncomingMessage, IncomingSender, PolledMessages, VoiceNote};
use crate::wire::encoded;

/// Nothing but messages: no presence, no account data, no members.
const FILTER: &str = r#"{"presence":{"types":[]},"account_data":{"types":[]},"room":{"ephemeral":{"types":[]},"account_data":{"types":[]},"state":{"types":[]},"timeline":{"types":["m.room.message"],"limit":50}}}"#;

pub(super) fn path(cursor: Option<&str>) -> String {
    let (since, timeout) = match cursor {
        Some(cursor) => (format!("&since={}", encoded(cursor)), 25_000),
        None => (String::new(), 0),
    };
    format!("{CLIENT}/sync?timeout={timeout}&filter={}{since}", encoded(FILTER))
}

/// The messages of others. The first answer only says where to begin.
pub(super) fn decode(body: &Value, is_first: bool, own: &str) -> Option<PolledMessages> {
    let cursor = Some(body["next_batch"].as_str()?.to_owned());
    if is_first {
        return Some(PolledMessages { messages: Vec::new(), cursor });
    }
    let rooms = body["rooms"]["join"].as_object().into_iter().flatten();
    let messages = rooms.flat_map(|(room, state)| {
        let events = state["timeline"]["events"].as_array().into_iter().flatten();
        events.filter_map(move |event| message(room, event, own))
    });
    Some(PolledMessages { messages: messages.collect(), cursor })
}

fn voice(content: &Value) -> Option<VoiceNote> {
    let is_voice = content["msgtype"] == "m.audio";
    Some(VoiceNote {
        id: content["url"].as_str().filter(|_| is_voice)?.to_owned(),
        mime: content["info"]["mimetype"].as_str().unwrap_or("audio/ogg").to_owned(),
        seconds: content["info"]["duration"].as_u64().map(|milliseconds| milliseconds / 1000),
    })
}

fn message(room: &str, event: &Value, own: &str) -> Option<IncomingMessage> {
    let (content, sender) = (&event["content"], event["sender"].as_str()?);
    let is_message = event["type"] == "m.room.message";
    let is_text = is_message && content["msgtype"] == "m.text";
    let voice = voice(content).filter(|_| is_message);
    let is_edit = content["m.relates_to"]["rel_type"] == "m.replace";
    if !(is_text || voice.is_some()) || is_edit || own == sender {
        return None;
    }
    let thread = content["m.relates_to"]["event_id"].as_str().filter(|_| content["m.relates_to"]["rel_type"] == "m.thread");
    Some(IncomingMessage {
        conversation: room.to_owned(),
        thread: thread.map(str::to_owned),
        // The server says how many members there are only when that changes, and a room is one conversation: always the stricter one.
        is_group: true,
        sender: IncomingSender { id: sender.to_owned(), username: None, name: None },
        id: event["event_id"].as_str()?.to_owned(),
        // The body of a recording is the name of its file.
        text: if voice.is_some() { String::new() } else { content["body"].as_str().filter(|text| !text.is_empty())?.to_owned() },
        press: None,
        voice,
        doubt: None,
        subject: None,
    })
}
