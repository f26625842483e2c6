//! Telegram: the Bot API over HTTPS. Messages come in by long polling.

mod updates;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelKind, ChannelReceipt};
use serde_json::{Value, json};

use crate::driver::{ButtonPress, Capabilities, ChannelDriver, PolledMessages, VoiceNote};
use crate::settings::ChannelSettings;
use crate::wire::{ChannelWire, FormPart, WireAnswer, WireRequest, multipart};
use crate::{ChannelSecret, SendFailure};

const BASE: &str = "https://api.telegram.org";
const ACTIONS: &[ChannelAction] = &[
    ChannelAction::Send,
    ChannelAction::Reply,
    ChannelAction::Edit,
    ChannelAction::Delete,
    ChannelAction::React,
    ChannelAction::Poll,
    ChannelAction::Thread,
];
const LONGEST: usize = 4_096;
const LONGEST_CAPTION: usize = 1_024;
/// Bytes of what a button stands for.
const BUTTON_BYTES: usize = 64;

/// How the answer to an edit begins that changes nothing: the message is as it should be.
const UNCHANGED: &str = "Bad Request: message is not modified";

/// A bot.
pub(crate) struct Telegram {
    wire: ChannelWire,
    base: String,
    token: ChannelSecret,
}

impl Telegram {
    pub(crate) fn new(settings: &ChannelSettings) -> Result<Self, String> {
        let (base, is_local) = settings.base(BASE)?;
        Ok(Self { wire: ChannelWire::new(is_local, settings.secrets()), base, token: settings.token()? })
    }

    fn request(&self, method: &str) -> WireRequest {
        WireRequest::new("POST", format!("{}/bot{}/{method}", self.base, self.token.expose()))
    }

    async fn call(&self, method: &str, body: &Value) -> Result<Value, SendFailure> {
        decode(&self.wire.send(self.request(method).json(body)).await?)
    }

    async fn send(&self, command: &ChannelCommand, key: &str) -> Result<Value, SendFailure> {
        if command.files.is_empty() {
            return self.call("sendMessage", &message(command)).await;
        }
        let (method, fields) = with_files(command);
        let (media_type, body) = form(command, &fields, key);
        decode(&self.wire.send(self.request(method).bytes(&media_type, body)).await?)
    }

    /// A topic of a forum, and its first message.
    async fn begin_topic(&self, command: &ChannelCommand, key: &str) -> Result<Value, SendFailure> {
        if command.thread_id.is_some() {
            return self.send(command, key).await;
        }
        let name = crate::texts::title(&command.text, 128);
        let topic = self.call("createForumTopic", &json!({ "chat_id": chat(&command.to), "name": name })).await?;
        let thread_id = topic["message_thread_id"].as_i64().map(|id| id.to_string());
        let in_topic = ChannelCommand { thread_id, ..command.clone() };
        // The topic is there: a second try would make another.
        self.send(&in_topic, key)
            .await
            .map_err(|failure| SendFailure::unknown(format!("the topic was made, and its message was not sent: {failure}")))
    }
}

impl ChannelDriver for Telegram {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { actions: ACTIONS, attachments: true, buttons: true, subject: false, longest: LONGEST, outward: true }
    }

    fn check(&self, command: &ChannelCommand) -> Result<(), String> {
        // In one way only: rules name it so.
        let is_number_of_chat = command.to.parse::<i64>().is_ok_and(|id| id.to_string() == command.to);
        let is_chat = is_number_of_chat || (command.to.starts_with('@') && command.to.len() > 1);
        let is_number = |id: &Option<String>| id.as_ref().is_none_or(|id| id.parse::<i64>().is_ok());
        let faults = [
            (!is_chat, "a recipient of Telegram is the number of a chat, or @name"),
            (!is_number(&command.message_id), "the id of a message of Telegram is a number"),
            (!is_number(&command.thread_id), "the id of a topic of Telegram is a number"),
            (
                command.action != ChannelAction::Poll && command.choices.iter().any(|choice| choice.len() > BUTTON_BYTES),
                "a label of a button has at most 64 bytes",
            ),
            (
                command.files.len() > 1 && !command.choices.is_empty(),
                "an album of Telegram has no buttons; send them as a message of their own",
            ),
            (
                !command.files.is_empty() && command.text.chars().count() > LONGEST_CAPTION,
                "a message with files has at most 1,024 characters in Telegram; send the text as a message of its own",
            ),
        ];
        faults.into_iter().find(|(is_fault, _)| *is_fault).map_or(Ok(()), |(_, why)| Err(why.to_owned()))
    }

    fn perform<'a>(&'a self, command: &'a ChannelCommand, key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
        Box::pin(async move {
            let result = match command.action {
                ChannelAction::Send | ChannelAction::Reply => self.send(command, key).await?,
                ChannelAction::Thread => self.begin_topic(command, key).await?,
                ChannelAction::Edit => self.call("editMessageText", &edit(command)).await?,
                ChannelAction::Delete => self.call("deleteMessage", &of_message(command)).await?,
                ChannelAction::React => self.call("setMessageReaction", &reaction(command)).await?,
                ChannelAction::Poll => self.call("sendPoll", &poll(command)).await?,
                ChannelAction::Read => return Err(SendFailure::refused("bots of Telegram cannot read what was written before")),
            };
            Ok(ChannelReceipt::delivered(message_id(&result).or_else(|| command.message_id.clone())))
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
        Box::pin(async {
            let bot = self.call("getMe", &json!({})).await?;
            Ok(format!("@{}", bot["username"].as_str().unwrap_or("a bot without a name")))
        })
    }

    fn polls(&self) -> bool {
        true
    }

    fn poll<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<PolledMessages, SendFailure>> {
        Box::pin(async move {
            let request = self.request("getUpdates").json(&updates::request(cursor)).patient();
            Ok(updates::decode(&decode(&self.wire.send(request).await?)?, cursor))
        })
    }

    fn fetch_voice<'a>(&'a self, note: &'a VoiceNote) -> BoxFuture<'a, Result<Vec<u8>, SendFailure>> {
        Box::pin(async move {
            let file = self.call("getFile", &json!({ "file_id": note.id })).await?;
            let path = file["file_path"].as_str().filter(|path| is_plain(path));
            let path = path.ok_or_else(|| SendFailure::refused("Telegram named no file for the recording"))?;
            let request = WireRequest::new("GET", format!("{}/file/bot{}/{path}", self.base, self.token.expose())).recording();
            let answer = self.wire.send(request).await?;
            if answer.is_success() { Ok(answer.body) } else { Err(answer.failure(None)) }
        })
    }

    fn acknowledge<'a>(&'a self, press: &'a ButtonPress) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(id) = &press.acknowledge else { return };
            // The button would only show that it waits.
            self.call("answerCallbackQuery", &json!({ "callback_query_id": id })).await.ok();
        })
    }
}

/// Whether a path of a file leads nowhere else: the address has the token.
fn is_plain(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name != ".." && name != ".";
    path.split('/').all(is_name) && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
}

/// The result of an answer, or what went wrong.
fn decode(answer: &WireAnswer) -> Result<Value, SendFailure> {
    let Some(mut body) = answer.object() else { return Err(answer.failure(None)) };
    if body["ok"] == true && answer.is_success() {
        return Ok(body["result"].take());
    }
    let words = body["description"].as_str().unwrap_or("no description");
    if answer.status == 400 && words.starts_with(UNCHANGED) {
        return Ok(Value::Null);
    }
    let mut failure = answer.failure(Some(words));
    if let Some(seconds) = body["parameters"]["retry_after"].as_u64() {
        failure = SendFailure::later(words, Some(std::time::Duration::from_secs(seconds)));
    }
    Err(failure)
}

fn message_id(result: &Value) -> Option<String> {
    let message = result.as_array().and_then(|messages| messages.first()).unwrap_or(result);
    message["message_id"].as_i64().map(|id| id.to_string())
}

fn number(id: Option<&String>) -> Option<i64> {
    id.and_then(|id| id.parse().ok())
}

fn chat(to: &str) -> Value {
    to.parse::<i64>().map_or_else(|_| json!(to), |id| json!(id))
}

/// What every message of the command has in common.
fn addressed(command: &ChannelCommand) -> Value {
    let mut body = json!({ "chat_id": chat(&command.to) });
    if let Some(thread) = number(command.thread_id.as_ref()) {
        body["message_thread_id"] = json!(thread);
    }
    if command.is_silent {
        body["disable_notification"] = json!(true);
    }
    if command.action == ChannelAction::Reply
        && let Some(id) = number(command.message_id.as_ref())
    {
        body["reply_parameters"] = json!({ "message_id": id });
    }
    body
}

fn message(command: &ChannelCommand) -> Value {
    let mut body = addressed(command);
    (body["text"], body["link_preview_options"]) = (json!(command.text), without_previews());
    if !command.choices.is_empty() {
        body["reply_markup"] = keyboard(&command.choices);
    }
    body
}

/// One button in each row. A label `Allow=haft:1:allow` stands for what is behind the sign.
fn keyboard(choices: &[String]) -> Value {
    let button = |choice: &String| {
        let (label, value) = crate::driver::button(choice);
        json!([{ "text": label, "callback_data": value }])
    };
    json!({ "inline_keyboard": choices.iter().map(button).collect::<Vec<_>>() })
}

/// For a preview of a link its address is fetched, with whatever is in it, before anybody clicks.
fn without_previews() -> Value {
    json!({ "is_disabled": true })
}

fn edit(command: &ChannelCommand) -> Value {
    let mut body = of_message(command);
    (body["text"], body["link_preview_options"]) = (json!(command.text), without_previews());
    body
}

fn of_message(command: &ChannelCommand) -> Value {
    json!({ "chat_id": chat(&command.to), "message_id": number(command.message_id.as_ref()) })
}

fn reaction(command: &ChannelCommand) -> Value {
    let mut body = of_message(command);
    let emoji = command.emoji.iter().filter(|_| !command.is_removal);
    body["reaction"] = emoji.map(|emoji| json!({ "type": "emoji", "emoji": emoji })).collect();
    body
}

fn poll(command: &ChannelCommand) -> Value {
    let mut body = addressed(command);
    body["question"] = json!(command.text);
    body["options"] = command.choices.iter().map(|choice| json!({ "text": choice })).collect();
    body
}

/// One file is a document, or a voice message if it is Opus; several are an album, which is one message as well.
fn with_files(command: &ChannelCommand) -> (&'static str, Value) {
    let mut body = addressed(command);
    let caption = &command.text;
    if command.files.len() == 1 {
        let is_voice = command.files[0].media_type == "audio/ogg";
        let (method, field) = if is_voice { ("sendVoice", "voice") } else { ("sendDocument", "document") };
        body[field] = json!("attach://file0");
        body["caption"] = json!(caption);
        if !command.choices.is_empty() {
            body["reply_markup"] = keyboard(&command.choices);
        }
        return (method, body);
    }
    let media = (0..command.files.len()).map(|number| {
        let mut item = json!({ "type": "document", "media": format!("attach://file{number}") });
        if number == 0 {
            item["caption"] = json!(caption);
        }
        item
    });
    body["media"] = media.collect();
    ("sendMediaGroup", body)
}

fn form(command: &ChannelCommand, fields: &Value, key: &str) -> (String, Vec<u8>) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned).into_bytes();
    let fields: Vec<(String, Vec<u8>)> =
        fields.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect();
    let names: Vec<String> = (0..command.files.len()).map(|number| format!("file{number}")).collect();
    let mut parts: Vec<FormPart<'_>> = fields.iter().map(|(name, content)| FormPart { name, file: None, content }).collect();
    parts.extend(names.iter().zip(&command.files).map(|(name, file)| FormPart {
        name,
        file: Some((&file.name, &file.media_type)),
        content: &file.content,
    }));
    multipart(&parts, key)
}

#[cfg(test)]
mod tests;
