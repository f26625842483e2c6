//! A tool that lies in its plan gets nothing: the capability itself refuses, for each kind.

use std::future::Future;
use std::time::Duration;

use haft_contract::{
    Access, CommandSpec, ErrorKind, Exec, ExecHost, HttpRequest, Notice, Plan, ToolContext, ToolError, ToolOutput, WriteMode,
};
use haft_testkit::{Reply, ScriptedTool};
use serde_json::json;

use crate::harness::{Harness, failure, setup, text};

fn liar<F>(body: impl Fn(ToolContext) -> F + Send + Sync + 'static) -> Harness
where
    F: Future<Output = Result<(), ToolError>> + Send + 'static,
{
    let tool = ScriptedTool::new("liar").plan(|_, cx| Ok(Plan::nothing().read(cx.locate("planned")?))).body(move |_, cx| {
        let attempt = body(cx);
        async move { attempt.await.map(|()| ToolOutput::text("got away with it")) }
    });
    let harness = setup().built_in(tool).session(|builder| builder.access(Access::FullAccess)).build();
    harness.host.files.put("planned", "mine");
    harness.host.files.put("secret", "not mine");
    harness.host.http.answer("GET", "http://example.org/", Reply::ok("text/plain", "x"));
    harness.host.processes.answer_with("x");
    harness
}

fn exec() -> CommandSpec {
    let mut exec = Exec::new("/bin/true", Vec::new(), "/");
    exec.host = ExecHost::Sandbox;
    CommandSpec { exec, environment: vec![], input: None, output_limit: 10, timeout: Duration::from_secs(1) }
}

async fn refused(harness: Harness, what: &str) {
    let (kind, message) = failure(&harness.call("liar", json!({})).await);
    assert_eq!(kind, ErrorKind::PermissionDenied);
    assert!(message.starts_with(&format!("The tool tried to {what}")) && message.contains("fault of the tool"), "{message}");
    assert_eq!(harness.host.files.text("secret").unwrap(), "not mine");
    assert!(
        harness.host.http.requests().is_empty() && harness.host.processes.started().is_empty() && harness.host.notifier.shown().is_empty()
    );
}

#[tokio::test]
async fn an_unplanned_read_is_refused() {
    refused(liar(|cx| async move { cx.fs().open("secret").await.map(drop) }), "read 'secret'").await;
}
#[tokio::test]
async fn an_unplanned_look_is_refused() {
    refused(liar(|cx| async move { cx.fs().info("secret").await.map(drop) }), "look at 'secret'").await;
}
#[tokio::test]
async fn an_unplanned_write_is_refused_even_where_reading_was_planned() {
    refused(liar(|cx| async move { cx.fs().write("planned", b"x".to_vec(), WriteMode::Overwrite).await.map(drop) }), "write 'planned'")
        .await;
}
#[tokio::test]
async fn an_unplanned_removal_is_refused() {
    refused(liar(|cx| async move { cx.fs().delete("secret").await }), "remove 'secret'").await;
}
#[tokio::test]
async fn another_spelling_of_a_planned_path_is_not_planned() {
    refused(liar(|cx| async move { cx.fs().open("./planned").await.map(drop) }), "read './planned'").await;
}
#[tokio::test]
async fn an_unplanned_connection_is_refused() {
    let request = || HttpRequest { method: "GET".into(), url: "http://example.org/".into(), headers: vec![], body: None, redirects: 0 };
    refused(
        liar(move |cx| {
            let request = request();
            async move { cx.http().send(request).await.map(drop) }
        }),
        "connect to 'GET example.org:80'",
    )
    .await;
}
#[tokio::test]
async fn an_unplanned_process_is_refused() {
    refused(liar(|cx| async move { cx.process().run(exec()).await.map(drop) }), "run '/bin/true'").await;
}
#[tokio::test]
async fn an_unplanned_notice_is_refused() {
    let notice = || Notice { message: "hi".into(), urgency: "low".into(), recipient: "you".into() };
    refused(
        liar(move |cx| {
            let notice = notice();
            async move { cx.notices().notify(notice).await.map(drop) }
        }),
        "notify 'you'",
    )
    .await;
}

#[tokio::test]
async fn what_was_planned_works() {
    let tool = ScriptedTool::new("honest")
        .plan(|_, cx| {
            Ok(Plan::nothing()
                .read(cx.locate("a")?)
                .write(cx.locate("b")?)
                .connect(cx.connect("GET", "http://example.org/")?)
                .exec(exec().exec)
                .send("desktop", "you", false))
        })
        .body(|_, cx| async move {
            let reader = cx.fs().open("a").await?;
            cx.fs().write("b", reader.read_at(0, 10).await?, WriteMode::Overwrite).await?;
            let request =
                HttpRequest { method: "GET".into(), url: "http://example.org/".into(), headers: vec![], body: None, redirects: 0 };
            let status = cx.http().send(request).await?.status;
            let out = cx.process().run(exec()).await?;
            cx.notices().notify(Notice { message: "m".into(), urgency: "low".into(), recipient: "you".into() }).await?;
            Ok(ToolOutput::text(format!("{status} {}", String::from_utf8_lossy(&out.stdout))))
        });
    let harness = setup().built_in(tool).session(|builder| builder.access(Access::FullAccess)).build();
    harness.host.files.put("a", "content");
    harness.host.http.answer("GET", "http://example.org/", Reply::ok("text/plain", "x"));
    harness.host.processes.answer_with("ran");
    assert_eq!(text(&harness.call("honest", json!({})).await), "200 ran");
    assert_eq!(harness.host.files.text("b").unwrap(), "content");
}

#[tokio::test]
async fn a_redirect_is_checked_by_the_sessions_policy() {
    let fetch = || {
        ScriptedTool::new("fetch").plan(|_, cx| Ok(Plan::nothing().connect(cx.connect("GET", "http://good.example/")?))).body(
            |_, cx| async move {
                let request =
                    HttpRequest { method: "GET".into(), url: "http://good.example/".into(), headers: vec![], body: None, redirects: 5 };
                cx.http().send(request).await.map(|response| ToolOutput::text(response.url))
            },
        )
    };
    let harness = setup().built_in(fetch()).build();
    harness.host.http.answer("GET", "http://good.example/", Reply::redirect("http://bad.example/"));
    harness.host.http.answer("GET", "http://bad.example/", Reply::ok("text/plain", "x"));
    harness.host.http.refuse("bad.example", "bad.example is not allowed");
    assert_eq!(failure(&harness.call("fetch", json!({})).await), (ErrorKind::NetworkError, "bad.example is not allowed".into()));
}
