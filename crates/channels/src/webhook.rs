//! Webhooks: signed requests as the Standard Webhooks specification writes them, out and in.

use std::time::{SystemTime, UNIX_EPOCH};

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelKind, ChannelReceipt};
use serde_json::{Value, json};

use crate::driver::{Capabilities, ChannelDriver, HookAnswer, HookRequest, IncomingMessage, IncomingSender};
use crate::settings::ChannelSettings;
use crate::signature::{sign_webhook, webhook_id};
use crate::wire::{ChannelWire, WireRequest};
use crate::{ChannelSecret, SendFailure};

const LONGEST: usize = 100_000;
const NO_ADDRESS: &str = "base_url is not set: where do its requests go?";

/// A receiver of requests, and a sender of them.
pub(crate) struct Webhook {
    wire: ChannelWire,
    /// Where requests go; a channel that only receives has none.
    url: Option<String>,
    secret: ChannelSecret,
}

impl Webhook {
    pub(crate) fn new(settings: &ChannelSettings) -> Result<Self, String> {
        let (url, is_local) = match &settings.base_url {
            Some(_) => settings.base("").map(|(url, is_local)| (Some(url), is_local))?,
            None => (None, false),
        };
        let Some(secret) = settings.signing_key()? else {
            return Err("secret_env is not set: requests must be signed".into());
        };
        Ok(Self { wire: ChannelWire::new(is_local, settings.secrets()), url, secret })
    }

    fn request(&self, body: &Value, key: &str, at: SystemTime) -> Result<WireRequest, SendFailure> {
        let url = self.url.as_deref().ok_or_else(|| SendFailure::refused(NO_ADDRESS))?;
        let (seconds, body) = (at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(), body.to_string().into_bytes());
        let signature = sign_webhook(&self.secret, key, seconds, &body);
        Ok(WireRequest::new("POST", url)
            .header("webhook-id", key)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", signature)
            .bytes("application/json", body))
    }
}

impl ChannelDriver for Webhook {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Webhook
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            // A channel without an address only receives.
            actions: if self.url.is_some() { &[ChannelAction::Send, ChannelAction::Reply] } else { &[] },
            attachments: true,
            buttons: false,
            subject: true,
            longest: LONGEST,
            outward: true,
        }
    }

    fn perform<'a>(&'a self, command: &'a ChannelCommand, key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
        Box::pin(async move {
            let answer = self.wire.send(self.request(&encode(command, key), key, SystemTime::now())?).await?;
            if answer.is_success() { Ok(ChannelReceipt::delivered(Some(key.to_owned()))) } else { Err(answer.failure(None)) }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
        // A request would already be a message.
        Box::pin(async { Ok(self.url.clone().unwrap_or_else(|| "receives only".into())) })
    }

    fn hook(&self, request: &HookRequest) -> HookAnswer {
        let Some(id) = webhook_id(request, &self.secret) else {
            return HookAnswer::refused(401, "The signature is missing, wrong or too old.");
        };
        match decode(id, &request.body) {
            Some(message) => HookAnswer::accepted(json!({ "accepted": true }).to_string(), vec![message]),
            None => HookAnswer::refused(400, "The body is a JSON object with 'text', 'sender' and, if you like, 'conversation'."),
        }
    }
}

fn encode(command: &ChannelCommand, key: &str) -> Value {
    let file = |file: &haft_contract::ports::ChannelFile| json!({ "name": file.name, "type": file.media_type, "content": haft_text::base64::encode(&file.content) });
    json!({
        "type": format!("message.{}", command.action),
        "id": key,
        "to": command.to,
        "subject": command.subject,
        "text": command.text,
        "reply_to": command.message_id,
        "files": command.files.iter().map(file).collect::<Vec<_>>(),
    })
}

/// The id is that of the signed header: a replay has the same.
fn decode(id: &str, body: &[u8]) -> Option<IncomingMessage> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let sender = body["sender"].as_str().filter(|sender| !sender.is_empty() && sender.len() <= 200)?;
    let conversation = body["conversation"].as_str().filter(|name| !name.is_empty()).unwrap_or(sender);
    Some(IncomingMessage {
        conversation: haft_text::truncate::first_chars(conversation, 200).to_owned(),
        thread: None,
        is_group: conversation != sender,
        sender: IncomingSender { id: sender.to_owned(), username: None, name: body["name"].as_str().map(str::to_owned) },
        id: id.to_owned(),
        text: body["text"].as_str().filter(|text| !text.is_empty())?.to_owned(),
        press: None,
        voice: None,
        doubt: None,
        subject: None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn channel() -> Webhook {
        let mut settings = ChannelSettings::new("hook", ChannelKind::Webhook);
        (settings.base_url, settings.secret) = (Some("http://127.0.0.1:9/in".into()), Some(Ok(ChannelSecret::new("k"))));
        Webhook::new(&settings).unwrap()
    }

    fn signed(id: &str, body: &str) -> HookRequest {
        let headers = [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", "1000".into()),
            ("webhook-signature", sign_webhook(&ChannelSecret::new("k"), id, 1000, body.as_bytes())),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value)).to_vec();
        HookRequest { headers, body: body.as_bytes().to_vec(), at: UNIX_EPOCH + Duration::from_secs(1010) }
    }

    #[test]
    fn request_is_signed_and_can_be_verified() {
        let command = ChannelCommand::new("hook", "ops", ChannelAction::Send, "Hello");
        let request = channel().request(&encode(&command, "key"), "key", UNIX_EPOCH + Duration::from_secs(1000)).unwrap();
        let body = r#"{"type":"message.send","id":"key","to":"ops","subject":null,"text":"Hello","reply_to":null,"files":[]}"#;
        assert_eq!(String::from_utf8(request.body.clone()).unwrap(), body);
        let headers = request.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let received = HookRequest { headers, body: request.body, at: UNIX_EPOCH + Duration::from_secs(1001) };
        assert_eq!(webhook_id(&received, &ChannelSecret::new("k")), Some("key"));
    }

    #[test]
    fn request_with_a_wrong_signature_or_body_is_refused() {
        let right = signed("m1", r#"{"sender":"ci","text":"build failed","conversation":"builds"}"#);
        let answer = channel().hook(&right);
        let message = IncomingMessage {
            conversation: "builds".into(),
            thread: None,
            is_group: true,
            sender: IncomingSender { id: "ci".into(), ..IncomingSender::default() },
            id: "m1".into(),
            text: "build failed".into(),
            press: None,
            voice: None,
            doubt: None,
            subject: None,
        };
        assert_eq!(answer, HookAnswer::accepted(r#"{"accepted":true}"#, vec![message]));
        let forged = HookRequest { body: right.body.iter().copied().chain(*b" ").collect(), ..right.clone() };
        assert_eq!(channel().hook(&forged).status, 401);
        let unsigned = HookRequest { headers: Vec::new(), ..right };
        assert_eq!(channel().hook(&unsigned).status, 401);
        for body in ["", "[]", "<html>", r#"{"text":"x"}"#, r#"{"sender":"","text":"x"}"#, r#"{"sender":"a"}"#, r#"{"sender":1,"text":2}"#]
        {
            assert_eq!(channel().hook(&signed("m2", body)).status, 400, "{body}");
        }
    }

    #[test]
    fn channel_without_a_key_cannot_be_used() {
        let settings = ChannelSettings { base_url: Some("https://example.org".into()), ..ChannelSettings::new("x", ChannelKind::Webhook) };
        assert_eq!(Webhook::new(&settings).err(), Some("secret_env is not set: requests must be signed".to_owned()));
    }
}
