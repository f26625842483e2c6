use std::time::{Duration, SystemTime};

use haft_store::{CallFilter, CallLog, CallRecord, CallStatus};
use serde_json::json;

use crate::common::{ids, record};

pub(crate) async fn a_record_comes_back_whole(log: &dyn CallLog) {
    let before_1970 = SystemTime::UNIX_EPOCH - Duration::new(5, 7);
    let records = [
        record("r5"),
        CallRecord { status: CallStatus::Begun, elapsed: Duration::ZERO, ..record("r4") },
        CallRecord { status: CallStatus::Error("timeout".into()), summary: String::new(), ..record("r3") },
        CallRecord { undone: true, original_arguments: None, ..record("r2") },
        CallRecord { started: before_1970, arguments: json!(null), original_arguments: Some(json!(null)), ..record("r1") },
    ];
    for record in records.iter().rev() {
        log.append(record.clone()).unwrap();
    }
    assert_eq!(log.list(CallFilter::default()).await.unwrap(), records);
}

pub(crate) async fn a_record_with_the_same_id_replaces_the_earlier_one(log: &dyn CallLog) {
    let begun = CallRecord { status: CallStatus::Begun, summary: String::new(), ..record("r1") };
    log.append(begun.clone()).unwrap();
    assert_eq!(log.list(CallFilter::default()).await.unwrap(), std::slice::from_ref(&begun));

    let ended = CallRecord {
        call_id: "other".into(),
        session: "s2".into(),
        agent: "writer".into(),
        tool: "edit_file".into(),
        workspace: "/elsewhere".into(),
        arguments: json!({"changed": 1}),
        original_arguments: None,
        effects: json!([]),
        decision: json!({"verdict": "ask"}),
        started: SystemTime::UNIX_EPOCH,
        elapsed: Duration::from_secs(9),
        status: CallStatus::Error("execution_error".into()),
        summary: "it broke".into(),
        ..begun.clone()
    };
    log.append(begun).unwrap();
    log.append(ended.clone()).unwrap();
    assert_eq!(log.list(CallFilter::default()).await.unwrap(), [ended]);
}

pub(crate) async fn a_record_that_is_made_later_keeps_its_place(log: &dyn CallLog) {
    let with = |summary: &str| CallRecord { summary: summary.into(), ..record("r1") };
    let later = with("made later");
    log.append(with("first")).unwrap();
    log.append_with(0, Box::new(move || later.into())).unwrap();
    assert_eq!(log.list(CallFilter::default()).await.unwrap(), [with("made later")]);
    log.append(with("last")).unwrap();
    assert_eq!(log.list(CallFilter::default()).await.unwrap(), [with("last")]);
}

pub(crate) async fn calls_are_listed_newest_first_whatever_the_order_of_arrival(log: &dyn CallLog) {
    for id in ["r2", "r9", "r1", "r5"] {
        log.append(record(id)).unwrap();
    }
    assert_eq!(ids(log).await, ["r9", "r5", "r2", "r1"]);
}

pub(crate) async fn calls_since_a_time_are_counted(log: &dyn CallLog) {
    let at = |milliseconds: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds);
    let id = |milliseconds: u64| format!("{:08x}-{:04x}-7000-8000-000000000000", milliseconds >> 16, milliseconds & 0xffff);
    let midnight = 1_794_960_000_000;
    for began in [midnight - 1, midnight, midnight + 1, midnight + 86_400_000] {
        log.append(CallRecord { started: at(began), ..record(&id(began)) }).unwrap();
    }
    // One that a hook blocked is none that was made.
    let blocked = CallStatus::Error("blocked".into());
    log.append(CallRecord { started: at(midnight), status: blocked, ..record(&id(midnight + 7)) }).unwrap();
    for (since, count) in [(0, 4), (midnight, 3), (midnight + 1, 2), (midnight + 86_400_001, 0)] {
        assert_eq!(log.count_since(at(since)).await.unwrap(), count, "{since}");
    }
}

pub(crate) async fn filters_narrow_the_list(log: &dyn CallLog) {
    let failed = |kind: &str| CallStatus::Error(kind.into());
    log.append(CallRecord { tool: "exec".into(), ..record("r1") }).unwrap();
    log.append(CallRecord { tool: "exec".into(), status: failed("timeout"), ..record("r2") }).unwrap();
    log.append(CallRecord { session: "s2".into(), status: failed("cancelled"), ..record("r3") }).unwrap();
    log.append(CallRecord { session: "s2".into(), tool: "exec".into(), status: CallStatus::Begun, ..record("r4") }).unwrap();
    let tool = |name: &str| CallFilter { tool: Some(name.into()), ..CallFilter::default() };
    let session = |name: &str| CallFilter { session: Some(name.into()), ..CallFilter::default() };
    let limit = |limit| CallFilter { limit: Some(limit), ..CallFilter::default() };
    let only_failed = CallFilter { failed: true, ..CallFilter::default() };
    let cases: Vec<(CallFilter, &[&str])> = vec![
        (CallFilter::default(), &["r4", "r3", "r2", "r1"]),
        (tool("exec"), &["r4", "r2", "r1"]),
        (tool("EXEC"), &[]),
        (session("s2"), &["r4", "r3"]),
        (only_failed.clone(), &["r3", "r2"]),
        (limit(0), &[]),
        (limit(3), &["r4", "r3", "r2"]),
        (limit(usize::MAX), &["r4", "r3", "r2", "r1"]),
        (CallFilter { limit: Some(1), ..tool("exec") }, &["r4"]),
        (CallFilter { session: Some("s1".into()), ..tool("exec") }, &["r2", "r1"]),
        (CallFilter { session: Some("s1".into()), ..only_failed }, &["r2"]),
    ];
    for (filter, expected) in cases {
        let found: Vec<_> = log.list(filter.clone()).await.unwrap().into_iter().map(|call| call.id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

pub(crate) async fn huge_arguments_come_back_whole(log: &dyn CallLog) {
    let huge = CallRecord { arguments: json!({"content": "ä".repeat(1 << 19)}), ..record("r1") };
    log.append(huge.clone()).unwrap();
    assert!(log.get("r1").await.unwrap() == huge, "the record changed");
}

pub(crate) async fn a_flush_may_have_nothing_to_do_and_may_run_beside_others(log: &dyn CallLog) {
    log.flush().await.unwrap();
    log.append(record("r1")).unwrap();
    let (first, second) = tokio::join!(log.flush(), log.flush());
    first.unwrap();
    second.unwrap();
    assert_eq!(ids(log).await, ["r1"]);
}

pub(crate) async fn eight_threads_lose_nothing(log: &dyn CallLog) {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || (0..1000).for_each(|number| log.append(record(&format!("r-{thread}-{number:04}"))).unwrap()));
        }
    });
    let expected: Vec<_> = (0..8).flat_map(|thread| (0..1000).map(move |number| format!("r-{thread}-{number:04}"))).rev().collect();
    assert_eq!(ids(log).await, expected);
}
