//! Bodies from files and to files.

use std::path::Path;

use haft_contract::{ErrorKind, HttpResponse, ToolContext, ToolError, ToolOutput, WriteMode};
use haft_text::numbers;
use serde_json::json;

use super::Params;
use crate::shared::polite::{CallDeadline, header};
use crate::shared::read_all::read_all;

/// Larger files are neither sent nor saved.
const LARGEST: usize = 50 * 1024 * 1024;

impl Params {
    /// A call names one body.
    pub(super) fn check_body(&self) -> Result<(), ToolError> {
        let given = [self.body.is_some(), self.json.is_some(), self.body_file.is_some()];
        if given.iter().filter(|given| **given).count() > 1 {
            return Err(ToolError::validation("Give one of body, json and body_file."));
        }
        Ok(())
    }

    pub(super) fn has_body(&self) -> bool {
        self.body.as_ref().is_some_and(|body| !body.is_empty()) || self.json.is_some() || self.body_file.is_some()
    }

    pub(super) async fn body(&self, cx: &ToolContext) -> Result<Option<Vec<u8>>, ToolError> {
        if let Some(file) = &self.body_file {
            let (name, reader) = (file.display().to_string(), cx.fs().open(file).await?);
            return read_all(&name, "a request body", Vec::new(), &*reader, LARGEST).await.map(Some);
        }
        if let Some(json) = &self.json {
            return Ok(Some(serde_json::Value::Object(json.clone()).to_string().into_bytes()));
        }
        Ok(self.body.clone().map(String::into_bytes))
    }

    /// The type of a body whose headers do not say it.
    pub(super) fn body_type(&self) -> &'static str {
        if self.body_file.is_some() { "application/octet-stream" } else { "application/json" }
    }
}

/// Saves a response in a file. One that is not complete is not saved.
pub(super) async fn save(
    response: &mut HttpResponse,
    file: &Path,
    deadline: &CallDeadline,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let mut body = Vec::new();
    while let Some(chunk) = deadline.limit(response.body.chunk()).await.map_err(|error| unsaved(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST {
            let (name, most) = (file.display(), numbers::size(LARGEST as u64));
            let message = format!("Response too large: more than {most}. '{name}' was not written; save it with a command instead.");
            return Err(ToolError::new(ErrorKind::FileTooLarge, message));
        }
    }
    let outcome = cx.fs().write(file, body, WriteMode::Overwrite).await?;
    let (name, kind) = (file.display(), header(response, "Content-Type").unwrap_or("no stated type"));
    let text = format!("HTTP {} {}\nSaved {} ({kind}) to '{name}'.", response.status, response.reason, numbers::size(outcome.bytes));
    let details = json!({
        "status": response.status, "url": response.url, "redirected_from": response.redirected_from, "headers": response.headers,
        "bytes": outcome.bytes, "saved": name.to_string(), "created": outcome.created, "fingerprint": outcome.fingerprint,
    });
    Ok(ToolOutput::text(text).with_details(details))
}

fn unsaved(error: &ToolError) -> ToolError {
    ToolError::new(error.kind(), format!("{} The response is not complete, so it was not saved.", error.message()))
}
