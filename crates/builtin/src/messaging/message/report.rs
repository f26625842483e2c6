//! What the model is told.

use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelEntry, ChannelReceipt, SendOutcome};
use haft_contract::{ErrorKind, ToolError, ToolOutput};
use serde_json::{Value, json};

use crate::shared::untrusted::wrap;

/// What would be sent.
pub(super) fn dry_run(commands: &[ChannelCommand]) -> ToolOutput {
    let payload = match commands {
        [command] => payload(command),
        several => several.iter().map(payload).collect(),
    };
    let text = format!("Nothing was sent. This would be: {payload}");
    ToolOutput::text(text).with_details(json!({ "dry_run": true, "payload": payload }))
}

fn payload(command: &ChannelCommand) -> Value {
    let files: Vec<Value> =
        command.files.iter().map(|file| json!({ "name": file.name, "type": file.media_type, "bytes": file.content.len() })).collect();
    let mut payload = json!({ "action": command.action, "channel": command.channel, "to": command.to, "message": command.text });
    let more = [
        ("subject", json!(command.subject)),
        ("attachments", json!(files)),
        ("choices", json!(command.choices)),
        ("message_id", json!(command.message_id)),
        ("thread_id", json!(command.thread_id)),
        ("emoji", json!(command.emoji)),
    ];
    for (key, value) in more.into_iter().filter(|(_, value)| !value.is_null() && *value != json!([])) {
        payload[key] = value;
    }
    payload
}

/// What became of it. What was not delivered is an error, and what is unknown must not be tried again.
pub(super) fn performed(command: &ChannelCommand, receipt: &ChannelReceipt) -> Result<ToolOutput, ToolError> {
    let (channel, to) = (&command.channel, &command.to);
    let reason = receipt.reason.as_deref().unwrap_or("no reason was given");
    match receipt.outcome {
        SendOutcome::Delivered if command.action == ChannelAction::Read => Ok(read(command, &receipt.entries)),
        SendOutcome::Delivered => {
            let id = receipt.message_id.as_deref().map(|id| format!(" Its id is {id}.")).unwrap_or_default();
            let note = receipt.reason.as_deref().map(|reason| format!(" Note: {reason}.")).unwrap_or_default();
            let details = json!({ "outcome": receipt.outcome, "channel": channel, "to": to, "message_id": receipt.message_id });
            Ok(ToolOutput::text(format!("Delivered: {} by {channel} to {to}.{id}{note}", command.action)).with_details(details))
        }
        _ if command.action == ChannelAction::Read => {
            Err(ToolError::new(ErrorKind::NetworkError, format!("{channel} {to} could not be read: {reason}.")))
        }
        SendOutcome::NotDelivered => Err(ToolError::new(
            ErrorKind::NetworkError,
            format!("Not delivered by {channel} to {to}: {reason}. Change what it names, or tell the user."),
        )),
        SendOutcome::Unknown => Err(ToolError::new(
            ErrorKind::NetworkError,
            format!(
                "Whether it was delivered by {channel} to {to} is unknown: {reason}. It may have arrived, so do not send it again; tell the \
                 user."
            ),
        )),
    }
}

/// What became of a message to several recipients. If it did not reach all, that is an error that names each.
pub(super) fn broadcast(outcomes: &[(&ChannelCommand, Result<ChannelReceipt, ToolError>)]) -> Result<ToolOutput, ToolError> {
    let line = |(command, outcome): &(&ChannelCommand, Result<ChannelReceipt, ToolError>)| match outcome {
        Ok(_) => format!("Delivered by {} to {}.", command.channel, command.to),
        Err(error) => error.message().to_owned(),
    };
    let text = outcomes.iter().map(line).collect::<Vec<_>>().join("\n");
    let failed = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).count();
    if failed > 0 {
        let head = format!("{failed} of {} recipients did not get it, or perhaps not. Do not send it to the others again.", outcomes.len());
        return Err(ToolError::new(ErrorKind::NetworkError, format!("{head}\n{text}")));
    }
    let sent = |(command, outcome): &(&ChannelCommand, Result<ChannelReceipt, ToolError>)| {
        let id = outcome.as_ref().ok().and_then(|receipt| receipt.message_id.as_deref());
        json!({ "channel": command.channel, "to": command.to, "message_id": id })
    };
    Ok(ToolOutput::text(text)
        .with_details(json!({ "outcome": SendOutcome::Delivered, "sent": outcomes.iter().map(sent).collect::<Vec<_>>() })))
}

fn read(command: &ChannelCommand, entries: &[ChannelEntry]) -> ToolOutput {
    let line = |entry: &ChannelEntry| {
        let at = entry.at.as_deref().map(|at| format!(" {at}")).unwrap_or_default();
        format!("[{}]{at} {}: {}", entry.id, entry.from, entry.text)
    };
    let text = if entries.is_empty() {
        format!("There are no messages in {} {}.", command.channel, command.to)
    } else {
        let lines: Vec<String> = entries.iter().map(line).collect();
        wrap(&format!("messages of {} {}", command.channel, command.to), &lines.join("\n"))
    };
    ToolOutput::text(text).with_details(json!({ "channel": command.channel, "to": command.to, "messages": entries }))
}
