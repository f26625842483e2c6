//! Messages that come in: from senders whom the user let in, each once, to one session for each conversation.

mod approvals;
mod conversations;
mod polling;
mod unanswered;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelReceipt};
use haft_store::{GuessAnswer, PairedSender};
use haft_text::truncate::first_chars;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::approvals::OpenApprovals;
pub use self::approvals::{ApprovalAnswers, ChannelApproval};
pub use self::conversations::policy_channel;
pub use self::polling::FailureReport;
use self::unanswered::WaitingMessage;
use crate::driver::{ButtonPress, HookAnswer, HookRequest, IncomingMessage, IncomingSender};
use crate::email::is_message_id;
use crate::limits::{MOST_HOOK_BYTES, MOST_INCOMING_CHARACTERS, RateLimit};
use crate::pairing;
use crate::service::{ChannelService, ConfiguredChannel};
use crate::voice::Transcriber;

/// Messages of one sender: some at once, then one in two seconds.
const SENDER_BURST: u32 = 20;
const SENDER_INTERVAL: Duration = Duration::from_secs(2);
/// How often a conversation is told that messages were not read.
const UNREAD_INTERVAL: Duration = Duration::from_mins(1);
const UNREAD: &str = "Too many messages came at once, so this one was not read. Send it again in a minute.";

/// Runs the conversations.
pub trait ConversationHost: Send + Sync {
    /// Begins a session for a conversation; returns its id. It counts as one that has seen untrusted content.
    fn begin<'a>(&'a self, agent: Option<&'a str>, title: &'a str) -> BoxFuture<'a, Result<String, String>>;
    /// Closes a session if it is idle, because its newest sender is another one and has other rights.
    fn change_sender<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()>;
    /// Runs a turn to its end; returns the answer.
    fn turn<'a>(&'a self, session: &'a str, text: String) -> BoxFuture<'a, Result<String, String>>;
    /// The same for a message that came at a time before this program was started again: what its turn did since then is not done again.
    fn resume<'a>(&'a self, session: &'a str, text: String, since: SystemTime) -> BoxFuture<'a, Result<String, String>>;
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxVerdict {
    /// It goes to its session.
    Taken,
    /// It came before.
    Duplicate,
    /// Its sender was not let in. Nothing is answered.
    Unknown,
    /// Its sender writes too often, or too much waits.
    Limited,
    /// Its sender was let in by a code.
    Paired,
    /// It was a code, and a wrong one.
    WrongCode,
    /// It answered an approval.
    Answered,
    /// Nothing is waiting for it, or its sender may not answer.
    Ignored,
}

/// Takes messages of all channels.
pub struct Inbox {
    service: Arc<ChannelService>,
    host: Arc<dyn ConversationHost>,
    answers: Arc<dyn ApprovalAnswers>,
    approvals: OpenApprovals,
    rates: Mutex<RateLimit>,
    guesses: Mutex<RateLimit>,
    unread: Mutex<RateLimit>,
    /// The queues of the conversations that are being answered.
    workers: Mutex<HashMap<String, mpsc::Sender<WaitingMessage>>>,
    transcriber: OnceLock<Arc<dyn Transcriber>>,
    stop: CancellationToken,
}

haft_contract::opaque_debug!(Inbox);

impl Inbox {
    /// Takes messages until it is stopped.
    pub fn new(
        service: Arc<ChannelService>,
        host: Arc<dyn ConversationHost>,
        answers: Arc<dyn ApprovalAnswers>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            service,
            host,
            answers,
            approvals: OpenApprovals::default(),
            rates: Mutex::new(RateLimit::new(SENDER_BURST, SENDER_INTERVAL)),
            guesses: Mutex::new(RateLimit::new(pairing::SENDER_GUESSES, pairing::SENDER_INTERVAL)),
            unread: Mutex::new(RateLimit::new(1, UNREAD_INTERVAL)),
            workers: Mutex::default(),
            transcriber: OnceLock::new(),
            stop,
        })
    }

    /// Writes voice messages down from now on.
    pub fn transcribe_with(&self, transcriber: Arc<dyn Transcriber>) {
        // A second one would answer for messages that the first has taken.
        drop(self.transcriber.set(transcriber));
    }

    /// Decides on a message. The cheapest checks come first: a flood costs no more than a table in memory.
    pub async fn accept(self: &Arc<Self>, channel: &str, mut message: IncomingMessage) -> Result<InboxVerdict, String> {
        let Some(configured) = self.service.find(channel).filter(|configured| configured.settings.receives) else {
            return Ok(InboxVerdict::Ignored);
        };
        let key = format!("{channel}\n{}", message.sender.id);
        if !locked(&self.rates).allows(&key, Instant::now()) {
            return Ok(InboxVerdict::Limited);
        }
        message.text = first_chars(&message.text, MOST_INCOMING_CHARACTERS).to_owned();
        if message.doubt.is_some() || !self.is_allowed(configured, &message.sender).await? {
            return self.pair(configured, &message).await;
        }
        let Some(press) = message.press.take() else { return self.take(channel, message).await };
        if press.value.starts_with(approvals::PREFIX) {
            message.press = Some(press.clone());
            if !self.is_first(channel, &message, None).await? {
                return Ok(InboxVerdict::Duplicate);
            }
            acknowledge(configured, &press).await;
            return Ok(self.answer_approval(configured, &message).await);
        }
        // A button of a message that the model sent: what it stands for is the answer.
        message.text.clone_from(&press.value);
        let taken = self.take(channel, message).await?;
        if taken != InboxVerdict::Duplicate {
            acknowledge(configured, &press).await;
        }
        Ok(taken)
    }

    /// Records a message as one that waits for an answer, and gives it to its conversation. One that has no place there is not recorded:
    /// a service that sends it again later is heard.
    async fn take(self: &Arc<Self>, channel: &str, message: IncomingMessage) -> Result<InboxVerdict, String> {
        let body = serde_json::to_string(&message).map_err(|error| error.to_string())?;
        let Some(place) = self.reserve(channel, &message) else { return Ok(InboxVerdict::Limited) };
        if !self.is_first(channel, &message, Some(&body)).await? {
            return Ok(InboxVerdict::Duplicate);
        }
        place.send(WaitingMessage { message, cut_off: None });
        Ok(InboxVerdict::Taken)
    }

    async fn is_first(&self, channel: &str, message: &IncomingMessage, waiting: Option<&str>) -> Result<bool, String> {
        let store = self.service.store()?;
        store.first_seen(channel, &message.id, SystemTime::now(), waiting).await.map_err(|error| error.to_string())
    }

    /// Checks a request of a service, and takes the messages that it brought.
    pub async fn hook(self: &Arc<Self>, channel: &str, request: &HookRequest) -> HookAnswer {
        let configured = self.service.find(channel).filter(|configured| configured.settings.receives);
        let Some(Ok(driver)) = configured.map(|configured| &configured.driver) else {
            return HookAnswer::refused(404, "There is no such channel, or it takes no messages.");
        };
        if request.body.len() > MOST_HOOK_BYTES {
            return HookAnswer::refused(413, "The body is too large.");
        }
        let mut answer = driver.hook(request);
        for message in std::mem::take(&mut answer.messages) {
            match self.accept(channel, message).await {
                Ok(InboxVerdict::Limited) => return HookAnswer::refused(429, "Too many messages: wait before you send the next."),
                Ok(_) => {}
                // The service sends it again later.
                Err(_) => return HookAnswer::refused(503, "The message cannot be recorded now."),
            }
        }
        answer
    }

    /// Senders of the configuration, and those that were let in by a code.
    async fn is_allowed(&self, channel: &ConfiguredChannel, sender: &IncomingSender) -> Result<bool, String> {
        if is_listed(&channel.settings.allow_from, sender) || is_owner(channel, sender) {
            return Ok(true);
        }
        let paired = self.service.store()?.senders().await.map_err(|error| error.to_string())?;
        Ok(paired.iter().any(|known| known.channel == channel.settings.name && known.sender == sender.id))
    }

    /// A sender whom nobody knows gets no answer, unless the message is the right code.
    async fn pair(&self, channel: &ConfiguredChannel, message: &IncomingMessage) -> Result<InboxVerdict, String> {
        let Some(code) = pairing::code_in(&message.text).filter(|_| message.doubt.is_none() && message.press.is_none()) else {
            return Ok(InboxVerdict::Unknown);
        };
        let name = &channel.settings.name;
        if !locked(&self.guesses).allows(&format!("{name}\n{}", message.sender.id), Instant::now()) {
            return Ok(InboxVerdict::Limited);
        }
        let (store, now) = (self.service.store()?, SystemTime::now());
        let guess = store.guess_code(name, &pairing::hash(name, &code), now, pairing::MOST_GUESSES).await;
        if guess.map_err(|error| error.to_string())? != GuessAnswer::Right {
            return Ok(InboxVerdict::WrongCode);
        }
        let shown = message.sender.username.as_deref().or(message.sender.name.as_deref()).unwrap_or_default();
        let sender =
            PairedSender { channel: name.clone(), sender: message.sender.id.clone(), name: first_chars(shown, 100).to_owned(), added: now };
        store.add_sender(sender).await.map_err(|error| error.to_string())?;
        self.reply(name, message, "You are paired with this Haft. Write what you need.", Some(format!("paired-{}", message.id))).await.ok();
        Ok(InboxVerdict::Paired)
    }

    /// Tells a sender who was let in that a message was not read, where the service does not send it again.
    async fn tell_unread(&self, channel: &str, message: &IncomingMessage) -> Result<(), String> {
        let Some(configured) = self.service.find(channel).filter(|_| message.doubt.is_none()) else { return Ok(()) };
        if !self.is_allowed(configured, &message.sender).await? {
            return Ok(());
        }
        if locked(&self.unread).allows(&format!("{channel}\n{}", message.conversation), Instant::now()) {
            // What cannot be sent now is not worth stopping the channel for.
            self.reply(channel, message, UNREAD, Some(format!("unread-{}", message.id))).await.ok();
        }
        Ok(())
    }

    /// Answers in the conversation of a message.
    async fn reply(&self, channel: &str, to: &IncomingMessage, text: &str, key: Option<String>) -> Result<ChannelReceipt, String> {
        self.service.send(&reply_command(channel, to, text), None, key).await
    }
}

fn reply_command(channel: &str, to: &IncomingMessage, text: &str) -> ChannelCommand {
    let mut command = ChannelCommand::new(channel, &to.conversation, ChannelAction::Send, text);
    command.thread_id.clone_from(&to.thread);
    if let Some(subject) = &to.subject {
        command.subject = Some(reply_subject(subject));
        // Mail programs put it beside the mail that it answers.
        if is_message_id(&to.id) {
            (command.action, command.message_id) = (ChannelAction::Reply, Some(to.id.clone()));
        }
    }
    command
}

/// `Re: Report`, also of `Re: Report`; in one line.
fn reply_subject(subject: &str) -> String {
    let line: String = subject.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).collect();
    let line = first_chars(line.trim(), 200);
    let answered = line.get(..3).filter(|head| head.eq_ignore_ascii_case("re:")).map_or(line, |_| line[3..].trim_start());
    format!("Re: {}", if answered.is_empty() { "your message" } else { answered })
}

async fn acknowledge(channel: &ConfiguredChannel, press: &ButtonPress) {
    if let Ok(driver) = &channel.driver {
        driver.acknowledge(press).await;
    }
}

/// Whether a sender is the owner. A name that anyone can choose does not count.
pub(crate) fn is_owner(channel: &ConfiguredChannel, sender: &IncomingSender) -> bool {
    is_listed(&channel.settings.owners, sender)
}

/// `42`, `id:42` or `username:ann`; a shown name is nobody's.
fn is_listed(list: &[String], sender: &IncomingSender) -> bool {
    list.iter().any(|entry| {
        let entry = entry.trim();
        match entry.split_once(':') {
            Some(("username", name)) => {
                sender.username.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(name.trim_start_matches('@')))
            }
            Some(("id", id)) => sender.id == id,
            _ => sender.id == entry,
        }
    })
}

// What is locked here is whole after every step, so it is consistent after a panic elsewhere.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_has_the_subject_of_its_mail() {
        for (subject, expected) in [
            ("Report", "Re: Report"),
            ("RE:  Report", "Re: Report"),
            ("Re:", "Re: your message"),
            ("", "Re: your message"),
            ("a\r\nBcc: eve@example.org", "Re: a  Bcc: eve@example.org"),
            ("üé", "Re: üé"),
        ] {
            assert_eq!(reply_subject(subject), expected);
        }
        let mail = |id: &str, subject: Option<&str>| IncomingMessage {
            conversation: "ann@example.org".into(),
            thread: None,
            is_group: false,
            sender: IncomingSender::default(),
            id: id.into(),
            text: "hi".into(),
            press: None,
            voice: None,
            doubt: None,
            subject: subject.map(str::to_owned),
        };
        let answer = |id: &str, subject: Option<&str>| {
            let command = reply_command("mail", &mail(id, subject), "yes");
            (command.action, command.message_id, command.subject)
        };
        let re = Some("Re: Report".to_owned());
        assert_eq!(answer("<1@x.org>", Some("Report")), (ChannelAction::Reply, Some("<1@x.org>".into()), re.clone()));
        assert_eq!(answer("uid-7", Some("Report")), (ChannelAction::Send, None, re));
        assert_eq!(answer("<1@x.org>", None), (ChannelAction::Send, None, None), "a message of another service");
    }

    #[test]
    fn shown_names_let_nobody_in() {
        let sender = IncomingSender { id: "@ann:example.org".into(), username: Some("Ann".into()), name: Some("boss".into()) };
        let listed = |entry: &str| is_listed(&[entry.to_owned()], &sender);
        for entry in ["@ann:example.org", "id:@ann:example.org", "username:ann", "username:@ANN"] {
            assert!(listed(entry), "{entry}");
        }
        for entry in ["boss", "name:boss", "Ann", "username:boss", "*", "", "id:", "@ANN:example.org"] {
            assert!(!listed(entry), "{entry}");
        }
    }
}
