//! What the parameters ask for.

use std::path::Path;

use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelFile, ChannelOffer};
use haft_contract::{ToolContext, ToolError};
use haft_text::numbers;

use super::Params;
use crate::shared::read_all::read_all;

const MOST_FILES: usize = 10;
const MOST_FILE_BYTES: usize = 20 * 1024 * 1024;
const MOST_READ: usize = 100;
const DEFAULT_READ: usize = 20;
const MOST_RECIPIENTS: usize = 10;
const MOST_BUTTONS: usize = 8;
const MOST_OPTIONS: usize = 10;
/// Tags that some models put around what they think, which nobody should get as a message.
const REASONING: [&str; 3] = ["think", "thinking", "reasoning"];

/// A command without its files, and whether it leaves this machine.
pub(super) struct PlannedCommand {
    pub(super) command: ChannelCommand,
    pub(super) is_outward: bool,
}

/// One command for each recipient.
pub(super) fn planned(params: &Params, offers: &[ChannelOffer]) -> Result<Vec<PlannedCommand>, ToolError> {
    if params.recipients.is_empty() {
        return Ok(vec![planned_for(params, params.channel.as_deref(), params.to.as_deref(), offers)?]);
    }
    if params.recipients.len() > MOST_RECIPIENTS {
        return Err(ToolError::validation(format!("There are too many recipients: {MOST_RECIPIENTS} are the most of one call.")));
    }
    if params.to.is_some() || action(params)? != ChannelAction::Send {
        return Err(ToolError::validation("'recipients' is for the action 'send' alone, and in place of 'to'."));
    }
    let mut commands: Vec<PlannedCommand> = Vec::new();
    for recipient in &params.recipients {
        let named = recipient.split_once(':').filter(|(name, _)| offers.iter().any(|offer| offer.name.eq_ignore_ascii_case(name.trim())));
        let (channel, to) = match named {
            Some((channel, to)) => (Some(channel), to),
            None => (params.channel.as_deref(), recipient.as_str()),
        };
        let planned = planned_for(params, channel, Some(to), offers)?;
        // Nobody gets it twice.
        if !commands.iter().any(|known| (&known.command.channel, &known.command.to) == (&planned.command.channel, &planned.command.to)) {
            commands.push(planned);
        }
    }
    Ok(commands)
}

fn planned_for(params: &Params, channel: Option<&str>, to: Option<&str>, offers: &[ChannelOffer]) -> Result<PlannedCommand, ToolError> {
    let offer = find(channel, offers)?;
    let action = action(params)?;
    if !offer.actions.contains(&action) {
        let can: Vec<&str> = offer.actions.iter().map(|action| action.as_str()).collect();
        return Err(ToolError::validation(format!("The channel '{}' cannot {action}. It can: {}.", offer.name, can.join(", "))));
    }
    let to = to.map(str::trim).filter(|to| !to.is_empty()).or(offer.default_to.as_deref());
    let Some(to) = to else {
        return Err(ToolError::validation(format!("The recipient is missing. Name it in 'to' for the channel '{}'.", offer.name)));
    };
    let mut command = ChannelCommand::new(&offer.name, to, action, without_reasoning(params.message.as_deref().unwrap_or_default()));
    command.subject.clone_from(&params.subject);
    command.choices = if action == ChannelAction::Poll { params.options.clone() } else { params.buttons.clone() };
    command.message_id.clone_from(&params.message_id);
    command.thread_id.clone_from(&params.thread_id);
    command.emoji.clone_from(&params.emoji);
    command.is_removal = params.remove;
    command.limit = params.limit.unwrap_or(DEFAULT_READ).clamp(1, MOST_READ);
    command.before.clone_from(&params.before);
    command.is_silent = params.silent;
    check(params, offer, &command)?;
    Ok(PlannedCommand { command, is_outward: offer.is_outward })
}

fn find<'a>(name: Option<&str>, offers: &'a [ChannelOffer]) -> Result<&'a ChannelOffer, ToolError> {
    let known = || offers.iter().map(|offer| offer.name.as_str()).collect::<Vec<_>>().join(", ");
    match (name.map(str::trim).filter(|name| !name.is_empty()), offers) {
        (None, [only]) => Ok(only),
        (None, _) => Err(ToolError::validation(format!("The channel is missing. Name it in 'channel': {}.", known()))),
        (Some(name), _) => {
            let found = offers.iter().find(|offer| offer.name.eq_ignore_ascii_case(name));
            found.ok_or_else(|| {
                ToolError::validation(format!("There is no channel '{}'. The channels are: {}.", crate::shared::brief(name), known()))
            })
        }
    }
}

/// Without a word on it, a message that answers another one is a reply.
fn action(params: &Params) -> Result<ChannelAction, ToolError> {
    match params.action.as_deref() {
        Some(name) => name.parse().map_err(|why| ToolError::validation(format!("Parameter 'action': {why}."))),
        None if params.message_id.is_some() => Ok(ChannelAction::Reply),
        None if !params.options.is_empty() => Ok(ChannelAction::Poll),
        None => Ok(ChannelAction::Send),
    }
}

fn check(params: &Params, offer: &ChannelOffer, command: &ChannelCommand) -> Result<(), ToolError> {
    let action = command.action;
    let needs_text = matches!(action, ChannelAction::Edit | ChannelAction::Poll | ChannelAction::Reply | ChannelAction::Thread)
        || (action == ChannelAction::Send && params.attachments.is_empty());
    let needs_message = matches!(action, ChannelAction::Edit | ChannelAction::Delete | ChannelAction::React | ChannelAction::Reply);
    let faults = [
        (needs_text && command.text.trim().is_empty(), "The message is empty. Say in 'message' what the recipient should read."),
        (
            needs_message && command.message_id.is_none(),
            "The id of the message is missing. Name it in 'message_id'; the action 'read' shows ids.",
        ),
        (action == ChannelAction::React && command.emoji.is_none(), "The emoji is missing. Name it in 'emoji'."),
        (
            action == ChannelAction::Poll && !(2..=MOST_OPTIONS).contains(&command.choices.len()),
            "A poll has 2 to 10 answers. Name them in 'options'.",
        ),
        (action != ChannelAction::Poll && command.choices.len() > MOST_BUTTONS, "There are too many buttons: 8 are the most."),
        (params.attachments.len() > MOST_FILES, "There are too many attachments: 10 are the most."),
        (
            !params.attachments.is_empty() && !offer.has_attachments,
            "This channel cannot send files. Write their content, or use another channel.",
        ),
        (!params.buttons.is_empty() && !offer.has_buttons, "This channel has no buttons. List the choices in the text."),
    ];
    match faults.into_iter().find(|(is_fault, _)| *is_fault) {
        Some((_, message)) => Err(ToolError::validation(message)),
        None => Ok(()),
    }
}

/// The text without what a model thinks aloud.
fn without_reasoning(text: &str) -> String {
    let mut text = text.to_owned();
    for tag in REASONING {
        let (begin, end) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = text.find(&begin) {
            let stop = text[start..].find(&end).map_or(text.len(), |at| start + at + end.len());
            text.replace_range(start..stop, "");
        }
    }
    text.trim().to_owned()
}

/// The planned files with their content.
pub(super) async fn read_files(paths: &[String], cx: &ToolContext) -> Result<Vec<ChannelFile>, ToolError> {
    let (mut files, mut total) = (Vec::new(), 0);
    for path in paths {
        let reader = cx.fs().open(path).await?;
        let content = read_all(path, "an attachment", Vec::new(), &*reader, MOST_FILE_BYTES).await?;
        total += content.len();
        if total > MOST_FILE_BYTES {
            let most = numbers::size(MOST_FILE_BYTES as u64);
            return Err(ToolError::validation(format!("The attachments are larger than {most} together. Send fewer, or a part of them.")));
        }
        let name = Path::new(path).file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        files.push(ChannelFile { media_type: media_type(&name).to_owned(), name, content });
    }
    Ok(files)
}

fn media_type(name: &str) -> &'static str {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "txt" | "log" | "md" | "rs" | "py" | "toml" => "text/plain",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}
