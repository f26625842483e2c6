//! Every tool that a seed or the design names, built or not: policies may speak of all of them.

use haft_contract::Section::{
    self, Agents, Automation, Files, Media, Memory, Messaging, Nodes, Planning, Runtime, Sessions, System, Ui, Web,
};

/// A tool by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The canonical name.
    pub name: &'static str,
    /// The name shown to people.
    pub label: &'static str,
    /// Where it stands in listings, and the group it belongs to.
    pub section: Section,
    /// The profiles that include it; `full` includes all.
    pub profiles: &'static [&'static str],
    /// Other names it answers to.
    pub aliases: &'static [&'static str],
    /// Only for the owner.
    pub owner_only: bool,
}

const NO: &[&str] = &[];
const CODING: &[&str] = &["coding"];
const MESSAGING: &[&str] = &["messaging"];
const BOTH: &[&str] = &["coding", "messaging"];
const ALL_THREE: &[&str] = &["minimal", "coding", "messaging"];

const fn tool(
    name: &'static str,
    label: &'static str,
    section: Section,
    profiles: &'static [&'static str],
    aliases: &'static [&'static str],
) -> Known {
    Known { name, label, section, profiles, aliases, owner_only: false }
}

const fn for_owner(known: Known) -> Known {
    Known { owner_only: true, ..known }
}

/// All of them, in the order of listings.
#[rustfmt::skip] // one tool a line
pub static CATALOG: &[Known] = &[
    tool("read_file", "Read file", Files, CODING, &["read"]),
    tool("write_file", "Write file", Files, CODING, &["write", "file_write"]),
    tool("edit_file", "Edit file", Files, CODING, &["edit"]),
    tool("apply_patch", "Apply patch", Files, CODING, NO),
    tool("glob_search", "Find files", Files, CODING, &["glob"]),
    tool("grep_search", "Search in files", Files, CODING, &["grep"]),
    tool("notebook_edit", "Edit notebook", Files, CODING, &["NotebookEdit"]),
    tool("exec", "Run command", Runtime, CODING, &["bash"]),
    tool("process", "Processes", Runtime, CODING, NO),
    tool("repl", "Interpreter", Runtime, CODING, &["REPL"]),
    tool("powershell", "PowerShell", Runtime, CODING, &["PowerShell"]),
    tool("http_request", "HTTP request", Web, NO, NO),
    tool("web_fetch", "Fetch page", Web, NO, &["WebFetch"]),
    tool("web_search", "Search the web", Web, NO, &["WebSearch"]),
    tool("memory_search", "Search memory", Memory, CODING, NO),
    tool("memory_get", "Read memory", Memory, CODING, NO),
    tool("sessions_list", "List sessions", Sessions, BOTH, NO),
    tool("sessions_history", "Session history", Sessions, BOTH, NO),
    tool("sessions_send", "Send to session", Sessions, BOTH, NO),
    tool("sessions_spawn", "Start session", Sessions, CODING, NO),
    tool("subagents", "Sub-agents", Sessions, CODING, NO),
    tool("session_status", "Session status", Sessions, ALL_THREE, NO),
    tool("agent", "Agent", Sessions, CODING, &["Agent"]),
    tool("browser", "Browser", Ui, NO, NO),
    tool("canvas", "Canvas", Ui, NO, NO),
    tool("message", "Message", Messaging, MESSAGING, NO),
    tool("send_user_message", "Tell the person", Messaging, BOTH, &["SendUserMessage"]),
    tool("notify", "Notify", Messaging, MESSAGING, NO),
    for_owner(tool("whatsapp_login", "WhatsApp login", Messaging, NO, NO)),
    for_owner(tool("cron", "Schedule", Automation, NO, NO)),
    for_owner(tool("gateway", "Gateway", Automation, NO, NO)),
    tool("nodes", "Paired machines", Nodes, NO, NO),
    tool("agents_list", "List agents", Agents, NO, NO),
    tool("image", "Image", Media, CODING, NO),
    tool("tts", "Speech", Media, NO, NO),
    tool("todo_write", "To-do list", Planning, CODING, &["TodoWrite"]),
    tool("skill", "Skill", Planning, CODING, &["Skill"]),
    tool("tool_search", "Find tools", Planning, CODING, &["ToolSearch"]),
    tool("structured_output", "Structured output", Planning, CODING, &["StructuredOutput"]),
    tool("sleep", "Sleep", Planning, CODING, &["Sleep"]),
    tool("config", "Settings", Planning, NO, &["Config"]),
    tool("get_current_time", "Current time", System, BOTH, NO),
    tool("system_info", "System information", System, CODING, NO),
    tool("noop", "No operation", System, NO, NO),
];
