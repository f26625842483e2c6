//! Approvals that are asked for in the conversation of the session, and answered with buttons. The first answer counts, wherever it
//! comes from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, SendOutcome};
use haft_store::new_uuid;
use haft_text::display::{escape_line, shorten};

use super::{Inbox, InboxVerdict, is_owner, locked};
use crate::driver::IncomingMessage;
use crate::service::ConfiguredChannel;

/// What the value of a button of ours begins with.
pub(super) const PREFIX: &str = "haft:";
/// Questions that may be open; more are only on the page.
const MOST_OPEN: usize = 100;

/// A call that needs approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelApproval {
    /// Its id.
    pub id: String,
    /// What exactly was asked: an answer is for this alone.
    pub fingerprint: String,
    /// The session that asks.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// What it would do, in words.
    pub effects: Vec<String>,
    /// Why it needs approval.
    pub reason: String,
}

/// Where answers go.
pub trait ApprovalAnswers: Send + Sync {
    /// Answers a question, once; says why not, if another was first.
    fn answer<'a>(&'a self, notice: &'a ChannelApproval, is_allowed: bool, by: &'a str) -> BoxFuture<'a, Result<(), String>>;
}

/// A question that was sent to a conversation.
#[derive(Clone)]
struct SentApproval {
    notice: ChannelApproval,
    channel: String,
    room: String,
    /// Whether the message with the buttons is on its way.
    is_sending: bool,
    /// That message, once it was sent.
    message: Option<String>,
    /// What was answered, and by whom.
    answered: Option<String>,
}

/// The open questions, by the word in their buttons, which nobody can guess.
#[derive(Default)]
pub(super) struct OpenApprovals(Mutex<HashMap<String, SentApproval>>);

impl Inbox {
    /// Asks in the conversation of the session, if it has one whose channel has buttons and an owner who may answer.
    pub async fn approval_opened(self: &Arc<Self>, notice: ChannelApproval) {
        let Some((channel, room, thread)) = self.place(&notice.session).await else { return };
        let token = new_uuid().simple().to_string();
        {
            let mut open = locked(&self.approvals.0);
            if open.len() >= MOST_OPEN {
                return;
            }
            let (notice, channel, room) = (notice.clone(), channel.clone(), room.clone());
            open.insert(token.clone(), SentApproval { notice, channel, room, is_sending: true, message: None, answered: None });
        }
        let mut command = ChannelCommand::new(&channel, &room, ChannelAction::Send, question(&notice));
        command.thread_id = thread;
        command.choices = vec![format!("Allow once={PREFIX}{token}:1"), format!("Deny={PREFIX}{token}:0")];
        let receipt = self.service.send(&command, None, Some(format!("approval-{token}"))).await;
        let message = receipt.ok().filter(|receipt| receipt.outcome == SendOutcome::Delivered).and_then(|receipt| receipt.message_id);
        let answered = {
            let mut open = locked(&self.approvals.0);
            let Some(sent) = open.get_mut(&token) else { return };
            (sent.is_sending, sent.message) = (false, message);
            if sent.answered.is_some() { open.remove(&token) } else { None }
        };
        if let Some(sent) = answered {
            self.withdraw(&token, sent).await;
        }
    }

    /// Takes the buttons away: the question was answered, here or elsewhere, or nobody waits for it any more.
    pub async fn approval_closed(self: &Arc<Self>, id: &str, answer: &str, by: &str) {
        let closed = {
            let mut open = locked(&self.approvals.0);
            let Some((token, sent)) = open.iter_mut().find(|(_, sent)| sent.notice.id == id) else { return };
            sent.answered = Some(format!("{answer}, by {}", escape_line(by)));
            // A message that is on its way loses its buttons when it has arrived.
            let token = Some(token.clone()).filter(|_| !sent.is_sending);
            token.and_then(|token| Some((open.remove(&token)?, token)))
        };
        if let Some((sent, token)) = closed {
            self.withdraw(&token, sent).await;
        }
    }

    async fn withdraw(&self, token: &str, sent: SentApproval) {
        let SentApproval { notice, channel, room, message: Some(message), answered: Some(answered), .. } = sent else { return };
        let can_edit = self.service.find(&channel).and_then(|channel| channel.driver.as_ref().ok());
        if !can_edit.is_some_and(|driver| driver.capabilities().actions.contains(&ChannelAction::Edit)) {
            return;
        }
        let text = format!("{}\n\nAnswered: {answered}.", question(&notice));
        let mut command = ChannelCommand::new(&channel, room, ChannelAction::Edit, text);
        command.message_id = Some(message);
        self.service.send(&command, None, Some(format!("approval-closed-{token}"))).await.ok();
    }

    /// The channel, the room and the thread of a session.
    async fn place(&self, session: &str) -> Option<(String, String, Option<String>)> {
        let record = self.service.store().ok()?.conversation_of(session).await.ok()??;
        let configured = self.service.find(&record.channel)?;
        let has_buttons = configured.driver.as_ref().is_ok_and(|driver| driver.capabilities().buttons);
        if !has_buttons || configured.settings.owners.is_empty() {
            return None;
        }
        let (_, room) = record.conversation.split_once(':')?;
        let (room, thread) = room.split_once('/').map_or((room, None), |(room, thread)| (room, Some(thread.to_owned())));
        Some((record.channel, room.to_owned(), thread))
    }

    /// A pressed button. Only the owner answers, and only what was asked in this conversation.
    pub(super) async fn answer_approval(&self, channel: &ConfiguredChannel, message: &IncomingMessage) -> InboxVerdict {
        let value = message.press.as_ref().map(|press| press.value.as_str()).unwrap_or_default();
        let Some((token, choice)) = value.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':')) else { return InboxVerdict::Ignored };
        let sent = locked(&self.approvals.0).get(token).cloned();
        let Some(sent) = sent.filter(|sent| sent.channel == channel.settings.name && sent.room == message.conversation) else {
            return InboxVerdict::Ignored;
        };
        if !is_owner(channel, &message.sender) || !["0", "1"].contains(&choice) {
            return InboxVerdict::Ignored;
        }
        let who = message.sender.username.as_deref().unwrap_or(&message.sender.id);
        let by = format!("{} {}", sent.channel, shorten(who, 60));
        match self.answers.answer(&sent.notice, choice == "1", &by).await {
            Ok(()) => InboxVerdict::Answered,
            Err(_) => InboxVerdict::Ignored,
        }
    }
}

fn question(notice: &ChannelApproval) -> String {
    let effects: Vec<String> = notice.effects.iter().take(8).map(|effect| format!("- {}", shorten(effect, 200))).collect();
    format!("Approval needed for {}:\n{}\n{}", notice.tool, effects.join("\n"), shorten(&notice.reason, 400))
}
