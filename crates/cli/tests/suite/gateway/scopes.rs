//! Tokens and their scopes.

use serde_json::{Value, json};

use super::{PageClient, Served};
use crate::suite::harness::World;

fn mint(page: &PageClient, served: &Served, scopes: &[&str]) -> (String, PageClient) {
    let minted = page.post("/api/tokens", &json!({ "name": "phone", "scopes": scopes }));
    assert_eq!(minted.status, 201, "{}", minted.body);
    let minted = minted.json();
    (minted["id"].as_str().unwrap().to_owned(), served.stranger().bearer(minted["token"].as_str().unwrap()))
}

#[test]
fn e03_each_scope_opens_its_own_requests_and_mints_a_subset_alone() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let requests = [
        ("view", "GET", "/api/sessions".to_owned(), "{}"),
        ("view", "GET", "/api/history".to_owned(), "{}"),
        ("view", "GET", "/api/settings".to_owned(), "{}"),
        ("chat", "POST", "/api/sessions".to_owned(), "{}"),
        ("chat", "PATCH", format!("/api/sessions/{session}"), r#"{"title":"x"}"#),
        ("approve", "POST", "/api/approvals/none".to_owned(), r#"{"fingerprint":"0","answer":"once"}"#),
        ("admin", "GET", "/api/tokens".to_owned(), "{}"),
        ("admin", "POST", "/api/tools/get_current_time/invoke".to_owned(), "{}"),
        ("admin", "PUT", "/api/agents/main".to_owned(), "{}"),
        ("admin", "DELETE", "/api/jobs/none".to_owned(), "{}"),
        ("view", "GET", "/api/automation".to_owned(), "{}"),
        ("view", "GET", "/api/automation/none".to_owned(), "{}"),
        ("admin", "POST", "/api/automation".to_owned(), "{}"),
        ("admin", "PATCH", "/api/automation/none".to_owned(), "{}"),
        ("admin", "DELETE", "/api/automation/none".to_owned(), "{}"),
        ("admin", "POST", "/api/automation/none/run".to_owned(), "{}"),
        ("admin", "POST", "/api/history/none/undo".to_owned(), "{}"),
        ("view", "GET", "/api/memory".to_owned(), "{}"),
        ("view", "GET", "/api/files?text=a".to_owned(), "{}"),
        ("view", "GET", "/api/spills?path=none".to_owned(), "{}"),
        ("admin", "POST", "/api/memory".to_owned(), r#"{"text":""}"#),
        ("admin", "PUT", "/api/memory/file".to_owned(), r#"{"path":"none","text":""}"#),
        ("admin", "DELETE", "/api/memory?citation=none".to_owned(), "{}"),
        ("admin", "POST", "/api/connections/none/review".to_owned(), "{}"),
        ("admin", "POST", "/api/providers/none/test".to_owned(), "{}"),
        ("view", "GET", "/api/trust".to_owned(), "{}"),
        ("admin", "POST", "/api/trust/revoke".to_owned(), r#"{"kind":"folder","name":"none"}"#),
        ("admin", "POST", "/api/settings/undo".to_owned(), r#"{"undo":"none"}"#),
        ("admin", "POST", "/api/connections/none/approve".to_owned(), r#"{"fingerprint":""}"#),
    ];
    for own in ["view", "chat", "approve", "admin"] {
        let (_, client) = mint(&page, &served, &[own]);
        for (scope, method, path, body) in &requests {
            let status = client.send(method, path, body.as_bytes()).status;
            assert_eq!(status == 403, own != *scope, "{own}: {method} {path} is {status}");
        }
        let wider = client.post("/api/tokens", &json!({ "scopes": [own, if own == "view" { "admin" } else { "view" }] }));
        assert_eq!((wider.status, &wider.json()["error_type"]), (403, &json!("missing_scope")), "{own}");
        // What a client claims of itself counts for nothing.
        let claims = client.with("x-scope", "admin").with("x-haft-role", "owner").get("/api/tokens").status;
        assert_eq!(claims == 200, own == "admin");
    }
}

#[test]
fn e03_every_path_of_the_document_refuses_a_token_without_its_scope_before_it_reads_a_body() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let document = page.read("/api/openapi.json");
    let mut refused = 0;
    for own in ["view", "chat", "approve", "admin"] {
        let (_, client) = mint(&page, &served, &[own]);
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                // Everyone may revoke their own token.
                let is_open = operation["x-scope"].is_null() || operation["x-scope"] == own || path == "/api/tokens/{id}";
                if is_open {
                    continue;
                }
                let answer = client.send(&method.to_uppercase(), &path.replace(['{', '}'], ""), b"no JSON");
                assert_eq!((answer.status, &answer.json()["error_type"]), (403, &json!("missing_scope")), "{own}: {method} {path}");
                refused += 1;
            }
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn errors_of_every_kind_have_one_shape() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    for (method, path, status, kind) in [
        ("GET", "/api/spills", 400, "bad_request"),
        ("DELETE", "/api/memory", 400, "bad_request"),
        ("GET", "/api/sessions/x/recording/first", 400, "bad_request"),
        ("PUT", "/api/sessions", 405, "bad_request"),
        ("POST", "/api/canvas/answers/x", 400, "bad_request"),
        ("GET", "/api/automation/none", 404, "not_found"),
        ("GET", "/api/none", 404, "not_found"),
    ] {
        let answer = page.send(method, path, b"");
        let error = answer.json();
        assert_eq!(
            (answer.status, &error["status"], &error["error_type"]),
            (status, &json!("error"), &json!(kind)),
            "{method} {path}: {}",
            answer.body
        );
        assert!(error["message"].as_str().is_some_and(|message| message.ends_with('.')), "{error}");
    }
    assert!(page.send("PUT", "/api/sessions", b"").header("allow").is_some());
}

#[test]
fn e04_revocation_ends_streams_and_requests_at_once() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let (id, phone) = mint(&page, &served, &["view", "approve"]);
    let child = phone.post("/api/tokens", &json!({ "scopes": ["view"] })).json();
    let guest = served.stranger().bearer(child["token"].as_str().unwrap());
    let (mut own, mut minted, mut other) = (phone.events(""), guest.events(""), page.events(""));
    assert_eq!(page.send("DELETE", &format!("/api/tokens/{id}"), b"").status, 200);
    for stream in [&mut own, &mut minted] {
        let seen = stream.until(|name, _| name == "bye");
        assert_eq!(seen.last().unwrap().1, json!({ "reason": "revoked" }));
        assert!(stream.next().is_none(), "the stream ends");
    }
    assert_eq!((phone.get("/api/me").status, guest.get("/api/me").status, page.get("/api/me").status), (401, 401, 200));
    let changed: Vec<(String, Value)> = other.until(|name, _| name == "changed");
    assert_eq!(changed.last().unwrap().1["what"], "tokens");
}
