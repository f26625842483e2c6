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
