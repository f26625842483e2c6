//! A week with both nights of a changed clock, servers that are killed, and deliveries that fail.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_contract::ports::{Delivered, DeliveryMode, DeliveryState, JobDraft, MissedRuns, RunState};

use super::world::{World, at, cron, every, failed, once, utc};

fn webhook(draft: JobDraft) -> JobDraft {
    JobDraft { delivery: Some(DeliveryMode::Webhook), to: Some("https://hook.example/".into()), ..draft }
}

fn refused(why: &str, retry: bool) -> Delivered {
    Delivered::No { why: why.into(), retry }
}

fn jobs() -> Vec<JobDraft> {
    vec![
        // Berlin skips 02:30 on 29 March; Sydney has it twice on 5 April.
        JobDraft { delivery: Some(DeliveryMode::None), ..cron("berlin", "30 2 * * *", None) },
        JobDraft { delivery: Some(DeliveryMode::None), ..cron("sydney", "30 2 * * *", Some("Australia/Sydney")) },
        JobDraft { missed: Some(MissedRuns::All), ..every("six hours", "6h") },
        JobDraft { missed: Some(MissedRuns::Skip), ..cron("weekday", "0 9 * * 1-5", None) },
        once("once", "2026-04-01T10:00:00Z"),
        cron("failing", "0 * * * *", Some("UTC")),
        webhook(cron("hook", "0 12 * * *", Some("UTC"))),
    ]
}

fn script(world: &World) {
    let mut outside = world.outside();
    outside.outcomes.insert("failing".into(), (0..30).map(|_| failed("the model does not answer", true)).collect());
    let deliveries = [
        // 29 March: busy twice.
        refused("503", true),
        refused("503", true),
        Delivered::Yes("https://hook.example/".into()),
        // 30 March: no answer.
        Delivered::Unknown("no answer".into()),
        // 31 March: never.
        refused("404", false),
        // 1 April: busy for too long.
        refused("503", true),
        refused("503", true),
        refused("503", true),
        refused("503", true),
    ];
    outside.deliveries.insert("hook".into(), deliveries.into());
}

#[test]
fn scripted_week_ends_with_exactly_the_expected_runs_deliveries_and_notices() {
    let world = World::new("2026-03-28T22:00:00Z");
    script(&world);
    world.life(world.start(), |process| async move {
        for draft in jobs() {
            process.add(draft).await;
        }
        process.work_until(at("2026-03-31T03:00:00Z")).await;
    });
    // Killed in the middle of the run of 31 March, 07:00 (09:00 in Berlin); the next server continues it.
    world.hang.lock().unwrap().insert("weekday".into(), 1);
    world.life(world.start(), |process| async move {
        tokio::time::timeout(Duration::from_secs(2), process.work_until(at("2026-04-01T08:00:00Z"))).await.unwrap_err();
    });
    world.life(world.start(), |process| async move { process.work_until(at("2026-04-01T06:30:00Z")).await });
    // No server runs from 06:30 to 13:10 on 1 April.
    world.clock.set(at("2026-04-01T13:10:00Z"));
    let (runs, notices) = world.life(world.start(), |process| async move {
        process.work_until(at("2026-04-04T22:00:00Z")).await;
        (process.runs().await, process.notices().await)
    });
    let mut by_job: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for run in &runs {
        let delivery = match run.delivery {
            DeliveryState::NotRequested => String::new(),
            state => format!(" {state}"),
        };
        by_job.entry(run.name.clone()).or_default().push(format!("{} {}{delivery}", utc(run.due), run.state));
    }
    let of = |name: &str| by_job[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(
        of("berlin"),
        ["03-29 01:00 ok", "03-30 00:30 ok", "03-31 00:30 ok", "04-01 00:30 ok", "04-02 00:30 ok", "04-03 00:30 ok", "04-04 00:30 ok"]
    );
    assert_eq!(
        of("sydney"),
        ["03-29 15:30 ok", "03-30 15:30 ok", "03-31 15:30 ok", "04-01 15:30 ok", "04-02 15:30 ok", "04-03 15:30 ok", "04-04 15:30 ok"]
    );
    let six_hours: Vec<String> =
        (1..=28).map(|step| format!("{} ok delivered", utc(at("2026-03-28T22:00:00Z") + Duration::from_hours(6 * step)))).collect();
    assert_eq!(of("six hours"), six_hours);
    assert_eq!(
        of("weekday"),
        [
            "03-30 07:00 ok delivered",
            "03-31 07:00 ok delivered",
            "04-01 07:00 skipped",
            "04-02 07:00 ok delivered",
            "04-03 07:00 ok delivered"
        ]
    );
    assert_eq!(of("once"), ["04-01 10:00 ok delivered"]);
    assert_eq!(
        of("hook"),
        [
            "03-29 12:00 ok delivered",
            "03-30 12:00 ok unknown",
            "03-31 12:00 ok not_delivered",
            "04-01 12:00 ok not_delivered",
            "04-02 12:00 ok delivered",
            "04-03 12:00 ok delivered",
            "04-04 12:00 ok delivered",
        ]
    );
    let failing = runs.iter().filter(|run| run.name == "failing").map(|run| utc(run.due)).collect::<Vec<_>>();
    assert_eq!(
        failing,
        [
            "03-28 23:00",
            "03-29 00:00",
            "03-29 01:00",
            "03-29 02:00",
            "03-29 03:00",
            "03-29 04:00",
            "03-29 05:00",
            "03-29 06:00",
            "03-29 07:00",
            "03-29 08:00",
        ]
    );
    assert!(runs.iter().filter(|run| run.name == "failing").all(|run| run.state == RunState::Failed));
    check_notices(&notices);
    check_outside(&world, runs.iter().filter(|run| matches!(run.state, RunState::Ok | RunState::Failed)).count());
}

fn check_notices(notices: &[String]) {
    let of_hook = |time: &str, what: &str| format!("{time} The result of 'hook' {what}.");
    let brief: Vec<String> = notices.iter().map(|notice| notice.split(" `haft").next().unwrap().to_owned()).collect();
    let mut expected: Vec<String> = (0..9)
        .map(|hour| utc(at("2026-03-28T23:00:00Z") + Duration::from_hours(hour)))
        .map(|time| format!("{time} 'failing' has failed: the model does not answer."))
        .collect();
    expected.push(
        "03-29 08:00 'failing' was turned off: 10 runs in a row have failed. The last error: the model does not answer. Fix it, then"
            .into(),
    );
    expected.push(of_hook("03-30 12:00", "may not have been delivered: no answer"));
    expected.push(of_hook("03-31 12:00", "was not delivered: 404"));
    // Four tries: at once, and after 30 s, 1 min and 5 min; the server started at 13:10.
    expected.push(of_hook("04-01 13:16", "was not delivered: 503"));
    assert_eq!(brief, expected);
}

/// Every run was done once, whatever was killed, and every notice was also shown.
fn check_outside(world: &World, runs: usize) {
    let outside = world.outside();
    let often: Vec<_> = outside.done.iter().filter(|(_, (done, _))| *done != 1).collect();
    assert!(often.is_empty(), "{often:?}");
    assert_eq!(outside.done.len(), runs);
    assert_eq!(outside.done[&("weekday".into(), "03-31 07:00".into())], (1, 2), "the run that was cut off was continued");
    assert!(outside.sent.values().all(|sent| *sent == 1), "{:?}", outside.sent);
    assert_eq!(outside.notices.len(), 13);
}
