//! The OpenAPI document, made from the types of requests and objects.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::api::{ApprovalView, CallView, ItemView, SessionView};
use crate::auth::{Scope, TokenSummary};
use crate::error::ErrorBody;
use crate::routes::{bodies, queries};

/// Method and path of a request with a query, and the schema of that.
pub(crate) type QuerySchema = (&'static str, &'static str, Value);

/// A path of the API.
struct ApiPath {
    method: &'static str,
    path: &'static str,
    scope: &'static str,
    about: &'static str,
    body: Option<&'static str>,
    status: &'static str,
    answer: Option<&'static str>,
}

/// Methods, paths, scopes, names of the schemas of bodies, and answers: a schema, a list of it, `name: LIST` for an object with the list,
/// after a status that is not 200. The scope is [checked](needed_scope) by this table. A test compares it with the router.
const PATHS: &[(&str, &str, &str, &str, &str, &str)] = &[
    ("post", "/api/login", "", "Take the token of a link and set the cookie", "LoginRequest", ""),
    ("post", "/api/logout", "", "Revoke the token of this request", "", ""),
    ("get", "/api/me", "", "Facts about the server and the token", "", ""),
    ("get", "/api/tokens", "admin", "List tokens", "", "TokenSummary[]"),
    ("post", "/api/tokens", "", "Make a token with a part of the scopes", "MintRequest", "201"),
    ("delete", "/api/tokens/{id}", "admin", "Revoke a token and all that it made", "", ""),
    ("get", "/api/events", "view", "The stream of events", "", ""),
    ("get", "/api/approvals", "view", "Open approvals", "", "approvals: ApprovalView[]"),
    ("post", "/api/approvals/{id}", "approve", "Answer an approval", "AnswerRequest", ""),
    ("get", "/api/sessions", "view", "List sessions", "", "sessions: SessionView[]"),
    ("post", "/api/sessions", "chat", "Begin a session", "CreateRequest", "201 SessionView"),
    ("get", "/api/sessions/{id}", "view", "One session", "", "SessionView"),
    ("patch", "/api/sessions/{id}", "chat", "Change its title or its access level", "SessionRequest", "SessionView"),
    ("delete", "/api/sessions/{id}", "chat", "Remove it", "", ""),
    ("get", "/api/sessions/{id}/items", "view", "Its transcript", "", "items: ItemView[]"),
    ("post", "/api/sessions/{id}/messages", "chat", "Send a message", "MessageRequest", "202"),
    ("delete", "/api/sessions/{id}/messages/last", "chat", "Take back a message that waits", "", ""),
    ("post", "/api/sessions/{id}/cancel", "chat", "Cancel its turn", "", ""),
    ("post", "/api/sessions/{id}/fork", "chat", "Copy it", "ForkRequest", "201 SessionView"),
    ("get", "/api/sessions/{id}/canvas", "view", "What its agent shows", "", ""),
    ("get", "/api/sessions/{id}/canvas/versions/{number}", "view", "What it showed before, with its source", "", ""),
    ("post", "/api/sessions/{id}/canvas/actions", "chat", "What the user did there, as a message", "CanvasEvent", "202"),
    ("post", "/api/canvas/answers/{request}", "chat", "Answer a request of the tool canvas", "CanvasAnswer", ""),
    ("get", "/api/browsers", "view", "Browsers of sessions that run", "", ""),
    ("get", "/api/sessions/{id}/browser", "view", "What its browser shows, as soon as that is newer", "", ""),
    ("post", "/api/sessions/{id}/browser/control", "approve", "Take its browser over, or hand it back", "BrowserControlRequest", ""),
    ("post", "/api/sessions/{id}/browser/input", "approve", "Mouse and keys for a browser that was taken over", "BrowserInputRequest", ""),
    ("get", "/api/sessions/{id}/recording", "view", "The steps of its browser", "", ""),
    ("get", "/api/sessions/{id}/recording/{number}", "view", "The picture of a step, as JPEG", "", ""),
    ("get", "/api/sessions/{id}/todos", "view", "Its to-do list", "", ""),
    ("get", "/api/sessions/{id}/agents", "view", "Its sub-agents", "", ""),
    ("get", "/api/sessions/{id}/files", "view", "Files that it changed", "", ""),
    ("get", "/api/sessions/{id}/undo", "view", "Look at an undo of all its calls", "", ""),
    ("post", "/api/sessions/{id}/undo", "admin", "Undo all its calls", "UndoBody", ""),
    ("get", "/api/tools", "view", "List tools", "", ""),
    ("get", "/api/tools/{name}", "view", "One tool", "", ""),
    ("post", "/api/tools/{name}/explain", "view", "Why it is allowed or denied", "ExplainRequest", ""),
    ("post", "/api/tools/{name}/invoke", "admin", "Call it", "InvokeRequest", "CallView"),
    ("get", "/api/history", "view", "Past calls", "", "calls: ListedCall[]"),
    ("get", "/api/history/{record}", "view", "One past call", "", "CallView"),
    ("get", "/api/history/{record}/undo", "view", "Look at an undo", "", ""),
    ("post", "/api/history/{record}/undo", "admin", "Undo a call", "UndoBody", ""),
    ("get", "/api/usage", "view", "Tokens, cost and times", "", ""),
    ("get", "/api/agents", "view", "List agents", "", ""),
    ("get", "/api/agents/{name}", "view", "One agent", "", ""),
    ("put", "/api/agents/{name}", "admin", "Change its keys and its tools", "AgentRequest", ""),
    ("post", "/api/agents/{name}/preview", "view", "Look at a change of its keys and its tools", "AgentRequest", ""),
    ("get", "/api/jobs", "view", "Background jobs", "", ""),
    ("delete", "/api/jobs/{id}", "admin", "Kill a job", "", ""),
    ("get", "/api/changes", "view", "Staged changes of commands", "", ""),
    ("get", "/api/changes/{id}", "view", "One change set with its paths", "", ""),
    ("post", "/api/changes/{id}", "admin", "Apply or drop each path", "DecideRequest", ""),
    ("get", "/api/changes/{id}/diff", "view", "The difference in one path", "", ""),
    ("get", "/api/automation", "view", "Scheduled jobs, their newest runs, and notices", "", ""),
    ("post", "/api/automation", "admin", "Schedule a job", "JobRequest", ""),
    ("get", "/api/automation/{id}", "view", "One job with its runs", "", ""),
    ("patch", "/api/automation/{id}", "admin", "Change a job", "JobRequest", ""),
    ("delete", "/api/automation/{id}", "admin", "Remove a job", "", ""),
    ("post", "/api/automation/{id}/run", "admin", "Run a job now", "", ""),
    ("get", "/api/quarantine", "view", "What commands wrote and could not stay", "", ""),
    ("get", "/api/quarantine/{id}", "view", "One entry", "", ""),
    ("delete", "/api/quarantine/{id}", "admin", "Remove an entry", "", ""),
    ("post", "/api/quarantine/{id}/restore", "admin", "Move an entry back", "RestoreRequest", ""),
    ("get", "/api/settings", "view", "Every setting with its source", "", ""),
    ("put", "/api/settings", "admin", "Change keys of the user's file", "SettingsRequest", ""),
    ("post", "/api/settings/preview", "view", "Look at such a change", "SettingsRequest", ""),
    ("post", "/api/settings/undo", "admin", "Take a save of settings or of an agent back", "UndoSaveRequest", ""),
    ("get", "/api/trust", "view", "Folders, plugins and MCP servers that the user trusts", "", ""),
    ("post", "/api/trust/revoke", "admin", "Trust one of them no more", "RevokeRequest", ""),
    ("get", "/api/doctor", "view", "What works here", "", ""),
    ("get", "/api/policy", "view", "Every tool with every step of the policy", "", ""),
    ("post", "/api/policy/simulate", "view", "What past calls would become", "SimulateRequest", ""),
    ("get", "/api/connections", "view", "MCP servers and providers", "", ""),
    ("post", "/api/connections/{server}/review", "admin", "Start an MCP server and look at its tools that wait", "", ""),
    ("post", "/api/connections/{server}/approve", "admin", "Approve the tools of a review", "ApproveRequest", ""),
    ("post", "/api/providers/{name}/test", "admin", "Ask a provider of models once", "", ""),
    ("get", "/api/memory", "view", "Memory files, or what fits a search", "", ""),
    ("post", "/api/memory", "admin", "Add a note", "NoteRequest", ""),
    ("delete", "/api/memory", "admin", "Remove lines or a file", "", ""),
    ("get", "/api/memory/file", "view", "A memory file with who wrote each part", "", ""),
    ("put", "/api/memory/file", "admin", "Replace the text of a memory file", "MemoryFileRequest", ""),
    ("get", "/api/files", "view", "Files of the workspace that fit what was typed", "", ""),
    ("get", "/api/spills", "view", "A part of the whole of an output that was cut", "", ""),
    ("get", "/api/nodes", "view", "Paired machines, and those that ask to be paired", "", ""),
    ("post", "/api/nodes/pair", "admin", "Let one machine ask to be paired", "", ""),
    ("post", "/api/nodes/approve", "admin", "Pair the machine that shows this code", "CodeRequest", ""),
    ("delete", "/api/nodes/{id}", "admin", "Revoke a machine", "", ""),
    ("post", "/api/render", "view", "Text as HTML", "RenderRequest", ""),
    ("get", "/api/openapi.json", "view", "This document", "", ""),
];

/// The scope without which a request is refused before anything of it is read; `None` where the handler alone can tell.
pub(crate) fn needed_scope(method: &str, path: &str) -> Option<Scope> {
    let own_token = ("delete", "/api/tokens/{id}");
    let is_path = |named: &str| {
        let is_part = |(named, part): (&str, &str)| named.starts_with('{') || named == part;
        named.split('/').count() == path.split('/').count() && named.split('/').zip(path.split('/')).all(is_part)
    };
    let entry = PATHS.iter().find(|entry| entry.0.eq_ignore_ascii_case(method) && is_path(entry.1))?;
    if (entry.0, entry.1) == own_token {
        return None;
    }
    Scope::ALL.into_iter().find(|scope| scope.as_str() == entry.2)
}

impl ApiPath {
    fn all() -> impl Iterator<Item = Self> {
        let named = |name: &'static str| Some(name).filter(|name| !name.is_empty());
        PATHS.iter().map(move |&(method, path, scope, about, body, answer)| {
            let (status, answer) = match answer.split_at_checked(3) {
                Some((status, answer)) if status.starts_with(|ch: char| ch.is_ascii_digit()) => (status, answer.trim_start()),
                _ => ("200", answer),
            };
            Self { method, path, scope, about, body: named(body), status, answer: named(answer) }
        })
    }

    fn media(&self) -> &'static str {
        match self.path {
            "/api/events" => "text/event-stream",
            "/api/sessions/{id}/recording/{number}" => "image/jpeg",
            _ => "application/json",
        }
    }

    fn operation(&self, schemas: &Value, queries: &[QuerySchema]) -> Value {
        let mut parameters: Vec<Value> =
            self.path.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| path_parameter(name)).collect();
        let query = queries.iter().find(|(method, path, _)| (*method, *path) == (self.method, self.path));
        parameters.extend(query.into_iter().flat_map(|(.., schema)| query_parameters(schema)));
        let media = self.media();
        let content = match self.answer {
            Some(name) => schema_of(name),
            None if media == "application/json" => json!({ "type": "object" }),
            None => json!({ "type": "string" }),
        };
        let mut operation = json!({
            "summary": self.about,
            "parameters": parameters,
            "responses": {
                self.status: { "description": "Done", "content": { media: { "schema": content } } },
                "default": { "description": "An error", "content": { "application/json": { "schema": schema_of("ErrorBody") } } },
            },
        });
        if !self.scope.is_empty() {
            operation["x-scope"] = json!(self.scope);
        }
        if let Some(body) = self.body {
            // An empty body is `{}`.
            let is_required = schemas[body]["required"].as_array().is_some_and(|names| !names.is_empty());
            operation["requestBody"] = json!({ "required": is_required, "content": { "application/json": { "schema": schema_of(body) } } });
        }
        operation
    }
}

fn path_parameter(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
}

/// The parameters of a query, as the type has them that it is read into.
fn query_parameters(schema: &Value) -> Vec<Value> {
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name));
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        // What is absent is left out: no text means that.
        if let Some(kind) = schema["type"].as_array().and_then(|kinds| kinds.first()).cloned() {
            schema["type"] = kind;
        }
        json!({ "name": name, "in": "query", "required": is_required(name), "schema": schema })
    };
    schema["properties"].as_object().into_iter().flatten().map(parameter).collect()
}

fn schema_of(name: &str) -> Value {
    if let Some((list, schema)) = name.split_once(": ") {
        return json!({ "type": "object", "properties": { list: schema_of(schema) }, "required": [list] });
    }
    let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    name.strip_suffix("[]").map_or_else(|| reference(name), |name| json!({ "type": "array", "items": reference(name) }))
}

/// The document.
pub(crate) fn document() -> Value {
    let (schemas, queries) = schemas();
    let mut paths = Map::new();
    for path in ApiPath::all() {
        let entry = paths.entry(path.path).or_insert_with(|| json!({}));
        entry[path.method] = path.operation(&schemas, &queries);
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Haft gateway", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{ "token": [] }],
    })
}

fn schemas() -> (Value, Vec<QuerySchema>) {
    let mut generator =
        SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = "/components/schemas".into()).into_generator();
    add::<SessionView>(&mut generator);
    add::<CallView>(&mut generator);
    add::<ItemView>(&mut generator);
    add::<ApprovalView>(&mut generator);
    add::<TokenSummary>(&mut generator);
    add::<ErrorBody>(&mut generator);
    bodies(&mut generator);
    let queries = queries(&mut generator);
    let mut schemas = generator.take_definitions(true);
    // In a list, calls come without what is `null` or rendered.
    let mut listed = schemas.get("CallView").cloned().unwrap_or_default();
    if let Some(listed) = listed.as_object_mut() {
        listed.remove("required");
    }
    schemas.insert("ListedCall".to_owned(), listed);
    (Value::Object(schemas), queries)
}

pub(crate) fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_that_a_path_names_is_in_the_document() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        for path in ApiPath::all() {
            for name in [path.body, path.answer].into_iter().flatten() {
                let name = name.rsplit(": ").next().unwrap().trim_end_matches("[]");
                assert!(schemas.get(name).is_some(), "{name} of {} is missing", path.path);
            }
        }
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(schemas.get(reference).is_some(), "{reference}");
        }
    }

    #[test]
    fn document_has_queries_statuses_and_bodies_as_the_handlers_take_them() {
        let document = document();
        let at = |method: &str, path: &str| document["paths"][path][method].clone();
        let names = |operation: &Value| -> Vec<(String, bool)> {
            let queries = operation["parameters"].as_array().unwrap().iter().filter(|parameter| parameter["in"] == "query");
            queries.map(|parameter| (parameter["name"].as_str().unwrap().to_owned(), parameter["required"] == true)).collect()
        };
        assert_eq!(names(&at("get", "/api/spills")), [("path".to_owned(), true), ("offset".to_owned(), false)]);
        assert_eq!(
            at("get", "/api/sessions")["responses"]["200"]["content"]["application/json"]["schema"]["required"],
            json!(["sessions"])
        );
        assert!(at("post", "/api/sessions")["responses"]["201"].is_object());
        assert_eq!(at("post", "/api/sessions")["requestBody"]["required"], false);
        assert_eq!(at("post", "/api/render")["requestBody"]["required"], true);
        for (method, path, schema) in schemas().1 {
            assert_eq!(
                names(&at(method, path)).len(),
                schema["properties"].as_object().unwrap().len(),
                "{method} {path} is not in the table"
            );
        }
    }

    #[test]
    fn scope_of_a_path_is_known_before_anything_is_read() {
        for (method, path, scope) in [
            ("GET", "/api/sessions", Some(Scope::View)),
            ("POST", "/api/sessions", Some(Scope::Chat)),
            ("DELETE", "/api/sessions/01a/messages/last", Some(Scope::Chat)),
            ("POST", "/api/approvals/%2e%2e%2fx", Some(Scope::Approve)),
            ("DELETE", "/api/tokens/t1", None),
            ("POST", "/api/login", None),
        ] {
            assert_eq!(needed_scope(method, path), scope, "{method} {path}");
        }
    }

    #[test]
    fn document_lists_every_path_of_the_guide() {
        let guide = include_str!("../../../docs/GATEWAY.md");
        for path in ApiPath::all() {
            assert!(guide.contains(path.path), "docs/GATEWAY.md lacks {}", path.path);
        }
    }
}
