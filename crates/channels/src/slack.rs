//! Slack: the Web API over HTTPS. Messages and button presses come in over a socket, or as signed requests of the Events API.

mod events;
mod polls;
mod socket;
#[cfg(test)]
mod tests;
mod text;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelEntry, ChannelFile, ChannelKind, ChannelReceipt};
use serde_json::{Value, json};
use url::Url;

use self::socket::SlackSocket;
use self::text::escape;
use crate::driver::{Capabilities, ChannelDriver, HookAnswer, HookRequest, PolledMessages, VoiceNote, button};
use crate::settings::ChannelSettings;
use crate::wire::{ChannelWire, WireAnswer, WireRequest, encoded};
use crate::{ChannelSecret, SendFailure};

const BASE: &str = "https://slack.com/api";
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
/// Where files of messages are.
const FILES: &str = "https://files.slack.com/";
/// Longer texts are cut by Slack; a section with buttons takes 3,000.
const LONGEST: usize = 3_000;
/// Characters of the label of a button.
const LABEL: usize = 75;

/// An app in a workspace of Slack.
pub(crate) struct Slack {
    wire: ChannelWire,
    base: String,
    token: ChannelSecret,
    secret: Option<ChannelSecret>,
    socket: Option<SlackSocket>,
}

impl Slack {
    pub(crate) fn new(settings: &ChannelSettings) -> Result<Self, String> {
        let (base, is_local) = settings.base(BASE)?;
        let socket = settings.app_token.clone().transpose()?.map(SlackSocket::new);
        Ok(Self {
            wire: ChannelWire::new(is_local, settings.secrets()),
            base,
            token: settings.token()?,
            secret: settings.signing_key()?,
            socket,
        })
    }

    fn authorized(&self, request: WireRequest) -> WireRequest {
        request.header("authorization", format!("Bearer {}", self.token.expose()))
    }

    async fn call(&self, method: &str, body: &Value) -> Result<Value, SendFailure> {
        let request = WireRequest::new("POST", format!("{}/{method}", self.base));
        decode(&self.wire.send(self.authorized(request).json(body)).await?)
    }

    /// Methods that read take their arguments in the address.
    async fn ask(&self, method: &str, arguments: &[(&str, String)]) -> Result<Value, SendFailure> {
        let query: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let request = WireRequest::new("GET", format!("{}/{method}?{}", self.base, query.join("&")));
        decode(&self.wire.send(self.authorized(request)).await?)
    }

    /// Uploads each file, and then sends them as one message.
    async fn send_files(&self, command: &ChannelCommand) -> Result<ChannelReceipt, SendFailure> {
        let mut files = Vec::new();
        for file in &command.files {
            files.push(json!({ "id": self.upload(file).await?, "title": file.name }));
        }
        let mut body = json!({ "files": files, "channel_id": command.to, "initial_comment": escape(&command.text) });
        if let Some(thread) = thread(command) {
            body["thread_ts"] = json!(thread);
        }
        self.call("files.completeUploadExternal", &body).await?;
        Ok(ChannelReceipt::delivered(None))
    }

    /// Nobody sees an upload before it is completed, so a failure here is none of a message.
    async fn upload(&self, file: &ChannelFile) -> Result<String, SendFailure> {
        let before = |failure: SendFailure| SendFailure { certainty: failure.certainty.before_sending(), ..failure };
        let arguments = [("filename", file.name.clone()), ("length", file.content.len().to_string())];
        let place = self.ask("files.getUploadURLExternal", &arguments).await.map_err(before)?;
        let (Some(url), Some(id)) = (place["upload_url"].as_str(), place["file_id"].as_str()) else {
            return Err(SendFailure::refused("Slack named no place for the file"));
        };
        if !self.is_of_slack(url) {
            return Err(SendFailure::refused("Slack named a place for the file that is not its own"));
        }
        let request = WireRequest::new("POST", url).bytes("application/octet-stream", file.content.clone());
        let answer = self.wire.send(request).await.map_err(before)?;
        if answer.is_success() { Ok(id.to_owned()) } else { Err(before(answer.failure(None))) }
    }

    /// The file goes to Slack, or to where the configuration says that Slack is.
    fn is_of_slack(&self, url: &str) -> bool {
        let (Ok(url), Ok(base)) = (Url::parse(url), Url::parse(&self.base)) else { return false };
        let host = url.host_str().unwrap_or_default();
        (url.scheme() == "https" && (host == "slack.com" || host.ends_with(".slack.com"))) || url.origin() == base.origin()
    }

    async fn read(&self, command: &ChannelCommand) -> Result<ChannelReceipt, SendFailure> {
        let mut arguments = vec![("channel", command.to.clone()), ("limit", command.limit.to_string())];
        arguments.extend(command.before.clone().map(|before| ("latest", before)));
        arguments.extend(command.thread_id.clone().map(|thread| ("ts", thread)));
        let method = if command.thread_id.is_some() { "conversations.replies" } else { "conversations.history" };
        let body = self.ask(method, &arguments).await?;
        Ok(ChannelReceipt { entries: entries(&body), ..ChannelReceipt::delivered(None) })
    }
}

impl ChannelDriver for Slack {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Slack
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { actions: ACTIONS, attachments: true, buttons: true, subject: false, longest: LONGEST, outward: true }
    }

    fn check(&self, command: &ChannelCommand) -> Result<(), String> {
        if !is_recipient(&command.to) {
            return Err("a recipient of Slack is #room, or the id of a channel or user".into());
        }
        if !command.files.is_empty() && command.to.starts_with('#') {
            return Err("Slack takes files for the id of a channel only, not for its name".into());
        }
        if command.action == ChannelAction::React && !is_emoji_name(emoji_name(command)) {
            return Err("Slack knows emoji by their names, such as 'thumbsup' or 'rocket'".into());
        }
        if !command.choices.is_empty() && !command.files.is_empty() {
            return Err("a message of Slack has files or buttons, not both; send two".into());
        }
        if command.action != ChannelAction::Poll && command.choices.iter().any(|choice| button(choice).0.chars().count() > LABEL) {
            return Err(format!("a label of a button has at most {LABEL} characters in Slack"));
        }
        if !command.choices.is_empty() && escape(&command.text).chars().count() > LONGEST {
            return Err(format!(
                "a message with buttons has at most {LONGEST} characters in Slack, where &, < and > count as four or five"
            ));
        }
        Ok(())
    }

    fn perform<'a>(&'a self, command: &'a ChannelCommand, _key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
        Box::pin(async move {
            let (method, body) = match command.action {
                ChannelAction::Read => return self.read(command).await,
                ChannelAction::Send | ChannelAction::Reply | ChannelAction::Thread if !command.files.is_empty() => {
                    return self.send_files(command).await;
                }
                ChannelAction::Send | ChannelAction::Reply | ChannelAction::Thread => ("chat.postMessage", message(command)),
                ChannelAction::Edit => {
                    ("chat.update", json!({ "channel": command.to, "ts": command.message_id, "text": escape(&command.text), "blocks": [] }))
                }
                ChannelAction::Delete => ("chat.delete", json!({ "channel": command.to, "ts": command.message_id })),
                ChannelAction::React => (if command.is_removal { "reactions.remove" } else { "reactions.add" }, reaction(command)),
                ChannelAction::Poll => return self.ask_all(command).await,
            };
            let answer = self.call(method, &body).await?;
            Ok(ChannelReceipt::delivered(answer["ts"].as_str().map(str::to_owned).or_else(|| command.message_id.clone())))
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
        Box::pin(async {
            let who = self.call("auth.test", &json!({})).await?;
            let part = |key: &str| who[key].as_str().unwrap_or("?").to_owned();
            Ok(format!("{} in {}", part("user"), part("team")))
        })
    }

    /// With a token of the app its messages come over a socket.
    fn polls(&self) -> bool {
        self.socket.is_some()
    }

    fn poll<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<PolledMessages, SendFailure>> {
        Box::pin(async move {
            let socket = self.socket.as_ref().ok_or_else(|| SendFailure::refused("app_token_env is not set"))?;
            socket.poll(self, cursor).await
        })
    }

    fn fetch_voice<'a>(&'a self, note: &'a VoiceNote) -> BoxFuture<'a, Result<Vec<u8>, SendFailure>> {
        Box::pin(crate::voice::fetch(&self.wire, &note.id, [FILES, &self.base], Some(&self.token)))
    }

    fn hook(&self, request: &HookRequest) -> HookAnswer {
        let Some(secret) = &self.secret else { return HookAnswer::refused(404, "This channel has no secret_env and takes no requests.") };
        if !crate::signature::is_from_slack(request, secret) {
            return HookAnswer::refused(401, "The signature is missing, wrong or too old.");
        }
        events::decode(&request.body)
    }
}

/// Slack answers most errors with HTTP 200.
fn decode(answer: &WireAnswer) -> Result<Value, SendFailure> {
    let Some(body) = answer.object() else { return Err(answer.failure(None)) };
    if body["ok"] == true && answer.is_success() {
        return Ok(body);
    }
    let words = body["error"].as_str();
    match (answer.status, words) {
        // It is as it should be.
        (200, Some("already_reacted" | "no_reaction")) => Ok(body),
        (_, Some("ratelimited" | "rate_limited")) => Err(SendFailure::later("Slack is asked too often", answer.retry_after)),
        // The service itself says that it may have been done, or not.
        (200, Some(words @ ("fatal_error" | "internal_error" | "service_unavailable" | "request_timeout"))) => {
            Err(SendFailure::unknown(words))
        }
        (200, Some(words)) if body["ok"] == false => Err(SendFailure::refused(format!("Slack refused it: {words}"))),
        _ => Err(answer.failure(words)),
    }
}

/// The thread of a message; an answer begins one.
fn thread(command: &ChannelCommand) -> Option<&str> {
    let answered = command.message_id.as_deref().filter(|_| command.action == ChannelAction::Reply);
    command.thread_id.as_deref().or(answered)
}

/// Without previews of links: for one its address is fetched, with whatever is in it, before anybody clicks.
fn message(command: &ChannelCommand) -> Value {
    let mut body = json!({ "channel": command.to, "text": escape(&command.text), "unfurl_links": false, "unfurl_media": false });
    if let Some(thread) = thread(command) {
        body["thread_ts"] = json!(thread);
    }
    if !command.choices.is_empty() {
        body["blocks"] = blocks(command);
    }
    body
}

fn blocks(command: &ChannelCommand) -> Value {
    let element = |(number, choice): (usize, &String)| {
        let (label, value) = button(choice);
        let text = json!({ "type": "plain_text", "text": label });
        json!({ "type": "button", "text": text, "action_id": format!("haft_{number}"), "value": value })
    };
    let elements: Vec<Value> = command.choices.iter().enumerate().map(element).collect();
    json!([
        { "type": "section", "text": { "type": "mrkdwn", "text": escape(&command.text) } },
        { "type": "actions", "elements": elements },
    ])
}

/// Slack knows emoji by name.
fn reaction(command: &ChannelCommand) -> Value {
    json!({ "channel": command.to, "timestamp": command.message_id, "name": emoji_name(command) })
}

/// In one way only: rules name it so, and Slack also takes the name of a room without its sign.
fn is_recipient(to: &str) -> bool {
    let is_id = to.starts_with(['C', 'D', 'G', 'U', 'W']) && to.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let name = to.strip_prefix(['#', '@']).unwrap_or_default();
    is_id || (!name.is_empty() && name.chars().all(|ch| ch.is_alphanumeric() || "-_.".contains(ch)))
}

fn is_emoji_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|ch| (ch.is_alphanumeric() && !ch.is_uppercase()) || "_-+':".contains(ch))
}

/// The name of an emoji that is written as a name, or is one of those that are used most.
fn emoji_name(command: &ChannelCommand) -> &str {
    match command.emoji.as_deref().unwrap_or_default().trim_matches(':') {
        "👍" => "thumbsup",
        "👎" => "thumbsdown",
        "✅" => "white_check_mark",
        "❌" => "x",
        "👀" => "eyes",
        "🎉" => "tada",
        "❤️" | "❤" => "heart",
        "🚀" => "rocket",
        "🔥" => "fire",
        "😄" => "smile",
        "🙏" => "pray",
        name => name,
    }
}

/// Slack lists the newest first.
fn entries(body: &Value) -> Vec<ChannelEntry> {
    let entry = |message: &Value| {
        let from = message["user"].as_str().or(message["username"].as_str()).or(message["bot_id"].as_str()).unwrap_or("unknown");
        let id = message["ts"].as_str()?.to_owned();
        Some(ChannelEntry { from: from.to_owned(), at: at(&id), text: polls::with_reactions(message), id })
    };
    let mut entries: Vec<ChannelEntry> = body["messages"].as_array().into_iter().flatten().filter_map(entry).collect();
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    entries
}

/// `1355517523.000005` as a time.
fn at(ts: &str) -> Option<String> {
    let seconds = ts.split('.').next()?.parse::<i64>().ok()?;
    jiff::Timestamp::from_second(seconds).ok().map(|time| time.to_string())
}
