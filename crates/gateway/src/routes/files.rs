//! Files: completed while the user types, and the whole of outputs that were cut.

use axum::Json;
use axum::extract::{Query, State};
use axum::response::Response;
use haft_tui::chat::matching_files;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::error::ApiError;
use crate::render;

/// The longest text that is completed.
const MOST_TYPED_BYTES: usize = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FilesQuery {
    #[serde(default)]
    text: String,
}

/// Files of the workspace that fit what was typed, without hidden, ignored and generated ones.
pub(super) async fn complete(State(app): State<App>, token: SignedIn, Query(query): Query<FilesQuery>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    if query.text.len() > MOST_TYPED_BYTES {
        return Err(ApiError::bad_request(format!("At most {MOST_TYPED_BYTES} bytes are completed.")));
    }
    let (question, stamp) = (format!("files {}", query.text), app.file_stamp());
    let make = async {
        let folder = app.backend.workspace();
        let search = tokio::task::spawn_blocking(move || matching_files(&folder, &query.text));
        let files = search.await.map_err(|_| ApiError::internal("The search for files ended without a result."))?;
        Ok(json!({ "files": files }))
    };
    app.answers.answer(question, stamp, make).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SpillQuery {
    path: String,
    #[serde(default)]
    offset: u64,
}

/// A part of the whole output of a call.
pub(super) async fn spill(State(app): State<App>, token: SignedIn, Query(query): Query<SpillQuery>) -> Answer<Value> {
    token.need(Scope::View)?;
    let mut part = app.backend.spill(&query.path, query.offset).await?;
    part["html"] = json!(render::ansi(part["text"].as_str().unwrap_or_default()));
    Ok(Json(part))
}
