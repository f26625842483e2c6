//! Answers that are kept until what they were made from has changed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Serialize;

use crate::error::ApiError;

/// Answers that are kept.
const MOST_ANSWERS: usize = 128;
/// A larger one is made anew for each request.
const MOST_BYTES: usize = 1 << 20;

/// A value that differs when what an answer was made from differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AnswerStamp(u64);

impl AnswerStamp {
    pub(crate) fn from_parts(parts: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The newest answer to each question.
#[derive(Debug, Default)]
pub(crate) struct AnswerCache(Mutex<HashMap<String, (AnswerStamp, Bytes)>>);

impl AnswerCache {
    /// The answer to a question. The stamp is from before `make`, so that a change meanwhile is seen by the next request; without a stamp
    /// nothing is kept.
    pub(crate) async fn answer<T: Serialize>(
        &self,
        question: String,
        stamp: Option<AnswerStamp>,
        make: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<Response, ApiError> {
        self.answer_if(question, stamp, make, |_| true).await
    }

    /// The same, where only some answers depend on the stamp alone.
    pub(crate) async fn answer_if<T: Serialize>(
        &self,
        question: String,
        stamp: Option<AnswerStamp>,
        make: impl Future<Output = Result<T, ApiError>>,
        is_stable: impl FnOnce(&T) -> bool,
    ) -> Result<Response, ApiError> {
        if let Some(body) = stamp.and_then(|stamp| self.look_up(&question, stamp)) {
            return Ok(json_response(body));
        }
        let answer = make.await?;
        let body = Bytes::from(serde_json::to_vec(&answer).map_err(|error| ApiError::internal(error.to_string()))?);
        if let Some(stamp) = stamp.filter(|_| body.len() <= MOST_BYTES && is_stable(&answer)) {
            self.keep(question, stamp, body.clone());
        }
        Ok(json_response(body))
    }

    fn look_up(&self, question: &str, stamp: AnswerStamp) -> Option<Bytes> {
        let answers = self.answers();
        answers.get(question).filter(|(of, _)| *of == stamp).map(|(_, body)| body.clone())
    }

    fn keep(&self, question: String, stamp: AnswerStamp, body: Bytes) {
        let mut answers = self.answers();
        if answers.len() >= MOST_ANSWERS && !answers.contains_key(&question) {
            answers.clear();
        }
        answers.insert(question, (stamp, body));
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn answers(&self) -> MutexGuard<'_, HashMap<String, (AnswerStamp, Bytes)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json_response(body: Bytes) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn text(cache: &AnswerCache, question: &str, stamp: Option<u64>, made: u32) -> String {
        let stamp = stamp.map(|stamp| AnswerStamp::from_parts(&stamp));
        let response = cache.answer(question.to_owned(), stamp, async { Ok(json!(made)) }).await.unwrap();
        let body = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn answer_is_made_again_when_its_stamp_differs_or_is_missing() {
        let cache = AnswerCache::default();
        for (question, stamp, made, expected) in [
            ("a", Some(1), 10, "10"),
            ("a", Some(1), 11, "10"),
            ("b", Some(1), 12, "12"),
            ("a", Some(2), 13, "13"),
            ("a", Some(1), 14, "14"),
            ("a", None, 15, "15"),
            ("a", Some(1), 16, "14"),
        ] {
            assert_eq!(text(&cache, question, stamp, made).await, expected, "{question} {stamp:?} {made}");
        }
    }

    #[tokio::test]
    async fn errors_and_large_answers_are_not_kept_and_the_cache_is_bounded() {
        let cache = AnswerCache::default();
        let stamp = Some(AnswerStamp::from_parts(&1));
        let failed = cache.answer::<u32>("a".into(), stamp, async { Err(ApiError::not_found("gone")) }).await;
        assert!(failed.is_err() && cache.answers().is_empty());
        cache.answer("a".into(), stamp, async { Ok("x".repeat(MOST_BYTES)) }).await.unwrap();
        assert!(cache.answers().is_empty());
        for number in 0..MOST_ANSWERS * 3 {
            cache.answer(number.to_string(), stamp, async { Ok(number) }).await.unwrap();
            assert!(cache.answers().len() <= MOST_ANSWERS);
        }
    }
}
