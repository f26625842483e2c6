//! Host permissions, as seeds 000 and 002 want them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_contract::{
    BoxFuture, ErrorKind, ToolCall,
    ports::{PermissionAnswer, PermissionHost, PermissionState},
};
use haft_engine::{CallbackPermissions, PermissionBroker};
use haft_testkit::ScriptedTool;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::harness::{Harness, failure, setup, text};

/// A phone: remembers grants, counts dialogs, and keeps each open until the test lets it go.
struct Phone {
    states: Mutex<HashMap<String, PermissionState>>,
    answer: PermissionAnswer,
    dialogs: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
    tap: Semaphore,
    background: bool,
}

impl Phone {
    fn new(answer: PermissionAnswer) -> Arc<Self> {
        Arc::new(Self::with(answer, 100))
    }
    fn with(answer: PermissionAnswer, taps: usize) -> Self {
        Self {
            states: Mutex::default(),
            answer,
            dialogs: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            tap: Semaphore::new(taps),
            background: false,
        }
    }
}

impl PermissionHost for Phone {
    fn state(&self, permission: &str) -> PermissionState {
        self.states.lock().unwrap().get(permission).copied().unwrap_or(PermissionState::Missing)
    }
    fn request<'a>(&'a self, permission: &'a str) -> BoxFuture<'a, PermissionAnswer> {
        Box::pin(async move {
            self.dialogs.fetch_add(1, Ordering::SeqCst);
            let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_open.fetch_max(open, Ordering::SeqCst);
            self.tap.acquire().await.unwrap().forget();
            self.open.fetch_sub(1, Ordering::SeqCst);
            let state = match self.answer {
                PermissionAnswer::Granted => PermissionState::Granted,
                PermissionAnswer::Denied => PermissionState::Missing,
                PermissionAnswer::DeniedForGood => PermissionState::DeniedForGood,
            };
            self.states.lock().unwrap().insert(permission.to_owned(), state);
            self.answer
        })
    }
    fn can_ask(&self) -> bool {
        !self.background
    }
}

fn needs(name: &str, permissions: &[&'static str]) -> ScriptedTool {
    let permissions: Vec<_> = permissions.iter().map(|permission| std::borrow::Cow::Borrowed(*permission)).collect();
    ScriptedTool::new(name).define(move |definition| definition.permissions = permissions).returns("ran")
}

fn harness(phone: Option<Arc<Phone>>) -> (Harness, PermissionBroker) {
    let broker = PermissionBroker::new();
    if let Some(phone) = phone {
        broker.bind(phone);
    }
    let shared = broker.clone();
    let harness = setup()
        .tool(needs("locate", &["ACCESS_FINE_LOCATION"]))
        .tool(needs("contacts", &["READ_CONTACTS", "WRITE_CONTACTS"]))
        .session(move |builder| builder.permissions(shared).loop_limits(None))
        .build();
    (harness, broker)
}

#[tokio::test]
async fn granted_in_the_dialog_the_tool_runs_and_is_not_asked_again() {
    let phone = Phone::new(PermissionAnswer::Granted);
    let (harness, _) = harness(Some(Arc::clone(&phone)));
    assert_eq!(text(&harness.call("locate", json!({})).await), "ran");
    assert_eq!(text(&harness.call("locate", json!({})).await), "ran");
    assert_eq!(phone.dialogs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_grant_that_was_taken_away_is_noticed_before_the_next_call() {
    let phone = Phone::new(PermissionAnswer::Granted);
    let (harness, _) = harness(Some(Arc::clone(&phone)));
    harness.call("locate", json!({})).await;
    phone.states.lock().unwrap().clear();
    harness.call("locate", json!({})).await;
    assert_eq!(phone.dialogs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn denied_is_permission_denied_and_names_them_all() {
    let (harness, _) = harness(Some(Phone::new(PermissionAnswer::Denied)));
    let (kind, message) = failure(&harness.call("contacts", json!({})).await);
    assert_eq!(kind, ErrorKind::PermissionDenied);
    assert!(
        message.starts_with(
            "Required permissions were denied: READ_CONTACTS, WRITE_CONTACTS. Permission 'READ_CONTACTS' was denied by the user."
        ),
        "{message}"
    );
}

#[tokio::test]
async fn denied_for_good_points_to_the_settings_and_shows_no_dialog() {
    let phone = Phone::new(PermissionAnswer::DeniedForGood);
    let (harness, _) = harness(Some(Arc::clone(&phone)));
    for _ in 0..2 {
        let (_, message) = failure(&harness.call("locate", json!({})).await);
        assert!(message.contains("Enable 'ACCESS_FINE_LOCATION' in the system settings"), "{message}");
    }
    assert_eq!(phone.dialogs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn with_no_host_bound_or_in_the_background_it_is_denied() {
    let (unbound, broker) = harness(None);
    assert!(failure(&unbound.call("locate", json!({})).await).1.contains("no host is bound"));
    broker.bind(Phone::new(PermissionAnswer::Granted));
    assert!(unbound.call("locate", json!({})).await.is_success());
    broker.unbind();
    assert_eq!(failure(&unbound.call("locate", json!({})).await).0, ErrorKind::PermissionDenied);

    let background = Arc::new(Phone { background: true, ..Phone::with(PermissionAnswer::Granted, 1) });
    let (harness, _) = harness(Some(Arc::clone(&background)));
    assert_eq!(failure(&harness.call("locate", json!({})).await).0, ErrorKind::PermissionDenied);
    assert_eq!(background.dialogs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn dialogs_come_one_at_a_time_and_the_same_one_only_once() {
    let phone = Phone::new(PermissionAnswer::Granted);
    let (harness, _) = harness(Some(Arc::clone(&phone)));
    let names = ["locate", "locate", "contacts", "locate", "contacts"];
    let calls = names.iter().enumerate().map(|(n, name)| ToolCall::new(n.to_string(), *name, json!({"n": n}))).collect();
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert!(results.iter().all(haft_contract::ToolResult::is_success));
    assert_eq!((phone.dialogs.load(Ordering::SeqCst), phone.most_open.load(Ordering::SeqCst)), (3, 1));
}

#[tokio::test]
async fn unbinding_answers_waiting_requests() {
    let phone = Arc::new(Phone::with(PermissionAnswer::Granted, 0));
    let (harness, broker) = harness(Some(Arc::clone(&phone)));
    let leave = async {
        while phone.open.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        broker.unbind();
    };
    let (result, ()) = tokio::join!(harness.call("locate", json!({})), leave);
    assert_eq!(failure(&result).0, ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn callbacks_of_an_embedding_program_serve_as_host() {
    let broker = PermissionBroker::new();
    broker.bind(Arc::new(CallbackPermissions::new(
        |_| PermissionState::Missing,
        |permission| Box::pin(async move { if permission == "A" { PermissionAnswer::Granted } else { PermissionAnswer::Denied } }),
    )));
    assert!(broker.ensure(&["A".into()]).await.is_ok());
    assert!(broker.ensure(&["A".into(), "B".into()]).await.unwrap_err().message().starts_with("Required permissions were denied: B."));
}

#[tokio::test]
async fn a_dialog_that_panics_can_be_asked_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let broker = PermissionBroker::new();
    broker.bind(Arc::new(CallbackPermissions::new(
        |_| PermissionState::Missing,
        move |_| {
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            Box::pin(async move { if first { panic!("dialog bug") } else { PermissionAnswer::Granted } })
        },
    )));
    assert!(broker.ensure(&["A".into()]).await.is_err());
    assert!(broker.ensure(&["A".into()]).await.is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_call_can_be_cancelled_while_a_dialog_is_open() {
    let phone = Arc::new(Phone::with(PermissionAnswer::Granted, 0));
    let (harness, _) = harness(Some(Arc::clone(&phone)));
    let stop = async {
        while phone.open.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        harness.session.cancellation().cancel();
    };
    let (result, ()) = tokio::join!(harness.call("locate", json!({})), stop);
    assert_eq!(failure(&result).0, ErrorKind::Cancelled);
}

/// A platform that shows one dialog for several permissions, and answers none of them until the time is up.
struct Lists {
    dialogs: Mutex<Vec<Vec<String>>>,
    answers: bool,
}

impl PermissionHost for Lists {
    fn state(&self, _: &str) -> PermissionState {
        PermissionState::Missing
    }
    fn request<'a>(&'a self, _: &'a str) -> BoxFuture<'a, PermissionAnswer> {
        Box::pin(std::future::pending())
    }
    fn request_all<'a>(&'a self, permissions: &'a [String]) -> BoxFuture<'a, Vec<PermissionAnswer>> {
        self.dialogs.lock().unwrap().push(permissions.to_vec());
        let answers =
            permissions.iter().map(|name| if name == "READ_CONTACTS" { PermissionAnswer::Granted } else { PermissionAnswer::Denied });
        let answers: Vec<_> = answers.collect();
        let is_answered = self.answers;
        Box::pin(async move { if is_answered { answers } else { std::future::pending().await } })
    }
}

#[tokio::test(start_paused = true)]
async fn permissions_of_one_call_are_asked_for_in_one_dialog_with_a_time_limit() {
    for (answers, expected, reasons) in [
        (
            true,
            "Required permissions were denied: WRITE_CONTACTS. Permission 'WRITE_CONTACTS' was denied by the user.",
            json!({"permissions": {"WRITE_CONTACTS": "denied"}}),
        ),
        (
            false,
            "Required permissions were denied: READ_CONTACTS, WRITE_CONTACTS. Nobody answered the dialog for 'READ_CONTACTS' within 30 s. \
             Nobody answered the dialog for 'WRITE_CONTACTS' within 30 s.",
            json!({"permissions": {"READ_CONTACTS": "no_answer", "WRITE_CONTACTS": "no_answer"}}),
        ),
    ] {
        let platform = Arc::new(Lists { dialogs: Mutex::default(), answers });
        let broker = PermissionBroker::new();
        broker.set_time_limit(std::time::Duration::from_secs(30));
        broker.bind(Arc::clone(&platform) as _);
        let error = broker.ensure(&["READ_CONTACTS".into(), "WRITE_CONTACTS".into()]).await.unwrap_err();
        assert_eq!((error.message(), error.details()), (expected, Some(&reasons)));
        assert_eq!(*platform.dialogs.lock().unwrap(), [["READ_CONTACTS", "WRITE_CONTACTS"]]);
    }
}

#[tokio::test]
async fn every_refusal_of_a_permission_has_its_reason() {
    let reason = |broker: PermissionBroker| async move {
        let error = broker.ensure(&["CAMERA".into()]).await.unwrap_err();
        error.details().unwrap()["permissions"]["CAMERA"].as_str().unwrap().to_owned()
    };
    let bound = |host: CallbackPermissions| {
        let broker = PermissionBroker::new();
        broker.bind(Arc::new(host));
        broker
    };
    let answers = |answer| CallbackPermissions::new(|_| PermissionState::Missing, move |_| Box::pin(async move { answer }));
    assert_eq!(reason(PermissionBroker::new()).await, "unbound");
    assert_eq!(reason(bound(answers(PermissionAnswer::Denied))).await, "denied");
    assert_eq!(reason(bound(answers(PermissionAnswer::DeniedForGood))).await, "denied_for_good");
    assert_eq!(reason(bound(answers(PermissionAnswer::Granted).can_ask(|| false))).await, "background");
    let fails = CallbackPermissions::new(|_| PermissionState::Missing, |_| panic!("dialog bug"));
    assert_eq!(reason(bound(fails)).await, "failed");
}
