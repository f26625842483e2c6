use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::ports::{
    Automation, AutomationStatus, ChannelAction, ChannelCommand, ChannelKind, ChannelReceipt, JobNotice, JobRun, JobTarget, JobView,
    MessageChannels, MissedRuns, OverlapRule, ScheduleText, Services,
};
use haft_contract::{BoxFuture, DynTool, Erased};
use haft_testkit::{FakeHost, expect_error, run_tool};
use serde_json::json;

use super::*;

/// Notes what is asked of it.
#[derive(Default)]
struct Jobs(Mutex<Vec<(String, JobDraft)>>);

fn unused<T>() -> Result<T, ToolError> {
    Err(ToolError::execution("stop here"))
}

impl Automation for Jobs {
    fn status(&self) -> BoxFuture<'_, Result<AutomationStatus, ToolError>> {
        let status = AutomationStatus { is_running: false, zone: "UTC".into(), enabled: 2, disabled: 1, running: 0, next: None };
        Box::pin(async { Ok(status) })
    }
    fn list(&self) -> BoxFuture<'_, Result<Vec<JobView>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn find<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async { unused() })
    }
    fn check(&self, draft: &JobDraft) -> Result<String, ToolError> {
        if draft.schedule.is_empty() { Err(ToolError::validation("Say when it runs.")) } else { Ok("sometimes".into()) }
    }
    fn add<'a>(&'a self, _: Option<&'a str>, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>> {
        self.0.lock().unwrap().push(("add".into(), draft));
        Box::pin(async { unused() })
    }
    fn update<'a>(&'a self, _: Option<&'a str>, job: &'a str, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>> {
        self.0.lock().unwrap().push((format!("update {job}"), draft));
        Box::pin(async { unused() })
    }
    fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async { unused() })
    }
    fn run<'a>(&'a self, _: &'a str, _: bool) -> BoxFuture<'a, Result<Option<JobRun>, ToolError>> {
        Box::pin(async { Ok(None) })
    }
    fn runs<'a>(&'a self, _: Option<&'a str>, _: usize) -> BoxFuture<'a, Result<Vec<JobRun>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn notices(&self, _: usize) -> BoxFuture<'_, Result<Vec<JobNotice>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn wake<'a>(&'a self, _: &'a str, text: &'a str, mode: WakeMode) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move { Ok(format!("{text} {mode:?}")) })
    }
}

/// One channel.
struct OneChannel;

impl MessageChannels for OneChannel {
    fn offers(&self) -> Vec<ChannelOffer> {
        vec![ChannelOffer {
            name: "slack".into(),
            kind: ChannelKind::Slack,
            actions: vec![ChannelAction::Send],
            has_attachments: false,
            has_buttons: false,
            has_subject: false,
            default_to: Some("#ops".into()),
            is_outward: true,
        }]
    }
    fn check(&self, _: &ChannelCommand) -> Result<(), ToolError> {
        Ok(())
    }
    fn perform<'a>(&'a self, _: &'a ChannelCommand, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, ToolError>> {
        Box::pin(async { unused() })
    }
}

fn host() -> (Arc<FakeHost>, Arc<Jobs>) {
    let (host, mut services, jobs) = (FakeHost::new(), Services::default(), Arc::new(Jobs::default()));
    services.channels = Some(Arc::new(OneChannel));
    services.automation = Some(Arc::clone(&jobs) as _);
    assert!(host.services.set(services).is_ok());
    (host, jobs)
}

async fn drafted(arguments: Value) -> (String, JobDraft) {
    let (host, jobs) = host();
    let error = expect_error(run_tool(&Erased::new(Cron), arguments.clone(), host).await);
    assert_eq!(error.1, "stop here", "{arguments}");
    jobs.0.lock().unwrap().pop().unwrap()
}

#[tokio::test]
async fn flat_and_nested_forms_mean_the_same_job() {
    let schedule = ScheduleText { cron: Some("0 9 * * 1-5".into()), zone: Some("UTC".into()), ..ScheduleText::default() };
    let job = JobDraft {
        name: Some("plants".into()),
        schedule,
        task: Some("water".into()),
        target: Some(JobTarget::Main),
        timeout: Some(Duration::from_mins(1)),
        ..JobDraft::default()
    };
    for arguments in [
        json!({"action": "add", "name": "plants", "cron": "0 9 * * 1-5", "zone": "UTC", "message": "water", "session": "main",
               "timeout_seconds": 60}),
        json!({"name": "plants", "cron": "0 9 * * 1-5", "zone": "UTC", "message": "water", "session": "main", "timeout_seconds": 60}),
        json!({"name": "plants", "schedule": {"expr": "0 9 * * 1-5", "tz": "UTC"}, "payload": {"text": "water"}, "session": "main",
               "timeout_seconds": 60}),
        json!({"action": "add", "job": {"name": "plants", "schedule": {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "UTC"},
               "sessionTarget": "main", "payload": {"kind": "systemEvent", "text": "water", "timeoutSeconds": 60}}}),
        // Weak models flatten one level, or both.
        json!({"action": "add", "name": "plants", "schedule": {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "UTC"}, "session": "main",
               "payload": {"text": "water", "timeoutSeconds": "60"}}),
        json!({"action": "add", "job": {"name": "plants", "schedule": "0 9 * * 1-5", "timezone": "UTC", "session_target": "MAIN",
               "text": "water", "timeout": 60}}),
    ] {
        assert_eq!(drafted(arguments.clone()).await, ("add".into(), job.clone()), "{arguments}");
    }
}

#[tokio::test]
async fn every_field_is_read_in_each_form() {
    let (_, draft) = drafted(json!({"action": "add", "job": {"schedule": {"kind": "every", "everyMs": 60000, "anchorMs": 0},
        "payload": {"message": "x", "model": "a/b"}, "agentId": "coder", "delivery": {"mode": "webhook", "to": "http://127.0.0.1/"},
        "missed": "all", "overlap": "wait", "enabled": false, "deleteAfterRun": true}}))
    .await;
    let expected = JobDraft {
        schedule: ScheduleText { every: Some("60000ms".into()), anchor: Some("1970-01-01T00:00:00Z".into()), ..ScheduleText::default() },
        task: Some("x".into()),
        model: Some("a/b".into()),
        agent: Some("coder".into()),
        delivery: Some(DeliveryMode::Webhook),
        to: Some("http://127.0.0.1/".into()),
        missed: Some(MissedRuns::All),
        overlap: Some(OverlapRule::Wait),
        enabled: Some(false),
        delete_after_run: Some(true),
        ..JobDraft::default()
    };
    assert_eq!(draft, expected);
    let (what, draft) = drafted(json!({"action": "update", "patch": {"id": "j-1", "enabled": "false"}})).await;
    assert_eq!((what.as_str(), draft), ("update j-1", JobDraft { enabled: Some(false), ..JobDraft::default() }));
    let (_, draft) =
        drafted(json!({"action": "add", "job": {"schedule": {"kind": "at", "atMs": 1_700_000_000_000_i64}, "text": "x"}})).await;
    assert_eq!(draft.schedule.at.as_deref(), Some("2023-11-14T22:13:20Z"));
    // In milliseconds, flat, and as text.
    let (_, draft) = drafted(json!({"message": "x", "at_ms": 1_700_000_000_000_i64})).await;
    assert_eq!(draft.schedule.at.as_deref(), Some("2023-11-14T22:13:20Z"));
    for arguments in [
        json!({"action": "add", "every_ms": 600_000, "message": "x"}),
        json!({"action": "add", "schedule": {"kind": "every", "everyMs": "600000"}, "message": "x"}),
    ] {
        let (_, draft) = drafted(arguments.clone()).await;
        assert_eq!(draft.schedule.every.as_deref(), Some("600000ms"), "{arguments}");
    }
}

#[tokio::test]
async fn wrong_fields_are_refused_by_name() {
    for (arguments, words) in [
        (json!({"action": "add", "message": "x"}), "Say when it runs."),
        (json!({"action": "update", "enabled": true}), "Missing required parameter: 'id'"),
        (json!({"action": "remove"}), "Missing required parameter: 'id'"),
        (json!({"action": "run", "id": " "}), "Missing required parameter: 'id'"),
        (json!({"action": "wake"}), "Missing required parameter: 'message'"),
        (json!({"action": "wake", "message": "x".repeat(2001)}), "has 2001 characters"),
        (json!({"action": "add", "job": {"schedule": 5, "text": "x"}}), "Parameter 'schedule' must be an object."),
        (json!({"action": "add", "job": {"at": ["x"]}}), "Parameter 'at' must be text; [\"x\"] is not that."),
        (json!({"action": "add", "job": {"at": "1h", "enabled": 7}}), "must be true or false"),
        (json!({"action": "add", "job": {"at": "1h", "timeout": "soon"}}), "a number of seconds"),
        (json!({"action": "add", "job": {"at": "1h", "missed": "never"}}), "'never' is none of: skip, once, all"),
    ] {
        let (host, _) = host();
        let error = expect_error(run_tool(&Erased::new(Cron), arguments.clone(), host).await);
        assert!(error.1.contains(words), "{arguments}: {error:?}");
    }
    let absent = expect_error(run_tool(&Erased::new(Cron), json!({}), FakeHost::new()).await);
    assert!(absent.1.contains("There are no scheduled jobs here"), "{absent:?}");
}

#[test]
fn plan_names_changes_and_destinations() {
    let (host, _) = host();
    let change = json!({"effect": "configure", "key": "automation.jobs"});
    for (arguments, effects) in [
        (json!({}), json!([])),
        (json!({"action": "runs"}), json!([])),
        (json!({"action": "remove", "id": "j"}), json!([change])),
        (
            json!({"action": "add", "at": "1h", "message": "x", "channel": "slack", "to": "#dev"}),
            json!([change, {"effect": "send", "channel": "slack", "to": "#dev"}]),
        ),
        (json!({"action": "update", "id": "j", "channel": "slack"}), json!([change, {"effect": "send", "channel": "slack", "to": "#ops"}])),
        (json!({"action": "add", "at": "1h", "message": "x", "agent": "coder"}), json!([change, {"effect": "spawn", "agent": "coder"}])),
    ] {
        let prepared = Erased::new(Cron).prepare(arguments.clone(), &PlanContext::new(&*host)).unwrap();
        assert_eq!(serde_json::to_value(prepared.plan().effects()).unwrap(), effects, "{arguments}");
    }
    let other_recipient = Erased::new(Cron).prepare(json!({"action": "update", "id": "j", "to": "#secret"}), &PlanContext::new(&*host));
    assert!(other_recipient.is_err(), "the plan does not know the channel");
}
