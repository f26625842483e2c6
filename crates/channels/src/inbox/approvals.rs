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
    /// The message with the buttons, once it was sent.
    message: Option<String>,
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
            let sent = SentApproval { notice: notice.clone(), channel: channel.clone(), room: room.clone(), message: None };
            open.insert(token.clone(), sent);
        }
        let mut command = ChannelCommand::new(&channel, &room, ChannelAction::Send, question(&notice));
        command.thread_id = thread;
        command.choices = vec![format!("Allow once={PREFIX}{token}:1"), format!("Deny={PREFIX}{token}:0")];
        let receipt = self.service.send(&command, None, Some(format!("approval-{token}"))).await;
        let message = receipt.ok().filter(|receipt| receipt.outcome == SendOutcome::Delivered).and_then(|receipt| receipt.message_id);
        if let Some(open) = locked(&self.approvals.0).get_mut(&token) {
            open.message = message;
        }
    }

    /// Takes the buttons away: the question was answered, here or elsewhere, or nobody waits for it any more.
    pub async fn approval_closed(self: &Arc<Self>, id: &str, answer: &str, by: &str) {
        let closed = {
            let mut open = locked(&self.approvals.0);
            let token = open.iter().find(|(_, sent)| sent.notice.id == id).map(|(token, _)| token.clone());
            token.and_then(|token| Some((token.clone(), open.remove(&token)?)))
        };
        let Some((token, SentApproval { notice, channel, room, message: Some(message) })) = closed else { return };
        let can_edit = self.service.find(&channel).and_then(|channel| channel.driver.as_ref().ok());
        if !can_edit.is_some_and(|driver| driver.capabilities().actions.contains(&ChannelAction::Edit)) {
            return;
        }
        let text = format!("{}\n\nAnswered: {answer}, by {}.", question(&notice), escape_line(by));
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
