//! Every hop is checked as the first one was.

use std::sync::Arc;

use haft_contract::{
    Connect, ErrorKind, ToolError,
    ports::{HttpClient, RedirectCheck},
};

use crate::support::{
    Names, Server, Trusting, client_for, client_with, ok, patient, redirect, request, send, text, with_body, with_headers,
};

#[tokio::test]
async fn hops_are_followed_checked_and_remembered() {
    let server = Server::answering(|request| match request.head.split(' ').nth(1).unwrap() {
        "/a" => redirect(301, "b?x=1"),
        "/b?x=1" => redirect(302, "/c"),
        _ => ok("end"),
    })
    .await;
    let check = Trusting::default();
    let response = client_for(&server).send(request("GET", &server.url("/a")), &check).await.unwrap();
    assert_eq!((response.url.as_str(), &response.redirected_from), (&*server.url("/c"), &vec![server.url("/a"), server.url("/b?x=1")]));
    assert_eq!(text(response).await, "end");
    let hop = Connect::new("http", "127.0.0.1", server.address.port(), "GET");
    assert_eq!(*check.0.lock().unwrap(), [hop.clone(), hop]);
}

#[tokio::test]
async fn method_and_body_change_as_the_status_says() {
    for (status, method, next, body) in [
        (301, "POST", "GET", ""),
        (302, "POST", "GET", ""),
        (303, "PUT", "GET", ""),
        (307, "POST", "POST", "data"),
        (308, "PUT", "PUT", "data"),
        (302, "DELETE", "DELETE", "data"),
    ] {
        let server = Server::answering(move |request| if request.head.contains(" /a ") { redirect(status, "/b") } else { ok("") }).await;
        let wanted = with_headers(with_body(request(method, &server.url("/a")), "data"), &[("content-type", "text/x")]);
        send(&client_for(&server), wanted).await.unwrap();
        let last = server.received().pop().unwrap();
        assert!(last.head.starts_with(&format!("{next} /b HTTP/1.1\r\n")), "{status} {method}: {}", last.head);
        assert_eq!(last.body, body.as_bytes(), "{status} {method}");
        assert_eq!(last.head.contains("content-type"), !body.is_empty(), "{status} {method}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_refused_address_is_not_followed() {
    let secret = Server::answering(|_| ok("secret")).await;
    let port = secret.address.port();
    for location in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("//127.1:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://inner.example:{port}/"),
        "http://169.254.169.254/latest/".to_owned(),
        "http://metadata.google.internal/".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ] {
        let answer = location.clone();
        let public = Server::answering(move |_| redirect(302, &answer)).await;
        let names = Arc::new(Names::default().with("public.example", &[&["127.0.0.1"]]).with("inner.example", &[&["127.0.0.1"]]));
        let client = client_with(&["public.example".into()], patient(), names);
        let from = public.url_as("public.example", "/");
        let error = send(&client, request("GET", &from)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkError, "{location}");
        assert!(error.message().starts_with("Address not allowed: "), "{location}: {error}");
        let led = error.message().split_once(". A redirect led there: from ").unwrap().1;
        assert!(led.starts_with(&format!("{from} to http://")), "{location}: {error}");
        assert_eq!(public.connections(), 1, "{location}");
    }
    assert_eq!(secret.connections(), 0);
}

#[tokio::test]
async fn other_schemes_and_broken_places_are_refused() {
    for location in
        ["file:///etc/passwd", "gopher://127.0.0.1:70/x", "ftp://a.example/", "javascript:alert(1)", "http://u:p@127.0.0.1/", "http://"]
    {
        let server = Server::answering(move |_| redirect(302, location)).await;
        let error = send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkError, "{location}");
        assert!(
            error.message().starts_with(&format!("Redirect refused: {} leads to {location}. ", server.url("/"))),
            "{location}: {error}"
        );
    }
}

#[tokio::test]
async fn circles_end_at_the_limit() {
    let server = Server::answering(|_| redirect(302, "/again")).await;
    let mut wanted = request("GET", &server.url("/"));
    wanted.redirects = 3;
    let error = send(&client_for(&server), wanted).await.unwrap_err();
    let expected = format!(
        "Too many redirects: stopped after 3, at {}. The site may lead in circles; request the final address itself.",
        server.url("/again")
    );
    assert_eq!((error.kind(), error.message()), (ErrorKind::NetworkError, &*expected));
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn without_redirects_the_answer_itself_comes_back() {
    let server = Server::answering(|_| redirect(302, "http://127.0.0.1:1/")).await;
    let mut wanted = request("GET", &server.url("/"));
    wanted.redirects = 0;
    let response = send(&client_for(&server), wanted).await.unwrap();
    assert_eq!((response.status, response.headers[0].clone()), (302, ("location".to_owned(), "http://127.0.0.1:1/".to_owned())));
}

#[tokio::test]
async fn answers_that_only_look_like_redirects_are_answers() {
    for answer in [
        "HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nlocation: /b\r\n\r\n",
        "HTTP/1.1 300 Many\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n",
    ] {
        let server = Server::answering(move |_| answer.into()).await;
        send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap();
        assert_eq!(server.connections(), 1, "{answer}");
    }
}

struct Strict;

impl RedirectCheck for Strict {
    fn check(&self, hop: &Connect) -> Result<(), ToolError> {
        Err(ToolError::denied(format!("no {} {}:{}", hop.method, hop.host, hop.port)))
    }
}

#[tokio::test]
async fn the_calls_own_check_has_the_last_word() {
    let other = Server::answering(|_| ok("")).await;
    let location = other.url("/");
    let server = Server::answering(move |_| redirect(307, &location)).await;
    let client = client_with(&["127.0.0.1".into()], patient(), Arc::new(Names::default()));
    let error = client.send(with_body(request("POST", &server.url("/")), "x"), &Strict).await.unwrap_err();
    let port = other.address.port();
    let expected = format!("no POST 127.0.0.1:{port}. A redirect led there: from {} to http://127.0.0.1:{port}/.", server.url("/"));
    assert_eq!((error.kind(), error.message()), (ErrorKind::PermissionDenied, &*expected));
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn credentials_do_not_follow_to_another_origin() {
    let other = Server::answering(|_| ok("")).await;
    let location = other.url("/there");
    let server =
        Server::answering(move |request| if request.head.contains(" /a ") { redirect(302, "/b") } else { redirect(302, &location) }).await;
    let client = client_with(&["127.0.0.1".into()], patient(), Arc::new(Names::default()));
    let secrets = [("authorization", "Bearer s"), ("cookie", "s=1"), ("x-api-key", "s"), ("private-token", "s")];
    let headers: Vec<_> = secrets.into_iter().chain([("x-plain", "p")]).collect();
    send(&client, with_headers(request("GET", &server.url("/a")), &headers)).await.unwrap();
    let carried = |head: &str| secrets.map(|(name, value)| head.contains(&format!("{name}: {value}")));
    assert_eq!(server.received().iter().map(|seen| carried(&seen.head)).collect::<Vec<_>>(), [[true; 4], [true; 4]], "same origin");
    let last = other.received().pop().unwrap();
    assert_eq!(carried(&last.head), [false; 4]);
    assert!(last.head.contains("x-plain: p"));
}
