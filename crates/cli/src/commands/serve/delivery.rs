//! Delivers results of scheduled jobs: into a conversation, as a notice, on a channel, or to a URL.

use std::sync::Arc;
use std::time::Duration;

use haft_channels::{AnnouncementOutcome as ChannelAnswer, ChannelService};
use haft_contract::ports::{Announce, AnnounceTarget, Announcement, Delivered, Host, HttpRequest, Notice, RedirectCheck};
use haft_contract::{BoxFuture, Connect, ErrorKind, ToolError};
use haft_cron::WebhookSender;
use haft_gateway::ServedSessions;
use serde_json::Value;

/// How long a webhook may take to answer.
const WEBHOOK_PATIENCE: Duration = Duration::from_secs(30);

/// Announces results on the channel of a job, in the conversation that scheduled it, and as a notice where there is neither.
pub(super) struct ConversationAnnouncer {
    pub(super) sessions: ServedSessions,
    pub(super) host: Arc<dyn Host>,
    pub(super) channels: Arc<ChannelService>,
}

impl Announce for ConversationAnnouncer {
    fn announce<'a>(&'a self, target: &'a AnnounceTarget, announcement: &'a Announcement) -> BoxFuture<'a, Delivered> {
        Box::pin(async move {
            let text = format!("[Scheduled job '{}']\n\n{}", announcement.title, announcement.text);
            if let Some(channel) = &target.channel {
                let to = target.to.as_deref().unwrap_or_default();
                return by_channel(channel, self.channels.announce(channel, to, &text, Some(&announcement.key)).await);
            }
            let mut refused = String::new();
            if let Some(session) = &target.session {
                match self.sessions.announce(session, text.clone()).await {
                    Ok(()) => return Delivered::Yes("in the conversation that scheduled it".into()),
                    Err(why) => refused = format!(" (its conversation cannot be used: {})", why.trim_end_matches('.')),
                }
            }
            let notice = Notice { message: text, urgency: "normal".into(), recipient: "user".into() };
            match self.host.notifier().notify(notice).await {
                Ok(at) => Delivered::Yes(format!("{at}{refused}")),
                Err(error) => Delivered::No { why: error.message().to_owned(), retry: true },
            }
        })
    }
}

/// A channel tells by itself when it may try again, and what nobody knows is not sent twice.
fn by_channel(channel: &str, answer: ChannelAnswer) -> Delivered {
    match answer {
        ChannelAnswer::Delivered => Delivered::Yes(format!("by the channel '{channel}'")),
        ChannelAnswer::NotDelivered(why) => Delivered::No { why, retry: false },
        ChannelAnswer::Unknown(why) => Delivered::Unknown(why),
    }
}

/// Posts results through the guarded HTTP client.
pub(super) struct Webhooks {
    pub(super) host: Arc<dyn Host>,
}

/// A webhook that leads elsewhere is not followed: only the URL of the job was decided on.
struct NoRedirects;

impl RedirectCheck for NoRedirects {
    fn check(&self, hop: &Connect) -> Result<(), ToolError> {
        Err(ToolError::new(ErrorKind::NetworkError, format!("Redirect refused: a webhook must not lead to {}.", hop.host)))
    }
}

impl WebhookSender for Webhooks {
    fn post<'a>(&'a self, url: &'a str, key: &'a str, body: &'a Value) -> BoxFuture<'a, Delivered> {
        Box::pin(async move {
            let http = self.host.http();
            match http.locate("POST", url) {
                Ok(Connect { refused: Some(why), .. }) => return Delivered::No { why, retry: false },
                Ok(_) => {}
                Err(error) => return Delivered::No { why: error.message().to_owned(), retry: false },
            }
            let headers = vec![("content-type".into(), "application/json".into()), ("idempotency-key".into(), key.to_owned())];
            let request = HttpRequest {
                method: "POST".into(),
                url: url.to_owned(),
                headers,
                body: Some(body.to_string().into_bytes()),
                redirects: 0,
            };
            match tokio::time::timeout(WEBHOOK_PATIENCE, http.send(request, &NoRedirects)).await {
                Ok(answer) => answered(answer.map(|response| (response.status, response.reason))),
                Err(_) => Delivered::Unknown(format!("no answer in {} s", WEBHOOK_PATIENCE.as_secs())),
            }
        })
    }
}

/// What an answer means. A request that was cut off after it was sent may have arrived.
fn answered(answer: Result<(u16, String), ToolError>) -> Delivered {
    match answer {
        Ok((status, _)) if (200..300).contains(&status) => Delivered::Yes(format!("the webhook answered {status}")),
        Ok((status, reason)) => {
            let retry = status == 408 || status == 429 || status >= 500;
            Delivered::No { why: format!("the webhook answered {status} {reason}").trim_end().to_owned(), retry }
        }
        Err(error) => {
            let why = error.message().trim_end_matches('.').to_owned();
            match error.kind() {
                ErrorKind::Timeout => Delivered::Unknown(why),
                ErrorKind::NetworkError if why.starts_with("HTTP request failed") => Delivered::Unknown(why),
                _ => Delivered::No { why, retry: true },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_of_a_webhook_is_never_taken_for_more_than_it_is() {
        let no = |why: &str, retry| Delivered::No { why: why.into(), retry };
        let failed = |message: &str| Err(ToolError::new(ErrorKind::NetworkError, message));
        for (answer, expected) in [
            (Ok((204, String::new())), Delivered::Yes("the webhook answered 204".into())),
            (Ok((302, "Found".into())), no("the webhook answered 302 Found", false)),
            (Ok((404, "Not Found".into())), no("the webhook answered 404 Not Found", false)),
            (Ok((429, String::new())), no("the webhook answered 429", true)),
            (Ok((503, "Busy".into())), no("the webhook answered 503 Busy", true)),
            (failed("Connection refused: x. Nothing listens there."), no("Connection refused: x. Nothing listens there", true)),
            (failed("HTTP request failed: x: reset."), Delivered::Unknown("HTTP request failed: x: reset".into())),
            (Err(ToolError::new(ErrorKind::Timeout, "late")), Delivered::Unknown("late".into())),
        ] {
            assert_eq!(answered(answer), expected);
        }
    }
}
