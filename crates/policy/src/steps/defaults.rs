//! What holds for sandboxed sessions and sub-agents when nobody says otherwise.

/// In a sandboxed session: what runs inside it, and what concerns other sessions.
pub(crate) const SANDBOX_ALLOW: &[&str] = &[
    "group:fs",
    "group:runtime",
    "group:planning",
    "group:system",
    "image",
    "sessions_list",
    "sessions_history",
    "sessions_send",
    "sessions_spawn",
    "subagents",
    "session_status",
    "agent",
];
/// In a sandboxed session: what would reach out of it.
pub(crate) const SANDBOX_DENY: &[&str] = &["browser", "canvas", "nodes", "cron", "gateway"];
/// In a sandboxed session, unless it is denied or nothing is allowed: a model must still be shown pictures.
pub(crate) const SANDBOX_ALWAYS: &str = "image";

/// Sub-agents: what belongs to the agent that the user talks to.
pub(crate) const SUBAGENT_DENY: &[&str] =
    &["gateway", "agents_list", "whatsapp_login", "session_status", "cron", "memory_search", "memory_get", "sessions_send"];

/// Agents that may not start others: what starting others needs.
pub(crate) const LEAF_DENY: &[&str] = &["sessions_list", "sessions_history", "sessions_spawn", "agent"];
