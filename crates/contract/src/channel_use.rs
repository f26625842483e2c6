//! Channels, as planned.

use crate::capability::{alive, unplanned};
use crate::ports::{ChannelCommand, ChannelOffer, ChannelReceipt, MessageChannels};
use crate::{PlanContext, ToolContext, ToolError};

/// The channels of the configuration, as planned. What is read in them is untrusted.
#[derive(Debug, Clone, Copy)]
pub struct ChannelUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

pub(crate) fn no_channels() -> ToolError {
    ToolError::execution(
        "No channel is configured here. Ask the user to add one to the configuration: [channels.NAME] with kind and token_env.",
    )
}

impl<'a> ChannelUse<'a> {
    fn port(self) -> Result<&'a dyn MessageChannels, ToolError> {
        alive(self.cx)?;
        self.cx.host().services().channels.as_deref().ok_or_else(no_channels)
    }

    /// What the channels can do.
    pub fn offers(&self) -> Result<Vec<ChannelOffer>, ToolError> {
        Ok(self.port()?.offers())
    }

    /// Carries out a command whose channel and recipient the plan names.
    pub async fn perform(&self, command: &ChannelCommand) -> Result<ChannelReceipt, ToolError> {
        let port = self.port()?;
        if !self.cx.plan().permits_send(&command.channel, &command.to) {
            return Err(unplanned("send to", &format!("{}:{}", command.channel, command.to)));
        }
        if command.action.only_reads() {
            self.cx.mark_untrusted();
        }
        let call = self.cx.call();
        port.perform(command, &call.session, &call.id).await
    }
}

impl<'a> PlanContext<'a> {
    /// The configured channels, for the plan.
    pub fn channels(&self) -> Result<&'a dyn MessageChannels, ToolError> {
        self.services().channels.as_deref().ok_or_else(no_channels)
    }
}
