//! Jobs that cannot be.

use std::time::Duration;

use haft_contract::ports::{Automation, DeliveryMode, JobDraft, JobTarget};

use super::world::{World, cron, once};

#[tokio::test]
async fn jobs_that_cannot_be_are_refused_with_what_to_do() {
    let world = World::new("2026-11-17T08:00:00Z");
    let process = world.start();
    let good = || cron("good", "0 9 * * 1-5", None);
    let webhook = |to: Option<&str>| JobDraft { delivery: Some(DeliveryMode::Webhook), to: to.map(str::to_owned), ..good() };
    for (draft, words) in [
        (JobDraft::default(), "Say when it runs: 'at' (once), 'every' (an interval) or 'cron' (an expression)."),
        (JobDraft { task: None, ..good() }, "Say what is to be done, as 'message'."),
        (JobDraft { task: Some("  ".into()), ..good() }, "Say what is to be done"),
        (JobDraft { task: Some("x".repeat(8001)), ..good() }, "The message has 8001 characters, and 8000 are the most."),
        (JobDraft { name: Some("x".repeat(101)), ..good() }, "The name has 101 characters"),
        (JobDraft { timeout: Some(Duration::ZERO), ..good() }, "'timeout_seconds' is from 1 to 86400."),
        (JobDraft { target: Some(JobTarget::Main), ..good() }, "use session 'isolated'"),
        (webhook(None), "Delivery 'webhook' needs 'to': the URL."),
        (webhook(Some("file:///etc/passwd")), "is not a URL with http:// or https://"),
        (JobDraft { to: Some("#ops".into()), ..good() }, "'to' needs a 'channel'"),
        (once("past", "2020-01-01T00:00:00Z"), "has passed"),
        (once("far", "9999-12-01T00:00:00Z"), "50 years"),
        (cron("never", "0 0 31 2 *", None), "never runs"),
        (cron("second", "* * * * * *", None), "the most often"),
        (cron("zone", "0 9 * * *", Some("CEST+5")), "is not a time zone"),
    ] {
        let error = process.service.add(None, draft.clone()).await.unwrap_err();
        assert!(error.message().contains(words), "{draft:?}: {error:?}");
        assert!(process.service.check(&JobDraft { session: Some("s".into()), ..draft }).is_err() || words.contains("isolated"));
    }
    assert_eq!(process.service.list().await.unwrap(), Vec::new(), "nothing was stored");
}

#[tokio::test]
async fn jobs_are_found_by_id_name_and_beginning() {
    let world = World::new("2026-11-17T08:00:00Z");
    let process = world.start();
    let id = process.add(cron("Water the plants", "0 9 * * *", None)).await;
    process.add(cron("Water the garden", "0 10 * * *", None)).await;
    for wanted in [id.as_str(), "water the plants", "WATER THE P", &id[..8]] {
        assert_eq!(process.service.find(wanted).await.unwrap().job.id, id, "{wanted}");
    }
    for (wanted, words) in
        [("water", "'water' fits 2 jobs"), ("watr the plants", "Did you mean 'Water the plants'?"), ("", "There is no job ''")]
    {
        let error = process.service.find(wanted).await.unwrap_err();
        assert!(error.message().contains(words), "{wanted}: {error:?}");
    }
    let view = process.service.find(&id).await.unwrap();
    assert_eq!(
        (view.words.as_str(), view.next_runs.as_slice()),
        (
            "every day at 09:00 (Europe/Berlin)",
            ["Wed 2026-11-18 09:00 CET".to_owned(), "Thu 2026-11-19 09:00 CET".to_owned(), "Fri 2026-11-20 09:00 CET".to_owned(),]
                .as_slice()
        )
    );
}
