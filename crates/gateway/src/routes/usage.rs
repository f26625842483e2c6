//! Usage: by day and model, by session, by tool.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use haft_store::{CallFilter, CallRecord, CallStatus, ModelUsage, SessionFilter, SessionOverview};
use jiff::ToSpan;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::usage_plot::{self, Measure};
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::error::ApiError;
use crate::sessions::usage_view;
use crate::time::milliseconds;

/// Days at most.
const MOST_DAYS: i64 = 366;
/// Sessions that are ranked, and calls that are counted.
const MOST_SESSIONS: usize = 200;
const MOST_CALLS: usize = 20_000;
/// Sessions that are listed.
const TOP: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UsageQuery {
    days: Option<i64>,
    #[serde(default)]
    by: Measure,
}

pub(super) async fn usage(State(app): State<App>, token: SignedIn, Query(query): Query<UsageQuery>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let (question, stamp) = (format!("usage {query:?}"), app.file_stamp());
    app.answers.answer(question, stamp, sums(&app, &query)).await
}

async fn sums(app: &App, query: &UsageQuery) -> Result<Value, ApiError> {
    let models = by_model(app, query.days.unwrap_or(30).clamp(1, MOST_DAYS)).await?;
    let calls = app.backend.calls().list(CallFilter { limit: Some(MOST_CALLS), ..CallFilter::default() }).await?;
    let sessions = by_session(app).await?;
    let (quotas, budget) = (app.backend.quotas().await, app.backend.budget());
    let plot = usage_plot::draw(&models, query.by, budget["day"].as_str());
    Ok(json!({
        "days": by_day(&models), "plot": plot, "sessions": sessions, "tools": by_tool(&calls), "budget": budget, "quotas": quotas,
    }))
}

async fn by_model(app: &App, count: i64) -> Result<Vec<ModelUsage>, ApiError> {
    let today = jiff::Zoned::now().date();
    let first = today.saturating_sub((count - 1).days());
    Ok(app.backend.sessions().model_usage(&first.to_string(), &today.to_string()).await?)
}

fn by_day(usage: &[ModelUsage]) -> Vec<Value> {
    let days = usage_plot::by_day(usage).into_iter();
    days.map(|(day, sum)| (day, usage_view(&sum))).map(|(day, sum)| json!({ "day": day, "usage": sum, "cost": sum.cost })).collect()
}

async fn by_session(app: &App) -> Result<Vec<Value>, ApiError> {
    let store = app.backend.sessions();
    let mut ranked = Vec::new();
    let filter = SessionFilter { limit: Some(MOST_SESSIONS), with_sub_agents: true, ..SessionFilter::default() };
    for SessionOverview { record, usage, .. } in store.overviews(filter).await? {
        if usage.requests > 0 {
            ranked.push((usage.cost_micros, usage.input + usage.output, record, usage));
        }
    }
    ranked.sort_by_key(|(cost, tokens, ..)| std::cmp::Reverse((*cost, *tokens)));
    let top = ranked.into_iter().take(TOP);
    Ok(top.map(|(_, _, record, usage)| json!({ "id": record.id, "title": record.title, "usage": usage_view(&usage) })).collect())
}

fn by_tool(calls: &[CallRecord]) -> Vec<Value> {
    let mut tools: BTreeMap<&str, (u64, Vec<Duration>)> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.status != CallStatus::Begun) {
        let (errors, times) = tools.entry(call.tool.as_str()).or_default();
        *errors += u64::from(matches!(call.status, CallStatus::Error(_)));
        times.push(call.elapsed);
    }
    let mut rows: Vec<(usize, Value)> = tools
        .into_iter()
        .map(|(tool, (errors, mut times))| {
            times.sort_unstable();
            let at = |percent: usize| milliseconds(times[(times.len() - 1) * percent / 100]);
            (times.len(), json!({ "tool": tool, "calls": times.len(), "errors": errors, "p50_ms": at(50), "p95_ms": at(95) }))
        })
        .collect();
    rows.sort_by_key(|(calls, _)| std::cmp::Reverse(*calls));
    rows.into_iter().map(|(_, row)| row).collect()
}
