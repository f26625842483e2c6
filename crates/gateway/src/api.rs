//! The objects of the API. `docs/GATEWAY.md` describes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approvals::RiskView;

/// A conversation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SessionView {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) agent: String,
    pub(crate) model: Option<String>,
    pub(crate) workspace: String,
    pub(crate) access: Option<String>,
    pub(crate) state: SessionState,
    pub(crate) created: Option<String>,
    pub(crate) updated: Option<String>,
    pub(crate) messages: u64,
    /// The session that started this sub-agent.
    pub(crate) parent: Option<String>,
    /// The session that it was copied from.
    pub(crate) fork_of: Option<String>,
    pub(crate) sub_agent: Option<String>,
    pub(crate) last_line: Option<String>,
    pub(crate) usage: UsageView,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) context_window: Option<u64>,
}

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionState {
    Idle,
    Running,
    /// For an approval.
    Waiting,
}

/// Tokens and cost.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct UsageView {
    pub(crate) requests: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) reasoning_tokens: u64,
    /// In dollars; `null` where a price is not known.
    pub(crate) cost: Option<f64>,
    pub(crate) unpriced_requests: u64,
}

/// A tool call.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct CallView {
    /// The provider's id.
    pub(crate) id: String,
    /// The id in the history.
    pub(crate) record: Option<String>,
    pub(crate) session: String,
    pub(crate) agent: String,
    pub(crate) tool: String,
    pub(crate) state: CallState,
    /// What the call is about, in one line.
    pub(crate) title: String,
    /// What became of it, in one line.
    pub(crate) outcome: Option<String>,
    pub(crate) started: Option<String>,
    pub(crate) duration_ms: Option<f64>,
    /// How much of it was waiting for the user, as far as this server asked.
    pub(crate) waited_ms: Option<f64>,
    pub(crate) arguments: Value,
    pub(crate) arguments_html: String,
    pub(crate) original_arguments: Option<Value>,
    pub(crate) effects: Vec<EffectView>,
    pub(crate) decision: Option<Value>,
    pub(crate) error_type: Option<String>,
    pub(crate) message: Option<String>,
    /// What the user can change for another outcome.
    pub(crate) help: Option<String>,
    /// The same as edits of the configuration.
    pub(crate) advice: Option<Value>,
    pub(crate) result: Option<String>,
    pub(crate) result_html: Option<String>,
    pub(crate) result_cut: bool,
    /// The file with the whole of an output that was cut, for `GET /api/spills`.
    pub(crate) spill: Option<String>,
    pub(crate) diff_html: Option<String>,
    pub(crate) added: Option<u64>,
    pub(crate) removed: Option<u64>,
    pub(crate) images: Vec<ImageView>,
    pub(crate) progress: Option<String>,
    pub(crate) can_undo: bool,
    pub(crate) undone: bool,
    /// The id of the open approval.
    pub(crate) approval: Option<String>,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallState {
    #[default]
    Queued,
    Waiting,
    Running,
    Success,
    Error,
    Denied,
    Cancelled,
    TimedOut,
    /// By the loop guard.
    Blocked,
    /// The process ended before the result.
    Interrupted,
}

/// A picture of a result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ImageView {
    pub(crate) mime: String,
    pub(crate) url: String,
}

/// One effect of a call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EffectView {
    pub(crate) kind: String,
    pub(crate) target: String,
    /// 1 weighs most: delete, exec, connect and send, write, read, others.
    pub(crate) weight: u8,
    /// Outside the workspace.
    pub(crate) outside: bool,
    /// Of a program: where it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<String>,
    /// Of a program with a long command line: its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<Vec<String>>,
}

/// A question about a call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ApprovalView {
    pub(crate) id: String,
    pub(crate) fingerprint: String,
    pub(crate) session: String,
    pub(crate) agent: String,
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) title: String,
    pub(crate) effects: Vec<EffectView>,
    pub(crate) reason: String,
    pub(crate) arguments: Value,
    pub(crate) arguments_html: String,
    pub(crate) diff_html: Option<String>,
    pub(crate) can_undo: bool,
    #[serde(default)]
    pub(crate) risk: RiskView,
    /// Past calls like this one; `null` where no rule tells them.
    #[serde(default)]
    pub(crate) similar: Option<SimilarView>,
    pub(crate) session_rules: Vec<String>,
    pub(crate) session_refused: Option<String>,
    pub(crate) widths: Vec<WidthView>,
    pub(crate) rules_file: Option<String>,
    pub(crate) edit_fault: Option<String>,
    pub(crate) asked: Option<String>,
    pub(crate) expires: Option<String>,
}

/// A width at which a call can be allowed for good.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WidthView {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) rules: Vec<String>,
    pub(crate) past: Vec<String>,
    pub(crate) past_calls: usize,
}

/// What became of past calls like one that is asked about.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SimilarView {
    pub(crate) allowed: usize,
    pub(crate) denied: usize,
    /// The rules that cover them, one on a line, for `GET /api/history?rule=`.
    pub(crate) rule: String,
    /// The calls before this time are not counted.
    pub(crate) since: Option<String>,
}

/// An entry of a transcript.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ItemView {
    /// Unique in its session.
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) content: ItemContent,
}

/// What an entry of a transcript is. Calls of one answer of the model have the same `response`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ItemContent {
    User {
        text: String,
        html: String,
        at: Option<String>,
        number: Option<u64>,
        queued: bool,
    },
    Assistant {
        text: String,
        blocks: Vec<String>,
        at: Option<String>,
        model: Option<String>,
        streaming: bool,
        /// Of the whole answer, calls and thinking included; `null` until it is stored.
        usage: Option<AnswerUsage>,
    },
    Thinking {
        text: String,
    },
    Call {
        response: String,
        call: Box<CallView>,
    },
    Notice {
        text: String,
        level: &'static str,
    },
    Summary {
        text: String,
        html: String,
    },
    Message {
        text: String,
        html: String,
        level: String,
    },
    TurnEnd(Box<TurnEndView>),
}

/// What one answer of a model used.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct AnswerUsage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cached_tokens: u64,
    /// In dollars at the prices of today; `null` where the price is not known.
    pub(crate) cost: Option<f64>,
}

/// How a turn ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct TurnEndView {
    pub(crate) reason: &'static str,
    pub(crate) error: Option<String>,
    pub(crate) calls: u32,
    pub(crate) rounds: u32,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) cost: Option<f64>,
    pub(crate) duration_ms: f64,
    pub(crate) context_tokens: u64,
}
