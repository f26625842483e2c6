//! The parameters, as far as the configured channels have a use for them.

use std::borrow::Cow;

use haft_contract::ports::{ChannelAction, ChannelKind, ChannelOffer};
use haft_contract::{AbsentTool, ToolDefinition};
use serde_json::{Value, json};

const ADVICE: &str = "add a channel to your configuration, such as [channels.slack] with kind = \"slack\"; see docs/CHANNELS.md";

/// The definition with the channels, actions and parameters that can be used; without any channel it is absent.
pub(super) fn narrowed(mut definition: ToolDefinition, offers: &[ChannelOffer], fault: Option<&str>) -> ToolDefinition {
    if offers.is_empty() {
        let (why, advice) = match fault {
            Some(fault) => (format!("no channel can be used: {fault}").into(), "`haft channels list` says what each channel lacks"),
            None => (Cow::Borrowed("no channel is configured"), ADVICE),
        };
        definition.absent = Some(AbsentTool { why, advice: Cow::Borrowed(advice) });
        return definition;
    }
    let actions: Vec<ChannelAction> = ChannelAction::ALL.into_iter().filter(|action| can(offers, *action)).collect();
    if let Some(properties) = definition.parameters.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| is_useful(name, offers));
        set(properties, "action", "enum", json!(actions.iter().map(|action| action.as_str()).collect::<Vec<_>>()));
        set(properties, "channel", "enum", json!(offers.iter().map(|offer| offer.name.as_str()).collect::<Vec<_>>()));
        set(properties, "to", "description", json!(recipients(offers)));
    }
    if let [only] = offers
        && let Some(properties) = definition.parameters.get_mut("properties").and_then(Value::as_object_mut)
    {
        set(properties, "channel", "description", json!(format!("The channel; always '{}', and may be left out.", only.name)));
    }
    let listed: Vec<String> = offers.iter().map(describe).collect();
    definition.description = format!("{} Channels: {}.", definition.description, listed.join("; ")).into();
    definition
}

fn set(properties: &mut serde_json::Map<String, Value>, name: &str, key: &str, value: Value) {
    if let Some(property) = properties.get_mut(name).and_then(Value::as_object_mut) {
        property.insert(key.to_owned(), value);
    }
}

fn can(offers: &[ChannelOffer], action: ChannelAction) -> bool {
    offers.iter().any(|offer| offer.actions.contains(&action))
}

fn is_useful(parameter: &str, offers: &[ChannelOffer]) -> bool {
    let any = |test: fn(&ChannelOffer) -> bool| offers.iter().any(test);
    match parameter {
        "subject" => any(|offer| offer.has_subject),
        "attachments" => any(|offer| offer.has_attachments),
        "buttons" => any(|offer| offer.has_buttons),
        "options" => can(offers, ChannelAction::Poll),
        "thread_id" => can(offers, ChannelAction::Thread),
        "emoji" | "remove" => can(offers, ChannelAction::React),
        "limit" | "before" => can(offers, ChannelAction::Read),
        "message_id" => [ChannelAction::Reply, ChannelAction::Edit, ChannelAction::Delete, ChannelAction::React]
            .into_iter()
            .any(|action| can(offers, action)),
        "recipients" => any(|offer| offer.is_outward),
        "silent" => any(|offer| matches!(offer.kind, ChannelKind::Telegram | ChannelKind::Discord)),
        _ => true,
    }
}

/// A channel in a few words: models choose by them.
fn describe(offer: &ChannelOffer) -> String {
    let actions: Vec<&str> = offer.actions.iter().map(|action| action.as_str()).collect();
    let kind = if offer.kind.as_str() == offer.name { String::new() } else { format!(" ({})", offer.kind) };
    format!("{}{kind}: {}", offer.name, actions.join(", "))
}

/// How recipients are written in these channels.
fn recipients(offers: &[ChannelOffer]) -> String {
    let mut forms: Vec<&str> = offers.iter().map(|offer| recipient_form(offer.kind)).collect();
    forms.sort_unstable();
    forms.dedup();
    let default = if offers.iter().any(|offer| offer.default_to.is_some()) { " Defaults to the channel's own recipient." } else { "" };
    format!("The recipient: {}.{default}", forms.join(", "))
}

fn recipient_form(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Telegram => "a chat id or @name (telegram)",
        ChannelKind::Slack => "#room, a channel id or a user id (slack)",
        ChannelKind::Discord => "a channel id (discord)",
        ChannelKind::Matrix => "a room id or #alias:server (matrix)",
        ChannelKind::Email => "an address (email)",
        ChannelKind::Webhook => "any word (webhook)",
        ChannelKind::Chat => "a session id or a title (chat)",
        ChannelKind::Desktop => "a name (desktop)",
    }
}
