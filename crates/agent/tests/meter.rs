//! The cost of turns, and budgets.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod stores;

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use haft_agent::{DenySpending, Meter, Micros, Price, Prices, SpendingApprover, SpendingBudget, StoredMeter, Today};
use haft_contract::BoxFuture;
use haft_provider::Usage;
use haft_store::{NewSession, SessionStore};

use self::stores::session_store;

/// An approver that agrees so many times.
struct Generous {
    times: Mutex<usize>,
    asked: Mutex<Vec<String>>,
}

impl SpendingApprover for Generous {
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

/// A dollar for a thousand output tokens.
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
    store: Arc<dyn SessionStore>,
    session: String,
}

async fn world() -> World {
    let store = session_store();
    let session = store.create(NewSession::new("main", "/w".as_ref())).await.unwrap().id;
    World { store, session }
}

impl World {
    fn meter(&self, budget: SpendingBudget, approver: Arc<dyn SpendingApprover>) -> StoredMeter {
        StoredMeter::new(Arc::clone(&self.store) as _, self.session.as_str(), 0, prices(), today()).with_budget(budget, approver)
    }
}

#[tokio::test]
async fn every_answer_is_counted_and_priced_where_the_price_is_known() {
    let world = world().await;
    let meter = world.meter(SpendingBudget::default(), Arc::new(DenySpending));
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
        (SpendingBudget { turn: dollars(2), ..SpendingBudget::default() }, "$2.00 of the $2.00 for this turn are spent (budget.turn)"),
        (
            SpendingBudget { session: dollars(1), ..SpendingBudget::default() },
            "$2.00 of the $1.00 for this session are spent (budget.session)",
        ),
        (SpendingBudget { day: dollars(2), ..SpendingBudget::default() }, "$2.00 of the $2.00 for today are spent (budget.day)"),
        (
            SpendingBudget { tokens: Some(2_000), ..SpendingBudget::default() },
            "2000 of the 2000 tokens for this session are used (budget.tokens)",
        ),
    ] {
        let world = world().await;
        let meter = world.meter(budget, Arc::new(DenySpending));
        meter.begin();
        assert_eq!(meter.permit().await, Ok(()), "{budget:?}");
        meter.count("acme/m", output(2_000)).await.unwrap();
        assert_eq!(meter.permit().await, Err(sentence.to_owned()));
    }
}

#[tokio::test]
async fn turn_budget_starts_anew_with_each_turn_and_session_budget_does_not() {
    let world = world().await;
    let meter = world.meter(SpendingBudget { turn: dollars(1), session: dollars(3), ..SpendingBudget::default() }, Arc::new(DenySpending));
    for turn in 0..3 {
        meter.begin();
        assert_eq!(meter.permit().await, Ok(()), "turn {turn}");
        meter.count("acme/m", output(1_000)).await.unwrap();
        assert!(meter.permit().await.is_err(), "turn {turn}");
    }
    meter.begin();
    assert!(meter.permit().await.unwrap_err().contains("budget.session"));
    let another = world.meter(SpendingBudget { session: dollars(3), ..SpendingBudget::default() }, Arc::new(DenySpending));
    assert!(another.permit().await.is_err(), "another process knows it too");
}

#[tokio::test]
async fn an_approval_raises_the_limit_once_more() {
    let world = world().await;
    let approver = Arc::new(Generous { times: Mutex::new(1), asked: Mutex::default() });
    let meter = world.meter(SpendingBudget { session: dollars(1), ..SpendingBudget::default() }, Arc::clone(&approver) as _);
    meter.count("acme/m", output(1_000)).await.unwrap();
    assert_eq!(meter.permit().await, Ok(()));
    assert_eq!(meter.permit().await, Ok(()), "it is asked once");
    meter.count("acme/m", output(1_000)).await.unwrap();
    assert_eq!(meter.permit().await, Err("$2.00 of the $2.00 for this session are spent (budget.session)".into()));
    assert_eq!(approver.asked.lock().unwrap().len(), 2);
}
