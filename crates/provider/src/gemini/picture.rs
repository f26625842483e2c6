//! Which pictures are taken, and where: any other type is a refused request.

use serde_json::{Value, json};

/// What a person may show.
pub(super) const IN_PROMPTS: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
/// What may stand inside of a result.
pub(super) const IN_RESULTS: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// The part that shows a picture.
pub(super) fn part(mime: &str, data: &str) -> Value {
    json!({ "inlineData": { "mimeType": mime, "data": data } })
}

/// What stands for a picture that cannot be shown.
pub(super) fn missing(mime: &str) -> String {
    format!("[A picture of the type {mime} stood here; it could not be shown.]")
}
