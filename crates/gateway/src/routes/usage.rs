//! Usage: by day, by session, by tool.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use haft_store::{CallFilter, CallRecord, CallStatus, SessionFilter, SessionOverview};
use jiff::ToSpan;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::error::ApiError;
use crate::render::BarPlot;
use crate::sessions::usage_view;
use crate::time::milliseconds;

/// Days at most.
const MOST_DAYS: i64 = 366;
/// Sessions that are ranked, and calls that are counted.
const MOST_SESSIONS: usize = 200;
const MOST_CALLS: usize = 20_000;
/// Sessions that are listed.
const TOP: usize = 10;

#[derive(Debug, Deserialize)]
pub(super) struct UsageQuery {
    days: Option<i64>,
    #[serde(default)]
    by: Measure,
}

/// What the plot shows.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Measure {
    #[default]
    Tokens,
    Cost,
}

pub(super) async fn usage(State(app): State<App>, token: SignedIn, Query(query): Query<UsageQuery>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let (question, stamp) = (format!("usage {query:?}"), app.file_stamp());
    app.answers.answer(question, stamp, sums(&app, &query)).await
}

async fn sums(app: &App, query: &UsageQuery) -> Result<Value, ApiError> {
    let days = by_day(app, query.days.unwrap_or(30).clamp(1, MOST_DAYS)).await?;
    let calls = app.backend.calls().list(CallFilter { limit: Some(MOST_CALLS), ..CallFilter::default() }).await?;
    let sessions = by_session(app).await?;
    let (quotas, budget) = (app.backend.quotas().await, app.backend.budget());
    let plot = if days.is_empty() { Value::Null } else { plot(&days, query.by, budget["day"].as_str()) };
    Ok(json!({
        "days": days, "plot": plot, "sessions": sessions, "tools": by_tool(&calls), "budget": budget, "quotas": quotas,
    }))
}

/// Days as bars, with the budget of a day where money is shown.
fn plot(days: &[Value], by: Measure, budget: Option<&str>) -> Value {
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let (title, series): (_, &[&str]) = match by {
        Measure::Tokens => ("Tokens by day", &["input, new", "input, cached", "output"]),
        Measure::Cost => ("Cost by day, in dollars", &["cost"]),
    };
    let values = |day: &Value| match by {
        Measure::Tokens => {
            let (input, cached) = (number(&day["usage"]["input_tokens"]), number(&day["usage"]["cached_tokens"]));
            vec![(input - cached).max(0.0), cached, number(&day["usage"]["output_tokens"])]
        }
        Measure::Cost => vec![number(&day["cost"])],
    };
    // The year says nothing here.
    let label = |day: &Value| day["day"].as_str().and_then(|day| day.get(5..)).unwrap_or_default().to_owned();
    let rows: Vec<(String, Vec<f64>)> = days.iter().map(|day| (label(day), values(day))).collect();
    let series: Vec<String> = series.iter().map(|&name| name.to_owned()).collect();
    let limit = budget.and_then(|text| text.trim_start_matches('$').parse().ok()).filter(|_| matches!(by, Measure::Cost));
    let format = if matches!(by, Measure::Cost) { dollars } else { tokens };
    let plot = BarPlot { title, series: &series, rows: &rows, format, limit };
    json!({ "title": title, "html": plot.html(), "csv": plot.csv() })
}

fn dollars(amount: f64) -> String {
    if amount == 0.0 {
        "$0".to_owned()
    } else if amount < 0.01 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

fn tokens(count: f64) -> String {
    match count {
        ..1e3 => format!("{count:.0}"),
        ..1e5 => format!("{:.1}k", count / 1e3),
        ..1e6 => format!("{:.0}k", count / 1e3),
        _ => format!("{:.2}M", count / 1e6),
    }
}

async fn by_day(app: &App, count: i64) -> Result<Vec<Value>, ApiError> {
    let (store, today) = (app.backend.sessions(), jiff::Zoned::now().date());
    let mut days = Vec::new();
    for back in (0..count).rev() {
        let Ok(day) = today.checked_sub(back.days()) else { continue };
        let sum = usage_view(&store.day_usage(&day.to_string()).await?);
        if sum.requests > 0 {
            days.push(json!({ "day": day.to_string(), "usage": sum, "cost": sum.cost }));
        }
    }
    Ok(days)
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
