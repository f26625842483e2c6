//! Conversations of `haft serve`: a message appears on the page.

use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelKind, ChannelReceipt};

use crate::SendFailure;
use crate::driver::{Capabilities, ChannelDriver};
use crate::settings::ChatInbox;

const LONGEST: usize = 20_000;

/// The page's own chat.
pub(crate) struct Chat {
    inbox: Arc<dyn ChatInbox>,
}

impl Chat {
    pub(crate) fn new(inbox: Arc<dyn ChatInbox>) -> Self {
        Self { inbox }
    }
}

impl ChannelDriver for Chat {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Chat
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            actions: &[ChannelAction::Send],
            attachments: false,
            buttons: false,
            subject: false,
            longest: LONGEST,
            outward: false,
        }
    }

    fn perform<'a>(&'a self, command: &'a ChannelCommand, _key: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
        Box::pin(async move { Ok(ChannelReceipt::delivered(Some(self.inbox.deliver(&command.to, &command.text).await?))) })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
        Box::pin(async { Ok("conversations of this machine".to_owned()) })
    }
}
