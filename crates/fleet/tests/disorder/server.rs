//! A server in a process of its own: it gives work, waits for what comes of it, and may be killed at any time.
//!
//! It writes a line before it gives work, one when the work is recorded, and one with the state that it was told. A killed server leaves
//! work that nobody waits for; it is done all the same.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_fleet::{Dispatcher, WorkPatience};
use haft_store::{NewWork, PostgresLog};
use tokio::sync::Semaphore;

use super::checker::GivenWork;
use super::child::{ChaosPlace, append, connect, spawn};
use super::random::Dice;

const CHILD: &str = "HAFT_CHAOS_SERVER";
/// Nobody begins work later than this.
pub(super) const PATIENCE: Duration = Duration::from_mins(30);

/// Starts a server. Its name makes the ids of its work, so no two have the same.
pub(super) fn start(place: &ChaosPlace, name: &str, seed: u64, open: usize) -> Child {
    let about = format!("{}|{name}|{seed}|{open}", place.encode());
    spawn("disorder::server::server_of_the_chaos", CHILD, &about)
}

/// Nothing, unless it is a child.
#[test]
fn server_of_the_chaos() {
    let Ok(about) = std::env::var(CHILD) else { return };
    let words: Vec<&str> = about.split('|').collect();
    let (place, [name, seed, open]) = (ChaosPlace::decode(&words[..4]), [words[4], words[5], words[6]]);
    let work = PostgresLog::open(&place.database).unwrap().work();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let patience = WorkPatience { look: Duration::from_millis(200), push_again: Duration::from_secs(2) };
        let dispatcher = Dispatcher { patience, ..Dispatcher::new(connect(&place.queue).await, work) };
        give_all(&place, dispatcher, name, Dice::new(seed.parse().unwrap()), open.parse().unwrap()).await;
    });
}

/// Gives work until it is killed, so much at once.
async fn give_all(place: &ChaosPlace, dispatcher: Dispatcher, name: &str, mut dice: Dice, open: usize) {
    let (slots, count) = (Arc::new(Semaphore::new(open)), AtomicUsize::new(0));
    loop {
        let slot = Arc::clone(&slots).acquire_owned().await.unwrap();
        let work = next_work(&mut dice, name, count.fetch_add(1, Ordering::Relaxed));
        append(&place.file("asked"), &work.encode());
        let (place, dispatcher) = (place.clone(), dispatcher.clone());
        tokio::spawn(async move {
            give(&place, &dispatcher, work).await;
            drop(slot);
        });
    }
}

fn next_work(dice: &mut Dice, name: &str, number: usize) -> GivenWork {
    let tenant = ["ann", "bob", "cyd"][usize::try_from(dice.below(3)).unwrap()].to_owned();
    GivenWork { id: format!("{name}-{number}"), tenant, repeatable: dice.below(2) == 0 }
}

async fn give(place: &ChaosPlace, dispatcher: &Dispatcher, GivenWork { id, tenant, repeatable }: GivenWork) {
    let new = NewWork {
        id: id.clone(),
        topic: "chaos".to_owned(),
        body: tenant.clone(),
        repeatable,
        patience: PATIENCE,
        tenant,
        holds: String::new(),
    };
    while dispatcher.work.submit(new.clone()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    append(&place.file("recorded"), &id);
    // The database or the queue may be away: it is asked again.
    loop {
        match dispatcher.run_detached(new.clone()).await {
            Ok(record) => return append(&place.file("told"), &format!("{id}|{}", record.state.as_str())),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
