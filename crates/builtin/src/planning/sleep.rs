use std::time::Duration;

use haft_contract::ports::WakeReason;
use haft_contract::{Dialect, Form, FormParameter, Tool, ToolContext, ToolError, ToolOutput, Unit};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "Sleep").parameters(&[FormParameter::new("duration_ms", "duration")
    .unit(Unit::Milliseconds)
    .description("How long to wait at most, in milliseconds.")])];

/// Wait for something that takes time, at most 5 minutes. It ends early when a message arrives, or when a background job or a sub-agent
/// ends. Use it instead of a shell's sleep; for a job, 'process' with action=poll waits.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "sleep",
    label = "Wait",
    section = Planning,
    category = System,
    access = ReadOnly,
    timeout_secs = 310,
    profiles = ["coding"],
    aliases = ["Sleep"],
    forms = FORMS,
    read_only
)]
pub(crate) struct Sleep;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// How many seconds at most: 0 to 300.
    #[schemars(extend("minimum" = 0, "maximum" = 300))]
    duration: f64,
}

impl Tool for Sleep {
    type Params = Params;
    type Output = ToolOutput;

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (started, duration) = (Instant::now(), Duration::from_secs_f64(params.duration.clamp(0.0, 300.0)));
        let planning = cx.planning();
        let woken = tokio::select! {
            // A message that waits already ends even a wait of no time.
            biased;
            () = cx.cancelled() => return Err(ToolError::new(haft_contract::ErrorKind::Cancelled, "The wait was cancelled.")),
            reason = planning.wake() => Some(reason),
            () = tokio::time::sleep(duration) => None,
        };
        let waited = started.elapsed();
        let text = format!("Waited {} s{}.", seconds(waited), reason_text(woken.as_ref()));
        let details = json!({"duration_ms": milliseconds(waited), "woken_by": reason_name(woken.as_ref())});
        Ok(ToolOutput::text(text).with_details(details))
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Without a fraction where there is none.
fn seconds(time: Duration) -> String {
    let text = format!("{:.1}", time.as_secs_f64());
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn reason_text(reason: Option<&WakeReason>) -> String {
    match reason {
        None => String::new(),
        Some(WakeReason::Message) => "; woken early by a message, which follows".into(),
        Some(WakeReason::Ended(what)) => format!("; woken early because {what}"),
        Some(_) => "; woken early".into(),
    }
}

fn reason_name(reason: Option<&WakeReason>) -> &'static str {
    match reason {
        None => "time",
        Some(WakeReason::Message) => "message",
        Some(WakeReason::Ended(_)) => "end",
        Some(_) => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::ports::{ProcessRunner, Services, WakeSource};
    use haft_contract::{BoxFuture, CommandRequest, Erased, JobOptions};
    use haft_testkit::{FakeHost, Script, Trial, expect_error, run_tool};
    use tokio::sync::Notify;

    use super::*;

    struct Bell(Arc<Notify>);

    impl WakeSource for Bell {
        fn wake<'a>(&'a self, _: &'a str) -> BoxFuture<'a, WakeReason> {
            Box::pin(async {
                self.0.notified().await;
                WakeReason::Message
            })
        }
    }

    fn host() -> (Arc<FakeHost>, Arc<Notify>) {
        let (host, mut services, bell) = (FakeHost::new(), Services::default(), Arc::new(Notify::new()));
        services.wakes = Some(Arc::new(Bell(Arc::clone(&bell))));
        assert!(host.services.set(services).is_ok());
        (host, bell)
    }

    async fn sleep(host: &Arc<FakeHost>, seconds: f64) -> ToolOutput {
        run_tool(&Erased::new(Sleep), json!({"duration": seconds}), Arc::clone(host)).await.unwrap()
    }

    fn output(text: &str, milliseconds: u64, woken_by: &str) -> ToolOutput {
        ToolOutput::text(text).with_details(json!({"duration_ms": milliseconds, "woken_by": woken_by}))
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_takes_its_time_and_no_more() {
        for (seconds, expected) in [
            (0.0, output("Waited 0 s.", 0, "time")),
            (1.5, output("Waited 1.5 s.", 1_500, "time")),
            (300.0, output("Waited 300 s.", 300_000, "time")),
        ] {
            assert_eq!(sleep(&FakeHost::new(), seconds).await, expected, "{seconds}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_stopped_ends_at_once() {
        let trial = Trial::new(FakeHost::new());
        let (started, stop) = (Instant::now(), trial.cancel.clone());
        let stopping = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            stop.cancel();
        };
        let tool = Erased::new(Sleep);
        let (slept, ()) = tokio::join!(trial.run(&tool, json!({"duration": 300})), stopping);
        assert_eq!(expect_error(slept), (haft_contract::ErrorKind::Cancelled, "The wait was cancelled.".into()));
        assert_eq!(started.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_of_the_user_ends_it() {
        let (host, bell) = host();
        let ringing = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            bell.notify_one();
        };
        let (slept, ()) = tokio::join!(sleep(&host, 300.0), ringing);
        assert_eq!(slept, output("Waited 20 s; woken early by a message, which follows.", 20_000, "message"));
        bell.notify_one();
        assert_eq!(sleep(&host, 300.0).await, output("Waited 0 s; woken early by a message, which follows.", 0, "message"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_background_job_of_the_session_ends_it() {
        let (host, _bell) = host();
        for (session, seconds) in [("other", 5), ("session-1", 30)] {
            host.processes.script(Script::says("").waits(Duration::from_secs(seconds)).exits(2));
            let line = host.processes.plan(&CommandRequest { command: "make".into(), ..CommandRequest::default() }).unwrap();
            let options = JobOptions { session: session.into(), ..JobOptions::default() };
            let job = host.processes.start(&line, options).await.unwrap();
            host.processes.keep(job).await;
        }
        let slept = sleep(&host, 300.0).await;
        let id = host.processes.jobs("session-1")[0].status().id;
        assert_eq!(slept, output(&format!("Waited 30 s; woken early because job '{id}' has ended: exit code 2."), 30_000, "end"));
        assert_eq!(sleep(&host, 7.0).await, output("Waited 7 s.", 7_000, "time"), "its end is known");
    }
}
