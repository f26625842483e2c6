//! Conversations as a second source: searched with the rights of `sessions_history`, and without an index.

use std::collections::HashSet;

use haft_contract::ToolError;
use haft_contract::ports::{MemoryHit, MemoryQuery, MemorySource, MemoryWriter, SessionDirectory, SessionQuery};
use haft_text::truncate::ellipsize;
use jiff::civil::Date;

use crate::blame::WriterSource;
use crate::question::question_words;
use crate::words::{stem, words};

/// The conversations that are searched, the newest first.
const SESSIONS: usize = 50;
/// The newest messages of each.
const MESSAGES: usize = 200;
const SNIPPET: usize = 700;

/// Messages that have words of the question. Those that only the model reads, such as results of tools, are left out.
pub(crate) async fn search(
    directory: &dyn SessionDirectory,
    query: &MemoryQuery,
    today: Date,
    writers: Option<&dyn WriterSource>,
) -> Result<Vec<MemoryHit>, ToolError> {
    let wanted = question_words(&query.query, today);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let listed = directory.list(SessionQuery { limit: SESSIONS, ..SessionQuery::default() }).await?;
    let mut hits = Vec::new();
    for session in listed {
        let Ok(page) = directory.history(&session.id, MESSAGES, false).await else { continue };
        let is_tainted = match writers {
            Some(writers) => writers.is_session_tainted(&page.id).await,
            None => false,
        };
        for (at, message) in page.messages.iter().enumerate() {
            let score = share(&wanted, &message.text);
            if score < query.min_score || score == 0.0 {
                continue;
            }
            let line = usize::try_from(page.dropped).unwrap_or(usize::MAX).saturating_add(at + 1);
            hits.push(MemoryHit {
                path: format!("session:{}", page.id),
                start_line: line,
                end_line: line,
                score: (score * 1000.0).round() / 1000.0,
                snippet: format!("{}: {}", message.role, ellipsize(&message.text, SNIPPET)),
                source: MemorySource::Sessions,
                modified: Some(message.created),
                writer: MemoryWriter {
                    agent: Some(session.agent.clone()),
                    session: Some(page.id.clone()),
                    is_tainted,
                    ..MemoryWriter::default()
                },
            });
        }
    }
    hits.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| other.modified.cmp(&one.modified)));
    hits.truncate(query.max_results);
    Ok(hits)
}

/// The share of the wanted words that a text has.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(wanted: &[String], text: &str) -> f64 {
    let has: HashSet<String> = words(text).iter().map(|word| stem(word).to_owned()).collect();
    let met = wanted.iter().filter(|word| has.contains(stem(word))).count();
    met as f64 / wanted.len() as f64
}
