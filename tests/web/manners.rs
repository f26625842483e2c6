//! How the tools behave towards servers, and the cache on disk.

use serde_json::json;

use crate::server::{Answers, Server, answer, page};
use crate::world::{Setup, text};

#[tokio::test]
async fn requests_name_their_sender() {
    let server = Server::start(Answers::from([("/", page("text/plain", "x"))])).await;
    let world = Setup::allowing([server.address]).open();
    world.text("web_fetch", json!({"url": server.url("/")})).await;
    assert!(server.asked()[0].to_ascii_lowercase().contains("user-agent: haft/"), "{}", server.asked()[0]);
}

#[tokio::test]
async fn robots_txt_is_asked_first_and_obeyed() {
    let answers = Answers::from([
        ("/robots.txt", page("text/plain", "User-agent: *\nDisallow: /private\n")),
        ("/public", page("text/plain", "open")),
        ("/private", page("text/plain", "closed")),
    ]);
    let server = Server::start(answers).await;
    let world = Setup { respect_robots: true, ..Setup::allowing([server.address]) }.open();
    assert!(world.text("web_fetch", json!({"url": server.url("/public")})).await.contains("open"));
    let refused = world.text("web_fetch", json!({"url": server.url("/private")})).await;
    assert!(refused.starts_with("permission_denied: robots.txt of 127.0.0.1 asks programs not to fetch /private."), "{refused}");
    let paths: Vec<_> = server.asked().iter().map(|request| request.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(paths, ["/robots.txt", "/public"]);
}

#[tokio::test]
async fn a_page_is_stored_on_disk_for_the_next_call() {
    let server = Server::start(Answers::from([("/", answer(200, "Content-Type: text/plain\r\nETag: \"1\"\r\n", b"stored page"))])).await;
    let world = Setup::allowing([server.address]).open();
    for cached in [false, true] {
        let result = world.call("web_fetch", json!({"url": server.url("/")})).await;
        assert!(text(&result).contains("stored page"));
        assert_eq!(result.details().unwrap()["cached"], cached);
    }
    assert_eq!(server.asked().len(), 1);
    assert_eq!(std::fs::read_dir(world.folder.path().join("state/cache")).unwrap().count(), 1);
}

#[tokio::test]
async fn what_a_page_says_taints_the_session() {
    let server = Server::start(Answers::from([("/", page("text/plain", "untrusted"))])).await;
    let world = Setup::allowing([server.address]).open();
    std::fs::write(world.folder.path().join("workspace/private.txt"), "private").unwrap();
    world.text("read_file", json!({"path": "private.txt"})).await;
    assert!(world.text("web_fetch", json!({"url": server.url("/")})).await.contains("untrusted"), "the first request brings it in");
    let refused = world.text("web_fetch", json!({"url": server.url("/?data=private")})).await;
    assert!(refused.starts_with("permission_denied: "), "{refused}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_response_is_saved_to_a_file_of_the_workspace() {
    let server = Server::start(Answers::from([("/", page("application/zip", b"PK\x03\x04"))])).await;
    let world = Setup { access: haft::Access::WorkspaceWrite, ..Setup::allowing([server.address]) }.open();
    let outcome = world.text("http_request", json!({"url": server.url("/"), "save_to": "a.zip"})).await;
    assert_eq!(outcome, "HTTP 200 OK\nSaved 4 bytes (application/zip) to 'a.zip'.");
    assert_eq!(std::fs::read(world.folder.path().join("workspace/a.zip")).unwrap(), b"PK\x03\x04");
    for path in ["../out.zip", ".git/config"] {
        let outcome = world.text("http_request", json!({"url": server.url("/"), "save_to": path})).await;
        assert!(!outcome.starts_with("HTTP 200"), "{path}: {outcome}");
    }
}

#[tokio::test]
async fn a_post_at_workspace_write_is_asked_about() {
    let server = Server::start(Answers::from([("/", page("text/plain", "done"))])).await;
    let world = Setup { access: haft::Access::WorkspaceWrite, ..Setup::allowing([server.address]) }.open();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let outcome = world.text("http_request", json!({"url": server.url("/"), "method": method})).await;
        assert!(outcome.starts_with("permission_denied: ") && outcome.contains("approv"), "{method}: {outcome}");
    }
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert!(world.text("http_request", json!({"url": server.url("/"), "method": method})).await.starts_with("HTTP 200"), "{method}");
    }
    let read_only = Setup { access: haft::Access::ReadOnly, ..Setup::allowing([server.address]) }.open();
    let outcome = read_only.text("http_request", json!({"url": server.url("/"), "method": "POST"})).await;
    assert!(outcome.contains("needs the access level full-access"), "{outcome}");
}
