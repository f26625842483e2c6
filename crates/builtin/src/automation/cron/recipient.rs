//! Who gets the results of a job: the plan names them, so that rules on recipients decide on them.

use haft_contract::ToolError;
use haft_contract::ports::{ChannelAction, ChannelOffer, DeliveryMode, JobDraft};

/// The job with the recipient of its results: that of the call, or the one whom the channel has for messages that name none. A change names
/// both parts of it, because the plan does not know the job.
pub(super) fn resolve(mut draft: JobDraft, is_update: bool, offers: &[ChannelOffer]) -> Result<JobDraft, ToolError> {
    let is_webhook = draft.delivery == Some(DeliveryMode::Webhook);
    if is_webhook && draft.channel.is_some() {
        return Err(ToolError::validation("Results go to a channel or to a webhook: leave 'channel' out, or 'delivery'."));
    }
    let Some(name) = &draft.channel else {
        return match (is_update, is_webhook, &draft.to) {
            (true, false, Some(_)) => {
                Err(ToolError::validation("Name the 'channel' together with 'to'; for a URL say delivery='webhook' as well."))
            }
            (true, true, None) => Err(ToolError::validation("Name in 'to' the URL of the webhook.")),
            _ => Ok(draft),
        };
    };
    let sends = |offer: &&ChannelOffer| offer.actions.contains(&ChannelAction::Send);
    let Some(offer) = offers.iter().filter(sends).find(|offer| offer.name == *name) else {
        let names: Vec<&str> = offers.iter().filter(sends).map(|offer| offer.name.as_str()).collect();
        let known = if names.is_empty() { "None can be used here".to_owned() } else { format!("The channels are: {}", names.join(", ")) };
        return Err(ToolError::validation(format!("There is no channel '{}'. {known}.", haft_text::truncate::ellipsize(name, 60))));
    };
    draft.to = draft.to.or_else(|| offer.default_to.clone());
    if draft.to.is_none() {
        return Err(ToolError::validation(format!("The recipient is missing. Name it in 'to' for the channel '{name}'.")));
    }
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use haft_contract::ports::ChannelKind;

    use super::*;

    fn offer(name: &str, default_to: Option<&str>) -> ChannelOffer {
        ChannelOffer {
            name: name.into(),
            kind: ChannelKind::Slack,
            actions: vec![ChannelAction::Send],
            has_attachments: false,
            has_buttons: false,
            has_subject: false,
            default_to: default_to.map(str::to_owned),
            is_outward: true,
        }
    }

    #[test]
    fn recipient_is_that_of_the_call_or_of_the_channel_and_known_before_rules_decide() {
        let offers = [offer("slack", Some("#ops")), offer("mail", None)];
        let of = |is_update, delivery, channel: &str, to: &str| {
            let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let draft = JobDraft { delivery, channel: text(channel), to: text(to), ..JobDraft::default() };
            resolve(draft, is_update, &offers).map(|draft| draft.to).map_err(|error| error.message().to_owned())
        };
        let some = |to: &str| Ok(Some(to.to_owned()));
        for is_update in [false, true] {
            assert_eq!(of(is_update, None, "slack", ""), some("#ops"));
            assert_eq!(of(is_update, None, "slack", "#dev"), some("#dev"));
            assert_eq!(of(is_update, None, "", ""), Ok(None));
            assert_eq!(of(is_update, Some(DeliveryMode::Webhook), "", "https://x"), some("https://x"));
            let refused = |delivery, channel, to| of(is_update, delivery, channel, to).unwrap_err();
            assert_eq!(refused(None, "mail", ""), "The recipient is missing. Name it in 'to' for the channel 'mail'.");
            assert_eq!(refused(None, "fax", "1"), "There is no channel 'fax'. The channels are: slack, mail.");
            assert!(refused(Some(DeliveryMode::Webhook), "slack", "https://x").starts_with("Results go to a channel or to a webhook"));
        }
        // Else it would be another recipient of a job that has a channel, or a webhook, and no rule would be asked.
        assert!(of(true, None, "", "#secret").unwrap_err().starts_with("Name the 'channel' together with 'to'"));
        assert!(of(true, Some(DeliveryMode::Webhook), "", "").unwrap_err().starts_with("Name in 'to' the URL"));
    }
}
