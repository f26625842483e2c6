//! Every route of the API, called by one tenant with everything that identifies things of the other.

use serde_json::{Map, Value, json};

use super::worlds::Attacker;
use super::{CANARY, TwoTenants};

/// A route of the document, with a body that has this value wherever a text may be.
struct Route {
    method: String,
    path: String,
    body: Option<Value>,
}

fn routes(document: &Value) -> Vec<Route> {
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, about) in methods.as_object().unwrap() {
            let schema = &about["requestBody"]["content"]["application/json"]["schema"];
            all.push(Route { method: method.to_uppercase(), path: path.clone(), body: (!schema.is_null()).then(|| schema.clone()) });
        }
    }
    all
}

/// A value that fits a schema, with `text` wherever a text may be.
fn filled(document: &Value, schema: &Value, text: &str, depth: usize) -> Value {
    if depth > 6 {
        return Value::Null;
    }
    if let Some(reference) = schema["$ref"].as_str() {
        return filled(document, document.pointer(reference.trim_start_matches('#')).unwrap(), text, depth + 1);
    }
    if let Some(first) = schema["enum"].as_array().and_then(|words| words.first()) {
        return first.clone();
    }
    if !schema["const"].is_null() {
        return schema["const"].clone();
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) = schema[choice].as_array().and_then(|choices| choices.iter().find(|choice| choice["type"] != "null")) {
            return filled(document, first, text, depth + 1);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("string");
    match kind {
        "object" => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            Value::Object(
                properties.iter().map(|(name, schema)| (name.clone(), filled(document, schema, text, depth + 1))).collect::<Map<_, _>>(),
            )
        }
        "array" => json!([filled(document, &schema["items"], text, depth + 1)]),
        "boolean" => json!(true),
        "integer" | "number" => json!(1),
        _ => json!(text),
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// What is in braces becomes the value, and every query that a route may know has it, too.
fn address(path: &str, value: &str, sequence: u64) -> String {
    let mut filled = String::new();
    for (number, part) in path.split(['{', '}']).enumerate() {
        filled.push_str(&if number % 2 == 1 { encoded(value) } else { part.to_owned() });
    }
    let names =
        ["path", "session", "text", "search", "query", "q", "cursor", "before", "citation", "agent", "tool", "id", "file", "workspace"];
    let query: Vec<String> = names.iter().map(|name| format!("{name}={}", encoded(value))).collect();
    format!("{filled}?{}&after={sequence}&seq={sequence}&offset=0&limit=100", query.join("&"))
}

/// Routes that are called by name below, because they end the caller's own token or never end.
fn is_special(route: &Route) -> bool {
    route.path == "/api/events" || route.path == "/api/logout" || route.path == "/api/login" || route.path.starts_with("/api/tokens/")
}

pub(in crate::suite) fn no_route_shows_or_changes_anything_of_another_tenant(two: &TwoTenants) {
    let planted = two.plant();
    let before = state_of(two, &planted.session);
    let attacker = Attacker::new(&two.beta);
    let streams = [attacker.listen(""), attacker.listen("?after=0"), attacker.listen(&format!("?after=1&session={}", planted.session))];
    let document = attacker.send("GET", "/api/openapi.json", &Value::Null).json();
    let routes = routes(&document);
    assert!(routes.len() > 80, "{}", routes.len());
    let foreign = planted.foreign(two);
    assert!(foreign.len() >= 10 && foreign.iter().all(|value| !value.contains(CANARY)), "{foreign:?}");
    for route in routes.iter().filter(|route| !is_special(route)) {
        let has_value = route.path.contains('{') || route.body.is_some() || route.method == "GET";
        for value in foreign.iter().take(if has_value { usize::MAX } else { 1 }) {
            let body = route.body.as_ref().map_or_else(|| json!({}), |schema| filled(&document, schema, value, 0));
            let answer = attacker.send(&route.method, &address(&route.path, value, planted.sequence), &body);
            assert!(answer.status != 0 && answer.status != 401, "{} {} {}: {}", route.method, route.path, answer.status, answer.body);
        }
    }
    with_own_sessions(two, &attacker, &document, &routes, &foreign);
    alike(&attacker, &routes, &planted.session);
    planted.records.first().into_iter().for_each(|record| alike(&attacker, &routes, record));
    // What is only a number is one of its own.
    for number in 2..40 {
        attacker.send("DELETE", &format!("/api/tokens/t{number}"), &Value::Null);
    }
    attacker.send("GET", "/api/tokens", &Value::Null);
    attacker.send("GET", "/api/sessions?workspace=all", &Value::Null);
    attacker.send("POST", "/api/logout", &json!({}));
    for stream in streams {
        stream.join().unwrap();
    }
    attacker.assert_clean();
    assert_eq!(state_of(two, &planted.session), before, "the other tenant changed something");
}

/// Sessions of its own, and what is the other's in bodies and queries: files to attach, calls to answer, paths to show.
fn with_own_sessions(two: &TwoTenants, attacker: &Attacker, document: &Value, routes: &[Route], foreign: &[String]) {
    let of_session = |route: &&Route| route.path.starts_with("/api/sessions/{id}") && !route.path.ends_with("/browser");
    for route in routes.iter().filter(of_session) {
        for value in foreign {
            let session = two.beta.create();
            let path = route.path.replacen("{id}", &session, 1);
            let body = route.body.as_ref().map_or_else(|| json!({}), |schema| filled(document, schema, value, 0));
            attacker.send(&route.method, &address(&path, value, 0), &body);
        }
    }
    for value in foreign {
        let session = two.beta.create();
        for body in [json!({ "text": "what is in it?", "files": [value] }), json!({ "text": format!("read @{value}") })] {
            let mut events = two.beta.events(&format!("?session={session}"));
            if attacker.send("POST", &format!("/api/sessions/{session}/messages"), &body).status == 202 {
                let seen = events.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
                attacker.received.lock().unwrap().extend_from_slice(json!(seen).to_string().as_bytes());
            }
            attacker.send("GET", &format!("/api/sessions/{session}/items"), &Value::Null);
        }
    }
}

/// An id of the other tenant and one of nobody get the same answers.
fn alike(attacker: &Attacker, routes: &[Route], id: &str) {
    let nobodys: String = id
        .chars()
        .map(|ch| {
            if ch == '0' {
                '1'
            } else if ch.is_ascii_hexdigit() {
                '0'
            } else {
                ch
            }
        })
        .collect();
    for route in routes.iter().filter(|route| route.method == "GET" && route.path.contains('{')) {
        let answer = |id: &str| {
            let answer = attacker.send("GET", &address(&route.path, id, 1), &Value::Null);
            (answer.status, answer.body.replace(id, "ID"))
        };
        assert_eq!(answer(id), answer(&nobodys), "{}", route.path);
    }
}

/// What the first tenant sees of itself.
fn state_of(two: &TwoTenants, session: &str) -> Vec<Value> {
    let alpha = &two.alpha;
    let mut state: Vec<Value> = ["/api/approvals", "/api/automation", "/api/memory/file?path=MEMORY.md", "/api/settings"]
        .iter()
        .map(|path| alpha.get(path).json())
        .collect();
    state.push(alpha.read(&format!("/api/sessions/{session}/items")));
    state.push(json!(alpha.read("/api/tokens").as_array().map(Vec::len)));
    let read = |name: &str| std::fs::read_to_string(two.workspace("alpha").join(name)).unwrap();
    state.push(json!([read("secret.txt"), read("made.txt")]));
    state
}

#[test]
fn routes_of_the_api_keep_tenants_apart() {
    no_route_shows_or_changes_anything_of_another_tenant(&TwoTenants::start());
}

#[cfg(feature = "postgres")]
#[test]
fn routes_of_the_api_keep_tenants_apart_on_a_server() {
    let server = haft_testkit::PostgresServer::start();
    let address = server.address(&server.database());
    let two = TwoTenants::start_with(&[("HAFT_STORE", &address)], &[]);
    no_route_shows_or_changes_anything_of_another_tenant(&two);
    // Each has a schema of its own, and what is removed is gone.
    let schemas = || server.sql("test0", "SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, 'tenant_')");
    assert_eq!(schemas(), "2");
    let removed = two.world.run_with(&[("HAFT_STORE", address.as_str())], &["tenants", "remove", "beta", "--yes"]);
    assert_eq!((removed.code, schemas().as_str()), (0, "1"), "{removed:?}");
}
