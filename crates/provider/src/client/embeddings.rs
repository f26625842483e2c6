//! Embeddings of texts, by the OpenAI-compatible `/embeddings` that most servers have, Ollama and LM Studio among them.

use serde_json::{Value, json};

use super::ModelClient;
use super::plain::PlainRequest;
use crate::{Endpoint, ProviderError, ProviderErrorKind};

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
        let body = json!({"model": model, "input": texts, "encoding_format": "float"});
        let request = PlainRequest::json(provider, "/embeddings", &body, MAX_VECTOR_BYTES);
        let answer = self.post(endpoint, request).await?;
        vectors(&answer.body).ok_or_else(|| {
            let message = format!("{} did not answer with embeddings. Check the model and its base_url.", answer.host);
            ProviderError::new(ProviderErrorKind::Malformed, message)
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
