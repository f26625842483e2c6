//! Matrix: the client-server API. Messages come in by `/sync`, which waits for them.

mod polls;
mod sync;
#[cfg(test)]
mod tests;

use std::time::Duration;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelEntry, ChannelFile, ChannelKind, ChannelReceipt};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::driver::{Capabilities, ChannelDriver, PolledMessages, VoiceNote};
use crate::settings::ChannelSettings;
use crate::wire::{ChannelWire, WireAnswer, WireRequest, encoded};
use crate::{ChannelSecret, SendFailure};

const CLIENT: &str = "/_matrix/client/v3";
const ACTIONS: &[ChannelAction] = &[
    ChannelAction::Send,
    ChannelAction::Reply,
    ChannelAction::Edit,
    ChannelAction::Delete,
    ChannelAction::React,
    ChannelAction::Read,
    ChannelAction::Poll,
    ChannelAction::Thread,
];
const LONGEST: usize = 16_000;

/// An account of a server.
pub(crate) struct Matrix {
    wire: ChannelWire,
    base: String,
    token: ChannelSecret,
    /// Our own id, once it is known: what we write is not read.
    user: OnceCell<String>,
}

impl Matrix {
    pub(crate) fn new(settings: &ChannelSettings) -> Result<Self, String> {
        if settings.base_url.is_none() {
            return Err("base_url is not set: the address of your Matrix server".into());
        }
        let (base, is_local) = settings.base("")?;
        let user = settings.user.clone().map_or_else(OnceCell::new, |user| OnceCell::new_with(Some(user)));
        Ok(Self { wire: ChannelWire::new(is_local, settings.secrets()), base, token: settings.token()?, user })
    }

    fn request(&self, method: &'static str, path: &str) -> WireRequest {
        let authorization = format!("Bearer {}", self.token.expose());
        WireRequest::new(method, format!("{}{path}", self.base)).header("authorization", authorization)
    }

    async fn call(&self, request: WireRequest) -> Result<Value, SendFailure> {
        decode(&self.wire.send(request).await?)
    }

    /// The id of a room that is named by its alias. Nothing was sent if that fails.
    async fn room(&self, to: &str) -> Result<String, SendFailure> {
        if !to.starts_with('#') {
            return Ok(to.to_owned());
        }
        let path = format!("{CLIENT}/directory/room/{}", encoded(to));
        let before = |failure: SendFailure| SendFailure { certainty: failure.certainty.before_sending(), ..failure };
        let found = self.call(self.request("GET", &path)).await.map_err(before)?;
        found["room_id"].as_str().map(str::to_owned).ok_or_else(|| SendFailure::refused("the server does not say which room that is"))
    }

    /// Sends an event. The server knows the key, and makes one event of two requests with it.
    async fn put(&self, room: &str, kind: &str, content: &Value, key: &str) -> Result<ChannelReceipt, SendFailure> {
        let path = format!("{CLIENT}/rooms/{}/send/{kind}/{}", encoded(room), encoded(key));
        event(&self.call(self.request("PUT", &path).json(content)).await?)
    }

    /// The files first, each an event of its own, then the text. Nobody sees an upload, so a failure there is none of a message.
    async fn send(&self, room: &str, command: &ChannelCommand, key: &str) -> Result<ChannelReceipt, SendFailure> {
        let mut events = Vec::new();
        for (number, file) in command.files.iter().enumerate() {
            let before = |failure: SendFailure| SendFailure { certainty: failure.certainty.before_sending(), ..failure };
            let content = file_content(file, &self.upload(file).await.map_err(before)?);
            events.push((content, format!("{key}-{number}")));
        }
        if !command.text.is_empty() {
            events.push((message(command), key.to_owned()));
        }
        let mut sent = ChannelReceipt::delivered(None);
        for (number, (content, key)) in events.iter().enumerate() {
            // What was sent stays: the rest is tried again, and if that fails it is neither delivered nor not delivered.
            let partial = |failure: SendFailure| SendFailure {
                retry_after: failure.retry_after,
                ..SendFailure::unknown(format!("{number} of {} parts were sent, and then: {failure}", events.len()))
            };
            sent = self
                .put(room, "m.room.message", content, key)
                .await
                .map_err(|failure| if number == 0 { failure } else { partial(failure) })?;
        }
        Ok(sent)
    }

    async fn upload(&self, file: &ChannelFile) -> Result<String, SendFailure> {
        let request = self.request("POST", &format!("/_matrix/media/v3/upload?filename={}", encoded(&file.name)));
        let stored = self.call(request.bytes(&file.media_type, file.content.clone())).await?;
        stored["content_uri"].as_str().map(str::to_owned).ok_or_else(|| SendFailure::refused("the server named no place for the file"))
    }

    async fn read(&self, room: &str, command: &ChannelCommand) -> Result<ChannelReceipt, SendFailure> {
        let (limit, room) = (command.limit, encoded(room));
        let from = match &command.before {
            Some(event) => format!("&from={}", encoded(&self.token_before(&room, event).await?)),
            None => String::new(),
        };
        let path = match &command.thread_id {
            Some(first) => format!("/_matrix/client/v1/rooms/{room}/relations/{}/m.thread?dir=b&limit={limit}{from}", encoded(first)),
            None => format!("{CLIENT}/rooms/{room}/messages?dir=b&limit={limit}{from}"),
        };
        let body = self.call(self.request("GET", &path)).await?;
        Ok(ChannelReceipt { entries: entries(&body), ..ChannelReceipt::delivered(None) })
    }

    /// Where to go back from an event: the server counts by tokens of its own.
    async fn token_before(&self, room: &str, event: &str) -> Result<String, SendFailure> {
        let path = format!("{CLIENT}/rooms/{room}/context/{}?limit=0", encoded(event));
        let context = self.call(self.request("GET", &path)).await?;
        context["start"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| SendFailure::unknown("the server does not say what is before that message"))
    }

    async fn own_id(&self) -> Result<&str, SendFailure> {
        let id = self.user.get_or_try_init(|| async {
            let body = self.call(self.request("GET", &format!("{CLIENT}/account/whoami"))).await?;
            body["user_id"].as_str().map(str::to_owned).ok_or_else(|| SendFailure::unknown("the server does not say whose the token is"))
        });
        id.await.map(String::as_str)
    }
}

impl ChannelDriver for Matrix {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Matrix
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { actions: ACTIONS, attachments: true, buttons: false, subject: false, longest: LONGEST, outward: true }
    }

    fn check(&self, command: &ChannelCommand) -> Result<(), String> {
        let is_room = (command.to.starts_with('!') || command.to.starts_with('#')) && command.to.len() > 1;
        if !is_room {
            return Err("a recipient of Matrix is the id of a room, such as !abc:example.org, or #alias:example.org".into());
        }
        let ids = [command.message_id.as_ref(), command.thread_id.as_ref(), command.before.as_ref()];
        if ids.into_iter().flatten().any(|id| !id.starts_with('$')) {
            return Err("the id of a message of Matrix begins with $".into());
        }
        if command.is_removal {
            return Err("a reaction of Matrix is a message of its own: use the action 'delete' with its id".into());
        }
        Ok(())
    }

    /// Every event has a transaction id.
    fn is_idempotent(&self, _action: ChannelAction) -> bool {
        true
    }

    fn perform<'a>(&'a self, command: &'a ChannelCommand, key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
        Box::pin(async move {
            let room = self.room(&command.to).await?;
            let id = command.message_id.as_deref().unwrap_or_default();
            match command.action {
                ChannelAction::Send | ChannelAction::Reply | ChannelAction::Thread => self.send(&room, command, key).await,
                ChannelAction::Edit => self.put(&room, "m.room.message", &edit(command), key).await,
                ChannelAction::React => self.put(&room, "m.reaction", &reaction(command), key).await,
                ChannelAction::Delete => {
                    let path = format!("{CLIENT}/rooms/{}/redact/{}/{}", encoded(&room), encoded(id), encoded(key));
                    event(&self.call(self.request("PUT", &path).json(&json!({}))).await?)
                }
                ChannelAction::Read => self.read(&room, command).await,
                ChannelAction::Poll => self.put(&room, polls::START, &polls::start(command), key).await,
            }
        })
    }

    /// Of our own server, which has those of others too.
    fn fetch_voice<'a>(&'a self, note: &'a VoiceNote) -> BoxFuture<'a, Result<Vec<u8>, SendFailure>> {
        Box::pin(async move {
            let named = note.id.strip_prefix("mxc://").and_then(|place| place.split_once('/'));
            let (server, id) = named.ok_or_else(|| SendFailure::refused("the recording has no address of Matrix"))?;
            let path = format!("/_matrix/client/v1/media/download/{}/{}", encoded(server), encoded(id));
            let answer = self.wire.send(self.request("GET", &path).recording()).await?;
            if answer.is_success() { Ok(answer.body) } else { Err(answer.failure(None)) }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
        Box::pin(async {
            let body = self.call(self.request("GET", &format!("{CLIENT}/account/whoami"))).await?;
            Ok(body["user_id"].as_str().unwrap_or("an account without a name").to_owned())
        })
    }

    fn polls(&self) -> bool {
        true
    }

    fn poll<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<PolledMessages, SendFailure>> {
        Box::pin(async move {
            let own = self.own_id().await?;
            let body = self.call(self.request("GET", &sync::path(cursor)).patient()).await?;
            sync::decode(&body, cursor.is_none(), own).ok_or_else(|| SendFailure::unknown("the server does not say where to continue"))
        })
    }
}

fn decode(answer: &WireAnswer) -> Result<Value, SendFailure> {
    let Some(body) = answer.object() else { return Err(answer.failure(None)) };
    if answer.is_success() {
        return Ok(body);
    }
    let words = body["error"].as_str().or(body["errcode"].as_str());
    if body["errcode"] == "M_LIMIT_EXCEEDED" {
        let wait = body["retry_after_ms"].as_u64().map(|wait| Duration::from_millis(wait.min(86_400_000)));
        return Err(SendFailure::later("the server is asked too often", wait.or(answer.retry_after)));
    }
    Err(answer.failure(words))
}

fn event(body: &Value) -> Result<ChannelReceipt, SendFailure> {
    let id = body["event_id"].as_str().map(str::to_owned);
    id.map(|id| ChannelReceipt::delivered(Some(id))).ok_or_else(|| SendFailure::unknown("the server named no event"))
}

fn message(command: &ChannelCommand) -> Value {
    let mut content = json!({ "msgtype": "m.text", "body": command.text, "m.mentions": mentions(&command.text) });
    let answered = command.message_id.as_deref().filter(|_| command.action == ChannelAction::Reply);
    match (command.thread_id.as_deref(), answered) {
        (Some(thread), _) => content["m.relates_to"] = json!({ "rel_type": "m.thread", "event_id": thread }),
        (None, Some(id)) => content["m.relates_to"] = json!({ "m.in_reply_to": { "event_id": id } }),
        (None, None) => {
            if let (ChannelAction::Thread, Some(root)) = (command.action, &command.message_id) {
                content["m.relates_to"] = json!({ "rel_type": "m.thread", "event_id": root });
            }
        }
    }
    content
}

/// Who is alerted: the users whose ids are in the text. A model must not be able to alert a whole room with `@room`.
fn mentions(text: &str) -> Value {
    let is_id =
        |word: &&str| word.starts_with('@') && word.split_once(':').is_some_and(|(name, server)| name.len() > 1 && !server.is_empty());
    let words = text.split(|ch: char| ch.is_whitespace() || "()[]<>,;!?\"".contains(ch)).map(|word| word.trim_end_matches(['.', ':']));
    let ids: Vec<&str> = words.filter(is_id).take(50).collect();
    if ids.is_empty() { json!({}) } else { json!({ "user_ids": ids }) }
}

fn edit(command: &ChannelCommand) -> Value {
    json!({
        "msgtype": "m.text",
        "body": format!("* {}", command.text),
        // An edit alerts nobody again.
        "m.mentions": {},
        "m.new_content": { "msgtype": "m.text", "body": command.text, "m.mentions": mentions(&command.text) },
        "m.relates_to": { "rel_type": "m.replace", "event_id": command.message_id },
    })
}

fn reaction(command: &ChannelCommand) -> Value {
    json!({ "m.relates_to": { "rel_type": "m.annotation", "event_id": command.message_id, "key": command.emoji } })
}

fn file_content(file: &ChannelFile, uri: &str) -> Value {
    let kind = if file.media_type.starts_with("image/") { "m.image" } else { "m.file" };
    let info = json!({ "mimetype": file.media_type, "size": file.content.len() });
    json!({ "msgtype": kind, "body": file.name, "filename": file.name, "url": uri, "info": info })
}

/// The server lists the newest first.
fn entries(body: &Value) -> Vec<ChannelEntry> {
    let entry = |event: &Value| {
        let at = event["origin_server_ts"].as_i64().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
        Some(ChannelEntry {
            id: event["event_id"].as_str()?.to_owned(),
            from: event["sender"].as_str()?.to_owned(),
            at: at.map(|at| at.to_string()),
            text: polls::text(event).or_else(|| event["content"]["body"].as_str().map(str::to_owned))?,
        })
    };
    let mut entries: Vec<ChannelEntry> = body["chunk"].as_array().into_iter().flatten().filter_map(entry).collect();
    entries.reverse();
    entries
}
