//! Notifications on this machine.

use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelKind, ChannelReceipt, Notice, Notifier};

use crate::SendFailure;
use crate::driver::{Capabilities, ChannelDriver};

const LONGEST: usize = 4_000;

/// The desktop of this machine, or its alert log.
pub(crate) struct DesktopChannel {
    notifier: Arc<dyn Notifier>,
}

impl DesktopChannel {
    pub(crate) fn new(notifier: Arc<dyn Notifier>) -> Self {
        Self { notifier }
    }
}

impl ChannelDriver for DesktopChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Desktop
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
        Box::pin(async move {
            let notice = Notice { message: command.text.clone(), urgency: "normal".into(), recipient: command.to.clone() };
            let shown = self.notifier.notify(notice).await;
            shown.map(|_| ChannelReceipt::delivered(None)).map_err(|error| SendFailure::refused(error.message()))
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
        Box::pin(async { Ok("notices of this machine".to_owned()) })
    }
}
