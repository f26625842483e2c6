//! A session as the page shows it.

use haft_store::{SessionOverview, UsageSum};
use haft_tui::sessions::whole_cost;

use super::live::dollars;
use crate::api::{SessionState, SessionView, UsageView};
use crate::time::timestamp;

/// What the store knows of a session.
pub(crate) fn session_view(overview: SessionOverview) -> SessionView {
    let SessionOverview { record, usage, sub_agent: status } = overview;
    SessionView {
        id: record.id,
        title: record.title,
        agent: record.agent,
        model: record.model,
        workspace: record.workspace.to_string_lossy().into_owned(),
        access: None,
        state: SessionState::Idle,
        created: timestamp(record.created),
        updated: timestamp(record.updated),
        messages: record.messages,
        parent: status.as_ref().map(|status| status.parent.clone()),
        fork_of: record.parent.map(|(parent, _)| parent),
        sub_agent: status.as_ref().map(|status| status.label.clone()),
        last_line: status.and_then(|status| status.answer).and_then(|answer| answer.lines().last().map(str::to_owned)),
        usage: usage_view(&usage),
        context_tokens: None,
        context_window: None,
    }
}

pub(crate) fn usage_view(usage: &UsageSum) -> UsageView {
    UsageView {
        requests: usage.requests,
        input_tokens: usage.input,
        output_tokens: usage.output,
        cached_tokens: usage.cached,
        reasoning_tokens: usage.reasoning,
        cost: dollars(whole_cost(usage)),
        unpriced_requests: usage.unpriced,
    }
}
