//! The list of a provider's models.

use haft_provider::{Model, ModelClient, Options, Protocol, ProviderError, ProviderErrorKind};

use crate::server::{Act, Script, Server};
use crate::support::{KEY, answer, endpoint, milliseconds};

const JSON: &str = "content-type: application/json\r\n";

async fn list(protocol: Protocol, script: Script) -> (Result<Vec<String>, ProviderError>, Server) {
    let server = Server::playing(vec![script]).await;
    let mut endpoint = endpoint(server.url());
    endpoint.timeouts.total = milliseconds(2_000);
    let listed = ModelClient::new(Options::default()).models(&endpoint, &Model::new("acme", protocol, "small")).await;
    (listed, server)
}

#[tokio::test]
async fn model_list_is_requested_once_in_every_protocol() {
    let open = r#"{"object":"list","data":[{"id":"small"},{"id":"large"},{"no":"id"}]}"#;
    let gemini = r#"{"models":[{"name":"models/small"},{"name":"large"}]}"#;
    for (protocol, body, path, key) in [
        (Protocol::OpenAi, open, "/v1/models", format!("authorization: Bearer {KEY}")),
        (Protocol::OpenAiResponses, open, "/v1/models", format!("authorization: Bearer {KEY}")),
        (Protocol::Anthropic, open, "/v1/models?limit=1000", format!("x-api-key: {KEY}")),
        (Protocol::Gemini, gemini, "/v1/models?pageSize=1000", format!("x-goog-api-key: {KEY}")),
    ] {
        let (listed, server) = list(protocol, answer(200, JSON, body)).await;
        assert_eq!(listed, Ok(vec!["small".to_owned(), "large".to_owned()]), "{protocol}");
        let [request] = server.received().try_into().unwrap();
        assert!(request.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{protocol}: {request}");
        assert!(request.contains(&key) && request.contains("accept: application/json\r\n"), "{protocol}: {request}");
        assert!(!request.contains("content-type"), "{protocol}: {request}");
        assert_eq!(request.contains("anthropic-version: 2023-06-01"), protocol == Protocol::Anthropic, "{request}");
    }
}

#[tokio::test]
async fn model_list_errors_hide_the_key_and_are_not_retried() {
    for (script, kind, status) in [
        (answer(401, JSON, format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}")), ProviderErrorKind::Key, Some(401)),
        (answer(404, JSON, "{}"), ProviderErrorKind::NotFound, Some(404)),
        (answer(503, JSON, "{}"), ProviderErrorKind::Server, Some(503)),
        (answer(302, "location: https://elsewhere.example/\r\n", ""), ProviderErrorKind::NotFound, Some(302)),
        (answer(200, JSON, "{\"models\":3}"), ProviderErrorKind::Malformed, None),
        (answer(200, "content-type: text/html\r\n", "<html>"), ProviderErrorKind::Malformed, None),
        (vec![Act::Read, Act::Hang], ProviderErrorKind::Timeout, None),
    ] {
        let (listed, server) = list(Protocol::OpenAi, script.clone()).await;
        let error = listed.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, status), "{script:?}: {error}");
        assert!(!error.message.contains(KEY), "{error}");
        assert_eq!(server.seen().requests, 1, "{script:?}");
    }
}

#[tokio::test]
async fn endless_model_list_is_truncated() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n".as_bytes().to_vec();
    let script = vec![Act::Read, Act::Say(head), Act::Drip(vec![b'['; 1 << 20], milliseconds(0))];
    let (listed, _) = list(Protocol::OpenAi, script).await;
    assert_eq!(listed.unwrap_err().kind, ProviderErrorKind::Malformed);
}
