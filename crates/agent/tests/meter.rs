//! What turns cost, and budgets that are kept.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use haft_agent::{Budget, Closed, Meter, Micros, Price, Prices, Purse, StoredMeter, Today};
use haft_contract::BoxFuture;
use haft_provider::Usage;
use haft_store::{InMemorySessionStore, NewSession, SessionStore};

/// A person who agrees so many times.
struct Generous {
    times: Mutex<usize>,
    asked: Mutex<Vec<String>>,
}

impl Purse for Generous {
    fn more<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool> {
        self.asked.lock().unwrap().push(question.to_owned());
        let mut times = self.times.lock().unwrap();
        let agrees = *times > 0;
        *times = times.saturating_sub(1);
        Box::pin(async move { agrees })
    }
}

fn today() -> Today {
    Arc::new(|| (SystemTime::UNIX_EPOCH, "2026-05-31".to_owned()))
}

/// A dollar for a thousand tokens that come back.
fn prices() -> Prices {
    let mut prices = Prices::default();
    prices.set("acme/*", Price::new(0, 1_000_000_000));
    prices
}

fn output(tokens: u64) -> Usage {
    let mut usage = Usage::default();
    usage.output = tokens;
    usage
}

#[allow(clippy::unnecessary_wraps, reason = "as a budget has it")]
fn dollars(amount: i64) -> Option<Micros> {
    Some(Micros(amount * 1_000_000))
}

struct World {
    store: Arc<InMemorySessionStore>,
    session: String,
}

async fn world() -> World {
    let store = Arc::new(InMemorySessionStore::default());
    let session = store.create(NewSession::new("main", "/w".as_ref())).await.unwrap().id;
    World { store, session }
}

impl World {
    fn meter(&self, budget: Budget, purse: Arc<dyn Purse>) -> StoredMeter {
        StoredMeter::new(Arc::clone(&self.store) as _, self.session.as_str(), 0, prices(), today()).with_budget(budget, purse)
    }
}

#[tokio::test]
async fn every_answer_is_counted_and_priced_where_the_price_is_known() {
    let world = world().await;
    let meter = world.meter(Budget::default(), Arc::new(Closed));
    meter.begin();
    assert_eq!(meter.count("acme/m", output(1_500)).await, Ok(Some(Micros(1_500_000))));
    assert_eq!(meter.count("other/m", output(10)).await, Ok(None));
    let sum = world.store.session_usage(&world.session).await.unwrap();
    assert_eq!((sum.requests, sum.output, sum.cost_micros, sum.unpriced), (2, 1_510, 1_500_000, 1));
    assert_eq!(world.store.day_usage("2026-05-31").await.unwrap(), sum);
    assert_eq!(meter.permit().await, Ok(()), "without a budget there is no end");
}

#[tokio::test]
async fn each_limit_stops_with_its_own_sentence() {
    for (budget, sentence) in [
        (Budget { turn: dollars(2), ..Budget::default() }, "$2.00 of the $2.00 for this turn are spent (budget.turn)"),
        (Budget { session: dollars(1), ..Budget::default() }, "$2.00 of the $1.00 for this session are spent (budget.session)"),
        (Budget { day: dollars(2), ..Budget::default() }, "$2.00 of the $2.00 for today are spent (budget.day)"),
        (Budget { tokens: Some(2_000), ..Budget::default() }, "2000 of the 2000 tokens for this session are used (budget.tokens)"),
    ] {
        let world = world().await;
        let meter = world.meter(budget, Arc::new(Closed));
        meter.begin();
        assert_eq!(meter.permit().await, Ok(()), "{budget:?}");
        meter.count("acme/m", output(2_000)).await.unwrap();
        assert_eq!(meter.permit().await, Err(sentence.to_owned()));
    }
}

#[tokio::test]
async fn a_turn_begins_with_a_full_purse_and_a_session_does_not() {
    let world = world().await;
    let meter = world.meter(Budget { turn: dollars(1), session: dollars(3), ..Budget::default() }, Arc::new(Closed));
    for turn in 0..3 {
        meter.begin();
        assert_eq!(meter.permit().await, Ok(()), "turn {turn}");
        meter.count("acme/m", output(1_000)).await.unwrap();
        assert!(meter.permit().await.is_err(), "turn {turn}");
    }
    meter.begin();
    assert!(meter.permit().await.unwrap_err().contains("budget.session"));
    let another = world.meter(Budget { session: dollars(3), ..Budget::default() }, Arc::new(Closed));
    assert!(another.permit().await.is_err(), "another process knows it too");
}

#[tokio::test]
async fn whoever_agrees_allows_as_much_again() {
    let world = world().await;
    let purse = Arc::new(Generous { times: Mutex::new(1), asked: Mutex::default() });
    let meter = world.meter(Budget { session: dollars(1), ..Budget::default() }, Arc::clone(&purse) as _);
    meter.count("acme/m", output(1_000)).await.unwrap();
    assert_eq!(meter.permit().await, Ok(()));
    assert_eq!(meter.permit().await, Ok(()), "it is asked once");
    meter.count("acme/m", output(1_000)).await.unwrap();
    assert_eq!(meter.permit().await, Err("$2.00 of the $2.00 for this session are spent (budget.session)".into()));
    assert_eq!(purse.asked.lock().unwrap().len(), 2);
}
