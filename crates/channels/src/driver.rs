//! What every channel is to the rest: a driver.

use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelKind, ChannelReceipt};

use crate::SendFailure;

/// What a channel can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature of the service, independent of the others")]
pub struct Capabilities {
    /// Actions.
    pub actions: &'static [ChannelAction],
    /// Whether a message can have files.
    pub attachments: bool,
    /// Whether a message can have buttons.
    pub buttons: bool,
    /// Whether a message has a subject.
    pub subject: bool,
    /// Characters of one message.
    pub longest: usize,
    /// Whether a message leaves this machine.
    pub outward: bool,
}

/// Who sent a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct IncomingSender {
    /// The id in the channel, which nobody can choose.
    pub id: String,
    /// The user name.
    pub username: Option<String>,
    /// The shown name; anyone can choose any.
    pub name: Option<String>,
}

/// A button that was pressed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ButtonPress {
    /// What the button stands for.
    pub value: String,
    /// How the press is acknowledged, where the service wants that.
    pub acknowledge: Option<String>,
}

/// A voice message, which the service still holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct VoiceNote {
    /// Where the service has it: a file id or an address, for [`ChannelDriver::fetch_voice`].
    pub id: String,
    /// Its media type.
    pub mime: String,
    /// How long it lasts, if the service says so.
    pub seconds: Option<u64>,
}

/// A message that came in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct IncomingMessage {
    /// The conversation that it belongs to: also the recipient of the answer.
    pub conversation: String,
    /// The thread in that conversation.
    pub thread: Option<String>,
    /// Whether others take part in the conversation.
    pub is_group: bool,
    /// Who sent it.
    pub sender: IncomingSender,
    /// Its id in the channel, by which it is taken once.
    pub id: String,
    /// The text.
    pub text: String,
    /// A pressed button, in place of a text.
    pub press: Option<ButtonPress>,
    /// A voice message; the text is its caption.
    #[serde(default)]
    pub voice: Option<VoiceNote>,
    /// What the channel makes of the sender: why it cannot vouch for the id, if it cannot.
    pub doubt: Option<String>,
    /// The subject of a mail, which its answer has as well.
    #[serde(default)]
    pub subject: Option<String>,
}

/// Messages that were fetched, and how far the channel was read with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolledMessages {
    /// Oldest first.
    pub messages: Vec<IncomingMessage>,
    /// Where to continue.
    pub cursor: Option<String>,
}

/// An HTTP request of a service to `haft serve`.
#[derive(Debug, Clone)]
pub struct HookRequest {
    /// Headers: the names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as it came.
    pub body: Vec<u8>,
    /// When it came.
    pub at: SystemTime,
}

impl HookRequest {
    /// The only header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| other == name);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }
}

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// The status.
    pub status: u16,
    /// The body, as JSON or text.
    pub body: String,
    /// Messages that it brought.
    pub messages: Vec<IncomingMessage>,
}

impl HookAnswer {
    /// It was understood.
    pub(crate) fn accepted(body: impl Into<String>, messages: Vec<IncomingMessage>) -> Self {
        Self { status: 200, body: body.into(), messages }
    }
    /// It was not.
    pub(crate) fn refused(status: u16, why: &str) -> Self {
        Self { status, body: serde_json::json!({ "error": why }).to_string(), messages: Vec::new() }
    }
}

/// A channel: speaks the protocol of one service, with one account.
pub trait ChannelDriver: Send + Sync {
    /// The service.
    fn kind(&self) -> ChannelKind;
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// Checks a command; says what is wrong with it.
    fn check(&self, command: &ChannelCommand) -> Result<(), String> {
        let _ = command;
        Ok(())
    }
    /// Whether the service recognises a message that is sent again with the same key.
    fn is_idempotent(&self, action: ChannelAction) -> bool {
        action.only_reads()
    }
    /// Carries out a command, once. The key is the same for every try of one message.
    fn perform<'a>(&'a self, command: &'a ChannelCommand, key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>>;
    /// Asks the service who we are; changes nothing.
    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>>;
    /// Whether messages are fetched with [`poll`](Self::poll).
    fn polls(&self) -> bool {
        false
    }
    /// Waits for messages after a cursor, some seconds at most. The first call, without a cursor, skips what was there before.
    fn poll<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<PolledMessages, SendFailure>> {
        let _ = cursor;
        Box::pin(async { Err(SendFailure::refused("this channel cannot be asked for messages")) })
    }
    /// Checks and reads a request of the service.
    fn hook(&self, request: &HookRequest) -> HookAnswer {
        let _ = request;
        HookAnswer::refused(404, "This channel takes no requests.")
    }
    /// Fetches a recording from the service.
    fn fetch_voice<'a>(&'a self, note: &'a VoiceNote) -> BoxFuture<'a, Result<Vec<u8>, SendFailure>> {
        let _ = note;
        Box::pin(async { Err(SendFailure::refused("recordings of this channel are not fetched")) })
    }
    /// Tells the service that a button press has arrived, where it waits for that.
    fn acknowledge<'a>(&'a self, press: &'a ButtonPress) -> BoxFuture<'a, ()> {
        let _ = press;
        Box::pin(async {})
    }
}

/// The label of a button and what it stands for: `Allow=haft:1:allow`; without a sign it stands for its label.
pub(crate) fn button(choice: &str) -> (&str, &str) {
    choice.split_once('=').filter(|(label, value)| !label.is_empty() && !value.is_empty()).unwrap_or((choice, choice))
}
