//! What a user says to a turn is heard once, whatever is killed meanwhile.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{ASKS, Fleet, wait_until_idle};
use crate::suite::gateway::PageClient;
use crate::suite::tenants::wait_until;

const SAID: &str = "how much memory is there?";

fn send(page: &PageClient, session: &str, text: &str) {
    let sent = page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": text }));
    assert_eq!(sent.status, 202, "{}", sent.body);
}

/// How often the conversation has it, and the texts of the user.
fn count(items: &Value) -> (usize, Vec<String>) {
    let users = items.as_array().unwrap().iter().filter(|item| item["type"] == "user");
    let texts: Vec<String> = users.map(|item| item["text"].as_str().unwrap().to_owned()).collect();
    (texts.iter().map(|text| text.matches(SAID).count()).sum(), texts)
}

#[test]
fn message_that_a_worker_heard_is_heard_once_when_it_and_the_server_are_killed() {
    let fleet = Fleet::new();
    let (one, asks, machine) = (fleet.machine(""), fleet.machine(ASKS), fleet.machine(""));
    let mut served = fleet.server(&one);
    let first = fleet.worker(&asks, &["--name", "first"]);
    let page = served.page();
    let session = page.create();
    let mut events = page.events("");
    send(&page, &session, "write \"hi\" to c.txt");
    events.until(|name, _| name == "approval");
    // The worker waits for an answer, so the model does not get this from it.
    send(&page, &session, SAID);
    first.signal(Signal::KILL);
    served.kill();
    let served = fleet.server(&one);
    let _second = fleet.worker(&machine, &["--name", "second"]);
    let page = served.page();
    wait_until("the model hears it", || count(&wait_until_idle(&page, &session)["items"]).0 > 0);
    wait_until("nothing waits", || fleet.database.sql(&fleet.name, "SELECT count(*) FROM said") == "0");
    // The next turn does not hear it again.
    page.turn(&session, "what time is it?");
    let (heard, texts) = count(&wait_until_idle(&page, &session)["items"]);
    assert_eq!(heard, 1, "{texts:?}");
}

#[test]
fn message_that_comes_after_the_last_answer_is_answered_by_a_turn_of_its_own() {
    let fleet = Fleet::new();
    let (one, machine) = (fleet.machine(""), fleet.machine(""));
    let served = fleet.server(&one);
    let _worker = fleet.worker(&machine, &[]);
    let page = served.page();
    let session = page.create();
    // The second one comes while the first one's turn is over for its pages, and not yet for its server.
    page.turn(&session, "what time is it?");
    send(&page, &session, SAID);
    wait_until("it is answered", || count(&wait_until_idle(&page, &session)["items"]).0 > 0);
    wait_until("nothing waits", || fleet.database.sql(&fleet.name, "SELECT count(*) FROM said") == "0");
    let (heard, texts) = count(&wait_until_idle(&page, &session)["items"]);
    assert_eq!((heard, texts.len()), (1, 2), "{texts:?}");
}
