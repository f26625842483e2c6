//! Hooks around a call that is to stop: they may end what they do, not for long.

use std::sync::{Arc, Mutex};

use haft_contract::{BoxFuture, HookEvent, ToolCall, ToolResult};
use haft_engine::{Event, EventSink, Hook, HookCall, PersistDecision};
use haft_testkit::ScriptedTool;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::harness::{Harness, setup, text};

/// Stops the call while it is told about it, and never comes back by itself.
struct Endless {
    stop: CancellationToken,
    stopped: Mutex<Option<Instant>>,
}

impl Hook for Endless {
    fn name(&self) -> &'static str {
        "endless"
    }
    fn after<'a>(&'a self, _call: HookCall<'a>, _result: &'a ToolResult) -> BoxFuture<'a, Result<(), String>> {
        if !self.stop.is_cancelled() {
            // From here on only the hooks are waited for, and no real time need pass.
            tokio::time::pause();
            *self.stopped.lock().unwrap() = Some(Instant::now());
            self.stop.cancel();
        }
        Box::pin(std::future::pending())
    }
    fn persist<'a>(&'a self, _call: HookCall<'a>, _stored: &'a str) -> BoxFuture<'a, Result<PersistDecision, String>> {
        Box::pin(std::future::pending())
    }
}

/// Does what it does in less than a moment.
struct Quick;

impl Hook for Quick {
    fn name(&self) -> &'static str {
        "quick"
    }
}

#[derive(Default)]
struct Watcher(Mutex<Vec<(String, HookEvent, String)>>);

impl EventSink for Watcher {
    fn event(&self, event: &Event<'_>) {
        if let Event::HookFailed { hook, event, why, .. } = event {
            self.0.lock().unwrap().push(((*hook).to_owned(), *event, why.clone()));
        }
    }
}

/// What comes of a call that is stopped while its hooks are told.
async fn stopped(runs: impl AsyncFnOnce(&Harness, ToolCall, &CancellationToken) -> ToolResult) {
    let stop = CancellationToken::new();
    let hooks = [(); 2].map(|()| Arc::new(Endless { stop: stop.clone(), stopped: Mutex::default() }));
    let (watcher, first) = (Arc::new(Watcher::default()), Arc::clone(&hooks[0]));
    let sink = Arc::clone(&watcher);
    let harness = setup()
        .tool(ScriptedTool::new("echo"))
        .engine(move |builder| hooks.into_iter().fold(builder.events(sink), |builder, hook| builder.hook(hook)).hook(Arc::new(Quick)))
        .build();
    let result = runs(&harness, ToolCall::new("c", "echo", json!({})), &stop).await;
    assert_eq!(first.stopped.lock().unwrap().unwrap().elapsed().as_secs(), 1);
    assert_eq!(text(&result), "{}");
    let why = "the call was cancelled while it ran";
    let failed = |event| ("endless".to_owned(), event, why.to_owned());
    let expected = [HookEvent::AfterToolCall, HookEvent::AfterToolCall, HookEvent::ToolResultPersist, HookEvent::ToolResultPersist];
    assert_eq!(*watcher.0.lock().unwrap(), expected.map(failed));
    let stored = &harness.history().await[0].summary;
    assert_eq!(*stored, format!("[withheld: the hook 'endless' could not run: {why}]"));
}

#[tokio::test]
async fn a_call_that_is_to_stop_waits_one_second_for_all_its_hooks_together() {
    stopped(async |harness, call, stop| harness.engine.run_until(call, &harness.session, stop).await).await;
}

#[tokio::test]
async fn so_does_a_call_among_others() {
    stopped(async |harness, call, stop| harness.engine.run_all_until(vec![call], &harness.session, stop).await.remove(0)).await;
}
