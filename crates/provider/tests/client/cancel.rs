//! Cancellation at every point: the request returns at once, and its connection is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_provider::{Delta, Endpoint, ModelClient, Options, ProviderError, ProviderErrorKind};
use tokio_util::sync::CancellationToken;

use crate::plain::text;
use crate::server::{Act, Script, Seen, Server};
use crate::support::{HEAD, HELLO, answer, ask_until, chunk, endpoint, quick, say, send};

const AT_ONCE: Duration = Duration::from_millis(100);

fn cancelled(partial: bool) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Cancelled, "The request was cancelled.").with_partial(partial)
}

/// Cancels a request when the server has come so far.
async fn cancel_when(script: Script, url: impl Fn(&Server) -> String, far: impl Fn(&Seen) -> bool) -> (Vec<Delta>, ProviderError, Server) {
    let server = Server::playing(vec![script]).await;
    let (cancel, endpoint) = (CancellationToken::new(), endpoint(url(&server)));
    let token = cancel.clone();
    let request = tokio::spawn(async move {
        let outcome = ask_until(quick(3), &endpoint, &token).await;
        (outcome, Instant::now())
    });
    server.until(|seen| far(seen)).await;
    let began = Instant::now();
    cancel.cancel();
    let (outcome, ended) = request.await.unwrap();
    assert!(ended - began < AT_ONCE, "{:?}", ended - began);
    (outcome.deltas, outcome.answer.unwrap_err(), server)
}

#[tokio::test]
async fn cancel_while_connecting() {
    let secure = |server: &Server| format!("https://{}/v1", server.address);
    // TCP is there, and TLS never answers.
    let (deltas, error, server) = cancel_when(vec![Act::Hang], secure, |seen| seen.hanging == 1).await;
    assert_eq!((deltas, error), (vec![], cancelled(false)));
    server.until(|seen| seen.gone == 1).await;
}

#[tokio::test]
async fn cancel_while_waiting_for_the_response_head() {
    let (deltas, error, server) = cancel_when(vec![Act::Read, Act::Hang], Server::url, |seen| seen.hanging == 1).await;
    assert_eq!((deltas, error), (vec![], cancelled(false)));
    server.until(|seen| seen.gone == 1).await;
    assert_eq!(server.seen(), Seen { connections: 1, requests: 1, gone: 1, hanging: 1 });
}

#[tokio::test]
async fn cancel_while_reading_an_error_body() {
    let head = "HTTP/1.1 500 Oh\r\ncontent-length: 9\r\n\r\nhal";
    let (deltas, error, server) = cancel_when(vec![Act::Read, say(head), Act::Hang], Server::url, |seen| seen.hanging == 1).await;
    assert_eq!((deltas, error), (vec![], cancelled(false)));
    server.until(|seen| seen.gone == 1).await;
}

#[tokio::test]
async fn cancel_while_streaming() {
    let server = Server::playing(vec![vec![Act::Read, say(HEAD), chunk(HELLO), Act::Hang]]).await;
    let (cancel, mut deltas) = (CancellationToken::new(), Vec::new());
    let mut began = None;
    let token = cancel.clone();
    let outcome = send(&ModelClient::new(quick(3)), &endpoint(server.url()), &cancel, &mut |delta| {
        deltas.push(delta);
        began = Some(Instant::now());
        token.cancel();
    })
    .await;
    assert_eq!(outcome, Err(cancelled(true)));
    assert!(began.unwrap().elapsed() < AT_ONCE);
    assert_eq!(deltas, [text("Hello")]);
    server.until(|seen| seen.gone == 1).await;
}

#[tokio::test]
async fn cancel_during_retry_delay() {
    let server = Server::playing(vec![answer(503, "retry-after: 30\r\n", "busy")]).await;
    let cancel = CancellationToken::new();
    let (token, began) = (cancel.clone(), Arc::new(std::sync::Mutex::new(None)));
    let mut options = Options::default();
    let told = Arc::clone(&began);
    options.on_retry = Arc::new(move |_| {
        *told.lock().unwrap() = Some(Instant::now());
        token.cancel();
    });
    let outcome = ask_until(options, &endpoint(server.url()), &cancel).await;
    assert!(began.lock().unwrap().unwrap().elapsed() < AT_ONCE);
    assert_eq!((outcome.answer, outcome.waits), (Err(cancelled(false)), vec![Duration::from_secs(30)]));
    assert_eq!(server.seen().requests, 1);
}

#[tokio::test]
async fn cancel_before_the_request() {
    let server = Server::playing(vec![vec![Act::Hang]]).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = ask_until(quick(0), &endpoint(server.url()), &cancel).await;
    assert_eq!((outcome.answer, server.seen()), (Err(cancelled(false)), Seen::default()));
}

#[tokio::test]
async fn dropped_request_drops_its_connection() {
    let server = Server::playing(vec![vec![Act::Read, Act::Hang]]).await;
    let endpoint: Endpoint = endpoint(server.url());
    let request = tokio::spawn(async move { ask_until(quick(0), &endpoint, &CancellationToken::new()).await.answer.is_ok() });
    server.until(|seen| seen.hanging == 1).await;
    request.abort();
    server.until(|seen| seen.gone == 1).await;
}
