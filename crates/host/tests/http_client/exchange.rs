//! Requests arrive as they were meant, and answers come back whole.

use haft_contract::{Connect, ErrorKind, ports::HttpClient};

use crate::support::{Names, Received, Server, client_for, client_with, ok, patient, request, send, text, with_body, with_headers};

fn sent(server: &Server, lines: &[&str], body: &str) -> Received {
    let mut head: Vec<String> = lines.iter().map(ToString::to_string).collect();
    head.push(format!("host: {}", server.address));
    head.extend((!body.is_empty()).then(|| format!("content-length: {}", body.len())));
    Received { head: head.join("\r\n"), body: body.into() }
}

#[tokio::test]
async fn each_method_is_received_exactly() {
    let server = Server::answering(|_| ok("fine")).await;
    let client = client_for(&server);
    let common = ["accept: */*", concat!("user-agent: haft/", env!("CARGO_PKG_VERSION")), "accept-encoding: gzip,br"];
    for (method, body) in
        [("GET", ""), ("HEAD", ""), ("POST", "{\"a\":1}"), ("PUT", "grüße"), ("PATCH", "p"), ("DELETE", ""), ("OPTIONS", "")]
    {
        let mut wanted = with_headers(request(method, &server.url("/a/b?c=d%20e")), &[("X-One", "1"), ("Content-Type", "text/x")]);
        if !body.is_empty() {
            wanted = with_body(wanted, body);
        }
        let response = send(&client, wanted).await.unwrap();
        let line = format!("{method} /a/b?c=d%20e HTTP/1.1");
        let expected = sent(&server, &[&line, "x-one: 1", "content-type: text/x", common[0], common[1], common[2]], body);
        assert_eq!(server.received().pop().unwrap(), expected, "{method}");
        assert_eq!((response.status, response.reason.as_str()), (200, "OK"));
        assert_eq!(text(response).await, if method == "HEAD" { "" } else { "fine" });
    }
}

#[tokio::test]
async fn the_length_of_nothing_is_said_where_a_body_is_expected() {
    let server = Server::answering(|_| ok("")).await;
    let client = client_for(&server);
    for (method, said) in [("POST", true), ("PUT", true), ("PATCH", true), ("GET", false), ("DELETE", false), ("OPTIONS", false)] {
        for wanted in [request(method, &server.url("/")), with_body(request(method, &server.url("/")), "")] {
            send(&client, wanted).await.unwrap();
            let lengths: Vec<_> =
                server.received().pop().unwrap().head.lines().filter(|line| line.starts_with("content-length")).map(String::from).collect();
            assert_eq!(lengths, if said { vec!["content-length: 0"] } else { Vec::new() }, "{method}");
        }
    }
}

#[tokio::test]
async fn the_answer_comes_back_with_headers_in_order() {
    let server = Server::answering(|_| {
        "HTTP/1.1 404 Nope\r\nset-cookie: a=1\r\nx-b: caf\u{e9}\r\nset-cookie: c=2\r\ncontent-length: 4\r\nconnection: close\r\n\r\ngone"
            .into()
    })
    .await;
    let response = send(&client_for(&server), request("GET", &server.url("/#part"))).await.unwrap();
    assert_eq!((response.status, response.reason.as_str(), response.url.as_str()), (404, "Not Found", &*server.url("/")));
    assert!(response.redirected_from.is_empty());
    let headers: Vec<_> = response.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(headers, ["set-cookie: a=1", "set-cookie: c=2", "x-b: café", "content-length: 4", "connection: close"]);
    assert_eq!(text(response).await, "gone");
}

#[tokio::test]
async fn a_caller_may_name_itself_but_not_speak_for_the_client() {
    let server = Server::answering(|_| ok("")).await;
    let client = client_for(&server);
    send(&client, with_headers(request("GET", &server.url("/")), &[("User-Agent", "me/1")])).await.unwrap();
    assert!(server.received()[0].head.contains("\r\nuser-agent: me/1\r\n"));
    for (name, value) in [
        ("Host", "evil.example"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "x"),
        ("Upgrade", "websocket"),
        ("Proxy-Authorization", "x"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("X-A", "b\r\nHost: evil.example"),
        ("X-A\r\nHost", "evil.example"),
    ] {
        let error = send(&client, with_headers(request("GET", &server.url("/")), &[(name, value)])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ValidationError, "{name}");
    }
    assert_eq!(server.connections(), 1, "nothing was sent for the refused ones");
}

#[tokio::test]
async fn locate_says_what_send_would_do() {
    let server = Server::answering(|_| ok("")).await;
    let client = client_for(&server);
    let port = server.address.port();
    assert_eq!(client.locate("GET", &server.url("/x")).unwrap(), Connect::new("http", "127.0.0.1", port, "GET"));
    let refused = client.locate("POST", "http://10.0.0.1/").unwrap();
    let error = send(&client, request("POST", "http://10.0.0.1/")).await.unwrap_err();
    assert_eq!((error.kind(), Some(error.message())), (ErrorKind::NetworkError, refused.refused.as_deref()));
}

#[tokio::test]
async fn connections_are_used_again_and_names_looked_up_once_for_each() {
    let server = Server::handling(|mut stream| async move {
        use tokio::io::AsyncWriteExt;
        while crate::support::read_request(&mut stream).await.is_some() {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await.unwrap();
        }
    })
    .await;
    let names = std::sync::Arc::new(Names::default().with("site.example", &[&["127.0.0.1"]]));
    let client = client_with(&[server.address.to_string()], patient(), names.clone());
    for _ in 0..3 {
        let response = send(&client, request("GET", &server.url_as("site.example", "/"))).await.unwrap();
        assert_eq!(text(response).await, "hi");
    }
    assert_eq!((server.connections(), names.asked()), (1, vec!["site.example".to_owned()]));
}
