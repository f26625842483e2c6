//! Embeddings of texts, by the OpenAI-compatible `/embeddings` that most servers have, Ollama and LM Studio among them.

use bytes::Bytes;
use reqwest::header::{ACCEPT, HeaderValue};
use serde_json::{Value, json};
use tokio::time::timeout_at;

use super::body::{BodyReader, Deadlines, in_time};
use super::failure::{self, AttemptFailure};
use super::request::PreparedRequest;
use super::{AttemptContext, ModelClient, response};
use crate::{Endpoint, Model, ModelTurn, Protocol, ProviderError, ProviderErrorKind};

/// A batch of texts with some thousand numbers each, written out.
const MAX_VECTOR_BYTES: usize = 32 * 1024 * 1024;

impl ModelClient {
    /// The vectors of texts in order, without retries.
    pub async fn embeddings(
        &self,
        endpoint: &Endpoint,
        provider: &str,
        model: &str,
        texts: &[String],
    ) -> Result<Vec<Vec<f32>>, ProviderError> {
        let model = Model::new(provider, Protocol::OpenAi, model);
        let adapter = model.protocol.adapter();
        let turn = ModelTurn { model: &model, system: "", messages: &[], tools: &[] };
        let mut request = PreparedRequest::new(endpoint, adapter, &turn)?;
        (request.url, request.other_url) = endpoint.urls("/embeddings", model.protocol)?;
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.body = Bytes::from(json!({"model": model.name, "input": texts, "encoding_format": "float"}).to_string());
        let attempt = AttemptContext { request: &request, adapter, turn: &turn, options: &self.options };
        let answered = self.post_json(&attempt).await;
        answered.map_err(|AttemptFailure { error, .. }| ProviderError { message: request.scrub(&error.message), ..error })
    }

    async fn post_json(&self, attempt: &AttemptContext<'_>) -> Result<Vec<Vec<f32>>, AttemptFailure> {
        let request = attempt.request;
        let deadlines = Deadlines::new(request, in_time(request.timeouts.total));
        let client = self.clients.get(request, &self.options)?;
        let sent = client.post(request.url.clone()).headers(request.headers.clone()).body(request.body.clone()).send();
        let response = timeout_at(deadlines.first_byte.min(deadlines.total), sent).await;
        let response = response.map_err(|_| deadlines.timed_out(request, "did not start to answer", request.timeouts.first_byte))?;
        let response = response.map_err(|error| failure::describe(&error, request))?;
        let response = response::check_status(response, attempt, deadlines).await?;
        let body = BodyReader::new(response, request, deadlines).read_prefix(MAX_VECTOR_BYTES).await;
        vectors(&body).ok_or_else(|| {
            let message = format!("{} did not answer with embeddings. Check the model and its base_url.", request.host);
            AttemptFailure::permanent(ProviderErrorKind::Malformed, message)
        })
    }
}

/// `{"data":[{"index":0,"embedding":[…]}]}`. What is no number is not a number, for the caller to refuse.
fn vectors(body: &[u8]) -> Option<Vec<Vec<f32>>> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let mut rows: Vec<(u64, Vec<f32>)> = Vec::new();
    for (at, row) in answer["data"].as_array()?.iter().enumerate() {
        #[expect(clippy::cast_possible_truncation, reason = "vectors are such numbers")]
        let numbers = row["embedding"].as_array()?.iter().map(|number| number.as_f64().map_or(f32::NAN, |number| number as f32));
        rows.push((row["index"].as_u64().unwrap_or(at as u64), numbers.collect()));
    }
    rows.sort_by_key(|(index, _)| *index);
    Some(rows.into_iter().map(|(_, numbers)| numbers).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_their_texts() {
        let body = br#"{"data":[{"index":1,"embedding":[3]},{"index":0,"embedding":[1,2.5]}]}"#;
        assert_eq!(vectors(body), Some(vec![vec![1.0, 2.5], vec![3.0]]));
        assert!(vectors(br#"{"data":[{"embedding":["NaN"]}]}"#).unwrap()[0][0].is_nan());
        for bad in [&b"{}"[..], b"no", br#"{"data":[{}]}"#, br#"{"data":5}"#] {
            assert_eq!(vectors(bad), None);
        }
    }
}
