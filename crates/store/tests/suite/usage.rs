use haft_contract::ports::SubAgentState;
use haft_store::{ModelUsage, SessionFilter, SessionOverview, SessionStore, UsageRecord, UsageSum};

use crate::common::{new_session, second};
use crate::suite::sub_agent_status::sub_agent;

fn usage(session: &str, day: &str, input: u64, cost_micros: Option<i64>) -> UsageRecord {
    UsageRecord {
        session: session.into(),
        turn: 1,
        model: "work/qwen3".into(),
        input,
        output: 2 * input,
        cached: 3 * input,
        cache_writes: 4 * input,
        reasoning: 5 * input,
        cost_micros,
        at: second(1),
        day: day.into(),
    }
}

fn sum(requests: u64, input: u64, cost_micros: i64, unpriced: u64) -> UsageSum {
    UsageSum { requests, input, output: 2 * input, cached: 3 * input, cache_writes: 4 * input, reasoning: 5 * input, cost_micros, unpriced }
}

pub(crate) async fn usage_is_summed_by_session_and_by_day(store: &dyn SessionStore) {
    for id in ["s1", "s2"] {
        store.create(new_session(id)).await.unwrap();
    }
    let records = [
        usage("s1", "2026-05-30", 1, Some(100)),
        usage("s1", "2026-05-31", 10, Some(-1)),
        usage("s1", "2026-05-31", 100, None),
        usage("s2", "2026-05-31", 1000, Some(7)),
    ];
    for record in records {
        store.add_usage(record).await.unwrap();
    }
    let by_session = |id: &'static str| async move { store.session_usage(id).await.unwrap() };
    let by_day = |day: &'static str| async move { store.day_usage(day).await.unwrap() };
    assert_eq!(by_session("s1").await, sum(3, 111, 99, 1));
    assert_eq!(by_session("s2").await, sum(1, 1000, 7, 0));
    assert_eq!(by_session("s3").await, UsageSum::default());
    assert_eq!(by_day("2026-05-30").await, sum(1, 1, 100, 0));
    assert_eq!(by_day("2026-05-31").await, sum(3, 1110, 6, 1));
    assert_eq!(by_day("2026-05").await, UsageSum::default());
    // What was spent was spent: a fork spends nothing, and deleting gives nothing back.
    let fork = store.fork("s1", None).await.unwrap();
    store.delete("s1").await.unwrap();
    assert_eq!(store.session_usage(&fork).await.unwrap(), UsageSum::default());
    assert_eq!(by_day("2026-05-31").await, sum(3, 1110, 6, 1));
}

pub(crate) async fn usage_is_summed_by_day_and_model(store: &dyn SessionStore) {
    for id in ["s1", "s2"] {
        store.create(new_session(id)).await.unwrap();
    }
    let records = [
        ("s1", "2026-05-31", "work/qwen3", 10, Some(5)),
        ("s2", "2026-05-31", "work/qwen3", 100, None),
        ("s2", "2026-05-31", "Other/model", 1000, Some(7)),
        ("s1", "2026-05-30", "work/qwen3", 1, Some(1)),
        ("s1", "2026-05-29", "work/qwen3", 1, Some(1)),
        ("s1", "2026-06-01", "work/qwen3", 1, Some(1)),
    ];
    for (session, day, model, input, cost) in records {
        store.add_usage(UsageRecord { model: model.into(), ..usage(session, day, input, cost) }).await.unwrap();
    }
    let row = |day: &str, model: &str, sum: UsageSum| ModelUsage { day: day.into(), model: model.into(), sum };
    let expected = [
        row("2026-05-30", "work/qwen3", sum(1, 1, 1, 0)),
        row("2026-05-31", "Other/model", sum(1, 1000, 7, 0)),
        row("2026-05-31", "work/qwen3", sum(2, 110, 5, 1)),
    ];
    assert_eq!(store.model_usage("2026-05-30", "2026-05-31").await.unwrap(), expected);
    assert_eq!(store.model_usage("2026-05-31", "2026-05-30").await.unwrap(), []);
    // The rows of a day make its sum.
    let mut day = UsageSum::default();
    expected[1..].iter().for_each(|row| day.merge(&row.sum));
    assert_eq!(store.day_usage("2026-05-31").await.unwrap(), day);
}

pub(crate) async fn usage_never_overflows(store: &dyn SessionStore) {
    for _ in 0..3 {
        store.add_usage(UsageRecord { input: u64::MAX, cost_micros: Some(i64::MAX), ..usage("s1", "today", 0, None) }).await.unwrap();
    }
    let found = store.session_usage("s1").await.unwrap();
    assert!(found.input >= i64::MAX.unsigned_abs(), "{found:?}");
    assert_eq!((found.requests, found.cost_micros), (3, i64::MAX));
}

pub(crate) async fn overview_has_what_each_session_used_and_its_sub_agent(store: &dyn SessionStore) {
    for id in ["s1", "s2"] {
        store.create(new_session(id)).await.unwrap();
    }
    store.add_usage(usage("s2", "2026-05-31", 10, Some(7))).await.unwrap();
    let status = sub_agent("s2", "s1", SubAgentState::Done);
    store.put_sub_agent(status.clone()).await.unwrap();
    let filter = SessionFilter { with_sub_agents: true, ..SessionFilter::default() };
    let mut expected = Vec::new();
    for record in store.list(filter.clone()).await.unwrap() {
        let is_second = record.id == "s2";
        let usage = if is_second { sum(1, 10, 7, 0) } else { UsageSum::default() };
        expected.push(SessionOverview { record, usage, sub_agent: is_second.then(|| status.clone()) });
    }
    assert_eq!(store.overviews(filter).await.unwrap(), expected);
    assert_eq!(store.overviews(SessionFilter::default()).await.unwrap().len(), 1);
}
