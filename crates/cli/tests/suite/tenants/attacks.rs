//! Tools, commands and credentials of one tenant against the other.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::worlds::{Attacker, link_token, processes_of, wait_until};
use super::{CANARY, TwoTenants};

#[test]
fn tools_and_commands_reach_nothing_of_another_tenant() {
    let two = TwoTenants::start();
    two.plant();
    let (there, here) = (two.workspace("alpha"), two.workspace("beta"));
    let secret = there.join("secret.txt");
    symlink(&there, here.join("neighbour")).unwrap();
    symlink(&secret, here.join("link.txt")).unwrap();
    let attacker = Attacker::new(&two.beta);
    let paths = [
        secret.to_string_lossy().into_owned(),
        "../../alpha/workspace/secret.txt".to_owned(),
        "neighbour/secret.txt".to_owned(),
        "link.txt".to_owned(),
        two.world.state().join("tenants/alpha/state/haft.db").to_string_lossy().into_owned(),
        two.world.state().join("tenants/alpha/tenant.json").to_string_lossy().into_owned(),
    ];
    for path in &paths {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("grep_search", json!({ "pattern": "z", "path": path })),
            ("glob_search", json!({ "pattern": "**/*", "path": path })),
            ("write_file", json!({ "path": path, "content": "overwritten" })),
            ("edit_file", json!({ "path": path, "old_string": "in", "new_string": "out" })),
            ("memory_get", json!({ "path": path })),
        ] {
            for access in ["invoke", "explain"] {
                attacker.send("POST", &format!("/api/tools/{tool}/{access}"), &json!({ "arguments": arguments }));
            }
        }
    }
    // A file of the other one and one that is not there are refused in the same words.
    let nowhere = there.to_string_lossy().replace("alpha", "nobod");
    for tool in ["read_file", "grep_search", "glob_search", "write_file"] {
        let outcome = |folder: &str| {
            let path = format!("{folder}/secret.txt");
            let arguments = json!({ "path": path, "pattern": "z", "content": "x" });
            let answer = attacker.send("POST", &format!("/api/tools/{tool}/invoke"), &json!({ "arguments": arguments })).json();
            ["state", "error_type", "message", "help", "advice", "decision", "effects"]
                .map(|field| answer[field].to_string().replace(folder, "FOLDER"))
        };
        assert_eq!(outcome(&there.to_string_lossy()), outcome(&nowhere), "{tool}");
    }
    // What the users of the second approve themselves, and the level that they ask for, open nothing either.
    let wide = attacker.send("POST", "/api/sessions", &json!({ "access": "full-access" }));
    let sessions = [wide.json()["id"].as_str().unwrap_or_default().to_owned(), two.beta.create()];
    let secret = secret.display();
    let root = two.world.state();
    for session in sessions.iter().filter(|session| !session.is_empty()) {
        for text in [
            format!("read {secret}"),
            "read link.txt".to_owned(),
            format!("run `cat {secret} link.txt neighbour/secret.txt`"),
            format!("run `ls -laR {}/tenants`", root.display()),
            "run `cat /proc/self/environ /proc/*/environ`".to_owned(),
            "run `sh -c 'cat $(find / -name secret.txt 2>/dev/null)'`".to_owned(),
        ] {
            let events = two.beta.turn(session, &text);
            let mut received = attacker.received.lock().unwrap();
            received.extend_from_slice(json!(events).to_string().as_bytes());
        }
        attacker.send("GET", &format!("/api/sessions/{session}/items"), &Value::Null);
    }
    attacker.assert_clean();
    assert_eq!(std::fs::read_to_string(there.join("secret.txt")).unwrap(), format!("{CANARY} in a file\n"));
}

#[test]
fn settings_of_a_tenant_cannot_be_widened_by_its_users() {
    let two = TwoTenants::start();
    let settings = two.beta.read("/api/settings");
    let value = |key: &str| {
        let rows = settings["settings"].as_array().unwrap();
        rows.iter().find(|row| row["key"] == key).map(|row| row["value"].clone()).unwrap_or_default()
    };
    for (key, held) in [("access", json!("workspace-write")), ("ask", json!("rules")), ("sandbox.mode", json!("required"))] {
        assert_eq!(value(key), held, "{key}: {settings}");
    }
    for edit in
        [json!({ "edit": "set", "key": "access", "value": "full-access" }), json!({ "edit": "set", "key": "ask", "value": "beyond" })]
    {
        let saved = two.beta.send("PUT", "/api/settings", json!({ "edits": [edit] }).to_string().as_bytes());
        assert!(saved.status >= 400 && saved.body.contains("the operator of this server"), "{} {}", saved.status, saved.body);
    }
    // A file of the project can only tighten.
    std::fs::create_dir_all(two.workspace("beta").join(".haft")).unwrap();
    std::fs::write(two.workspace("beta").join(".haft/config.toml"), "access = \"full-access\"\nask = \"beyond\"\n").unwrap();
    assert_eq!(two.beta.read("/api/me")["access"], "workspace-write");
    let config = std::fs::read_to_string(two.world.path("config/haft/config.toml")).unwrap();
    assert!(!config.contains("full-access"), "{config}");
}

#[test]
fn credentials_open_their_own_tenant_alone_and_unknown_ones_are_all_alike() {
    let two = TwoTenants::start();
    let ann = two.invite(&["alpha", "ann2", "--scopes", "view"]);
    let (secret, prefix) = (ann["token"].as_str().unwrap(), ann["token"].as_str().unwrap().split_once('.').unwrap().0);
    let with = |token: &str| two.served.stranger().bearer(token).get("/api/me");
    assert_eq!(with(secret).status, 200);
    let of_operator = two.served.page();
    assert_eq!(of_operator.get("/api/sessions").status, 200);
    // A wrong secret of a tenant that there is, of one that there is not, and of the operator.
    let answers: Vec<(u16, String)> =
        [format!("{prefix}.{}", "0".repeat(64)), format!("{}.{}", "0".repeat(24), "0".repeat(64)), "0".repeat(64)]
            .iter()
            .map(|token| with(token))
            .map(|answer| (answer.status, answer.body))
            .collect();
    assert_eq!(answers[0].0, 401);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    // The secret of one after the name of the other is nobody's.
    let bob = two.invite(&["beta", "bob2", "--scopes", "view"]);
    let (of_beta, rest) = bob["token"].as_str().unwrap().split_once('.').unwrap();
    assert_eq!(with(&format!("{prefix}.{rest}")).status, 401);
    assert_eq!(with(&format!("{of_beta}.{}", secret.split_once('.').unwrap().1)).status, 401);
    // A token of a tenant has a part of its user's scopes, and mints nothing beyond them.
    let viewer = two.served.stranger().bearer(secret);
    assert_eq!(viewer.post("/api/tokens", &json!({ "scopes": ["view", "admin"] })).status, 403);
    let minted = viewer.post("/api/tokens", &json!({ "scopes": ["view"] })).json();
    assert!(minted["token"].as_str().unwrap().starts_with(&format!("{prefix}.")));
    // Nobody sees the operator's sessions, and the operator's token opens none of theirs.
    let session = two.alpha.create();
    assert_eq!(of_operator.get(&format!("/api/sessions/{session}")).status, 404);
    // A link works once.
    assert_eq!(two.served.stranger().origin().post("/api/login", &json!({ "token": link_token(&ann) })).status, 200);
    assert_eq!(two.served.stranger().origin().post("/api/login", &json!({ "token": link_token(&ann) })).status, 401);
    // A user who is dismissed is out at once, with what was minted, and open streams end.
    let mut events = two.served.stranger().bearer(minted["token"].as_str().unwrap()).events("");
    let dismissed = two.world.run(&["tenants", "dismiss", "alpha", "ann2"]);
    assert_eq!(dismissed.code, 0, "{dismissed:?}");
    events.until(|name, data| name == "bye" && data["reason"] == "revoked");
    assert_eq!((with(secret).status, two.alpha.get("/api/me").status), (401, 200));
}

#[test]
fn removed_tenant_is_gone_at_once_with_its_process() {
    let two = TwoTenants::start();
    let processes = || processes_of(&two.served).len();
    assert_eq!(processes(), 2);
    let removed = two.world.run(&["tenants", "remove", "beta", "--yes"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(two.beta.get("/api/me").status, 401);
    wait_until("the process of a removed tenant ends", || processes() == 1);
    assert_eq!(two.alpha.get("/api/me").status, 200);
    assert!(!two.world.state().join("tenants/beta").exists());
}

#[test]
fn process_that_nobody_uses_ends_and_the_next_request_starts_it_again() {
    let two = TwoTenants::start_with(&[], &["--tenant-idle", "1"]);
    let session = two.alpha.create();
    let stream = two.alpha.events("");
    wait_until("only the process with an open stream stays", || processes_of(&two.served).len() == 1);
    assert_eq!(two.alpha.get("/api/me").status, 200);
    drop(stream);
    wait_until("nobody uses the other one either", || processes_of(&two.served).is_empty());
    assert_eq!(two.alpha.read(&format!("/api/sessions/{session}"))["id"], json!(session));
    // No process outlives a server that is killed.
    let processes = processes_of(&two.served);
    assert_eq!(processes.len(), 1);
    let TwoTenants { world, served, .. } = two;
    drop(served);
    wait_until("processes end with their server", || processes.iter().all(|process| !process.join("exe").exists()));
    drop(world);
}
