//! The key goes into its header and nowhere else.

use std::sync::{Arc, Mutex};

use haft_provider::{ApiKey, Endpoint, ModelClient, Options, ProviderError, ProviderErrorKind};

use crate::server::{Act, Server};
use crate::support::{HEAD, KEY, answer, ask, chunk, endpoint, quick, say};

const TOKEN: &str = "other-secret-987";

fn secretive(url: &str) -> Endpoint {
    let mut endpoint = endpoint(url);
    endpoint.headers = vec![("X-Access-Token".to_owned(), TOKEN.to_owned())];
    endpoint
}

#[tokio::test]
async fn key_in_a_server_message_is_redacted() {
    let echo = format!("you sent '{KEY}' and {TOKEN}");
    let location = format!("location: https://{KEY}.example/{KEY}\r\n");
    for (what, script) in [
        ("a refusal", answer(400, "", &echo)),
        ("a refusal that may pass", answer(500, "", &echo)),
        ("a refusal in JSON", answer(200, "content-type: application/json\r\n", format!(r#"{{"error":"{echo}"}}"#))),
        ("a page", answer(200, "content-type: text/html\r\n", format!("<title>{echo}</title>"))),
        ("a redirect", answer(302, &location, "")),
        ("a content type", answer(200, &format!("content-type: {KEY}\r\n"), "x")),
        ("an error inside", vec![Act::Read, say(HEAD), chunk(&format!("event: error\ndata: {echo}\n\n"))]),
        (
            "a part of an answer and an error inside",
            vec![Act::Read, say(HEAD), chunk(&format!("event: text\ndata: x\n\nevent: error\ndata: {echo}\n\n"))],
        ),
        ("a broken connection", vec![Act::Read, say(&echo)]),
    ] {
        let server = Server::playing(vec![script]).await;
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let mut options = quick(1);
        options.on_retry = Arc::new(move |retry| log.lock().unwrap().push(format!("{retry:?}")));
        let outcome = ask(options, &secretive(&server.url())).await;
        let error = outcome.answer.unwrap_err();
        let everything = format!("{error} {error:?} {:?}", told.lock().unwrap());
        assert!(!everything.contains(KEY) && !everything.contains(TOKEN), "{what}: {everything}");
        assert!(server.received()[0].contains(KEY) && server.received()[0].contains(TOKEN), "{what}: it was sent");
    }
}

#[tokio::test]
async fn key_at_the_truncation_of_a_message_is_redacted() {
    let body = format!("{}{KEY}", "x".repeat(1000));
    let server = Server::playing(vec![answer(400, "", &body)]).await;
    let error = ask(quick(0), &endpoint(server.url())).await.answer.unwrap_err();
    assert_eq!(error.message, format!("refused with 400: {}***", "x".repeat(1000)));
}

#[tokio::test]
async fn debug_forms_have_no_secret() {
    let endpoint = secretive("https://api.example.com/v1");
    let mut options = Options::from_env(|name| (name == "https_proxy").then(|| format!("http://me:{TOKEN}@proxy.example"))).unwrap();
    options.retries = 3;
    let shown = format!("{endpoint:?} {options:?} {:?} {:?}", ModelClient::new(options.clone()), endpoint.key);
    assert!(!shown.contains(KEY) && !shown.contains(TOKEN), "{shown}");
    assert!(shown.contains("Endpoint {") && shown.contains("retries: 3") && shown.contains("https: proxy.example"), "{shown}");
}

#[tokio::test]
async fn refused_key_is_named_by_its_variable() {
    let named = ApiKey::from_env("ACME_API_KEY", |_| Some(format!("{KEY}\n"))).unwrap();
    for (key, message) in [
        (Some(named), "refused with 401: wrong key. The key was read from ACME_API_KEY."),
        (Some(ApiKey::new(KEY)), "refused with 401: wrong key."),
        (None, "refused with 401: wrong key. No key was sent. Set api_key_env of the provider to the variable that has it."),
    ] {
        let server = Server::playing(vec![answer(401, "", "wrong key.")]).await;
        let mut endpoint = endpoint(server.url());
        endpoint.key = key;
        let expected = ProviderError::new(ProviderErrorKind::Key, message).with_status(401);
        assert_eq!(ask(quick(3), &endpoint).await.answer, Err(expected));
        assert_eq!(server.seen().requests, 1);
    }
}

#[tokio::test]
async fn malformed_key_is_not_sent() {
    let server = Server::playing(vec![answer(401, "", "")]).await;
    for (key, from) in
        [(ApiKey::new("sk-1\nsk-2"), ""), (ApiKey::from_env("ACME_API_KEY", |_| Some("schlüssel".to_owned())).unwrap(), " in ACME_API_KEY")]
    {
        let mut endpoint = endpoint(server.url());
        endpoint.key = Some(key);
        let message = format!("The key{from} has a space, a line break or a non-ASCII character. Set it again.");
        assert_eq!(ask(quick(3), &endpoint).await.error(), (ProviderErrorKind::Key, message.as_str()));
    }
    assert_eq!(server.seen().connections, 0);
}
