//! Mails that go out.

use std::time::Duration;

use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelReceipt};
use lettre::message::header::{ContentType, Header, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, Message, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use url::Url;

use super::LoginSecrets;
use crate::SendFailure;
use crate::settings::{ChannelSettings, is_loopback};

type Transport = AsyncSmtpTransport<Tokio1Executor>;

const TIMEOUT: Duration = Duration::from_secs(20);
const SUBJECT: &str = "Message from Haft";
const ADDRESS: &str = "a recipient of mail is an address alone, such as anna@example.org";
const FORM: &str = "base_url is the SMTP server: smtps://mail.example.org, or smtp://mail.example.org:587 for STARTTLS";

/// Says that a program wrote a mail (RFC 3834): nothing that answers by itself answers it, so that two of them never write to each other.
#[derive(Debug, Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }
    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }
    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".into())
    }
}

/// The server that sends.
pub(super) struct SmtpServer {
    host: String,
    port: Option<u16>,
    security: Security,
    credentials: Option<Credentials>,
    from: Mailbox,
    secrets: LoginSecrets,
}

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy)]
enum Security {
    Tls,
    StartTls,
    /// Not at all: to this machine there is nobody on the way.
    Local,
}

impl SmtpServer {
    pub(super) fn new(settings: &ChannelSettings) -> Result<Self, String> {
        let url = settings.base_url.as_deref().and_then(|url| Url::parse(url).ok()).ok_or(FORM)?;
        let host = url.host_str().ok_or(FORM)?.trim_matches(['[', ']']).to_owned();
        let user = settings.user.clone().or_else(|| settings.from.clone());
        let from = settings.from.as_deref().or(settings.user.as_deref()).ok_or("from is not set: the sender of its mails")?;
        let from: Mailbox = from.parse().map_err(|error| format!("from '{from}' is not an address: {error}"))?;
        let security = match url.scheme() {
            "smtps" => Security::Tls,
            "smtp" if is_loopback(&url) => Security::Local,
            "smtp" => Security::StartTls,
            _ => return Err(FORM.into()),
        };
        let credentials = match (user, &settings.token) {
            (Some(user), Ok(token)) => Some(Credentials::new(user, token.expose().to_owned())),
            // A server on this machine may want no password.
            (_, Err(_)) if is_loopback(&url) => None,
            (_, Err(why)) => return Err(why.clone()),
            (None, Ok(_)) => None,
        };
        Ok(Self { host, port: url.port(), security, credentials, from, secrets: LoginSecrets::new(settings) })
    }

    /// Made for each mail: it reads certificates, and most starts of the program send nothing.
    fn transport(&self) -> Result<Transport, SendFailure> {
        let builder = match self.security {
            Security::Tls => Transport::relay(&self.host),
            Security::StartTls => Transport::starttls_relay(&self.host),
            Security::Local => Ok(Transport::builder_dangerous(&self.host)),
        };
        let builder = builder.map_err(|error| SendFailure::not_sent(self.words(&error)))?.timeout(Some(TIMEOUT));
        let builder = self.port.map_or(builder.clone(), |port| builder.port(port));
        let builder = self.credentials.clone().map_or(builder.clone(), |credentials| builder.credentials(credentials));
        Ok(builder.build())
    }

    /// The mail of a command. Its id comes from the key: a receiver knows a mail that comes twice.
    pub(super) fn letter(&self, command: &ChannelCommand, key: &str) -> Result<Message, String> {
        let to: Address = command.to.parse().ok().filter(|_| is_plain_address(&command.to)).ok_or(ADDRESS)?;
        let subject = command.subject.as_deref().map(str::trim).filter(|subject| !subject.is_empty()).unwrap_or(SUBJECT);
        if subject.chars().any(char::is_control) {
            return Err("the subject has more than one line".into());
        }
        let id = format!("<{}@{}>", crate::signature::sha256(key.as_bytes()), self.from.email.domain());
        let mut builder = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(subject)
            .message_id(Some(id))
            .header(AutoSubmitted);
        if let (ChannelAction::Reply, Some(answered)) = (command.action, &command.message_id) {
            if !is_message_id(answered) {
                return Err("the id of the mail that is answered is not one: it is its Message-ID, such as <1@example.org>".into());
            }
            builder = builder.in_reply_to(answered.clone()).references(answered.clone());
        }
        let text = SinglePart::plain(command.text.clone());
        if command.files.is_empty() {
            return builder.singlepart(text).map_err(|error| error.to_string());
        }
        let attached = command.files.iter().fold(MultiPart::mixed().singlepart(text), |parts, file| {
            let kind = ContentType::parse(&file.media_type).unwrap_or(ContentType::TEXT_PLAIN);
            parts.singlepart(Attachment::new(file.name.clone()).body(file.content.clone(), kind))
        });
        builder.multipart(attached).map_err(|error| error.to_string())
    }

    pub(super) async fn send(&self, command: &ChannelCommand, key: &str) -> Result<ChannelReceipt, SendFailure> {
        let letter = self.letter(command, key).map_err(SendFailure::refused)?;
        let id = letter.headers().get_raw("Message-ID").map(str::to_owned);
        let transport = self.transport()?;
        self.connect(&transport).await?;
        transport.send(letter).await.map_err(|error| self.failure(&error))?;
        Ok(ChannelReceipt::delivered(id))
    }

    pub(super) async fn probe(&self) -> Result<String, SendFailure> {
        self.connect(&self.transport()?).await?;
        Ok(self.from.to_string())
    }

    /// A server that cannot be reached, is silent, or refuses the password has taken nothing.
    async fn connect(&self, transport: &Transport) -> Result<(), SendFailure> {
        // The transport bounds each step but the greeting.
        let connected = tokio::time::timeout(TIMEOUT, transport.test_connection()).await;
        let connected = connected.map_err(|_| SendFailure::not_sent("the mail server did not answer in time"))?;
        connected.map(drop).map_err(|error| {
            let words = self.words(&error);
            if error.is_permanent() { SendFailure::refused(words) } else { SendFailure::not_sent(words) }
        })
    }

    /// What the server answered is certain; without an answer nobody knows.
    fn failure(&self, error: &lettre::transport::smtp::Error) -> SendFailure {
        let words = self.words(error);
        if error.is_permanent() {
            SendFailure::refused(words)
        } else if error.is_transient() {
            SendFailure::later(words, None)
        } else {
            SendFailure::unknown(words)
        }
    }

    fn words(&self, error: &lettre::transport::smtp::Error) -> String {
        let words = error.to_string();
        // Some errors have their cause in their words.
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).filter(|cause| !words.ends_with(cause.as_str()));
        self.secrets.take_out_of(&format!("the mail server failed: {words}{}", cause.unwrap_or_default()))
    }
}

/// Whether an address is written in the one way in which rules name it: without a name, quotes, or the number of a server.
fn is_plain_address(address: &str) -> bool {
    address.is_ascii() && !address.contains(|ch: char| ch.is_ascii_control() || " \"<>()[],;:\\".contains(ch))
}

/// Whether it can be the `Message-ID` of a mail.
pub(crate) fn is_message_id(id: &str) -> bool {
    let inner = id.strip_prefix('<').and_then(|id| id.strip_suffix('>'));
    inner.is_some_and(|inner| inner.contains('@') && inner.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>".contains(&byte)))
}

#[cfg(test)]
mod tests {
    use haft_contract::ports::{ChannelFile, ChannelKind};

    use super::*;

    fn server() -> SmtpServer {
        let mut settings = ChannelSettings::new("mail", ChannelKind::Email);
        (settings.base_url, settings.from) = (Some("smtp://127.0.0.1:1".into()), Some("Haft <haft@example.org>".into()));
        SmtpServer::new(&settings).unwrap()
    }

    #[test]
    fn mail_has_an_id_of_its_key_and_its_parts() {
        let mut command = ChannelCommand::new("mail", "anna@example.org", ChannelAction::Reply, "Grüße");
        (command.subject, command.message_id) = (Some("Re: x".into()), Some("<1@example.org>".into()));
        let text = |command: &ChannelCommand| String::from_utf8(server().letter(command, "key").unwrap().formatted()).unwrap();
        let plain = text(&command);
        let id = format!("Message-ID: <{}@example.org>", crate::signature::sha256(b"key"));
        for line in [
            "From: Haft <haft@example.org>",
            "To: anna@example.org",
            "Subject: Re: x",
            "In-Reply-To: <1@example.org>",
            "Auto-Submitted: auto-generated",
            &id,
            "Content-Transfer-Encoding: base64",
            "R3LDvMOfZQ==",
        ] {
            assert!(plain.contains(line), "{line} is not in:\n{plain}");
        }
        command.files = vec![ChannelFile { name: "a.csv".into(), media_type: "text/csv".into(), content: b"1,2".to_vec() }];
        let mixed = text(&command);
        assert!(mixed.contains("multipart/mixed") && mixed.contains("filename=\"a.csv\""), "{mixed}");
    }

    #[test]
    fn headers_cannot_be_injected() {
        let base = ChannelCommand::new("mail", "anna@example.org", ChannelAction::Reply, "x");
        for command in [
            ChannelCommand { to: "anna@example.org\r\nBcc: eve@example.org".into(), ..base.clone() },
            ChannelCommand { to: "anna@example.org, eve@example.org".into(), ..base.clone() },
            ChannelCommand { to: "anna".into(), ..base.clone() },
            // A rule on the address would not know them.
            ChannelCommand { to: "Anna <anna@example.org>".into(), ..base.clone() },
            ChannelCommand { to: "<anna@example.org>".into(), ..base.clone() },
            ChannelCommand { to: "\"anna\"@example.org".into(), ..base.clone() },
            ChannelCommand { to: "anna@[203.0.113.5]".into(), ..base.clone() },
            ChannelCommand { to: "änna@example.org".into(), ..base.clone() },
            ChannelCommand { subject: Some("x\r\nBcc: eve@example.org".into()), ..base.clone() },
            ChannelCommand { message_id: Some("<1>\r\nBcc: eve@example.org".into()), ..base.clone() },
            ChannelCommand { message_id: Some("<1@x>\r\nBcc: <eve@example.org>".into()), ..base.clone() },
            ChannelCommand { message_id: Some("12".into()), ..base.clone() },
        ] {
            assert!(server().letter(&command, "k").is_err(), "{command:?}");
        }
        assert!(server().letter(&base, "k").is_ok());
    }
}
