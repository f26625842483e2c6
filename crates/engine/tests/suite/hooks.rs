//! Hooks around every call: rewrite, block, ask, answer, observe, and what is stored.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft_contract::{
    Access, BoxFuture, Effect, ErrorKind, HookEvent, OnFailure, Plan, ToolCall, ToolError, ToolOutput, ToolResult, ToolSource,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use haft_engine::{Event, EventSink, Hook, HookCall, HookDecision, PersistDecision};
use haft_testkit::ScriptedTool;
use serde_json::{Value, json};

use crate::harness::{Harness, failure, setup, text};

type BeforeFn = Box<dyn Fn(&Value) -> Result<HookDecision, String> + Send + Sync>;
type PersistFn = fn(&str) -> Result<PersistDecision, String>;

/// A hook that does as it is told and remembers what it was asked.
struct Scripted {
    name: &'static str,
    before: BeforeFn,
    persist: PersistFn,
    after_fails: bool,
    priority: i64,
    on_failure: Option<OnFailure>,
    time_limit: Option<Duration>,
    needs_effects: bool,
    only: fn(&HookCall<'_>, HookEvent) -> bool,
    /// Shared between hooks whose order matters.
    seen: Arc<Mutex<Vec<String>>>,
}

fn scripted(name: &'static str) -> Scripted {
    Scripted {
        name,
        before: Box::new(|_| Ok(HookDecision::Continue)),
        persist: |_| Ok(PersistDecision::Keep),
        after_fails: false,
        priority: 0,
        on_failure: None,
        time_limit: None,
        needs_effects: false,
        only: |_, _| true,
        seen: Arc::default(),
    }
}

fn before(answer: impl Fn(&Value) -> Result<HookDecision, String> + Send + Sync + 'static) -> Scripted {
    Scripted { before: Box::new(answer), ..scripted("checker") }
}

impl Scripted {
    fn note(&self, event: &str, call: &HookCall<'_>, rest: &str) {
        let kinds = call.effects.map(|effects| effects.iter().map(Effect::kind).collect::<Vec<_>>());
        let effects = kinds.map_or("?".to_owned(), |kinds| kinds.join("+"));
        let tool = call.tool.map_or("none", |tool| tool.name());
        self.seen.lock().unwrap().push(format!("{} {event} {tool} {} [{effects}]{rest}", self.name, call.arguments));
    }
}

impl Hook for Scripted {
    fn name(&self) -> &str {
        self.name
    }
    fn priority(&self) -> i64 {
        self.priority
    }
    fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }
    fn on_failure(&self, event: HookEvent) -> OnFailure {
        self.on_failure.unwrap_or_else(|| Plain.on_failure(event))
    }
    fn needs_effects(&self) -> bool {
        self.needs_effects
    }
    fn wants(&self, call: &HookCall<'_>, event: HookEvent) -> bool {
        (self.only)(call, event)
    }
    fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<HookDecision, String>> {
        self.note("before", &call, "");
        Box::pin(async move { (self.before)(call.arguments) })
    }
    fn after<'a>(&'a self, call: HookCall<'a>, result: &'a ToolResult) -> BoxFuture<'a, Result<(), String>> {
        self.note("after", &call, &format!(" {}", result.to_json()));
        Box::pin(async { if self.after_fails { Err("the log is full".into()) } else { Ok(()) } })
    }
    fn persist<'a>(&'a self, call: HookCall<'a>, stored: &'a str) -> BoxFuture<'a, Result<PersistDecision, String>> {
        self.note("persist", &call, &format!(" {stored}"));
        Box::pin(async move { (self.persist)(stored) })
    }
}

/// A hook that leaves everything to the trait.
struct Plain;

impl Hook for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }
}

/// Remembers which hooks failed, and how.
#[derive(Default)]
struct Watcher(Mutex<Vec<String>>);

impl EventSink for Watcher {
    fn event(&self, event: &Event<'_>) {
        if let Event::HookFailed { call, hook, event, why } = event {
            self.0.lock().unwrap().push(format!("{} {hook} {}: {why}", call.tool, event.as_str()));
        }
    }
}

impl Watcher {
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn echo() -> ScriptedTool {
    ScriptedTool::new("echo").schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
}

/// An engine with these hooks around these tools, and its observer.
fn engine(tools: Vec<ScriptedTool>, hooks: Vec<Scripted>) -> (Harness, Arc<Watcher>) {
    let watcher = Arc::new(Watcher::default());
    let sink = Arc::clone(&watcher);
    let setup = tools.into_iter().fold(setup(), crate::harness::Setup::tool);
    let built = setup.engine(move |builder| hooks.into_iter().fold(builder, |builder, hook| builder.hook(Arc::new(hook))).events(sink));
    (built.session(|session| session.loop_limits(None)).build(), watcher)
}

fn with(hook: Scripted) -> (Harness, Arc<Watcher>) {
    engine(vec![echo()], vec![hook])
}

#[tokio::test]
async fn a_rewrite_is_validated_and_the_original_is_kept() {
    let hook = before(|_| Ok(HookDecision::Rewrite(json!({"n": "7"}))));
    let seen = Arc::clone(&hook.seen);
    let (harness, _) = with(hook);
    assert_eq!(text(&harness.call("echo", json!({"n": 1})).await), r#"{"n":7}"#);
    let record = &harness.history().await[0];
    assert_eq!((&record.arguments, record.original_arguments.as_ref()), (&json!({"n": 7}), Some(&json!({"n": 1}))));
    assert_eq!(
        *seen.lock().unwrap(),
        [
            r#"checker before echo {"n":1} [?]"#,
            r#"checker before echo {"n":7} [?]"#,
            r#"checker after echo {"n":7} [] {"status":"success","result":"{\"n\":7}"}"#,
            r#"checker persist echo {"n":7} [] {"n":7}"#,
        ]
    );
}

#[tokio::test]
async fn a_rewrite_that_changes_nothing_is_none() {
    let (harness, _) = with(before(|_| Ok(HookDecision::Rewrite(json!({"n": "1"})))));
    assert_eq!(text(&harness.call("echo", json!({"n": 1})).await), r#"{"n":1}"#);
    assert_eq!(harness.history().await[0].original_arguments, None);
}

#[tokio::test]
async fn a_hook_that_agreed_before_a_rewrite_is_asked_again() {
    let limit = || Scripted {
        name: "limit",
        priority: 9,
        ..before(|arguments| Ok(if arguments["n"] == 99 { HookDecision::Block("too much".into()) } else { HookDecision::Continue }))
    };
    let raise = before(|_| Ok(HookDecision::Rewrite(json!({"n": 99}))));
    let tool = echo();
    let log = tool.log();
    let (harness, _) = engine(vec![tool], vec![limit(), raise]);
    let told = failure(&harness.call("echo", json!({"n": 1})).await);
    assert_eq!(told, (ErrorKind::Blocked, "Blocked by the hook 'limit': too much".into()));
    assert_eq!(log.count(), 0, "the later hook does not get past the earlier one");
    let lower = before(|_| Ok(HookDecision::Rewrite(json!({"n": 5}))));
    let (harness, _) = engine(vec![echo()], vec![limit(), lower]);
    assert_eq!(text(&harness.call("echo", json!({"n": 1})).await), r#"{"n":5}"#);
}

#[tokio::test]
async fn hooks_that_do_not_agree_block_the_call() {
    let to = |name, n: i64| Scripted { name, ..before(move |_| Ok(HookDecision::Rewrite(json!({"n": n})))) };
    let (one, two) = (to("one", 1), to("two", 2));
    let seen = [Arc::clone(&one.seen), Arc::clone(&two.seen)];
    let tool = echo();
    let log = tool.log();
    let (harness, _) = engine(vec![tool], vec![one, two]);
    let (kind, message) = failure(&harness.call("echo", json!({"n": 0})).await);
    assert_eq!(
        (kind, message.as_str()),
        (
            ErrorKind::Blocked,
            "The call was not made: the hook 'two' still changes the arguments in round 4. Tell the user: a hook must leave arguments \
             alone that are already as it wants them."
        )
    );
    let asked = seen.map(|seen| seen.lock().unwrap().iter().filter(|line| line.contains(" before ")).count());
    assert_eq!((asked, log.count()), ([4, 4], 0));
}

#[tokio::test]
async fn a_rewrite_into_nonsense_blocks_the_call() {
    let (harness, _) = with(before(|_| Ok(HookDecision::Rewrite(json!({"n": [1]})))));
    let (kind, message) = failure(&harness.call("echo", json!({"n": 1})).await);
    assert_eq!(kind, ErrorKind::Blocked);
    assert!(
        message.starts_with("The hook 'checker' rewrote the arguments into something invalid: Parameter 'n' expected type 'integer'"),
        "{message}"
    );
}

#[tokio::test]
async fn a_block_carries_its_reason_and_an_answer_replaces_the_tool() {
    let tool = echo();
    let log = tool.log();
    let (blocking, _) = engine(vec![tool], vec![before(|_| Ok(HookDecision::Block("not on Sundays".into())))]);
    assert_eq!(
        failure(&blocking.call("echo", json!({"n": 1})).await),
        (ErrorKind::Blocked, "Blocked by the hook 'checker': not on Sundays".into())
    );
    assert_eq!((log.count(), &blocking.history().await[0].arguments), (0, &json!({"n": 1})), "history knows what was blocked");
    let (answering, _) = with(before(|_| Ok(HookDecision::Answer(ToolOutput::text("from the hook")))));
    assert_eq!(text(&answering.call("echo", json!({"n": 1})).await), "from the hook");
}

#[tokio::test]
async fn a_hook_that_cannot_run_blocks_or_continues_as_configured_and_is_reported() {
    let fails = |answer: fn(&Value) -> Result<HookDecision, String>, on_failure| Scripted { on_failure, ..before(answer) };
    let no_program = |_: &Value| Err("no such program, sk-ant-api03-abcdefghijklmnop".into());
    let panics = |_: &Value| panic!("hook bug");
    for (answer, why) in [(no_program as fn(&Value) -> _, "no such program, [redacted:anthropic_key]"), (panics, "it panicked")] {
        let blocked = format!("The hook 'checker' could not run, so the call was not made: {why}. Tell the user.");
        for (on_failure, expected) in [
            (None, Err((ErrorKind::Blocked, blocked.clone()))),
            (Some(OnFailure::Block), Err((ErrorKind::Blocked, blocked.clone()))),
            (Some(OnFailure::Continue), Ok(r#"{"n":1}"#.to_owned())),
        ] {
            let (harness, watcher) = with(fails(answer, on_failure));
            let result = harness.call("echo", json!({"n": 1})).await;
            let outcome = if result.is_success() { Ok(text(&result)) } else { Err(failure(&result)) };
            assert_eq!(outcome, expected, "{on_failure:?}");
            assert_eq!(watcher.told(), [format!("echo checker before_tool_call: {why}")]);
        }
    }
}

#[tokio::test]
async fn a_hook_has_its_own_time_or_the_engines() {
    struct Hangs(Option<Duration>);
    impl Hook for Hangs {
        fn name(&self) -> &'static str {
            "hangs"
        }
        fn time_limit(&self) -> Option<Duration> {
            self.0
        }
        fn before<'a>(&'a self, _call: HookCall<'a>) -> BoxFuture<'a, Result<HookDecision, String>> {
            Box::pin(std::future::pending())
        }
    }
    for (own, general, expected) in [(Some(20), 60_000, "0.02"), (None, 30, "0.03")] {
        let hook = Arc::new(Hangs(own.map(Duration::from_millis)));
        let mut limits = haft_engine::CallLimits::default();
        limits.hook = Duration::from_millis(general);
        let harness = setup().tool(echo()).engine(move |builder| builder.hook(hook).limits(limits)).build();
        let started = Instant::now();
        let message = failure(&harness.call("echo", json!({"n": 1})).await).1;
        let expected = format!("could not run, so the call was not made: it took longer than {expected} s. Tell the user.");
        assert!(message.ends_with(&expected) && started.elapsed() < Duration::from_secs(30), "{message}");
    }
}

#[tokio::test]
async fn after_hooks_change_nothing_and_their_failure_is_told() {
    let (harness, watcher) = with(Scripted { after_fails: true, ..scripted("audit") });
    assert_eq!(text(&harness.call("echo", json!({"n": 1})).await), r#"{"n":1}"#);
    assert_eq!(watcher.told(), ["echo audit after_tool_call: the log is full"]);
}

#[tokio::test]
async fn what_is_stored_can_be_rewritten_or_withheld_and_is_not_when_that_fails() {
    let broken = "[withheld: the hook 'filter' could not run: no key]";
    for (persist, on_failure, stored, told) in [
        ((|text| Ok(PersistDecision::Replace(text.replace('1', "*")))) as PersistFn, None, r#"{"n":*}"#, None),
        (|_| Ok(PersistDecision::Keep), None, r#"{"n":1}"#, None),
        (|_| Ok(PersistDecision::Replace("sk-ant-api03-abcdefghijklmnop".into())), None, "[redacted:anthropic_key]", None),
        (|_| Ok(PersistDecision::Withhold("private".into())), None, "[withheld by the hook 'filter': private]", None),
        (|_| Err("no key".into()), None, broken, Some("no key")),
        (|_| Err("no key".into()), Some(OnFailure::Block), broken, Some("no key")),
        (|_| Err("no key".into()), Some(OnFailure::Continue), r#"{"n":1}"#, Some("no key")),
        (|_| panic!("bug"), None, "[withheld: the hook 'filter' could not run: it panicked]", Some("it panicked")),
    ] {
        let (harness, watcher) = with(Scripted { persist, on_failure, ..scripted("filter") });
        assert_eq!(text(&harness.call("echo", json!({"n": 1})).await), r#"{"n":1}"#, "the model has it all the same");
        assert_eq!(harness.history().await[0].summary, stored);
        let told: Vec<String> = told.into_iter().map(|why| format!("echo filter tool_result_persist: {why}")).collect();
        assert_eq!(watcher.told(), told);
    }
}

#[tokio::test]
async fn history_keeps_no_more_of_a_rewritten_text_than_of_any_other() {
    let (harness, _) = with(Scripted { persist: |_| Ok(PersistDecision::Replace("é".repeat(5000))), ..scripted("long") });
    harness.call("echo", json!({"n": 1})).await;
    assert_eq!(harness.history().await[0].summary, "é".repeat(2048));
}

#[tokio::test]
async fn hooks_get_the_whole_result_and_what_they_store_is_what_is_spilled() {
    let hook = Scripted { persist: |text| Ok(PersistDecision::Replace(format!("{} bytes", text.len()))), ..scripted("audit") };
    let seen = Arc::clone(&hook.seen);
    let (harness, _) = engine(vec![ScriptedTool::new("flood").returns_bytes(300_000)], vec![hook]);
    let result = harness.call("flood", json!({})).await;
    let shown = text(&result);
    assert!(
        shown.len() < 110_000 && shown.contains("What is stored of it, as a hook rewrote it, is in '"),
        "{}",
        &shown[shown.len() - 300..]
    );
    let spill = shown.rsplit('\'').nth(1).unwrap();
    assert_eq!(std::fs::read_to_string(spill).unwrap(), "300000 bytes");
    assert_eq!((result.stored.as_deref(), harness.history().await[0].summary.as_str()), (Some("300000 bytes"), "300000 bytes"));
    assert_eq!(result.stored_json(), r#"{"status":"success","result":"300000 bytes"}"#);
    let after = seen.lock().unwrap().iter().find(|line| line.starts_with("audit after")).unwrap().len();
    assert!(after > 300_000, "the hook saw {after} bytes");
}

#[tokio::test]
async fn a_stored_text_is_bounded_as_the_models_is() {
    let (harness, _) = with(Scripted { persist: |_| Ok(PersistDecision::Replace("x".repeat(1 << 20))), ..scripted("long") });
    let stored = harness.call("echo", json!({"n": 1})).await.stored.unwrap();
    assert!(stored.len() < 110_000 && stored.ends_with("of 1048576 bytes.)"), "{}", stored.len());
}

#[tokio::test]
async fn hooks_see_calls_that_failed_before_any_tool_was_known() {
    let hook = scripted("audit");
    let seen = Arc::clone(&hook.seen);
    let (harness, _) = with(hook);
    harness.call("nowhere", json!({})).await;
    harness.call("echo", json!({"n": "private"})).await;
    let seen: Vec<String> = seen.lock().unwrap().iter().map(|line| line.split(" [").next().unwrap().to_owned()).collect();
    assert_eq!(
        seen,
        [
            "audit after none null",
            "audit persist none null",
            r#"audit after echo {"n":"private"}"#,
            r#"audit persist echo {"n":"private"}"#
        ]
    );
}

#[tokio::test]
async fn a_hook_knows_the_tool_even_if_it_is_gone_meanwhile() {
    let hook = scripted("audit");
    let seen = Arc::clone(&hook.seen);
    let (harness, _) = engine(Vec::new(), vec![hook]);
    let registry = Arc::clone(harness.engine.registry());
    let tool = ScriptedTool::new("fleeting").body(move |_, _| {
        assert!(registry.unregister("fleeting"));
        async { Ok(ToolOutput::text("gone")) }
    });
    harness.engine.registry().register(tool.shared(), ToolSource::Plugin("p".into())).unwrap();
    assert_eq!(text(&harness.call("fleeting", json!({})).await), "gone");
    assert_eq!(seen.lock().unwrap()[1], r#"audit after fleeting {} [] {"status":"success","result":"gone"}"#);
}

#[tokio::test]
async fn the_higher_priority_goes_first_and_equals_in_the_order_they_were_added() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let add = |name: &'static str, priority, digit: i64| Scripted {
        name,
        priority,
        seen: Arc::clone(&seen),
        ..before(move |arguments| {
            let n = arguments["n"].as_i64().unwrap_or_default();
            let there = n.to_string().contains(&digit.to_string());
            Ok(if there { HookDecision::Continue } else { HookDecision::Rewrite(json!({"n": n * 10 + digit})) })
        })
    };
    let hooks = vec![add("low", -5, 4), add("first", 0, 2), add("second", 0, 3), add("high", 9, 1)];
    let (harness, _) = engine(vec![echo()], hooks);
    assert_eq!(text(&harness.call("echo", json!({"n": 0})).await), r#"{"n":1234}"#, "each sees what the one before left");
    assert_eq!(harness.history().await[0].original_arguments, Some(json!({"n": 0})));
    let order: Vec<String> = seen.lock().unwrap().iter().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected: Vec<String> = ["before", "before", "after", "persist"]
        .iter()
        .flat_map(|event| ["high", "first", "second", "low"].map(|name| format!("{name} {event}")))
        .collect();
    assert_eq!(order, expected);
}

#[tokio::test]
async fn a_hook_is_asked_only_about_what_it_wants() {
    let hook = Scripted {
        only: |call, event| event == HookEvent::BeforeToolCall && call.tool.is_some_and(|tool| tool.name() == "noted"),
        ..before(|_| Err("it was asked".into()))
    };
    let (harness, watcher) = engine(vec![ScriptedTool::new("noted"), ScriptedTool::new("other")], vec![hook]);
    assert!(harness.call("other", json!({})).await.is_success());
    assert!(watcher.told().is_empty());
    assert_eq!(failure(&harness.call("noted", json!({})).await).0, ErrorKind::Blocked);
}

#[tokio::test]
async fn a_call_is_planned_before_a_hook_that_needs_its_effects_and_again_only_when_that_rewrote_it() {
    let writes = |call: &HookCall<'_>, event| {
        event == HookEvent::BeforeToolCall && call.effects.expect("planned").iter().any(|effect| effect.kind() == "write")
    };
    let move_to_b =
        |arguments: &Value| Ok(if arguments["path"] == "a" { HookDecision::Rewrite(json!({"path": "b"})) } else { HookDecision::Continue });
    for (path, plans, effects) in [("a", vec!["a", "b"], "[write]"), ("c", vec!["c"], "[write]"), ("", vec![""], "[]")] {
        let planned: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&planned);
        let tool = ScriptedTool::new("put").schema(json!({"type": "object", "properties": {"path": {"type": "string"}}})).plan(
            move |arguments, cx| {
                let path = arguments["path"].as_str().unwrap_or_default();
                noted.lock().unwrap().push(path.to_owned());
                if path.is_empty() { Ok(Plan::nothing()) } else { Ok(Plan::nothing().write(cx.locate(path)?)) }
            },
        );
        let guard = Scripted { needs_effects: true, only: writes, ..before(move_to_b) };
        let audit = scripted("audit");
        let seen = Arc::clone(&audit.seen);
        let (harness, _) = engine(vec![tool], vec![guard, audit]);
        assert!(harness.call("put", json!({"path": path})).await.is_success());
        assert_eq!(*planned.lock().unwrap(), plans);
        assert!(seen.lock().unwrap()[1].contains(effects), "{:?}", seen.lock().unwrap());
    }
}

#[tokio::test]
async fn a_plan_that_fails_for_a_hook_is_the_calls_error() {
    let tool = echo().plan(|_, _| Err(ToolError::new(ErrorKind::PathNotAllowed, "not there")));
    let hook = Scripted { needs_effects: true, ..scripted("guard") };
    let (harness, watcher) = engine(vec![tool], vec![hook]);
    assert_eq!(failure(&harness.call("echo", json!({"n": 1})).await), (ErrorKind::PathNotAllowed, "not there".into()));
    assert_eq!((&harness.history().await[0].arguments, watcher.told()), (&json!({"n": 1}), vec![]));
}

/// A user who says yes and records the questions.
#[derive(Default)]
struct ScriptedUser(Mutex<Vec<(Value, String)>>);

impl Approver for ScriptedUser {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.0.lock().unwrap().push((request.arguments, request.reason));
        Box::pin(async { ApprovalAnswer::Once })
    }
}

#[tokio::test]
async fn a_hook_can_require_approval_of_any_call() {
    let ask = || before(|_| Ok(HookDecision::Ask { reason: "sure?".into(), arguments: Some(json!({"n": 2})) }));
    let user = Arc::new(ScriptedUser::default());
    let (approver, hook) = (Arc::clone(&user), Arc::new(ask()));
    let harness = setup()
        .tool(echo())
        .engine(|builder| builder.hook(hook))
        .session(|session| session.access(Access::FullAccess).approver(approver))
        .build();
    assert_eq!(text(&harness.call("echo", json!({"n": 1})).await), r#"{"n":2}"#);
    assert_eq!(*user.0.lock().unwrap(), [(json!({"n": 2}), "the hook 'checker' requires approval: sure?".to_owned())]);
    let (alone, _) = with(ask());
    let result = alone.call("echo", json!({"n": 1})).await;
    assert_eq!(
        failure(&result),
        (
            ErrorKind::PermissionDenied,
            "This call needs approval (the hook 'checker' requires approval: sure?), and no one can approve here. Do \
             without it, or tell the user what you need it for."
                .into()
        )
    );
    assert_eq!(result.details().unwrap()["to_change"], "it needs approval each time: the hook 'checker' requires approval: sure?");
}

#[tokio::test]
async fn no_hook_is_skipped_wherever_a_tool_comes_from() {
    for source in [ToolSource::BuiltIn, ToolSource::Plugin("p".into()), ToolSource::Mcp("server".into())] {
        let hook = scripted("every");
        let seen = Arc::clone(&hook.seen);
        let (harness, _) = engine(Vec::new(), vec![hook]);
        harness.engine.registry().register(ScriptedTool::new("tool").shared(), source.clone()).unwrap();
        let single = harness.call("tool", json!({})).await;
        let batch = harness.engine.run_all(vec![ToolCall::new("b", "tool", json!({}))], &harness.session).await;
        assert!(single.is_success() && batch[0].is_success());
        let events: Vec<String> = seen.lock().unwrap().iter().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(events, ["before", "after", "persist", "before", "after", "persist"], "{source:?}");
    }
}

#[tokio::test]
async fn explaining_names_the_hooks_that_would_be_asked_and_runs_none() {
    let only = |call: &HookCall<'_>, event| event == HookEvent::BeforeToolCall && call.tool.is_some_and(|tool| tool.name() == "echo");
    let writes = |call: &HookCall<'_>, event| {
        event == HookEvent::BeforeToolCall && call.effects.into_iter().flatten().any(|effect| effect.kind() == "write")
    };
    let hooks = vec![
        Scripted { name: "first", only, ..before(|_| panic!("it was run")) },
        Scripted { name: "other", only: |_, _| false, ..before(|_| panic!("it was run")) },
        Scripted { name: "writes", only: writes, needs_effects: true, ..before(|_| panic!("it was run")) },
        Scripted { name: "late", only: |_, event| event == HookEvent::AfterToolCall, ..scripted("late") },
    ];
    let tool = echo().plan(|arguments, cx| match arguments["n"].as_i64() {
        Some(1) => Ok(Plan::nothing().write(cx.locate("a")?)),
        _ => Ok(Plan::nothing()),
    });
    let (harness, _) = engine(vec![tool], hooks);
    let first = "'first' runs before the call; not run here";
    for (arguments, expected) in [
        (None, vec![first, "'writes' runs before the call if its effects match; not run here"]),
        (Some(json!({"n": 0})), vec![first]),
        (Some(json!({"n": 1})), vec![first, "'writes' runs before the call; not run here"]),
    ] {
        let explained = harness.engine.explain("echo", arguments.clone().map(Into::into), &harness.session).await.unwrap();
        let named = explained.trace.iter().filter(|entry| entry.step == haft_engine::HOOK);
        assert_eq!(named.map(|entry| entry.entry.as_ref()).collect::<Vec<_>>(), expected, "{arguments:?}");
    }
}
