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
use crate::{Certainty, ChannelSecret, SendFailure};

const BASE: &str = "https://discord.com/api/v10";
const ACTIONS: &[ChannelAction] = &ChannelAction::ALL;
const LONGEST: usize = 2_000;
/// Where attachments are.
const FILES: &str = "https://cdn.discordapp.com/";
/// Characters of a nonce.
const NONCE: usize = 25;
/// Characters of the label of a button, and of what it stands for with its number.
const LABEL: usize = 80;
const CUSTOM_ID: usize = 100;
/// Characters of the question of a poll, and of an answer.
const QUESTION: usize = 300;
const POLL_ANSWER: usize = 55;
/// A message whose links are not previewed: for a preview their addresses are fetched, with whatever is in them, before anybody clicks.
const WITHOUT_PREVIEWS: u32 = 1 << 2;
/// A message that alerts nobody.
const SILENT: u32 = 1 << 12;
/// As Discord asks for it; others may be blocked.
const USER_AGENT: &str = concat!("DiscordBot (haft, ", env!("CARGO_PKG_VERSION"), ")");
/// A public thread, and the kinds of channels that are threads.
const PUBLIC_THREAD: u32 = 11;
const THREADS: std::ops::RangeInclusive<u64> = 10..=12;

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
        let request = WireRequest::new(method, format!("{}{path}", self.base));
        request.header("user-agent", USER_AGENT).header("authorization", authorization)
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

    /// A thread is a channel of its own: rules on the recipient are about the channel that it is in.
    async fn check_thread(&self, command: &ChannelCommand) -> Result<(), SendFailure> {
        let Some(thread) = command.thread_id.as_ref().filter(|thread| **thread != command.to) else { return Ok(()) };
        let before = |failure: SendFailure| SendFailure { certainty: failure.certainty.before_sending(), ..failure };
        let found = self.call(self.request("GET", &format!("/channels/{}", encoded(thread)))).await.map_err(before)?;
        let is_thread = found["type"].as_u64().is_some_and(|kind| THREADS.contains(&kind));
        if is_thread && found["parent_id"] == command.to.as_str() {
            return Ok(());
        }
        Err(SendFailure::refused(format!("{thread} is no thread of the channel {}", command.to)))
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

    /// A channel that cannot be read, such as one that the bot was taken out of, keeps the others from nothing.
    async fn fetch(&self, cursor: Option<&str>) -> Result<PolledMessages, SendFailure> {
        let mut cursors = incoming::Cursors::parse(cursor);
        let (mut messages, mut failed) = (Vec::new(), None);
        for room in &self.conversations {
            let after = cursors.after(room).map(|id| format!("&after={id}")).unwrap_or_default();
            let limit = if after.is_empty() { 1 } else { 100 };
            match self.list(&format!("/channels/{}/messages?limit={limit}{after}", encoded(room))).await {
                Ok(list) => messages.extend(incoming::messages(room, &list, &mut cursors)),
                Err(failure) => {
                    let is_limited = failure.certainty == Certainty::Later;
                    failed = Some(SendFailure { message: format!("channel {room}: {failure}"), ..failure });
                    if is_limited {
                        break;
                    }
                }
            }
        }
        let next = cursors.to_string();
        match failed {
            // Told when there is nothing else to tell.
            Some(failure) if messages.is_empty() && cursor.unwrap_or_default() == next => Err(failure),
            _ => Ok(PolledMessages { messages, cursor: Some(next) }),
        }
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
            None => check_choices(command),
        }
    }

    /// A message with the same nonce is not made again for some minutes. Threads have no nonce; the others end in the same state.
    fn is_idempotent(&self, action: ChannelAction) -> bool {
        action != ChannelAction::Thread
    }

    fn perform<'a>(&'a self, command: &'a ChannelCommand, key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
        Box::pin(async move {
            self.check_thread(command).await?;
            let result = match command.action {
                ChannelAction::Send | ChannelAction::Reply | ChannelAction::Poll => self.send(command, key).await?,
                ChannelAction::Thread => self.begin_thread(command, key).await?,
                ChannelAction::Edit => self.call(self.request("PATCH", &path(command, "")).json(&edit(command))).await?,
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

/// What Discord would refuse without a word on which of them it is.
fn check_choices(command: &ChannelCommand) -> Result<(), String> {
    let is_longer = |text: &str, most: usize| text.chars().count() > most;
    if command.action == ChannelAction::Poll {
        if is_longer(&command.text, QUESTION) {
            return Err(format!("the question of a poll has at most {QUESTION} characters in Discord"));
        }
        let is_long = command.choices.iter().any(|answer| is_longer(answer, POLL_ANSWER));
        return if is_long { Err(format!("an answer of a poll has at most {POLL_ANSWER} characters in Discord")) } else { Ok(()) };
    }
    let is_long = command.choices.iter().map(|choice| button(choice)).any(|(label, value)| {
        // With a number of one digit and a colon before it.
        is_longer(label, LABEL) || is_longer(value, CUSTOM_ID - 2)
    });
    if is_long { Err(format!("a label of a button has at most {LABEL} characters in Discord")) } else { Ok(()) }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 20 && !id.starts_with('0') && id.bytes().all(|byte| byte.is_ascii_digit())
}

fn decode(answer: &WireAnswer) -> Result<Value, SendFailure> {
    if answer.status == 204 {
        return Ok(Value::Null);
    }
    let Some(body) = answer.object() else { return Err(answer.failure(None)) };
    if answer.is_success() && body["id"].is_string() {
        return Ok(body);
    }
    let words = body["message"].as_str().map(|words| match detail(&body["errors"], "") {
        Some(detail) => format!("{words}: {detail}"),
        None => words.to_owned(),
    });
    if let (429, Some(seconds)) = (answer.status, body["retry_after"].as_f64()) {
        let seconds = Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0));
        return Err(SendFailure::later("Discord is asked too often", Some(seconds)));
    }
    Err(answer.failure(words.as_deref()))
}

/// The first of what is wrong with a request, after the place where it is: `content: Must be 2000 or fewer in length.`
fn detail(errors: &Value, place: &str) -> Option<String> {
    if let Some(words) = errors["_errors"][0]["message"].as_str() {
        return Some(if place.is_empty() { words.to_owned() } else { format!("{place}: {words}") });
    }
    errors.as_object()?.iter().find_map(|(name, inner)| {
        let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
        detail(inner, &place)
    })
}

fn path(command: &ChannelCommand, rest: &str) -> String {
    let room = command.thread_id.as_deref().unwrap_or(&command.to);
    format!("/channels/{}/messages/{}{rest}", encoded(room), encoded(command.message_id.as_deref().unwrap_or_default()))
}

/// The same key is the same nonce, so that a message that was sent twice is made once.
fn nonce(key: &str) -> String {
    crate::signature::sha256(key.as_bytes())[..NONCE].to_owned()
}

/// A model must not be able to alert a whole server.
fn mentions() -> Value {
    json!({ "parse": ["users"] })
}

fn edit(command: &ChannelCommand) -> Value {
    json!({ "content": command.text, "components": [], "allowed_mentions": mentions() })
}

fn message(command: &ChannelCommand, key: &str) -> Value {
    let flags = if command.is_silent { WITHOUT_PREVIEWS | SILENT } else { WITHOUT_PREVIEWS };
    let mut body = json!({ "nonce": nonce(key), "enforce_nonce": true, "allowed_mentions": mentions(), "flags": flags });
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
