//! Mail: SMTP out, IMAP in.
//!
//! Anyone can write any sender into a mail. So a mail counts only if the user's own mail server has checked it, says so in the topmost
//! `Authentication-Results`, and the user has named that server in `trusted_server`.

mod imap;
mod letter;
mod smtp;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelEntry, ChannelKind, ChannelReceipt};
use haft_text::base64;

use self::imap::{ImapAccount, ImapConnection};
use self::letter::Letter;
use self::smtp::SmtpServer;
pub(crate) use self::smtp::is_message_id;
use crate::driver::{Capabilities, ChannelDriver, IncomingMessage, IncomingSender, PolledMessages};
use crate::settings::ChannelSettings;
use crate::{ChannelSecret, SendFailure};

const LONGEST: usize = 100_000;
const SENDS: &[ChannelAction] = &[ChannelAction::Send, ChannelAction::Reply];
const SENDS_AND_READS: &[ChannelAction] = &[ChannelAction::Send, ChannelAction::Reply, ChannelAction::Read];
const MAILBOX: &str = "INBOX";
/// Mails that are fetched at once.
const MOST_FETCHED: usize = 20;

/// What a mail server must not repeat: the password, as it is, and as it travels at a login.
#[derive(Debug, Clone)]
struct LoginSecrets(Vec<ChannelSecret>);

impl LoginSecrets {
    fn new(settings: &ChannelSettings) -> Self {
        let Ok(password) = &settings.token else { return Self(Vec::new()) };
        let user = settings.user.as_ref().or(settings.from.as_ref()).map(String::as_str).unwrap_or_default();
        let encoded = |text: &str| ChannelSecret::new(base64::encode(text.as_bytes()));
        Self(vec![password.clone(), encoded(password.expose()), encoded(&format!("\0{user}\0{}", password.expose()))])
    }

    /// Words of a server without them; before anything is cut, because half a secret would not be recognised.
    fn take_out_of(&self, words: &str) -> String {
        let mut words = words.as_bytes().to_vec();
        self.0.iter().for_each(|secret| secret.redact(&mut words));
        String::from_utf8_lossy(&words).into_owned()
    }
}

/// A mail account.
pub(crate) struct Email {
    smtp: SmtpServer,
    imap: Option<ImapAccount>,
    trusted_server: Option<String>,
}

impl Email {
    pub(crate) fn new(settings: &ChannelSettings) -> Result<Self, String> {
        let imap = settings.imap_url.as_ref().map(|url| ImapAccount::new(url, settings)).transpose()?;
        if settings.receives && (imap.is_none() || settings.trusted_server.is_none()) {
            return Err("receive = true needs imap_url, and trusted_server: the name of your mail server in Authentication-Results".into());
        }
        Ok(Self { smtp: SmtpServer::new(settings)?, imap, trusted_server: settings.trusted_server.clone() })
    }

    fn account(&self) -> Result<&ImapAccount, SendFailure> {
        self.imap.as_ref().ok_or_else(|| SendFailure::refused("imap_url is not set, so no mail can be read"))
    }

    async fn read(&self, command: &ChannelCommand) -> Result<ChannelReceipt, SendFailure> {
        let mut connection = ImapConnection::open(self.account()?).await?;
        // A conversation with one sender, or a mailbox.
        let sender = Some(command.to.to_ascii_lowercase()).filter(|to| to.contains('@'));
        let mailbox = connection.select(if sender.is_some() { MAILBOX } else { &command.to }).await?;
        let before = command.before.as_deref().and_then(|uid| uid.parse().ok()).unwrap_or(mailbox.next);
        let found = match &sender {
            Some(sender) => connection.search_from(sender).await?,
            None => connection.search(1).await?,
        };
        let mut uids: Vec<u32> = found.into_iter().filter(|uid| *uid < before).collect();
        uids.sort_unstable();
        let skipped = uids.len().saturating_sub(command.limit.min(MOST_FETCHED));
        let mut entries = Vec::new();
        for uid in uids.split_off(skipped) {
            let Some(letter) = connection.fetch(uid).await? else { continue };
            if sender.is_some() && letter.from() != sender {
                continue;
            }
            // With the id by which it can be answered.
            let named = letter.id().filter(|id| is_message_id(id)).map(|id| format!("Message-ID: {id}\n")).unwrap_or_default();
            let text = format!("{named}{}\n{}", letter.subject(), letter.text());
            let doubt = if self.is_doubtful(&letter) { " (sender not verified)" } else { "" };
            let from = format!("{}{doubt}", letter.from().unwrap_or_default());
            entries.push(ChannelEntry { id: uid.to_string(), from, at: letter.date(), text });
        }
        connection.close().await;
        Ok(ChannelReceipt { entries, ..ChannelReceipt::delivered(None) })
    }

    /// New mails after a cursor: `VALIDITY:NEXT`. If there are none, it waits for one.
    async fn fetch(&self, cursor: Option<&str>) -> Result<PolledMessages, SendFailure> {
        let mut connection = ImapConnection::open(self.account()?).await?;
        let mailbox = connection.select(MAILBOX).await?;
        let begin = cursor
            .and_then(|cursor| cursor.split_once(':'))
            .and_then(|(validity, next)| Some((validity.parse().ok()?, next.parse().ok()?)));
        let Some((_, next)) = begin.filter(|(validity, _): &(u32, u32)| *validity == mailbox.validity) else {
            let cursor = format!("{}:{}", mailbox.validity, mailbox.next);
            return Ok(PolledMessages { messages: Vec::new(), cursor: Some(cursor) });
        };
        if mailbox.next <= next {
            connection.wait().await?;
        }
        let mut uids: Vec<u32> = connection.search(next).await?.into_iter().filter(|uid| *uid >= next).collect();
        uids.sort_unstable();
        uids.truncate(MOST_FETCHED);
        let (mut messages, mut after) = (Vec::new(), next);
        for uid in uids {
            messages.extend(connection.fetch(uid).await?.and_then(|letter| self.message(uid, &letter)));
            after = uid.saturating_add(1);
        }
        connection.close().await;
        Ok(PolledMessages { messages, cursor: Some(format!("{}:{after}", mailbox.validity)) })
    }

    /// Whether the user's own server has not verified the sender. Without the name of that server nobody knows.
    fn is_doubtful(&self, letter: &Letter) -> bool {
        self.trusted_server.as_deref().is_some_and(|server| !letter.is_verified(server))
    }

    fn message(&self, uid: u32, letter: &Letter) -> Option<IncomingMessage> {
        let address = letter.from().filter(|_| !letter.is_automatic())?;
        let server = self.trusted_server.as_deref().unwrap_or_default();
        Some(IncomingMessage {
            conversation: address.clone(),
            thread: None,
            is_group: false,
            sender: IncomingSender { id: address, username: None, name: None },
            id: letter.id().unwrap_or_else(|| format!("uid-{uid}")),
            text: Some(letter.text()).filter(|text| !text.is_empty()).or_else(|| Some(letter.subject()).filter(|text| !text.is_empty()))?,
            press: None,
            voice: None,
            doubt: (!letter.is_verified(server)).then(|| "the mail server has not verified the sender".to_owned()),
            subject: Some(letter.subject()),
        })
    }
}

impl ChannelDriver for Email {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Email
    }

    fn capabilities(&self) -> Capabilities {
        let actions = if self.imap.is_some() { SENDS_AND_READS } else { SENDS };
        Capabilities { actions, attachments: true, buttons: false, subject: true, longest: LONGEST, outward: true }
    }

    fn check(&self, command: &ChannelCommand) -> Result<(), String> {
        if command.action == ChannelAction::Read {
            return Ok(());
        }
        self.smtp.letter(command, "check").map(drop)
    }

    fn perform<'a>(&'a self, command: &'a ChannelCommand, key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
        Box::pin(async move {
            match command.action {
                ChannelAction::Read => self.read(command).await,
                _ => self.smtp.send(command, key).await,
            }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
        Box::pin(async {
            let sender = self.smtp.probe().await?;
            if let Some(account) = &self.imap {
                ImapConnection::open(account).await?.close().await;
            }
            Ok(sender)
        })
    }

    fn polls(&self) -> bool {
        self.imap.is_some()
    }

    fn poll<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<PolledMessages, SendFailure>> {
        Box::pin(self.fetch(cursor))
    }
}
