mod command;
mod definition;
mod report;
#[cfg(test)]
mod tests;

use haft_contract::ports::{ChannelCommand, ChannelOffer};
use haft_contract::{Plan, PlanContext, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

/// Send messages to people and services outside of this conversation, by the channels that the user has configured: chats, mail, webhooks,
/// notifications. A message that went out cannot be sent again: if the outcome is unknown, tell the user and do not repeat it. Not for
/// your answer to the user.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "message",
    label = "Message to a channel",
    section = Messaging,
    category = Notify,
    access = FullAccess,
    timeout_secs = 60,
    rules = Send,
    profiles = ["messaging"],
    open_world
)]
pub(crate) struct MessageTool {
    offers: Vec<ChannelOffer>,
    /// Why none of the configured channels can be used.
    fault: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// What to do. Defaults to 'send'.
    #[schemars(extend(
        "enum" = ["send", "reply", "edit", "delete", "react", "read", "poll", "thread"],
        "x-choices" = {
            "send_attachment": "send", "upload_file": "send", "unsend": "delete", "thread_create": "thread", "thread_reply": "thread",
            "topic_create": "thread", "message": "send", "broadcast": "send", "fetch": "read", "history": "read", "reaction": "react"
        }
    ))]
    action: Option<String>,
    /// The channel. May be left out if there is one.
    #[schemars(extend("x-aliases" = ["account_id", "provider"]))]
    channel: Option<String>,
    /// The recipient: a room, a user or an address, as the channel writes it.
    #[schemars(extend("x-aliases" = ["target", "recipient", "chat_id", "channel_id", "room", "user_id", "address"]))]
    to: Option<String>,
    /// Several recipients of one message, each as 'CHANNEL:TO', in place of 'to'; at most 10.
    #[schemars(extend("x-aliases" = ["targets"]))]
    #[serde(default)]
    recipients: Vec<String>,
    /// The text; the question of a poll.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["text", "content", "caption", "body", "poll_question", "question"]))]
    message: Option<String>,
    /// The subject of a mail.
    #[schemars(extend("x-aliases" = ["title"]))]
    subject: Option<String>,
    /// Paths of files that are sent with it, at most 10.
    #[schemars(extend("x-aliases" = ["media", "path", "file_path", "file", "files", "attachment"]))]
    #[serde(default)]
    attachments: Vec<String>,
    /// Labels of buttons beneath the message.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    buttons: Vec<String>,
    /// The answers of a poll: 2 to 10.
    #[schemars(extend("x-aliases" = ["poll_option", "poll_options", "answers", "choices"]))]
    #[serde(default)]
    options: Vec<String>,
    /// The message to reply to, edit, delete or react to, by its id.
    #[schemars(extend("x-aliases" = ["reply_to", "reply_to_id", "id"]))]
    message_id: Option<String>,
    /// The thread to write to or read.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["thread", "topic_id", "thread_ts"]))]
    thread_id: Option<String>,
    /// The emoji of a reaction.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["reaction"]))]
    emoji: Option<String>,
    /// Take the reaction away.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    remove: bool,
    /// How many messages to read, at most 100. Defaults to 20.
    limit: Option<usize>,
    /// Read messages before this id.
    #[schemars(extend("x-rare" = true))]
    before: Option<String>,
    /// Do not alert the recipient.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    silent: bool,
    /// Show what would be sent, and send nothing.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    dry_run: bool,
}

impl MessageTool {
    /// Without a channel: it is not offered.
    pub(crate) const fn new() -> Self {
        Self { offers: Vec::new(), fault: None }
    }

    /// With the channels that are configured: its parameters are what these can do.
    pub(crate) fn with(offers: Vec<ChannelOffer>, fault: Option<String>) -> Self {
        Self { offers, fault }
    }
}

impl Tool for MessageTool {
    type Params = Params;
    type Output = ToolOutput;

    fn describe(&self) -> ToolDefinition {
        definition::narrowed(ToolDefinition::for_tool::<Self>(), &self.offers, self.fault.as_deref())
    }

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let channels = cx.channels()?;
        let planned = command::planned(params, &channels.offers())?;
        planned.iter().try_for_each(|planned| channels.check(&planned.command))?;
        let plan = params.attachments.iter().try_fold(Plan::nothing(), |plan, path| Ok::<_, ToolError>(plan.read(cx.locate(path)?)))?;
        if params.dry_run {
            return Ok(plan);
        }
        Ok(planned.into_iter().fold(plan, |plan, planned| plan.send(planned.command.channel, planned.command.to, planned.is_outward)))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mut planned = command::planned(&params, &cx.channels().offers()?)?;
        let files = command::read_files(&params.attachments, cx).await?;
        let commands: Vec<ChannelCommand> =
            planned.drain(..).map(|planned| ChannelCommand { files: files.clone(), ..planned.command }).collect();
        if params.dry_run {
            return Ok(report::dry_run(&commands));
        }
        if let [command] = commands.as_slice() {
            return report::performed(command, &cx.channels().perform(command).await?);
        }
        let mut outcomes = Vec::new();
        for command in &commands {
            let receipt = cx.channels().perform(command).await;
            outcomes.push((command, receipt.and_then(|receipt| report::performed(command, &receipt).map(|_| receipt))));
        }
        report::broadcast(&outcomes)
    }
}
