//! Discord: the HTTP API of bots. Messages of listed channels come in by asking; pressed buttons as signed requests.

mod incoming;
#[cfg(test)]
mod tests;

use std::time::Duration;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelEntry, ChannelKind, ChannelReceipt};
use serde_json::{Value, json};

use crate::driver::{Capabilities, ChannelDriver, HookAnswer, HookRequest, PolledMessages, VoiceNote, button};
use crate::settings::ChannelSettings;
use crate::wire::{ChannelWire, FormPart, WireAnswer, WireRequest, encoded, multipart};
use crate::{ChannelSecret, SendFailure};

const BASE: &str = "https://discord.com/api/v10";
const ACTIONS: &[ChannelAction] = &ChannelAction::ALL;
const LONGEST: usize = 2_000;
/// Where attachments are.
const FILES: &str = "https://cdn.discordapp.com/";
/// Characters of a nonce.
const NONCE: usize = 25;
/// A message that alerts nobody.
const SILENT: u32 = 1 << 12;
/// A public thread.
const PUBLIC_THREAD: u32 = 11;

/// A bot.
pub(crate) struct Discord {
    wire: ChannelWire,
    base: String,
    token: ChannelSecret,
    public_key: Option<String>,
    conversations: Vec<String>,
}

impl Discord {
    pub(crate) fn new(settings: &ChannelSettings) -> Result<Self, String> {
        let (base, is_local) = settings.base(BASE)?;
        if let Some(wrong) = settings.conversations.iter().find(|id| !is_id(id)) {
            return Err(format!("conversations has '{wrong}', and the id of a channel of Discord is a number"));
        }
        let (token, public_key) = (settings.token()?, settings.public_key.clone());
        Ok(Self {
            wire: ChannelWire::new(is_local, settings.secrets()),
            base,
            token,
            public_key,
            conversations: settings.conversations.clone(),
        })
    }

    fn request(&self, method: &'static str, path: &str) -> WireRequest {
        let authorization = format!("Bot {}", self.token.expose());
        WireRequest::new(method, format!("{}{path}", self.base)).header("authorization", authorization)
    }

    async fn call(&self, request: WireRequest) -> Result<Value, SendFailure> {
        decode(&self.wire.send(request).await?)
    }

    async fn send(&self, command: &ChannelCommand, key: &str) -> Result<Value, SendFailure> {
        let room = command.thread_id.as_deref().unwrap_or(&command.to);
        let request = self.request("POST", &format!("/channels/{}/messages", encoded(room)));
        let body = message(command, key);
        if command.files.is_empty() {
            return self.call(request.json(&body)).await;
        }
        let (media_type, form) = form(command, &body, key);
        self.call(request.bytes(&media_type, form)).await
    }

    /// A thread on a message, or without one, and its first message.
    async fn begin_thread(&self, command: &ChannelCommand, key: &str) -> Result<Value, SendFailure> {
        if command.thread_id.is_some() {
            return self.send(command, key).await;
        }
        let (path, body) = thread(command);
        let thread = self.call(self.request("POST", &path).json(&body)).await?;
        let thread_id = thread["id"].as_str().map(str::to_owned);
        let in_thread = ChannelCommand { thread_id, message_id: None, action: ChannelAction::Send, ..command.clone() };
        // The thread is there: a second try would make another.
        let failed = |failure| SendFailure::unknown(format!("the thread was made, and its message was not sent: {failure}"));
        self.send(&in_thread, key).await.map_err(failed)
    }

    async fn read(&self, command: &ChannelCommand) -> Result<ChannelReceipt, SendFailure> {
        let room = command.thread_id.as_deref().unwrap_or(&command.to);
        let before = command.before.as_deref().map(|id| format!("&before={}", encoded(id))).unwrap_or_default();
        let path = format!("/channels/{}/messages?limit={}{before}", encoded(room), command.limit.clamp(1, 100));
        let messages = self.list(&path).await?;
        Ok(ChannelReceipt { entries: entries(&messages), ..ChannelReceipt::delivered(None) })
    }

    async fn list(&self, path: &str) -> Result<Value, SendFailure> {
        let answer = self.wire.send(self.request("GET", path)).await?;
        let list = serde_json::from_slice::<Value>(&answer.body).ok().filter(Value::is_array);
        match list {
            Some(list) if answer.is_success() => Ok(list),
            _ => Err(decode(&answer).err().unwrap_or_else(|| answer.failure(None))),
        }
    }

    async fn fetch(&self, cursor: Option<&str>) -> Result<PolledMessages, SendFailure> {
        let mut cursors = incoming::Cursors::parse(cursor);
        let mut messages = Vec::new();
        for room in &self.conversations {
            let after = cursors.after(room).map(|id| format!("&after={id}")).unwrap_or_default();
            let limit = if after.is_empty() { 1 } else { 100 };
            let list = self.list(&format!("/channels/{}/messages?limit={limit}{after}", encoded(room))).await?;
            messages.extend(incoming::messages(room, &list, &mut cursors));
        }
        Ok(PolledMessages { messages, cursor: Some(cursors.to_string()) })
    }
}

impl ChannelDriver for Discord {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Discord
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { actions: ACTIONS, attachments: true, buttons: true, subject: false, longest: LONGEST, outward: true }
    }

    fn check(&self, command: &ChannelCommand) -> Result<(), String> {
        let ids = [Some(&command.to), command.message_id.as_ref(), command.thread_id.as_ref(), command.before.as_ref()];
        match ids.into_iter().flatten().find(|id| !is_id(id)) {
            Some(wrong) => Err(format!("an id of Discord is a number, and '{}' is none", haft_text::display::shorten(wrong, 40))),
            None => Ok(()),
        }
    }

    /// A message with the same nonce is not made again for some minutes. Threads have no nonce; the others end in the same state.
    fn is_idempotent(&self, action: ChannelAction) -> bool {
        action != ChannelAction::Thread
    }

    fn perform<'a>(&'a self, command: &'a ChannelCommand, key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
        Box::pin(async move {
            let result = match command.action {
                ChannelAction::Send | ChannelAction::Reply | ChannelAction::Poll => self.send(command, key).await?,
                ChannelAction::Thread => self.begin_thread(command, key).await?,
                ChannelAction::Edit => {
                    self.call(self.request("PATCH", &path(command, "")).json(&json!({ "content": command.text, "components": [] }))).await?
                }
                ChannelAction::Delete => self.call(self.request("DELETE", &path(command, ""))).await?,
                ChannelAction::React => {
                    let emoji = format!("/reactions/{}/@me", encoded(command.emoji.as_deref().unwrap_or_default()));
                    let method = if command.is_removal { "DELETE" } else { "PUT" };
                    self.call(self.request(method, &path(command, &emoji))).await?
                }
                ChannelAction::Read => return self.read(command).await,
            };
            Ok(ChannelReceipt::delivered(result["id"].as_str().map(str::to_owned).or_else(|| command.message_id.clone())))
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
        Box::pin(async {
            let bot = self.call(self.request("GET", "/users/@me")).await?;
            Ok(bot["username"].as_str().unwrap_or("a bot without a name").to_owned())
        })
    }

    fn polls(&self) -> bool {
        !self.conversations.is_empty()
    }

    fn poll<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<PolledMessages, SendFailure>> {
        Box::pin(async move {
            if cursor.is_some() {
                tokio::time::sleep(incoming::PAUSE).await;
            }
            self.fetch(cursor).await
        })
    }

    /// The address has its own signature: the token is not sent.
    fn fetch_voice<'a>(&'a self, note: &'a VoiceNote) -> BoxFuture<'a, Result<Vec<u8>, SendFailure>> {
        Box::pin(crate::voice::fetch(&self.wire, &note.id, [FILES, &self.base], None))
    }

    fn hook(&self, request: &HookRequest) -> HookAnswer {
        let Some(key) = &self.public_key else { return HookAnswer::refused(404, "This channel has no public_key and takes no requests.") };
        if !crate::signature::is_from_discord(request, key) {
            return HookAnswer::refused(401, "The signature is missing, wrong or too old.");
        }
        incoming::interaction(&request.body)
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit())
}

fn decode(answer: &WireAnswer) -> Result<Value, SendFailure> {
    if answer.status == 204 {
        return Ok(Value::Null);
    }
    let Some(body) = answer.object() else { return Err(answer.failure(None)) };
    if answer.is_success() && body["id"].is_string() {
        return Ok(body);
    }
    let words = body["message"].as_str();
    if let (429, Some(seconds)) = (answer.status, body["retry_after"].as_f64()) {
        let seconds = Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0));
        return Err(SendFailure::later("Discord is asked too often", Some(seconds)));
    }
    Err(answer.failure(words))
}

fn path(command: &ChannelCommand, rest: &str) -> String {
    let room = command.thread_id.as_deref().unwrap_or(&command.to);
    format!("/channels/{}/messages/{}{rest}", encoded(room), encoded(command.message_id.as_deref().unwrap_or_default()))
}

/// The same key is the same nonce, so that a message that was sent twice is made once.
fn nonce(key: &str) -> String {
    crate::signature::sha256(key.as_bytes())[..NONCE].to_owned()
}

fn message(command: &ChannelCommand, key: &str) -> Value {
    // A model must not be able to alert a whole server.
    let mut body = json!({ "nonce": nonce(key), "enforce_nonce": true, "allowed_mentions": { "parse": ["users"] } });
    if command.action == ChannelAction::Poll {
        let answers: Vec<Value> = command.choices.iter().map(|choice| json!({ "poll_media": { "text": choice } })).collect();
        body["poll"] = json!({ "question": { "text": command.text }, "answers": answers, "duration": 24, "allow_multiselect": false });
    } else {
        body["content"] = json!(command.text);
        if !command.choices.is_empty() {
            body["components"] = components(&command.choices);
        }
    }
    if let (ChannelAction::Reply, Some(id)) = (command.action, &command.message_id) {
        body["message_reference"] = json!({ "message_id": id });
    }
    if command.is_silent {
        body["flags"] = json!(SILENT);
    }
    body
}

/// Five buttons in a row.
fn components(choices: &[String]) -> Value {
    let element = |(number, choice): (usize, &String)| {
        let (label, value) = button(choice);
        // Two buttons of a message cannot have the same id.
        json!({ "type": 2, "style": 2, "label": label, "custom_id": format!("{number}:{value}") })
    };
    let buttons: Vec<Value> = choices.iter().enumerate().map(element).collect();
    buttons.chunks(5).map(|row| json!({ "type": 1, "components": row })).collect()
}

fn thread(command: &ChannelCommand) -> (String, Value) {
    let name = crate::texts::title(&command.text, 100);
    let room = encoded(&command.to);
    match &command.message_id {
        Some(id) => (format!("/channels/{room}/messages/{}/threads", encoded(id)), json!({ "name": name })),
        None => (format!("/channels/{room}/threads"), json!({ "name": name, "type": PUBLIC_THREAD })),
    }
}

fn form(command: &ChannelCommand, body: &Value, key: &str) -> (String, Vec<u8>) {
    let (payload, names) = (body.to_string(), (0..command.files.len()).map(|number| format!("files[{number}]")).collect::<Vec<_>>());
    let head = FormPart { name: "payload_json", file: None, content: payload.as_bytes() };
    let files = names.iter().zip(&command.files);
    let files = files.map(|(name, file)| FormPart { name, file: Some((&file.name, &file.media_type)), content: &file.content });
    multipart(&std::iter::once(head).chain(files).collect::<Vec<_>>(), key)
}

/// Discord lists the newest first.
fn entries(messages: &Value) -> Vec<ChannelEntry> {
    let entry = |message: &Value| {
        Some(ChannelEntry {
            id: message["id"].as_str()?.to_owned(),
            from: message["author"]["username"].as_str().unwrap_or("unknown").to_owned(),
            at: message["timestamp"].as_str().map(str::to_owned),
            text: message["content"].as_str().unwrap_or_default().to_owned(),
        })
    };
    let mut entries: Vec<ChannelEntry> = messages.as_array().into_iter().flatten().filter_map(entry).collect();
    entries.reverse();
    entries
}
