//! Open approvals, and their answers.

use axum::Json;
use axum::extract::{Path, State};
use haft_contract::ports::ApprovalAnswer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::body::Body;
use crate::error::ApiError;

pub(super) async fn list(State(app): State<App>, token: SignedIn) -> Answer<Value> {
    token.need(Scope::View)?;
    let seq = app.approvals.hub.newest();
    Ok(Json(json!({ "approvals": app.approvals.open(), "seq": seq })))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AnswerRequest {
    fingerprint: String,
    answer: AnswerWord,
    /// The index of the width that is saved.
    width: Option<usize>,
    /// The rules that are saved, as the user wrote them, in place of a width.
    rules: Option<Vec<String>>,
    /// For the model.
    comment: Option<String>,
    /// The arguments that the user edited.
    arguments: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AnswerWord {
    Once,
    Session,
    Always,
    Edit,
    Deny,
}

pub(super) async fn answer(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(request): Body<AnswerRequest>,
) -> Answer<Value> {
    token.need(Scope::Approve)?;
    let answer = match request.answer {
        AnswerWord::Once => ApprovalAnswer::Once,
        AnswerWord::Session => ApprovalAnswer::Session,
        AnswerWord::Always => match &request.rules {
            Some(lines) => parse_rules(lines),
            None => ApprovalAnswer::AlwaysAs(request.width.unwrap_or(0)),
        },
        AnswerWord::Edit => {
            let missing = || ApiError::bad_request("The answer 'edit' needs 'arguments'.");
            ApprovalAnswer::Edit(request.arguments.filter(Value::is_object).ok_or_else(missing)?)
        }
        AnswerWord::Deny => ApprovalAnswer::Deny { comment: request.comment.filter(|comment| !comment.trim().is_empty()) },
    };
    app.approvals.answer(&id, &request.fingerprint, answer, &token.0.name)?;
    Ok(Json(json!({})))
}

/// Empty lines are no rules.
fn parse_rules(lines: &[String]) -> ApprovalAnswer {
    ApprovalAnswer::AlwaysBy(lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
