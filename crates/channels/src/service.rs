//! The channels of the configuration: what each can do, and every message recorded before and after it is sent.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelOffer, ChannelReceipt, MessageChannels, SendOutcome};
use haft_contract::{BoxFuture, ToolError};
use haft_store::{ChannelStore, IntentAnswer, OutgoingRecord, SendIntent, new_uuid};
use haft_text::truncate::ellipsize;

use crate::delivery::deliver;
use crate::driver::ChannelDriver;
use crate::settings::{ChannelPorts, ChannelSettings};
use crate::signature::sha256;

/// A message whose outcome is unknown is not sent again for this long.
const REPEAT_AGE: Duration = Duration::from_hours(1);
const EXCERPT: usize = 200;

/// Opens the store when it is first needed: most calls need none.
pub type StoreOpener = Box<dyn Fn() -> Result<Arc<dyn ChannelStore>, String> + Send + Sync>;

/// A configured channel.
pub(crate) struct ConfiguredChannel {
    pub(crate) settings: ChannelSettings,
    /// Its driver, or why it cannot be used.
    pub(crate) driver: Result<Arc<dyn ChannelDriver>, String>,
}

/// What is to be known of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelReport {
    /// Its name.
    pub name: String,
    /// The service.
    pub kind: &'static str,
    /// What it can do; empty if it cannot be used.
    pub actions: Vec<ChannelAction>,
    /// Why it cannot be used.
    pub fault: Option<String>,
    /// Whether it takes messages.
    pub receives: bool,
    /// How many senders the configuration lets in.
    pub allowed: usize,
}

/// What became of an announcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnouncementOutcome {
    /// The service took it.
    Delivered,
    /// It was not sent, for this reason.
    NotDelivered(String),
    /// Nobody knows, for this reason.
    Unknown(String),
}

/// All configured channels.
pub struct ChannelService {
    channels: Vec<ConfiguredChannel>,
    open: StoreOpener,
    store: OnceLock<Arc<dyn ChannelStore>>,
}

haft_contract::opaque_debug!(ChannelService);

impl ChannelService {
    /// The channels of these settings.
    pub fn new(settings: Vec<ChannelSettings>, ports: &ChannelPorts, open: StoreOpener) -> Self {
        let channel = |settings: ChannelSettings| ConfiguredChannel { driver: settings.driver(ports), settings };
        Self { channels: settings.into_iter().map(channel).collect(), open, store: OnceLock::new() }
    }

    /// Every channel, also those that cannot be used.
    pub fn reports(&self) -> Vec<ChannelReport> {
        let report = |channel: &ConfiguredChannel| ChannelReport {
            name: channel.settings.name.clone(),
            kind: channel.settings.kind.as_str(),
            actions: channel.driver.as_ref().map(|driver| driver.capabilities().actions.to_vec()).unwrap_or_default(),
            fault: channel.driver.as_ref().err().cloned(),
            receives: channel.settings.receives,
            allowed: channel.settings.allow_from.len() + channel.settings.owners.len(),
        };
        self.channels.iter().map(report).collect()
    }

    /// Asks the service of a channel who we are.
    pub async fn probe(&self, name: &str) -> Result<String, String> {
        let channel = self.find(name).ok_or_else(|| self.unknown(name))?;
        channel.driver.as_ref().map_err(Clone::clone)?.probe().await.map_err(|failure| failure.message)
    }

    /// Sends a text. With a key, the same key sends it once, however often this is called: cron gives the id of its run.
    pub async fn announce(&self, channel: &str, to: &str, text: &str, key: Option<&str>) -> AnnouncementOutcome {
        let command = ChannelCommand::new(channel, to, ChannelAction::Send, text);
        let receipt = match self.check_command(&command) {
            Ok(_) => self.send(&command, None, key.map(str::to_owned)).await,
            Err(why) => return AnnouncementOutcome::NotDelivered(why),
        };
        match receipt {
            Ok(ChannelReceipt { outcome: SendOutcome::Delivered, .. }) => AnnouncementOutcome::Delivered,
            Ok(ChannelReceipt { outcome: SendOutcome::Unknown, reason, .. }) => AnnouncementOutcome::Unknown(reason.unwrap_or_default()),
            Ok(ChannelReceipt { reason, .. }) => AnnouncementOutcome::NotDelivered(reason.unwrap_or_default()),
            Err(why) => AnnouncementOutcome::NotDelivered(why),
        }
    }

    /// Opens a code that lets one sender in; an earlier one of the channel is gone.
    pub async fn open_code(&self, channel: &str, code: &str, expires: SystemTime) -> Result<(), String> {
        let hash = crate::pairing::hash(channel, code);
        self.store()?.open_code(channel, &hash, expires).await.map_err(|error| error.to_string())
    }

    /// The store, opened at the first use.
    pub fn store(&self) -> Result<&Arc<dyn ChannelStore>, String> {
        if self.store.get().is_none() {
            let opened = (self.open)()?;
            // Another thread may have been faster; both are the same database.
            self.store.set(opened).ok();
        }
        self.store.get().ok_or_else(|| "the store is not open".to_owned())
    }

    pub(crate) fn all(&self) -> &[ConfiguredChannel] {
        &self.channels
    }

    pub(crate) fn find(&self, name: &str) -> Option<&ConfiguredChannel> {
        self.channels.iter().find(|channel| channel.settings.name == name)
    }

    fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.channels.iter().map(|channel| channel.settings.name.as_str()).collect();
        let known = if known.is_empty() { "none is configured".to_owned() } else { format!("the channels are {}", known.join(", ")) };
        format!("there is no channel '{}'; {known}", ellipsize(name, 60))
    }

    /// The driver that a command is for, if it can carry it out.
    fn check_command(&self, command: &ChannelCommand) -> Result<&Arc<dyn ChannelDriver>, String> {
        let channel = self.find(&command.channel).ok_or_else(|| self.unknown(&command.channel))?;
        let driver = channel.driver.as_ref().map_err(|why| format!("the channel '{}' cannot be used: {why}", command.channel))?;
        let capabilities = driver.capabilities();
        if !capabilities.actions.contains(&command.action) {
            return Err(format!("the channel '{}' cannot {}", command.channel, command.action));
        }
        let (length, longest) = (command.text.chars().count(), capabilities.longest);
        if length > longest {
            return Err(format!("the message has {length} characters, and {longest} are the most here; shorten it or send several"));
        }
        if command.to.is_empty() || command.to.chars().any(char::is_control) || command.to.len() > 500 {
            return Err("the recipient has no letters, or some that cannot be in one".into());
        }
        driver.check(command)?;
        Ok(driver)
    }

    /// Records the intent, sends, and records the outcome. A caller that no longer waits does not stop it in between.
    pub(crate) async fn send(
        &self,
        command: &ChannelCommand,
        origin: Option<(&str, &str)>,
        key: Option<String>,
    ) -> Result<ChannelReceipt, String> {
        let driver = Arc::clone(self.check_command(command)?);
        if command.action.only_reads() {
            return Ok(deliver(&*driver, command, "")
                .await
                .unwrap_or_else(|failure| ChannelReceipt::failed(failure.outcome(), failure.message)));
        }
        let store = Arc::clone(self.store()?);
        let intent = intent(command, origin, key);
        let (id, since) = (intent.id.clone(), intent.created.checked_sub(REPEAT_AGE).unwrap_or(SystemTime::UNIX_EPOCH));
        let not_kept = |error: haft_store::StoreError| format!("it was not sent, because it cannot be recorded: {error}");
        if let IntentAnswer::Known(known) = store.intend(intent, since).await.map_err(not_kept)? {
            return Ok(repeated(&known));
        }
        let command = command.clone();
        let sending = tokio::spawn(async move {
            let receipt = deliver(&*driver, &command, &id).await;
            let receipt = receipt.unwrap_or_else(|failure| ChannelReceipt::failed(failure.outcome(), failure.message));
            // An outcome that cannot be recorded is unknown to the next reader, which is true.
            store.settle(&id, receipt.outcome, receipt.message_id.as_deref(), receipt.reason.as_deref()).await.ok();
            receipt
        });
        sending.await.or_else(|_| Ok(ChannelReceipt::failed(SendOutcome::Unknown, "sending it failed in the middle")))
    }
}

fn intent(command: &ChannelCommand, origin: Option<(&str, &str)>, key: Option<String>) -> SendIntent {
    let session = origin.map(|(session, _)| session);
    SendIntent {
        // What a caller names is unique for the caller alone.
        id: key.map_or_else(|| new_uuid().to_string(), |key| format!("{}-{key}", command.channel)),
        channel: command.channel.clone(),
        recipient: command.to.clone(),
        action: command.action.as_str().to_owned(),
        fingerprint: fingerprint(command, session),
        excerpt: ellipsize(&command.text, EXCERPT).into_owned(),
        origin: origin.map(|(session, call)| (session.to_owned(), call.to_owned())),
        created: SystemTime::now(),
    }
}

/// The same for the same content from the same session to the same recipient.
fn fingerprint(command: &ChannelCommand, session: Option<&str>) -> String {
    let files: Vec<String> = command.files.iter().map(|file| format!("{} {}", file.name, sha256(&file.content))).collect();
    let parts = format!(
        "{:?}",
        (
            (&command.channel, &command.to, command.action, &command.text, &command.subject),
            (files, &command.choices, &command.message_id, &command.thread_id, &command.emoji, command.is_removal, session)
        )
    );
    sha256(parts.as_bytes())
}

/// The answer for a message that was sent before, or may have been.
fn repeated(known: &OutgoingRecord) -> ChannelReceipt {
    match known.outcome {
        Some(outcome @ (SendOutcome::Delivered | SendOutcome::NotDelivered)) => {
            ChannelReceipt { outcome, message_id: known.message.clone(), reason: known.reason.clone(), entries: Vec::new() }
        }
        Some(SendOutcome::Unknown) => {
            let reason = known.reason.as_deref().unwrap_or("the service did not answer");
            ChannelReceipt::failed(SendOutcome::Unknown, format!("the same message was sent before ({reason}), so it was not sent again"))
        }
        None => ChannelReceipt::failed(SendOutcome::Unknown, "the same message is being sent, so it was not sent again"),
    }
}

impl MessageChannels for ChannelService {
    fn offers(&self) -> Vec<ChannelOffer> {
        let offer = |channel: &ConfiguredChannel| {
            let driver = channel.driver.as_ref().ok()?;
            let capabilities = driver.capabilities();
            Some(ChannelOffer {
                name: channel.settings.name.clone(),
                kind: channel.settings.kind,
                actions: capabilities.actions.to_vec(),
                has_attachments: capabilities.attachments,
                has_buttons: capabilities.buttons,
                has_subject: capabilities.subject,
                default_to: channel.settings.to.clone(),
                is_outward: capabilities.outward,
            })
        };
        self.channels.iter().filter_map(offer).filter(|offer| !offer.actions.is_empty()).collect()
    }

    fn check(&self, command: &ChannelCommand) -> Result<(), ToolError> {
        self.check_command(command).map(drop).map_err(|why| ToolError::validation(sentence(&why)))
    }

    fn perform<'a>(
        &'a self,
        command: &'a ChannelCommand,
        session: &'a str,
        call: &'a str,
    ) -> BoxFuture<'a, Result<ChannelReceipt, ToolError>> {
        Box::pin(async move { self.send(command, Some((session, call)), None).await.map_err(|why| ToolError::execution(sentence(&why))) })
    }
}

/// A part of a sentence as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|ch| ch.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
