//! What the configuration says of a channel.

use std::net::IpAddr;
use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelKind, Notifier};
use url::Url;

use crate::chat::Chat;
use crate::desktop::DesktopChannel;
use crate::discord::Discord;
use crate::driver::ChannelDriver;
use crate::email::Email;
use crate::matrix::Matrix;
use crate::slack::Slack;
use crate::telegram::Telegram;
use crate::webhook::Webhook;
use crate::{ChannelSecret, SendFailure};

/// One channel of the configuration. Secrets were read from the variables that it names.
#[derive(Debug, Clone)]
pub struct ChannelSettings {
    /// Its name.
    pub name: String,
    /// The service.
    pub kind: ChannelKind,
    /// Where the service is, if not at its usual address; where a webhook goes; the SMTP server.
    pub base_url: Option<String>,
    /// The IMAP server of a mail channel.
    pub imap_url: Option<String>,
    /// The token or password, or why there is none.
    pub token: Result<ChannelSecret, String>,
    /// The token of the app itself, for its socket, if one is named, or why it cannot be read.
    pub app_token: Option<Result<ChannelSecret, String>>,
    /// The signing key, if one is named, or why it cannot be read.
    pub secret: Option<Result<ChannelSecret, String>>,
    /// The public key of requests of Discord.
    pub public_key: Option<String>,
    /// The user of a mail account.
    pub user: Option<String>,
    /// The sender of mails.
    pub from: Option<String>,
    /// The name of the mail server whose checks of senders count.
    pub trusted_server: Option<String>,
    /// The recipient of messages that name none.
    pub to: Option<String>,
    /// Senders that are let in.
    pub allow_from: Vec<String>,
    /// Senders that are the owner: they may answer approvals.
    pub owners: Vec<String>,
    /// Conversations that are read, where a service must be asked for each.
    pub conversations: Vec<String>,
    /// Whether messages are taken.
    pub receives: bool,
    /// The agent that answers.
    pub agent: Option<String>,
}

impl ChannelSettings {
    /// A channel with nothing but its name.
    pub fn new(name: impl Into<String>, kind: ChannelKind) -> Self {
        Self {
            name: name.into(),
            kind,
            base_url: None,
            imap_url: None,
            token: Err("token_env is not set".into()),
            app_token: None,
            secret: None,
            public_key: None,
            user: None,
            from: None,
            trusted_server: None,
            to: None,
            allow_from: Vec::new(),
            owners: Vec::new(),
            conversations: Vec::new(),
            receives: false,
            agent: None,
        }
    }

    /// The address of the service without a slash at its end, and whether it is on this machine.
    pub(crate) fn base(&self, usual: &str) -> Result<(String, bool), String> {
        let written = self.base_url.as_deref().unwrap_or(usual);
        let url = Url::parse(written).map_err(|_| format!("base_url '{written}' is not an address"))?;
        let is_local = is_loopback(&url);
        match url.scheme() {
            "https" => {}
            "http" if is_local => {}
            "http" => return Err("base_url is plain http, and everybody on the way could read the token; use https".into()),
            _ => return Err(format!("base_url '{written}' is not an https address")),
        }
        Ok((written.trim_end_matches('/').to_owned(), is_local))
    }

    /// What must not be in anything that is shown: a service may repeat an address or a header in its answer.
    pub(crate) fn secrets(&self) -> Vec<ChannelSecret> {
        let named = [Some(&self.token), self.app_token.as_ref(), self.secret.as_ref()];
        named.into_iter().flatten().filter_map(|secret| secret.as_ref().ok()).cloned().collect()
    }

    pub(crate) fn token(&self) -> Result<ChannelSecret, String> {
        self.token.clone()
    }

    pub(crate) fn signing_key(&self) -> Result<Option<ChannelSecret>, String> {
        self.secret.clone().transpose()
    }

    /// The driver of the channel, or why it cannot be used.
    pub(crate) fn driver(&self, ports: &ChannelPorts) -> Result<Arc<dyn ChannelDriver>, String> {
        Ok(match self.kind {
            ChannelKind::Telegram => Arc::new(Telegram::new(self)?),
            ChannelKind::Slack => Arc::new(Slack::new(self)?),
            ChannelKind::Discord => Arc::new(Discord::new(self)?),
            ChannelKind::Matrix => Arc::new(Matrix::new(self)?),
            ChannelKind::Email => Arc::new(Email::new(self)?),
            ChannelKind::Webhook => Arc::new(Webhook::new(self)?),
            ChannelKind::Chat => Arc::new(Chat::new(ports.chat.clone().ok_or("this program has no conversations")?)),
            ChannelKind::Desktop => Arc::new(DesktopChannel::new(ports.notifier.clone().ok_or("this program shows no notices")?)),
        })
    }
}

/// Whether an address is one of this machine. Of schemes such as smtp the host is only text.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Puts messages into conversations of `haft serve`.
pub trait ChatInbox: Send + Sync {
    /// Delivers a text to a session, by its id or the title of one that collects messages; returns the id of the session.
    fn deliver<'a>(&'a self, to: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, SendFailure>>;
}

/// What channels need of this program.
#[derive(Clone, Default)]
pub struct ChannelPorts {
    /// Notices on this machine.
    pub notifier: Option<Arc<dyn Notifier>>,
    /// Conversations of this program.
    pub chat: Option<Arc<dyn ChatInbox>>,
}

haft_contract::opaque_debug!(ChannelPorts);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_never_travels_in_the_open() {
        let base = |url: Option<&str>| {
            let settings = ChannelSettings { base_url: url.map(str::to_owned), ..ChannelSettings::new("x", ChannelKind::Telegram) };
            settings.base("https://api.telegram.org")
        };
        assert_eq!(base(None), Ok(("https://api.telegram.org".into(), false)));
        assert_eq!(base(Some("http://127.0.0.1:8081/")), Ok(("http://127.0.0.1:8081".into(), true)));
        assert_eq!(base(Some("http://[::1]:1")), Ok(("http://[::1]:1".into(), true)));
        for refused in ["http://example.org", "http://127.0.0.1.example.org", "ftp://localhost", "localhost", ""] {
            assert!(base(Some(refused)).is_err(), "{refused}");
        }
    }
}
