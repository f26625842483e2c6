//! Delivery of results: noted before it is sent, tried again where that is safe, and never said to be done if it is not.

use std::time::Duration;

use haft_contract::ports::{AnnounceTarget, Announcement, Delivered, DeliveryMode, DeliveryState, JobNotice, JobRun};
use haft_store::{AutomationChange, StoreError};
use serde_json::json;

use crate::scheduler::Scheduler;

/// How long a delivery that was refused waits for the next try.
pub const DELIVERY_PAUSES: [Duration; 3] = [Duration::from_secs(30), Duration::from_mins(1), Duration::from_mins(5)];

impl Scheduler {
    /// Delivers the result of a run that has ended.
    pub(crate) async fn deliver(&self, mut run: JobRun) -> Result<(), StoreError> {
        run.delivery = DeliveryState::Sending;
        (run.delivery_attempts, run.delivery_due) = (run.delivery_attempts + 1, None);
        self.put_run(run.clone(), Vec::new()).await?;
        let delivered = self.send(&run).await;
        self.settle_delivery(run, delivered).await
    }

    async fn send(&self, run: &JobRun) -> Delivered {
        let text = run.answer.clone().unwrap_or_default();
        if run.route.mode == DeliveryMode::Webhook {
            let Some(url) = &run.route.to else {
                return Delivered::No { why: "the job has no URL".into(), retry: false };
            };
            let body = json!({
                "job": run.job, "name": run.name, "run": run.id, "state": run.state, "due": seconds(run.due),
                "ended": run.ended.map(seconds), "session": run.session, "text": text,
            });
            return self.webhook().post(url, &run.id, &body).await;
        }
        let (channel, to) = (run.route.channel.clone(), run.route.to.clone());
        let target = AnnounceTarget { channel, to, session: run.origin.clone() };
        let announcement = Announcement { key: run.id.clone(), title: run.name.clone(), text };
        self.announcer().announce(&target, &announcement).await
    }

    async fn settle_delivery(&self, mut run: JobRun, delivered: Delivered) -> Result<(), StoreError> {
        let pause = usize::try_from(run.delivery_attempts).ok().and_then(|tries| DELIVERY_PAUSES.get(tries.saturating_sub(1)));
        let (state, note, due) = match (delivered, pause) {
            (Delivered::Yes(at), _) => (DeliveryState::Delivered, at, None),
            (Delivered::Unknown(why), _) => (DeliveryState::Unknown, why, None),
            (Delivered::No { why, retry: true }, Some(pause)) => (DeliveryState::Pending, why, Some(self.now() + *pause)),
            (Delivered::No { why, .. }, _) => (DeliveryState::NotDelivered, why, None),
        };
        (run.delivery, run.delivery_note, run.delivery_due) = (state, Some(note), due);
        let notices = undelivered_notice(&run, self.now()).into_iter().collect();
        self.put_run(run, notices).await
    }

    /// The delivery of a run whose process was killed: what was being sent may have arrived.
    pub(crate) async fn settle_cut_off(&self, run: JobRun) -> Result<(), StoreError> {
        let why = "the server was killed while it was sent; it is not sent again";
        self.settle_delivery(run, Delivered::Unknown(why.into())).await
    }

    pub(crate) async fn put_run(&self, run: JobRun, notices: Vec<JobNotice>) -> Result<(), StoreError> {
        let told = notices.clone();
        let change = AutomationChange { runs: vec![run], notices, ..AutomationChange::default() };
        self.store().commit(self.workspace(), change).await?;
        self.tell(&told);
        Ok(())
    }
}

/// What the user is told of a result that nobody got, or perhaps nobody.
fn undelivered_notice(run: &JobRun, now: std::time::SystemTime) -> Option<JobNotice> {
    let what = match run.delivery {
        DeliveryState::NotDelivered => "was not delivered",
        DeliveryState::Unknown => "may not have been delivered",
        _ => return None,
    };
    let note = run.delivery_note.as_deref().unwrap_or_default();
    let text = format!("The result of '{}' {what}: {note}. `haft cron runs {}` shows it.", run.name, run.job);
    Some(JobNotice { job: run.job.clone(), name: run.name.clone(), run: Some(run.id.clone()), at: now, text })
}

fn seconds(at: std::time::SystemTime) -> u64 {
    at.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
