//! A clock, an HTTP client, a file system and an event sink of the program's own, for the built-in tools. The file system is the one
//! in memory of `haft-testkit`.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use haft::ports::{Body, Clock, HttpClient, RedirectCheck};
use haft::{BoxFuture, Connect, Event, EventSink, HttpRequest, HttpResponse, LocalOffset, ToolError, Toolbox};
use haft_testkit::FakeHost;

struct NewYear;

impl Clock for NewYear {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_hours(490_896)
    }
    fn time_zone(&self) -> Option<String> {
        Some("UTC".into())
    }
    fn offset(&self, _: SystemTime) -> Option<LocalOffset> {
        Some(LocalOffset { seconds: 0, abbreviation: "UTC".into() })
    }
}

/// Answers every request itself; a real one goes through the program's own connections.
struct Canned;

impl HttpClient for Canned {
    fn locate(&self, method: &str, url: &str) -> Result<Connect, ToolError> {
        let host = url.split('/').nth(2).unwrap_or_default();
        Ok(Connect::new("https", host, 443, method))
    }
    fn send<'a>(&'a self, request: HttpRequest, _: &'a dyn RedirectCheck) -> BoxFuture<'a, Result<HttpResponse, ToolError>> {
        let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
        let body = Box::new(Once(Some(b"canned".to_vec())));
        let response = HttpResponse { status: 200, reason: "OK".into(), headers, url: request.url, redirected_from: Vec::new(), body };
        Box::pin(async { Ok(response) })
    }
}

struct Once(Option<Vec<u8>>);

impl Body for Once {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, ToolError>> {
        let piece = self.0.take();
        Box::pin(async { Ok(piece) })
    }
}

#[derive(Default)]
struct Finished(Mutex<Vec<String>>);

impl EventSink for Finished {
    fn event(&self, event: &Event<'_>) {
        if let Event::Finished { call, error, .. } = event {
            let line = format!("{} {}", call.tool, error.map_or("ok", |kind| kind.as_str()));
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }
}

/// What the tools saw, and the events.
pub(crate) async fn run() -> Result<String, Box<dyn std::error::Error>> {
    let (folder, machine, events) = (tempfile::tempdir()?, FakeHost::new(), Arc::new(Finished::default()));
    machine.files.put("in-memory.txt", "no disk");
    let toolbox = Toolbox::builder()
        .workspace(folder.path())
        .access(haft::Access::FullAccess)
        .clock(Arc::new(NewYear))
        .http(Arc::new(Canned))
        .files(Arc::clone(&machine.files) as _)
        .events(Arc::clone(&events) as _)
        .build()?;
    let mut shown = String::new();
    for (tool, arguments) in [
        ("get_current_time", serde_json::json!({"timezone": "UTC"})),
        ("http_request", serde_json::json!({"url": "https://example.org/x"})),
        ("read_file", serde_json::json!({"path": "in-memory.txt"})),
    ] {
        shown += &toolbox.call(tool, arguments).await.to_json();
        shown += "\n";
    }
    Ok(shown + &events.0.lock().unwrap_or_else(PoisonError::into_inner).join(", "))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", run().await?);
    Ok(())
}
