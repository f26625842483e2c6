//! Hooks around every call: rewrite, block, answer, observe, and what is stored.

use std::sync::{Arc, Mutex};

use haft_contract::{BoxFuture, ErrorKind, ToolOutput, ToolResult};
use haft_engine::{Before, Hook, HookCall};
use haft_testkit::ScriptedTool;
use serde_json::{Value, json};

use crate::harness::{Harness, failure, setup, text};

type BeforeFn = Box<dyn Fn(&Value) -> Result<Before, String> + Send + Sync>;

struct Scripted {
    before: BeforeFn,
    seen: Mutex<Vec<String>>,
}

impl Hook for Scripted {
    fn name(&self) -> &'static str {
        "checker"
    }
    fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<Before, String>> {
        Box::pin(async move { (self.before)(call.arguments) })
    }
    fn after<'a>(&'a self, call: HookCall<'a>, result: &'a ToolResult) -> BoxFuture<'a, ()> {
        self.seen.lock().unwrap().push(format!("{} {} {}", call.call.tool, call.arguments, result.to_json()));
        Box::pin(async {})
    }
    fn persist<'a>(&'a self, _call: HookCall<'a>, stored: String) -> BoxFuture<'a, String> {
        Box::pin(async move { stored.replace("private", "[hidden]") })
    }
}

fn harness(before: impl Fn(&Value) -> Result<Before, String> + Send + Sync + 'static) -> (Harness, Arc<Scripted>) {
    let hook = Arc::new(Scripted { before: Box::new(before), seen: Mutex::default() });
    let added = Arc::clone(&hook);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    (setup().tool(ScriptedTool::new("echo").schema(schema)).engine(move |builder| builder.hook(added)).build(), hook)
}

#[tokio::test]
async fn a_rewrite_is_validated_and_the_original_is_kept() {
    let (harness, hook) = harness(|_| Ok(Before::Rewrite(json!({"n": "7"}))));
    assert_eq!(text(&harness.call("echo", json!({"n": 1})).await), r#"{"n":7}"#);
    let record = &harness.history().await[0];
    assert_eq!((&record.arguments, record.original_arguments.as_ref()), (&json!({"n": 7}), Some(&json!({"n": 1}))));
    assert_eq!(*hook.seen.lock().unwrap(), [r#"echo {"n":7} {"status":"success","result":"{\"n\":7}"}"#]);
}

#[tokio::test]
async fn a_rewrite_into_nonsense_blocks_the_call() {
    let (harness, _) = harness(|_| Ok(Before::Rewrite(json!({"n": [1]}))));
    let (kind, message) = failure(&harness.call("echo", json!({"n": 1})).await);
    assert_eq!(kind, ErrorKind::Blocked);
    assert!(
        message.starts_with("The hook 'checker' rewrote the arguments into something invalid: Parameter 'n' expected type 'integer'"),
        "{message}"
    );
}

#[tokio::test]
async fn a_block_carries_its_reason_and_an_answer_replaces_the_tool() {
    let (blocking, _) = harness(|_| Ok(Before::Block("not on Sundays".into())));
    assert_eq!(
        failure(&blocking.call("echo", json!({"n": 1})).await),
        (ErrorKind::Blocked, "Blocked by the hook 'checker': not on Sundays".into())
    );
    let (answering, _) = harness(|_| Ok(Before::Answer(ToolOutput::text("from the hook"))));
    assert_eq!(text(&answering.call("echo", json!({"n": 1})).await), "from the hook");
}

#[tokio::test]
async fn a_hook_that_cannot_run_or_panics_blocks_and_says_which() {
    let (failing, _) = harness(|_| Err("no such program".into()));
    let (kind, message) = failure(&failing.call("echo", json!({"n": 1})).await);
    assert_eq!(
        (kind, message.as_str()),
        (ErrorKind::Blocked, "The hook 'checker' could not run, so the call was not made: no such program. Tell the person.")
    );
    let (panicking, _) = harness(|_| panic!("hook bug"));
    assert_eq!(failure(&panicking.call("echo", json!({"n": 1})).await).0, ErrorKind::Blocked);
}

#[tokio::test]
async fn hooks_see_failures_too_and_what_is_stored_can_be_rewritten() {
    let (harness, hook) = harness(|_| Ok(Before::Continue));
    failure(&harness.call("echo", json!({"n": "private"})).await);
    assert_eq!(hook.seen.lock().unwrap().len(), 1);
    let stored = &harness.history().await[0].summary;
    assert!(stored.contains("[hidden]") && !stored.contains("private"), "{stored}");
}

#[tokio::test]
async fn hooks_run_in_order_and_each_sees_what_the_one_before_left() {
    struct Add(i64);
    impl Hook for Add {
        fn name(&self) -> &'static str {
            "add"
        }
        fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<Before, String>> {
            let n = call.arguments["n"].as_i64().unwrap_or_default();
            Box::pin(async move { Ok(Before::Rewrite(json!({"n": n * 10 + self.0}))) })
        }
    }
    let harness = setup().tool(ScriptedTool::new("echo")).engine(|builder| builder.hook(Arc::new(Add(1))).hook(Arc::new(Add(2)))).build();
    assert_eq!(text(&harness.call("echo", json!({"n": 0})).await), r#"{"n":12}"#);
}
