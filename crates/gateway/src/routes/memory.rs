//! Memory: searched, shown, changed.

use axum::Json;
use axum::extract::{Query, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use super::tools::to_its_end;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::backend::MemoryRequest;
use crate::body::Body;
use crate::error::ApiError;
use crate::render;

/// Results of a search at most.
const MOST_RESULTS: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NotesQuery {
    text: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn list(State(app): State<App>, token: SignedIn, Query(query): Query<NotesQuery>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let (question, stamp) = (format!("memory {query:?}"), app.file_stamp());
    let request = match query.text.as_deref().filter(|text| !text.trim().is_empty()) {
        Some(text) => MemoryRequest::Search(text, query.limit.unwrap_or(20).clamp(1, MOST_RESULTS)),
        None => MemoryRequest::List,
    };
    let make = async {
        let mut answer = app.backend.memory(request).await?;
        for hit in answer["results"].as_array_mut().into_iter().flatten() {
            let snippet = hit["snippet"].as_str().unwrap_or_default();
            hit["snippet_html"] = json!(render::mark_words(snippet, query.text.as_deref().unwrap_or_default()));
        }
        Ok(answer)
    };
    app.answers.answer(question, stamp, make).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FileQuery {
    path: String,
}

pub(super) async fn file(State(app): State<App>, token: SignedIn, Query(query): Query<FileQuery>) -> Answer<Value> {
    token.need(Scope::View)?;
    Ok(Json(app.backend.memory(MemoryRequest::Show(&query.path)).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NoteRequest {
    text: String,
    /// The file; without it `MEMORY.md`.
    file: Option<String>,
}

pub(super) async fn add(State(app): State<App>, token: SignedIn, Body(request): Body<NoteRequest>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let file = request.file.unwrap_or_else(|| "MEMORY.md".into());
    change(app, MemoryChange::Add { text: request.text, file }).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MemoryFileRequest {
    path: String,
    text: String,
}

pub(super) async fn write(State(app): State<App>, token: SignedIn, Body(request): Body<MemoryFileRequest>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    change(app, MemoryChange::Write { file: request.path, text: request.text }).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ForgetQuery {
    citation: String,
}

pub(super) async fn forget(State(app): State<App>, token: SignedIn, Query(query): Query<ForgetQuery>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    change(app, MemoryChange::Forget(query.citation)).await
}

/// A change with its own texts: it may outlive its request.
enum MemoryChange {
    Add { text: String, file: String },
    Write { file: String, text: String },
    Forget(String),
}

impl MemoryChange {
    fn request(&self) -> MemoryRequest<'_> {
        match self {
            Self::Add { text, file } => MemoryRequest::Add { text, file },
            Self::Write { file, text } => MemoryRequest::Write { file, text },
            Self::Forget(citation) => MemoryRequest::Forget(citation),
        }
    }
}

/// Makes a change to its end, also when the client goes away, and tells every page.
async fn change(app: App, change: MemoryChange) -> Answer<Value> {
    let done = to_its_end(async move {
        let done = app.backend.memory(change.request()).await?;
        app.changed("memory");
        Ok(done)
    });
    Ok(Json(done.await?))
}
